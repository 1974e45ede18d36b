"""Learns from losses of pairs by gossip: dual averaging of gradients, while rows travel.

Specification: `specs/23-pairwise.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.draws import Draws
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.clocks import Clock
from gopa.learning.data import Users
from gopa.learning.fitting import Progress, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome
from gopa.learning.pairwise.gossip import (
    Exchanges,
    blocks_until,
    exchanges,
    gap_per_step,
    require_gossip,
)
from gopa.learning.pairwise.kernels import Floats, Places
from gopa.learning.pairwise.losses import RANKING, MeanLoss, PairLoss, rows_of
from gopa.learning.pairwise.private_rows import PrivateRows
from gopa.learning.privacy import Privacy
from gopa.learning.steps import Steps, root

Method: TypeAlias = Literal["asynchronous", "synchronous", "central"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)

_NUMBER_BYTES: Final = 8
_STALLED: Final = 0.02
_SHOWN: Final = 1500


@dataclass(frozen=True, slots=True)
class Prox:
    """Chooses the model from summed gradients z: the best for z, a regulariser and a step.

    Of `lasso` |model|_1 + `ridge` |model|_2^2 / 2, within a ball of this `radius`; with a radius
    no lasso.
    """

    ridge: float = 0.0
    lasso: float = 0.0
    radius: float = math.inf

    def __post_init__(self) -> None:
        for name in ("ridge", "lasso"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError("at least 0", name)
        if not self.radius > 0 or (self.lasso and self.radius < math.inf):
            raise UsageError("above 0, and infinite beside a lasso", "radius")

    def __call__(self, sums: Floats, times: Floats, step: Floats) -> Floats:
        """The models that minimise z . m + |m|^2 / (2 step) + time psi(m)."""
        left = sums
        if self.lasso:
            left = np.sign(sums) * np.maximum(np.abs(sums) - self.lasso * times[..., None], 0.0)
        models = -left * (step / (1 + step * times * self.ridge))[..., None]
        if self.radius < math.inf:
            longest = np.sqrt(np.einsum("...d,...d->...", models, models))
            models = models / np.maximum(longest / self.radius, 1.0)[..., None]
        return np.asarray(models)

    def value(self, models: Floats) -> Floats:
        """The regulariser of each model."""
        squares = np.einsum("...d,...d->...", models, models)
        return np.asarray(self.ridge / 2 * squares + self.lasso * np.abs(models).sum(axis=-1))


class PairGradients(Protocol):
    """Tells gradients of the loss of two users' rows, exactly or behind noise."""

    @property
    def users(self) -> int:
        """How many users there are."""

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""

    def gradient(self, models: Floats, one: Places, other: Places) -> Floats:
        """The gradient for each two users, at a model of its own."""


class OpenRows:
    """Tells exact gradients, from rows that travel as they are."""

    def __init__(self, loss: PairLoss, rows: Floats) -> None:
        self._loss, self._rows = loss, rows
        self.users, self.dimension = len(rows), loss.dimension(rows.shape[1] - 1)

    def gradient(self, models: Floats, one: Places, other: Places) -> Floats:
        """The gradient for each two users, at a model of its own."""
        return self._loss.gradient(models, self._rows[one], self._rows[other])


@dataclass(frozen=True, slots=True, eq=False)
class DualIterate:
    """Holds all users' models after `number` steps, by run and user, and what led to them.

    `averaged` are the means of all models that a user had so far, which theorems are about;
    `seen` says whose row a user holds, and `sums` are summed gradients.
    """

    number: int
    averaged: Floats
    models: Floats
    sums: Floats
    seen: Places

    def first(self, runs: int) -> DualIterate:
        """The same of the first runs alone."""
        kept = slice(runs)
        return DualIterate(
            self.number, self.averaged[kept], self.models[kept], self.sums[kept], self.seen[kept]
        )


class _State:
    """Holds what all users of all runs know, and lets them act."""

    def __init__(
        self, rows: PairGradients, graph: Graph, runs: int, pace: Steps, prox: Prox
    ) -> None:
        self._rows, self._pace, self._prox = rows, pace, prox
        self._shape = (runs, rows.users)
        slots = runs * rows.users
        self._sums, self._models, self._averaged = np.zeros((3, slots, rows.dimension))
        self._everybody = np.tile(np.arange(rows.users), runs)
        self._seen, self._acted = self._everybody.copy(), np.zeros(slots)
        # In so many steps a user acts once, on average.
        self._waits = np.tile(graph.edge_count / graph.degrees, runs)

    def meet(self, now: Exchanges) -> None:
        """Both ends average their sums and swap rows."""
        at, half = now.slots, len(now.slots) // 2
        mean = (self._sums[at[:half]] + self._sums[at[half:]]) / 2
        self._sums[at] = np.concatenate([mean, mean])
        self._seen[now.partners] = self._seen[at]

    def act(self, at: Places, users: Places, waits: Floats) -> None:
        """These take a step, as if they stood for all steps since the last one."""
        acted = self._acted[at] + 1
        slope = self._rows.gradient(self._models[at], users, self._seen[at])
        sums, times = self._sums[at] + waits[:, None] * slope, acted * waits
        models = self._prox(sums, times, self._pace(times))
        self._sums[at], self._models[at], self._acted[at] = sums, models, acted
        self._averaged[at] += (models - self._averaged[at]) / acted[:, None]

    def exchange(self, now: Exchanges) -> None:
        """Both ends meet, and each takes a step."""
        self.meet(now)
        self.act(now.slots, now.users, self._waits[now.slots])

    def everybody(self) -> None:
        """All users take a step of the common clock."""
        slots = np.arange(len(self._seen))
        self.act(slots, self._everybody, np.ones(len(slots)))

    def at(self, step: int) -> DualIterate:
        """What there is now."""
        averaged, models, sums = (
            each.reshape(*self._shape, -1).copy()
            for each in (self._averaged, self._models, self._sums)
        )
        return DualIterate(step, averaged, models, sums, self._seen.reshape(self._shape).copy())


def dual_averages(  # noqa: PLR0913 - dual averaging has many parts
    rows: PairGradients,
    graph: Graph | None,
    *,
    method: Method = "asynchronous",
    clock: Clock | None = None,
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
    whole(steps, "steps")
    whole(runs, "runs")
    gamma, chosen = root(1.0) if pace is None else pace, prox or Prox()
    ends = set(np.asarray([steps] if marks is None else marks).tolist())
    if method == "central":
        yield from _central(rows, gamma, chosen, steps=steps, ends=ends, seed=seed, runs=runs)
        return
    require_gossip(graph, rows.users, clock)
    assert graph is not None  # noqa: S101 - just refused
    state = _State(rows, graph, runs, gamma, chosen)
    # By a common clock everybody acts between any two exchanges of a run.
    size = 1 if method == "synchronous" else None
    for first, blocks in blocks_until(
        graph, clock, [seed], steps=steps, runs=runs, ends=ends, size=size
    ):
        for now, _ in exchanges(blocks, first, rows.users):
            if method == "synchronous":
                state.meet(now)
            else:
                state.exchange(now)
        if method == "synchronous":
            state.everybody()
        done = first + blocks[0].shape[1]
        if done in ends:
            yield state.at(done)


def _central(  # noqa: PLR0913 - as above
    rows: PairGradients,
    pace: Steps,
    prox: Prox,
    *,
    steps: int,
    ends: set[int],
    seed: int,
    runs: int,
) -> Iterator[DualIterate]:
    streams = [Draws(seed, "dual averaging", "pair", run) for run in range(runs)]
    pairs = np.stack([each.below(rows.users**2, steps) for each in streams])
    first, second = np.divmod(pairs, rows.users)
    sums, models, averaged = np.zeros((3, runs, rows.dimension))
    for step in range(1, steps + 1):
        slope = rows.gradient(models, first[:, step - 1], second[:, step - 1])
        sums = sums + slope
        times = np.full(runs, float(step))
        models = prox(sums, times, pace(times))
        averaged = averaged + (models - averaged) / step
        if step in ends:
            held = second[:, step - 1, None]
            yield DualIterate(step, averaged[:, None], models[:, None], sums[:, None], held)


def gradient_bias(loss: PairLoss, rows: Floats, found: DualIterate) -> Floats:
    """How far the mean of all users' gradients is from what all pairs would give, by run.

    It is the bias of Theorem 3.2, each user at its own model: the rows that users hold are those
    of their neighbours first.
    """
    runs, users, _ = found.models.shape
    everybody = np.arange(users)
    total = np.zeros((runs, found.models.shape[2]))
    for run in range(runs):
        held = loss.gradient(found.models[run], rows, rows[found.seen[run]])
        total[run] = held.mean(axis=0)
        for user in everybody:
            at = np.broadcast_to(found.models[run, user], (users, found.models.shape[2]))
            total[run] -= loss.gradient(at, rows[user], rows).mean(axis=0) / users
    return total


def optimality_bound(  # noqa: PLR0913 - a theorem has many parts
    graph: Graph, pace: Steps, steps: int, *, steepest: float, far: float, bias: float
) -> float:
    """C1 + C2 + C3 of Theorem 3.2: bounds how far the averaged model is from the best value.

    `far` is the length of the best model, `bias` the third term, summed over all steps.
    """
    along = pace(np.arange(1, steps + 1))
    summed = float(along[:-1].sum()) / steps
    first = far**2 / (2 * steps * float(along[-1])) + steepest**2 / 2 * summed
    return (
        first + 3 * steepest**2 * summed / (1 - math.sqrt(1 - gap_per_step(graph))) + bias / steps
    )


def fit_dual_averaging(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    loss: PairLoss = RANKING,
    privacy: Privacy | None = None,
    graph: Graph | None = None,
    clock: Clock | None = None,
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
    shown to strangers. The loss in the history is that of all pairs of at most 1,500 users.

    Raises:
        UsageError: parts do not fit together.
    """
    begun, rows = perf_counter(), rows_of(problem)
    require_seed(seed)
    if method == "central" and (graph is not None or clock is not None):
        raise UsageError("one place has all rows: leave graph and clock out", "graph")
    ledger = PrivacyLedger(privacy, assumptions=["labels are public"])
    travelling: PairGradients = OpenRows(loss, rows)
    if privacy is not None:
        travelling = PrivateRows.of(loss, problem, codebook, ledger, seed=seed)
    elif codebook is not None:
        raise UsageError("rows become those of a codebook to be hidden: say how well", "privacy")
    # All pairs of more users would not fit into memory; of both labels some are among these.
    some = np.argsort(rows[:, -1], kind="stable")[:: -(-len(rows) // _SHOWN)]
    chosen, notes, mean = prox or Prox(), Recorder(), MeanLoss(loss, rows[some])
    marks = np.unique(np.geomspace(1, whole(steps, "steps"), 30).astype(int))
    walk = dual_averages(
        travelling, graph, method=method, clock=clock, pace=pace, prox=chosen, steps=steps,
        marks=marks, seed=seed, runs=runs,
    )  # fmt: skip
    with told(progress) as advance:
        for found in walk:
            model = found.averaged.mean(axis=1)
            apart = np.sqrt(((found.averaged - model[:, None]) ** 2).sum(axis=-1)).max(axis=1)
            notes.note(
                step=found.number, loss=mean.value(model) + chosen.value(model), spread=apart
            )
            advance("steps", found.number, steps)
    history, sent = notes.history(), 0 if method == "central" else 2 * steps
    last = history["loss"]
    half = int(np.searchsorted(history["step"], steps / 2))
    return Outcome(
        algorithm=f"dual averaging of pairs ({loss.name}, {method})",
        model=model if runs > 1 else model[0],
        history=history,
        spent=ledger.spent(),
        messages=sent,
        bytes=_NUMBER_BYTES * (rows.shape[1] + travelling.dimension) * sent,
        seconds=perf_counter() - begun,
        seed=seed,
        converged=bool((np.abs(last[half] - last[-1]) <= _STALLED * last[0]).all()),
    )
