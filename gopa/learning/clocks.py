"""Who acts when, as arrays of events: a run is its seed.

The first axis is that of repetitions, so that many runs advance together. Each has its
own stream, so that run r is the same alone and among others, in blocks of any length. Who
acts is decided in integers and is the same on every machine; times are floating point and
decide nothing. Specification: `specs/17-graphs-and-clocks.md`, section 4.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.support.arrays import Floats
from gopa.support.draws import Draws, Seed, thresholds_of

Agents: TypeAlias = npt.NDArray[np.int32]
Rates: TypeAlias = float | Sequence[float] | Floats

_SLOWEST: Final = 1e-200
"""Rates within which times are finite and grow."""


class ClockLaw(StrEnum):
    """What a theorem may assume about who acts."""

    UNIFORM = "one agent a step, all equally likely, independent of all other steps"
    WEIGHTED = "one agent a step, by its rate, independent of all other steps"
    UNIFORM_EDGES = "the ends of one edge a step, all equally likely, independent"
    WEIGHTED_EDGES = "the ends of one edge a step, by its rate, independent"
    ALL = "all agents in every step"
    IN_TURN = "one agent a step, in a fixed order"
    MARKOV = "one agent a step, a neighbour of the one before or itself: a random walk on a graph"
    REPLAYED = "as it was recorded: nothing is random"


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Consecutive steps of all runs: `actors[r, t]` act together at `times[r, t]`.

    `first` steps went before. The last axis of `actors` has one agent, the two ends of an
    edge, or all agents.
    """

    first: int
    actors: Agents
    times: Floats

    def __post_init__(self) -> None:
        self.actors.flags.writeable = False
        self.times.flags.writeable = False


class Clock(Protocol):
    """Who acts in each step, and by which law."""

    @property
    def agents(self) -> int:
        """How many agents there are."""

    @property
    def law(self) -> ClockLaw:
        """What accounting may rely on."""

    def blocks(
        self, seed: Seed, *, steps: int, runs: int = 1, size: int = 4096
    ) -> Iterator[Events]:
        """All steps of all runs, in blocks of at most `size` steps."""


def events(clock: Clock, seed: Seed, *, steps: int, runs: int = 1) -> Events:
    """All steps in one block."""
    whole(steps, "steps")
    return next(clock.blocks(seed, steps=steps, runs=runs, size=steps))


def require_law(clock: Clock, *allowed: ClockLaw) -> None:
    """`UsageError` unless the clock has one of the laws that a theorem allows."""
    if clock.law not in allowed:
        wanted = ", or ".join(allowed)
        raise UsageError(f"the theorem needs {wanted}; this clock: {clock.law}", "clock")


class _Independent:
    """One of several choices in each step, each at the ticks of its own Poisson clock.

    The clocks together tick like one whose rate is the sum; who ticks is independent of
    when. So both have a stream of their own.
    """

    def __init__(
        self, agents: int, choices: Agents, rates: Rates, uniform: ClockLaw, other: ClockLaw
    ) -> None:
        self.agents = agents
        given = finite(np.atleast_1d(np.asarray(rates)), "rates")
        if given.shape not in {(1,), (len(choices),)}:
            raise UsageError(f"one rate for all, or {len(choices)} of them", "rates")
        each = np.broadcast_to(given, len(choices))
        # Refuses negative rates in any case.
        self._thresholds = thresholds_of(each)
        with np.errstate(over="ignore"):
            self._choices, self._total = choices, float(each.sum())
        if not _SLOWEST <= self._total <= 1 / _SLOWEST:
            raise UsageError("the rates together lie between 1e-200 and 1e200", "rates")
        self.law = uniform if (each == each[0]).all() else other
        self._is_uniform = self.law is uniform

    def blocks(
        self, seed: Seed, *, steps: int, runs: int = 1, size: int = 4096
    ) -> Iterator[Events]:
        _require_counts(steps, runs, size)
        who = [Draws(seed, "clock", "who", run) for run in range(runs)]
        when = [Draws(seed, "clock", "when", run) for run in range(runs)]
        now = np.zeros((runs, 1))
        for first in range(0, steps, size):
            count = min(size, steps - first)
            drawn = np.stack([self._drawn(each, count) for each in who])
            waits = np.stack([_waits(each, count) for each in when]) / self._total
            times = np.cumsum(np.concatenate([now, waits], axis=1), axis=1)[:, 1:]
            now = times[:, -1:]
            yield Events(first, self._choices[drawn], times)

    def _drawn(self, draws: Draws, count: int) -> npt.NDArray[np.int64]:
        if self._is_uniform:
            return draws.below(len(self._choices), count)
        return draws.shared_out(self._thresholds, count)


class Poisson(_Independent):
    """Every agent alone, at the ticks of its own Poisson clock.

    With equal rates each step is anybody's, whatever happened before: what random walks
    on the complete graph and coordinate descent need. Rate 0 never acts.
    """

    def __init__(self, agents: int, rates: Rates = 1.0) -> None:
        many = whole(agents, "agents", 1, 2**31 - 1)
        choices = np.arange(many, dtype=np.int32)[:, None]
        super().__init__(many, choices, rates, ClockLaw.UNIFORM, ClockLaw.WEIGHTED)


class EdgeClock(_Independent):
    """The two ends of an edge together, at the ticks of the edge's own Poisson clock.

    Rates are in the order of `graph.edges()`, by default the weights of the graph. An
    agent takes part in proportion to the rates of its edges.
    """

    def __init__(self, graph: Graph, rates: Rates | None = None) -> None:
        if not graph.edge_count:
            raise UsageError("a graph without edges lets nobody act", "graph")
        choices = np.column_stack(graph.edges()).astype(np.int32)
        laws = ClockLaw.UNIFORM_EDGES, ClockLaw.WEIGHTED_EDGES
        super().__init__(
            graph.parties, choices, graph.edge_weights if rates is None else rates, *laws
        )


class _Foreseen:
    """Steps that are known beforehand: nothing is drawn, and all runs may be alike."""

    def __init__(self, agents: int) -> None:
        self.agents = whole(agents, "agents", 1, 2**31 - 1)

    def blocks(
        self, seed: Seed, *, steps: int, runs: int = 1, size: int = 4096
    ) -> Iterator[Events]:
        del seed
        _require_counts(steps, runs, size)
        self._require_known(runs, steps)
        for first in range(0, steps, size):
            actors, times = self._known(np.arange(first, min(first + size, steps)))
            shape = (runs, times.shape[-1])
            all_actors = np.broadcast_to(actors, (*shape, actors.shape[-1]))
            yield Events(first, all_actors, np.broadcast_to(times, shape))

    def _require_known(self, runs: int, steps: int) -> None:
        """Any number of them."""

    @abstractmethod
    def _known(self, turns: npt.NDArray[np.int64]) -> tuple[Agents, Floats]:
        """Who acts in these steps, and when."""


class Synchronous(_Foreseen):
    """All agents in every step; nothing is drawn."""

    law = ClockLaw.ALL

    def _known(self, turns: npt.NDArray[np.int64]) -> tuple[Agents, Floats]:
        return np.arange(self.agents, dtype=np.int32), (turns + 1).astype(np.float64)


class InTurn(_Foreseen):
    """Agents one after the other, 0 first, sweep by sweep; nothing is drawn.

    Theorems about random steps say nothing about it.
    """

    law = ClockLaw.IN_TURN

    def _known(self, turns: npt.NDArray[np.int64]) -> tuple[Agents, Floats]:
        return (turns % self.agents).astype(np.int32)[:, None], (turns + 1) / self.agents


class Replayed(_Foreseen):
    """Recorded events again: an array of runs, steps and those who act together.

    Whatever law they were drawn by, whoever replays them chose them.
    """

    law = ClockLaw.REPLAYED

    def __init__(
        self, agents: int, actors: npt.ArrayLike, times: npt.ArrayLike | None = None
    ) -> None:
        super().__init__(agents)
        try:
            recorded = np.asarray(actors)
        except ValueError:
            raise UsageError("runs have equally many steps, and steps actors", "actors") from None
        if recorded.ndim != 3 or recorded.dtype.kind not in "iu" or not recorded.size:
            raise UsageError("recorded actors are integers, by run, step and place", "actors")
        if not 0 <= recorded.min() <= recorded.max() < agents:
            raise UsageError(f"agents are numbered from 0 to {agents - 1}", "actors")
        runs, steps, _ = recorded.shape
        counted = np.broadcast_to(np.arange(1.0, steps + 1), (runs, steps))
        passed = counted if times is None else finite(times, "times")
        if passed.shape != (runs, steps):
            raise UsageError("there is one time for each run and step", "times")
        self._actors, self._times = recorded.astype(np.int32), passed.copy()

    def _require_known(self, runs: int, steps: int) -> None:
        recorded_runs, recorded_steps, _ = self._actors.shape
        if runs != recorded_runs or steps > recorded_steps:
            raise UsageError(
                f"{recorded_runs} runs of {recorded_steps} steps were recorded", "steps"
            )

    def _known(self, turns: npt.NDArray[np.int64]) -> tuple[Agents, Floats]:
        return self._actors[:, turns], self._times[:, turns]


def _waits(draws: Draws, count: int) -> Floats:
    """Exponential waiting times of rate 1: never 0, never infinite."""
    middle = (draws.words(count) >> np.uint64(12)) + 0.5
    return -np.log(np.asarray(middle * 2.0**-52, dtype=np.float64))


def _require_counts(steps: int, runs: int, size: int) -> None:
    whole(steps, "steps", 0)
    whole(runs, "runs")
    whole(size, "size")


@dataclass(frozen=True, slots=True)
class Steps:
    """The length of step k = 1, 2, ..: scale / (k + offset)^power."""

    scale: float
    power: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise UsageError("a step is positive and finite", "scale")
        if not (0 <= self.power < math.inf and 0 <= self.offset < math.inf):
            raise UsageError("a step never grows: no negative power or offset", "power")

    def __call__(self, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The length of each of these steps."""
        number = np.asarray(k, dtype=np.float64)
        if not (number >= 1).all():
            raise UsageError("steps are counted from 1", "k")
        return np.asarray(self.scale / (number + self.offset) ** self.power)


def constant(scale: float) -> Steps:
    """Every step as long as the first."""
    return Steps(scale)


def harmonic(scale: float, offset: float = 0.0) -> Steps:
    """Step k is scale / (k + offset)."""
    return Steps(scale, 1.0, offset)


def root(scale: float) -> Steps:
    """Step k is scale / sqrt(k)."""
    return Steps(scale, 0.5)
