"""Estimates statistics of pairs by gossip: neighbours average their estimates and swap points.

Specification: `specs/23-pairwise.md`, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.clocks import Clock, ClockLaw, EdgeClock, require_law
from gopa.learning.data import Users
from gopa.learning.fitting import Progress, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome
from gopa.learning.pairwise.kernels import (
    Between,
    Floats,
    Kernel,
    Pairs,
    Places,
    mean_over_pairs,
)
from gopa.learning.pairwise.local import Cells, reports_of
from gopa.learning.privacy import Privacy
from gopa.noise import subseed

Method: TypeAlias = Literal["gosta", "gosta-sync", "u2"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""GoSta where ends of an edge act alone, GoSta by a common clock, and its rival."""

_CLOSE: Final = 0.05
"""Of the statistic: estimates that are farther away have not converged."""

_LEAST: Final = 1e-3
_NUMBER_BYTES: Final = 8
_SHARE: Final = 4
_FEWEST: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Exchanges:
    """Holds exchanges in which nobody takes part twice, of one run or of several.

    `slots` has both ends, in two halves; slot is run times users plus user. `step` counts from 1.
    """

    slots: Places
    users: Places
    steps: Places

    @property
    def partners(self) -> Places:
        """Of each end the other one."""
        return np.roll(self.slots, len(self.slots) // 2)


def in_waves(actors: npt.NDArray[np.int32], first: int, users: int) -> Iterator[Exchanges]:
    """The exchanges of a block (run, step, end), many at a time, everybody's in their order.

    An exchange waits for those before it that share an end; so the result is that of one after
    the other, bit by bit.
    """
    runs, steps, _ = actors.shape
    ends = (actors + (np.arange(runs) * users)[:, None, None]).reshape(-1, 2)
    numbers = np.tile(np.arange(first + 1, first + steps + 1), runs)
    next_of = np.empty(runs * users, dtype=np.int64)
    left = np.arange(len(ends))
    while len(left):
        # Of several values for one place the last is kept: here the earliest exchange.
        next_of[ends[left[::-1]]] = left[::-1, None]
        ready = (next_of[ends[left]] == left[:, None]).all(axis=1)
        now, left = left[ready], left[~ready]
        slots = ends[now].T.ravel()
        yield Exchanges(slots, slots % users, np.tile(numbers[now], 2))


class _Asynchronous:
    """Runs GoSta of the ends of an edge alone: both average, add what they see, and swap."""

    copies = 1

    def __init__(self, pairs: Between, runs: int) -> None:
        self._pairs, self._shape = pairs, (runs, pairs.users)
        slots = runs * pairs.users
        self._estimates, self._acted = np.zeros(slots), np.zeros(slots)
        self._seen = np.tile(np.arange(pairs.users), runs)

    def exchange(self, now: Exchanges, copy: int) -> None:
        """Both ends of each edge act."""
        del copy
        at = now.slots
        half = len(at) // 2
        held = self._estimates[at]
        mean = (held[:half] + held[half:]) / 2
        acted = self._acted[at] + 1
        seen = self._seen[at]
        mean = np.concatenate([mean, mean])
        self._estimates[at] = mean + (self._pairs.between(now.users, seen) - mean) / acted
        self._acted[at] = acted
        self._seen[now.partners] = seen

    def at(self, step: int) -> Floats:
        """All estimates after so many steps, by run and user."""
        del step
        return self._estimates.reshape(self._shape).copy()


class _Synchronous:
    """Runs GoSta, or U2 with two copies, by a common clock.

    All users add what they see in every step. As long as nobody talks to a user it adds the same
    number, so this is done when somebody does, or when it is asked for its estimate.
    """

    def __init__(self, pairs: Between, runs: int, *, copies: int) -> None:
        self._pairs, self._shape, self.copies = pairs, (runs, pairs.users), copies
        slots = runs * pairs.users
        self._sums, self._last = np.zeros(slots), np.zeros(slots, dtype=np.int64)
        own = np.tile(np.arange(pairs.users), runs)
        self._copies = [own.copy() for _ in range(copies)]
        self._adds = pairs.between(own, own)

    def exchange(self, now: Exchanges, copy: int) -> None:
        """The ends of each edge swap what they have seen; with one copy they also average."""
        at = now.slots
        half = len(at) // 2
        sums = self._sums[at] + (now.steps - self._last[at]) * self._adds[at]
        if self.copies == 1:
            mean = (sums[:half] + sums[half:]) / 2
            sums = np.concatenate([mean, mean])
        self._sums[at], self._last[at] = sums, now.steps
        self._copies[copy][now.partners] = self._copies[copy][at]
        first = now.users if self.copies == 1 else self._copies[0][at]
        self._adds[at] = self._pairs.between(first, self._copies[-1][at])

    def at(self, step: int) -> Floats:
        """All estimates after so many steps, by run and user."""
        whole_sums = self._sums + (step - self._last) * self._adds
        return np.asarray(whole_sums / max(step, 1)).reshape(self._shape)


def estimates(  # noqa: PLR0913 - gossip has many parts
    pairs: Between,
    graph: Graph,
    *,
    method: Method = "gosta",
    clock: Clock | None = None,
    steps: int,
    marks: npt.ArrayLike | None = None,
    seed: int,
    runs: int = 1,
) -> Iterator[tuple[int, Floats]]:
    """Steps, and the estimates of all users after them by run and user: at `marks`, or in the end.

    Raises:
        UsageError: parts do not fit together.
    """
    require_gossip(graph, pairs.users, clock)
    if method not in METHODS:
        raise UsageError(f"one of {', '.join(METHODS)}", "method")
    require_seed(seed)
    whole(steps, "steps")
    whole(runs, "runs")
    state: _Asynchronous | _Synchronous = (
        _Asynchronous(pairs, runs)
        if method == "gosta"
        else _Synchronous(pairs, runs, copies=1 + (method == "u2"))
    )
    seeds = [seed, subseed(seed, "second copy")][: state.copies]
    ends = set(np.asarray([steps] if marks is None else marks).tolist())
    for first, blocks in blocks_until(graph, clock, seeds, steps=steps, runs=runs, ends=ends):
        for now, copy in exchanges(blocks, first, pairs.users):
            state.exchange(now, copy)
        done = first + blocks[0].shape[1]
        if done in ends:
            yield done, state.at(done)


def exchanges(
    blocks: list[npt.NDArray[np.int32]], first: int, users: int
) -> Iterator[tuple[Exchanges, int]]:
    """Exchanges and the copy of each: in every step those of the first copy go first."""
    copies = len(blocks)
    merged = np.stack(blocks, axis=2).reshape(len(blocks[0]), -1, 2)
    for now in in_waves(merged, copies * first, users):
        if copies == 1:
            yield now, 0
            continue
        steps, place = np.divmod(now.steps - 1, copies)
        for copy in range(copies):
            chosen = place == copy
            if chosen.any():
                yield Exchanges(now.slots[chosen], now.users[chosen], steps[chosen] + 1), copy


def blocks_until(  # noqa: PLR0913 - blocks have many ends
    graph: Graph,
    clock: Clock | None,
    seeds: list[Any],
    *,
    steps: int,
    runs: int,
    ends: set[int],
    size: int | None = None,
) -> Iterator[tuple[int, list[npt.NDArray[np.int32]]]]:
    """Blocks of actors of each seed, none of which goes on behind one of the `ends`."""
    chosen = EdgeClock(graph, 1.0) if clock is None else clock
    many = max(_FEWEST, graph.parties // _SHARE) if size is None else size
    streams = [chosen.blocks(each, steps=steps, runs=runs, size=many) for each in seeds]
    for events in zip(*streams, strict=True):
        first, length = events[0].first, events[0].actors.shape[1]
        if clock is not None:
            for each in events:
                _require_edges(graph, each.actors)
        cuts = [end - first for end in sorted(ends) if first < end < first + length]
        for start, stop in zip([0, *cuts], [*cuts, length], strict=True):
            yield first + start, [each.actors[:, start:stop] for each in events]


def require_gossip(graph: Graph | None, users: int, clock: Clock | None) -> None:
    """Refuses graphs on which no point gets everywhere, and clocks of other things."""
    if graph is None or graph.parties != users or users < 2 or not graph.is_connected():
        raise UsageError(f"a connected graph of all {users} users", "graph")
    if clock is not None:
        require_law(clock, ClockLaw.UNIFORM_EDGES)
        if clock.agents != users:
            raise UsageError(f"its agents are the {users} users", "clock")


def _require_edges(graph: Graph, actors: npt.NDArray[np.int32]) -> None:
    first, second = graph.edges()
    known = np.unique(np.minimum(first, second) * graph.parties + np.maximum(first, second))
    low, high = actors.min(axis=-1).astype(np.int64), actors.max(axis=-1)
    if not np.isin(low * graph.parties + high, known).all():
        raise UsageError(
            "it lets users act that are no neighbours: make it from this graph", "clock"
        )


def expected_estimates(pairs: Between, graph: Graph, steps: int) -> Floats:
    """The exact expectation of synchronous GoSta's estimates after each step, by step and user.

    What the points behind users lead to in expectation is a matrix with a row for each user and a
    column for each place: the phantom graphs. For few users: a matrix product a step.
    """
    users = pairs.users
    require_gossip(graph, users, None)
    everybody = np.arange(users)
    laplacian = graph.laplacian().toarray() / graph.edge_count
    swap, average = np.eye(users) - laplacian, np.eye(users) - laplacian / 2
    phantom = pairs.between(everybody[:, None], everybody)
    found, current = np.empty((steps, users)), np.zeros(users)
    for step in range(1, steps + 1):
        current = average @ (current + (np.diag(phantom) - current) / step)
        phantom = phantom @ swap
        found[step - 1] = current
    return found


def estimation_bound(pairs: Between, graph: Graph, steps: npt.ArrayLike) -> Floats:
    """Bounds how far expected estimates of synchronous GoSta are from the statistic, in L2.

    It is proved in section 2, with other constants than Theorem 3.1 of Bellet's thesis.
    """
    everybody = np.arange(pairs.users)
    table = pairs.between(everybody[:, None], everybody)
    own = table.mean(axis=1)
    rate = gap_per_step(graph) * np.asarray(steps, dtype=np.float64)
    uneven, spread = np.linalg.norm(own - own.mean()), np.linalg.norm(table - own[:, None])
    return np.asarray((2 * uneven + spread) / rate)


def gap_per_step(graph: Graph) -> float:
    """The smallest eigenvalue of the Laplacian above 0, divided by the number of edges."""
    return float(np.linalg.eigvalsh(graph.laplacian().toarray())[1]) / graph.edge_count


def fit_pairwise(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    kernel: Kernel,
    privacy: Privacy | None = None,
    graph: Graph | None,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    method: Method = "gosta",
    cells: Cells | None = None,
    steps: int = 20_000,
    runs: int = 1,
) -> Outcome:
    """Estimates the mean of a kernel over all pairs of points; the model is everybody's estimate.

    With `privacy` all users first replace their points by private reports (`cells`, see
    `fit_local`), which then travel in their place. Without, points are shown to strangers.

    Raises:
        UsageError: parts do not fit together.
    """
    begun = perf_counter()
    require_gossip(graph, len(problem), clock)
    assert graph is not None  # noqa: S101 - just refused
    require_seed(seed)
    pairs: Between = Pairs(kernel, problem)
    ledger = PrivacyLedger(privacy)
    if privacy is not None:
        pairs = reports_of(problem, kernel, cells, ledger, seed=seed).pairs()
    elif cells is not None:
        raise UsageError("points are put into cells to be hidden: say how well", "privacy")
    notes = Recorder()
    marks = np.unique(np.geomspace(1, whole(steps, "steps"), 60).astype(int))
    walk = estimates(
        pairs, graph, method=method, clock=clock, steps=steps, marks=marks, seed=seed, runs=runs
    )
    with told(progress) as advance:
        goal = mean_over_pairs(pairs, advance)
        for step, found in walk:
            missed = np.abs(found - goal).mean(axis=1)
            notes.note(step=step, error=missed, spread=found.std(axis=1))
            advance("steps", step, steps)
    sent = 2 * steps * (2 if method == "u2" else 1)
    numbers = 2 if method == "u2" else 3
    return Outcome(
        algorithm=f"statistic of pairs ({kernel.name}, {method})",
        model=found if runs > 1 else found[0],
        history=notes.history(),
        spent=ledger.spent(),
        messages=sent,
        bytes=_NUMBER_BYTES * numbers * sent,
        seconds=perf_counter() - begun,
        seed=seed,
        converged=bool((missed <= _CLOSE * max(abs(goal), _LEAST)).all()),
    )
