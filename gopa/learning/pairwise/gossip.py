"""Estimates statistics of pairs by gossip: neighbours average their estimates and swap points.

Specification: `specs/23-pairwise.md`, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.calls import algorithm
from gopa.learning.checks import require_seed, whole
from gopa.learning.clocks import EdgeClock
from gopa.learning.data import Users
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.pairwise.kernels import NAMED_KERNELS, Between, Kernel, Pairs, Places
from gopa.learning.pairwise.local import Cells, reports_of
from gopa.learning.privacy import Privacy
from gopa.noise import subseed
from gopa.support.arrays import Floats

Method: TypeAlias = Literal["gosta", "gosta-sync", "u2"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""GoSta where ends of an edge act alone, GoSta by a common clock, and its rival."""

NUMBER_BYTES: Final = 8
_CLOSE: Final = 0.05
"""Of the statistic: estimates that are farther away have not converged."""

_LEAST: Final = 1e-3


class _Asynchronous:
    """GoSta of the ends of an edge alone: both average, add what they see, and swap."""

    def __init__(self, pairs: Between, runs: int) -> None:
        self._pairs = pairs
        self._estimates, self._acted = np.zeros((2, runs * pairs.users))
        self._seen = np.tile(np.arange(pairs.users), runs)

    def exchange(self, step: int, copy: int, users: Places, at: Places) -> None:
        """Both ends of an edge act."""
        del step, copy
        seen, acted = self._seen[at], self._acted[at] + 1
        held = self._estimates[at]
        mean = (held[0] + held[1]) / 2
        self._estimates[at] = mean + (self._pairs.between(users, seen) - mean) / acted
        self._acted[at], self._seen[at] = acted, seen[::-1]

    def at(self, step: int) -> Floats:
        """The estimates of all users at a step."""
        del step
        return self._estimates


class _Synchronous:
    """GoSta, or U2 with two copies, by a common clock.

    All users add what they see in every step. As long as nobody talks to a user it adds the same
    number, so this is done when somebody does, or when it is asked for its estimate.
    """

    def __init__(self, pairs: Between, runs: int, copies: int) -> None:
        self._pairs, self._averages = pairs, copies == 1
        own = np.tile(np.arange(pairs.users), runs)
        self._sums, self._last = np.zeros((2, len(own)))
        self._copies = np.tile(own, (copies, 1))
        self._adds = pairs.between(own, own)

    def exchange(self, step: int, copy: int, users: Places, at: Places) -> None:
        """The ends of an edge swap what they have seen; with one copy they also average."""
        sums = self._sums[at] + (step - self._last[at]) * self._adds[at]
        self._sums[at] = (sums[0] + sums[1]) / 2 if self._averages else sums
        self._last[at] = step
        self._copies[copy, at] = self._copies[copy, at[::-1]]
        first = users if self._averages else self._copies[0, at]
        self._adds[at] = self._pairs.between(first, self._copies[-1, at])

    def at(self, step: int) -> Floats:
        """The estimates of all users at a step."""
        return np.asarray((self._sums + (step - self._last) * self._adds) / step)


def estimates(  # noqa: PLR0913 - gossip has many parts
    pairs: Between,
    graph: Graph,
    *,
    method: Method = "gosta",
    steps: int,
    marks: npt.ArrayLike | None = None,
    seed: int,
    runs: int = 1,
) -> Iterator[tuple[int, Floats]]:
    """Steps, and the estimates of all users after them by run and user: at `marks`, or in the end.

    Raises:
        UsageError: parts do not fit together.
    """
    require_gossip(graph, pairs.users)
    require_seed(seed)
    ends = marked(marks, steps)
    if method not in METHODS:
        raise UsageError(f"one of {', '.join(METHODS)}", "method")
    seeds: list[Any] = [seed, subseed(seed, "pairwise", "second copy")][: 1 + (method == "u2")]
    state: _Asynchronous | _Synchronous = (
        _Asynchronous(pairs, whole(runs, "runs"))
        if method == "gosta"
        else _Synchronous(pairs, whole(runs, "runs"), len(seeds))
    )
    streams = [exchanges(graph, each, steps=steps, runs=runs) for each in seeds]
    for step, moves in enumerate(zip(*streams, strict=True), 1):
        for copy, (users, at) in enumerate(moves):
            state.exchange(step, copy, users, at)
        if step in ends:
            yield step, state.at(step).reshape(runs, -1).copy()


def exchanges(
    graph: Graph, seed: int | bytes, *, steps: int, runs: int
) -> Iterator[tuple[Places, Places]]:
    """Both ends of an edge of each step, by end and run: users, and their places."""
    first = np.arange(runs) * graph.parties
    for block in EdgeClock(graph, 1.0).blocks(seed, steps=steps, runs=runs):
        for users in block.actors.transpose(1, 2, 0).astype(np.int64):
            yield users, users + first


def marked(marks: npt.ArrayLike | None, steps: int) -> set[int]:
    """The steps to look at, or the last one; `UsageError` unless they are among the steps."""
    last = whole(steps, "steps")
    return {whole(each, "marks", 1, last) for each in np.ravel([last] if marks is None else marks)}


def require_gossip(graph: Graph | None, users: int, clock: Any = None) -> Graph:
    """The graph, if points get everywhere on it; its edges tick at equal rates, without a clock."""
    if users < 2:
        raise UsageError("at least two users", "problem")
    if graph is None or graph.parties != users or not graph.is_connected():
        raise UsageError(f"a connected graph of all {users} users", "graph")
    if clock is not None:
        raise UsageError("edges of the graph tick at equal rates: leave it out", "clock")
    return graph


def expected_estimates(pairs: Between, graph: Graph, steps: int) -> Floats:
    """The exact expectation of synchronous GoSta's estimates after each step, by step and user.

    What the points behind users lead to in expectation is a matrix with a row for each user and a
    column for each place: the phantom graphs. For few users: a matrix product a step.
    """
    users = pairs.users
    require_gossip(graph, users)
    everybody = np.arange(users)
    laplacian = graph.laplacian().toarray() / graph.edge_count
    swap, average = np.eye(users) - laplacian, np.eye(users) - laplacian / 2
    phantom = pairs.between(everybody[:, None], everybody)
    found, current = np.empty((whole(steps, "steps"), users)), np.zeros(users)
    for step in range(1, steps + 1):
        current = average @ (current + (np.diag(phantom) - current) / step)
        phantom = phantom @ swap
        found[step - 1] = current
    return found


@algorithm(named={"kernel": (Kernel, NAMED_KERNELS)}, labels="signs", points=True)
def fit_pairwise(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    kernel: Kernel,
    privacy: Privacy | None = None,
    graph: Graph | None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    method: Method = "gosta",
    cells: Cells | None = None,
    steps: int = 20_000,
    runs: int = 1,
) -> Outcome:
    """Estimates the mean of a kernel over all pairs of points; the model is everybody's estimate.

    With `privacy` all users first replace their points by private reports (`cells`, see
    `fit_local`), which then travel in their place. Without, points are shown to strangers. Errors
    in the history are distances from the statistic of all that travels, which no user knows.

    Raises:
        UsageError: parts do not fit together.
    """
    graph = require_gossip(graph, len(problem), clock)
    ledger = PrivacyLedger(privacy, assumptions=kernel.assumptions if privacy else ())
    run = AlgorithmRun(seed=seed, progress=progress, ledger=ledger)
    pairs: Between
    if privacy is not None:
        pairs = reports_of(problem, kernel, cells, ledger, seed=seed)
    elif cells is not None:
        raise UsageError("points are put into cells to be hidden: say how well", "privacy")
    else:
        pairs = Pairs(kernel, problem)
    marks = np.geomspace(1, whole(steps, "steps"), 60).astype(int)
    walk = estimates(pairs, graph, method=method, steps=steps, marks=marks, seed=seed, runs=runs)
    with run:
        goal = pairs.mean(run.advance)
        for step, found in walk:
            missed = np.abs(found - goal).mean(axis=1)
            run.note(step=step, error=missed, spread=found.std(axis=1))
            run.advance("steps", step, steps)
            if run.stopped:
                break
    sent = 2 * step * (2 if method == "u2" else 1)
    # A point, whose it is, and but for U2 an estimate.
    numbers = 3 if method == "u2" else 4
    return run.outcome(
        f"statistic of pairs ({kernel.name}, {method})",
        found if runs > 1 else found[0],
        messages=sent,
        bytes=NUMBER_BYTES * numbers * sent,
        converged=bool((missed <= _CLOSE * max(abs(goal), _LEAST)).all()),
    )
