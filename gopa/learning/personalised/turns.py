"""Puts together what can happen at once: a step of every run, or steps that do not meet.

Specification: `specs/20-personalised.md`, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.learning.clocks import Clock, ClockLaw, Poisson, events
from gopa.learning.personalised.links import Links, Places

_MOST: Final = 64
"""Updates of one run that are computed at once, at most."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Holds updates that do not depend on each other: run, user and step of each."""

    runs: Places
    users: Places
    steps: Places

    def only(self, chosen: np.ndarray) -> Turns:
        """Some of them."""
        return Turns(self.runs[chosen], self.users[chosen], self.steps[chosen])


def schedule(clock: Clock | None, users: int, seed: int, *, steps: int, runs: int) -> Places:
    """Who acts, by run and step; by default at the ticks of equal Poisson clocks."""
    chosen = Poisson(users) if clock is None else clock
    if chosen.agents != users:
        raise UsageError(f"for {chosen.agents} users, and there are {users}", "clock")
    if chosen.law not in {
        ClockLaw.UNIFORM, ClockLaw.WEIGHTED, ClockLaw.IN_TURN, ClockLaw.REPLAYED
    }:  # fmt: skip
        raise UsageError("one user acts in each step: Poisson or InTurn", "clock")
    found = events(chosen, seed, steps=steps, runs=runs).actors
    if found.shape[-1] != 1:
        raise UsageError("one user acts in each step", "clock")
    return np.asarray(found[..., 0], dtype=np.int64)


def turns(actors: Places, links: Links, first: int, last: int) -> Iterator[Turns]:
    """Steps `first` to `last` of all runs, in an order that changes nothing.

    Several runs take a step each. One run takes steps of users who are no neighbours together:
    none of them reads what another one writes.
    """
    runs = len(actors)
    if runs > 1:
        everybody = np.arange(runs)
        for step in range(first, last):
            yield Turns(everybody, actors[:, step], np.full(runs, step))
        return
    near, listed = links.places[0], actors[0].tolist()
    met = np.full(links.users, -1, dtype=np.int64)
    begin = first
    for step in range(first, last):
        user = listed[step]
        if met[user] == begin or step - begin == _MOST:
            yield _together(actors, begin, step)
            begin = step
        # Padding leads to the user itself.
        met[near[user]] = begin
        met[user] = begin
    if begin < last:
        yield _together(actors, begin, last)


def _together(actors: Places, first: int, last: int) -> Turns:
    steps = np.arange(first, last)
    return Turns(np.zeros(len(steps), dtype=np.int64), actors[0, first:last], steps)
