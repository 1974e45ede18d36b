"""Learns from losses of pairs by gossip: dual averaging of gradients, while rows travel.

Specification: `specs/23-pairwise.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.calls import algorithm
from gopa.learning.checks import number, require_seed, whole
from gopa.learning.clipping import within
from gopa.learning.clocks import Steps, root
from gopa.learning.data import Users
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.pairwise.gossip import NUMBER_BYTES, exchanges, marked, require_gossip
from gopa.learning.pairwise.kernels import Places
from gopa.learning.pairwise.losses import PAIR_LOSSES, RANKING, MeanLoss, PairLoss, rows_of
from gopa.learning.pairwise.private_rows import PrivateRows
from gopa.learning.privacy import Privacy
from gopa.support.arrays import Floats
from gopa.support.draws import Draws

Method: TypeAlias = Literal["asynchronous", "synchronous", "central"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)

_STALLED: Final = 0.02
_SHOWN: Final = 1500


@dataclass(frozen=True, slots=True)
class Prox:
    """The model for summed gradients z: the best for z, a regulariser and a step.

    Of `lasso` |model|_1 + `ridge` |model|_2^2 / 2, within a ball of this `radius`; with a radius
    no lasso.
    """

    ridge: float = 0.0
    lasso: float = 0.0
    radius: float = math.inf

    def __post_init__(self) -> None:
        for name in ("ridge", "lasso"):
            if not 0 <= number(getattr(self, name), name) < math.inf:
                raise UsageError("at least 0", name)
        if not number(self.radius, "radius") > 0 or (self.lasso and self.radius < math.inf):
            raise UsageError("above 0, and infinite beside a lasso", "radius")

    def __call__(self, sums: Floats, times: Floats, step: Floats) -> Floats:
        """The models that minimise z . m + |m|^2 / (2 step) + time psi(m)."""
        left = sums
        if self.lasso:
            left = np.sign(sums) * np.maximum(np.abs(sums) - self.lasso * times[..., None], 0.0)
        models = -left * (step / (1 + step * times * self.ridge))[..., None]
        return np.asarray(within(models, self.radius))

    def value(self, models: Floats) -> Floats:
        """The regulariser of each model."""
        squares = np.einsum("...d,...d->...", models, models)
        return np.asarray(self.ridge / 2 * squares + self.lasso * np.abs(models).sum(axis=-1))


class OpenRows:
    """Exact gradients, from rows that travel as they are."""

    def __init__(self, loss: PairLoss, rows: Floats) -> None:
        self._loss, self._rows = loss, rows
        self.users, self.dimension = len(rows), loss.dimension(rows.shape[1] - 1)

    def gradient(self, models: Floats, one: Places, other: Places) -> Floats:
        """The gradient for each two users, at a model of its own."""
        return self._loss.gradient(models, self._rows[one], self._rows[other])


PairGradients: TypeAlias = OpenRows | PrivateRows
"""Tells gradients of the loss of two users' rows, exactly or behind noise."""


@dataclass(frozen=True, slots=True, eq=False)
class DualIterate:
    """All users' models after `number` steps, by run and user, and what led to them.

    `averaged` are the means of all models that a user had so far, which theorems are about;
    `seen` says whose row a user holds, and `sums` are summed gradients.
    """

    number: int
    averaged: Floats
    models: Floats
    sums: Floats
    seen: Places


class _State:
    """What so many users of all runs know, and their steps."""

    def __init__(self, rows: PairGradients, runs: int, users: int, pace: Steps, prox: Prox) -> None:
        self._rows, self._pace, self._prox, self._shape = rows, pace, prox, (runs, users)
        self._sums, self._models, self._averaged = np.zeros((3, runs * users, rows.dimension))
        self.seen, self._acted = np.tile(np.arange(users), runs), np.zeros(runs * users)

    def meet(self, at: Places) -> None:
        """Both ends average their sums and swap rows."""
        held = self._sums[at]
        self._sums[at], self.seen[at] = (held[0] + held[1]) / 2, self.seen[at[::-1]]

    def act(self, at: Places, users: Places, waits: Floats) -> None:
        """Take a step of these users, as if it stood for all since their last one."""
        acted = self._acted[at] + 1
        slope = self._rows.gradient(self._models[at], users, self.seen[at])
        sums, times = self._sums[at] + waits[:, None] * slope, acted * waits
        models = self._prox(sums, times, self._pace(times))
        self._sums[at], self._models[at], self._acted[at] = sums, models, acted
        self._averaged[at] += (models - self._averaged[at]) / acted[:, None]

    def at(self, step: int) -> DualIterate:
        """What there is now."""
        averaged, models, sums = (
            each.reshape(*self._shape, -1).copy()
            for each in (self._averaged, self._models, self._sums)
        )
        return DualIterate(step, averaged, models, sums, self.seen.reshape(self._shape).copy())


def dual_averages(  # noqa: PLR0913 - dual averaging has many parts
    rows: PairGradients,
    graph: Graph | None,
    *,
    method: Method = "asynchronous",
    pace: Steps | None = None,
    prox: Prox | None = None,
    steps: int,
    marks: npt.ArrayLike | None = None,
    seed: int,
    runs: int = 1,
) -> Iterator[DualIterate]:
    """Iterates at `marks`, or in the end.

    `pace` is gamma, by default 1 / sqrt(t). The method "central" knows all rows, takes two at
    random in every step, and has a single user.

    Raises:
        UsageError: parts do not fit together.
    """
    if method not in METHODS:
        raise UsageError(f"one of {', '.join(METHODS)}", "method")
    require_seed(seed)
    ends, many = marked(marks, steps), whole(runs, "runs")
    users = 1 if method == "central" else rows.users
    state = _State(rows, many, users, root(1.0) if pace is None else pace, prox or Prox())
    slots, ones = np.arange(many * users), np.ones(many * users)
    if method == "central":
        for step, (one, other) in enumerate(_drawn(rows.users, steps, seed, many), 1):
            state.seen = other
            state.act(slots, one, ones)
            if step in ends:
                yield state.at(step)
        return
    graph = require_gossip(graph, users)
    # In so many steps a user acts once, on average.
    waits, everybody = graph.edge_count / graph.degrees, slots % users
    for step, (ends_of, at) in enumerate(exchanges(graph, seed, steps=steps, runs=many), 1):
        state.meet(at)
        if method == "synchronous":
            state.act(slots, everybody, ones)
        else:
            state.act(at.ravel(), ends_of.ravel(), waits[ends_of.ravel()])
        if step in ends:
            yield state.at(step)


def _drawn(users: int, steps: int, seed: int, runs: int) -> Iterator[tuple[Places, Places]]:
    """Two users in every step, by run: each of all n^2 pairs is equally likely."""
    streams = (Draws(seed, "pairwise", "dual averaging", run) for run in range(runs))
    pairs = np.stack([each.below(users**2, steps) for each in streams], axis=1)
    return zip(*np.divmod(pairs, users), strict=True)


@algorithm(named={"loss": (PairLoss, PAIR_LOSSES)})
def fit_dual_averaging(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    loss: PairLoss = RANKING,
    privacy: Privacy | None = None,
    graph: Graph | None = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    method: Method = "asynchronous",
    codebook: npt.ArrayLike | None = None,
    pace: Steps | None = None,
    prox: Prox | None = None,
    steps: int = 20_000,
    runs: int = 1,
) -> Outcome:
    """Minimises the mean of a loss over all pairs of rows; the model is the mean of all users'.

    With `privacy` all users first replace their features by a private report of the nearest row of
    the public `codebook`, and reports travel in their place; labels are public. Without, rows are
    shown to strangers. The loss in the history is that of true rows, all pairs of at most 1,500
    users: it judges a simulation, and what is claimed of models does not hold for it.

    Raises:
        UsageError: parts do not fit together.
    """
    rows = rows_of(problem)
    if method == "central" and graph is not None:
        raise UsageError("one place has all rows: leave the graph out", "graph")
    if method != "central" or clock is not None:
        require_gossip(graph, len(rows), clock)
    ledger = PrivacyLedger(privacy, assumptions=["labels are public"] if privacy else ())
    run = AlgorithmRun(seed=seed, progress=progress, ledger=ledger)
    travelling: PairGradients = OpenRows(loss, rows)
    if privacy is not None:
        travelling = PrivateRows.of(loss, problem, codebook, ledger, seed=seed)
    elif codebook is not None:
        raise UsageError("rows become those of a codebook to be hidden: say how well", "privacy")
    # All pairs of more users would not fit into memory; of both labels some are among these.
    some = np.argsort(rows[:, -1], kind="stable")[:: -(-len(rows) // _SHOWN)]
    chosen, mean = prox or Prox(), MeanLoss(loss, rows[some])
    marks = np.geomspace(1, whole(steps, "steps"), 30).astype(int)
    walk = dual_averages(
        travelling, graph, method=method, pace=pace, prox=chosen, steps=steps, marks=marks,
        seed=seed, runs=runs,
    )  # fmt: skip
    with run:
        for found in walk:
            model = found.averaged.mean(axis=1)
            apart = np.sqrt(((found.averaged - model[:, None]) ** 2).sum(axis=-1)).max(axis=1)
            loss_now = mean.value(model) + chosen.value(model)
            run.note(step=found.number, loss=loss_now, spread=apart)
            run.advance("steps", found.number, steps)
            if run.stopped:
                break
    history, sent = run.history, 0 if method == "central" else 2 * found.number
    last = history["loss"]
    half = int(np.searchsorted(history["step"], found.number / 2))
    # A row, or a cell and a label; whose it is; and gradients.
    numbers = (rows.shape[1] if privacy is None else 2) + 1 + travelling.dimension
    return run.outcome(
        f"dual averaging of pairs ({loss.name}, {method})",
        model if runs > 1 else model[0],
        messages=sent,
        bytes=NUMBER_BYTES * numbers * sent,
        converged=bool((np.abs(last[half] - last[-1]) <= _STALLED * last[0]).all()),
    )
