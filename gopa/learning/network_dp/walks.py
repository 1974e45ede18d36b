"""Tokens that walk from user to user: where they go, who adds data, what becomes of them.

The path decides who adds data, never the data: past its cap a user adds noise only, because the
privacy of others rests on its noise. Specification: `specs/13-network-dp.md`, section 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph, metropolis, require_connected
from gopa.learning.checks import whole
from gopa.learning.clocks import Clock, ClockLaw, Events, InTurn, Poisson, events, require_law
from gopa.support.arrays import Floats
from gopa.support.draws import Draws, Seed, thresholds_of

Users: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Update: TypeAlias = Callable[[Floats, int, Users, Users, Flags], Floats]
"""Gives what is added to the tokens (runs, d) in a step: from the tokens, the number of the
step, who has them, for which time (from 0), and whether it adds data or noise only."""

_ONE_AFTER_THE_OTHER: Final = (ClockLaw.UNIFORM, ClockLaw.IN_TURN, ClockLaw.MARKOV)


class GraphWalk:
    """A token that walks on a graph by the Metropolis matrix, which visits all alike.

    It starts anywhere, and may stay where it is.
    """

    law = ClockLaw.MARKOV

    def __init__(self, graph: Graph) -> None:
        self.agents = require_connected(graph).parties
        self.transitions: Floats = metropolis(graph).matrix.toarray()
        self._thresholds = [thresholds_of(row) for row in self.transitions]

    def blocks(
        self, seed: Seed, *, steps: int, runs: int = 1, size: int = 4096
    ) -> Iterator[Events]:
        who = [Draws(seed, "clock", "who", run) for run in range(runs)]
        at = [int(each.below(self.agents, 1)[0]) for each in who]
        for first in range(0, steps, size):
            count = min(size, steps - first)
            actors = np.empty((runs, count, 1), dtype=np.int32)
            for run, draws in enumerate(who):
                for step, word in enumerate(draws.words(count)):
                    actors[run, step] = at[run]
                    at[run] = int(np.searchsorted(self._thresholds[at[run]], word, side="right"))
            times = np.broadcast_to(np.arange(first + 1.0, first + count + 1), (runs, count))
            yield Events(first, actors, times)


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Who had the token in each step of each run, for which time, and who added data."""

    users: Users
    times: Users
    active: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Where a token goes, and how often a user adds data.

    That is `cap` times, and `edge_cap` times before the same next user, itself included.
    """

    clock: Clock
    cap: int | None = None
    edge_cap: int | None = None

    def __post_init__(self) -> None:
        for name in ("cap", "edge_cap"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(getattr(self, name), name))

    @classmethod
    def on(
        cls,
        users: int,
        graph: Graph | None,
        clock: Clock | None,
        *,
        cap: int | None = None,
        edge_cap: int | None = None,
    ) -> Walk:
        """The walk that belongs to a graph: in turn on a ring, else at random; None: complete.

        A clock may be given, if it has a law that some theorem is about.
        """
        if users < 2:
            raise UsageError("somebody else has to be there", "problem")
        if graph is not None and require_connected(graph).parties != users:
            raise UsageError(f"a graph of the {users} users", "graph")
        own = _clock_of(users, graph)
        if clock is None:
            return cls(own, cap, edge_cap)
        require_law(clock, *_ONE_AFTER_THE_OTHER)
        if clock.agents != users:
            raise UsageError(f"a clock of the {users} users", "clock")
        # Everybody is a neighbour of everybody on the complete graph, so any order will do.
        in_any_order = own.law is ClockLaw.UNIFORM and clock.law is ClockLaw.IN_TURN
        if graph is not None and clock.law is not own.law and not in_any_order:
            raise UsageError("it uses edges that the graph does not have", "clock")
        return cls(clock, cap, edge_cap)

    @property
    def turns(self) -> bool:
        """Whether the token goes around a ring."""
        return self.clock.law is ClockLaw.IN_TURN

    def visits(self, seed: Seed, *, steps: int, runs: int = 1) -> Visits:
        """Who has the token in every step."""
        users = events(self.clock, seed, steps=steps, runs=runs).actors[:, :, 0].astype(np.int64)
        times = _ordinals(users)
        active = np.ones(users.shape, dtype=bool)
        if self.cap is not None:
            active &= times < self.cap
        if self.edge_cap is not None:
            edges = users[:, :-1] * self.clock.agents + users[:, 1:]
            active[:, :-1] &= _ordinals(edges) < self.edge_cap
        return Visits(users, times, active)


def carry(  # noqa: PLR0913 - what is carried, and how far
    visits: Visits,
    update: Update,
    token: Floats,
    *,
    first: int = 0,
    last: int | None = None,
    seen: Callable[[int, Floats], None] | None = None,
) -> Floats:
    """Carries tokens (runs, d) along the steps from `first` to before `last`, or all.

    `seen` is told each step's token after it.
    """
    each = (visits.users, visits.times, visits.active)
    users, times, active = (np.ascontiguousarray(column[:, first:last].T) for column in each)
    for step in range(len(users)):
        token = token + update(token, first + step, users[step], times[step], active[step])
        if seen is not None:
            seen(first + step, token)
    return token


def _clock_of(users: int, graph: Graph | None) -> Clock:
    if graph is None or graph.edge_count == users * (users - 1) // 2:
        return Poisson(users)
    around = {(u, u + 1) for u in range(users - 1)} | {(0, users - 1)}
    if set(zip(*(each.tolist() for each in graph.edges()), strict=True)) == around:
        return InTurn(users)
    return GraphWalk(graph)


def _ordinals(keys: Users) -> Users:
    """How often the same key stood before, in each row."""
    order = np.argsort(keys, axis=1, kind="stable")
    listed = np.take_along_axis(keys, order, axis=1)
    places = np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
    fresh = np.ones(keys.shape, dtype=bool)
    fresh[:, 1:] = listed[:, 1:] != listed[:, :-1]
    starts = np.maximum.accumulate(np.where(fresh, places, 0), axis=1)
    found = np.empty(keys.shape, dtype=np.int64)
    np.put_along_axis(found, order, places - starts, axis=1)
    return found
