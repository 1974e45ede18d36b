"""Runs the descent: every row once, or several times behind more noise.

Specification: `specs/19-without-replacement.md`, sections 1 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.draws import Draws
from gopa.learning.charges import Charge
from gopa.learning.clipping import clip
from gopa.learning.data import Table, Users
from gopa.learning.fitting import Progress, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy, Spent
from gopa.learning.steps import Steps, constant, root
from gopa.learning.without_replacement.models import LONGEST, Floats, OneVsAll, Trained
from gopa.learning.without_replacement.noise import DEVIATION, Calibration, Noise, noise_for
from gopa.learning.without_replacement.policies import ALWAYS, Coin, Controller, Policy
from gopa.noise import rounded_gaussian, subseed

_VISITS: Final = 5
_NUMBER_BYTES: Final = 8


@dataclass(slots=True)
class _Network:
    """Holds the public models and those of all nodes, and takes their steps."""

    losses: OneVsAll
    batch: int
    noise: Noise | None
    radius: float
    seed: int
    public: Floats
    own: Floats
    longest: Floats
    """For each node, run and model: the longest step since its model was public."""
    fetched: int = 0
    """How many models nodes fetched in the first run, to change them and pass them on."""
    messages: int = 0
    decided: Any = 0
    """How many models of each run became public since the last note."""
    _law: Any = field(default_factory=lambda: rounded_gaussian(DEVIATION))

    @classmethod
    def of(cls, losses: OneVsAll, nodes: int, runs: int, width: int, **rest: Any) -> _Network:
        """All models at zero."""
        public = np.zeros((runs, losses.count, width))
        own = np.zeros((nodes, *public.shape))
        return cls(losses, public=public, own=own, longest=np.zeros(own.shape[:-1]), **rest)

    def step(  # noqa: PLR0913 - a step has a node, rows, a length and a number
        self,
        node: int,
        x: Floats,
        signs: Floats,
        *,
        length: float,
        number: int,
        public: npt.NDArray[np.bool_],
    ) -> None:
        """One step of one node: by itself, or where `public` says so for all to see."""
        own, shared = self.own[node], self.public
        self.longest[node] = np.maximum(self.longest[node], length)
        alone = own - 2 * length * self.losses.gradients(own, x, signs)
        if public.any():
            private = own / 2 - length * self.losses.gradients(shared, x, signs)
            joined = shared / 2 + self._noised(private, node, number)
            alone = np.where(public[..., None], joined, alone)
        alone = clip(alone, 2, self.radius) if self.radius < math.inf else alone
        self.own[node] = alone
        self.public = np.where(public[..., None], alone, shared)
        self.longest[node][public] = 0.0
        self.decided = self.decided + public.sum(axis=1)
        self.fetched += int(public[0].sum())
        self.messages += 2 * bool(public[0].any())

    def _noised(self, values: Floats, node: int, number: int) -> Floats:
        """Values on a grid, and noise in whole steps of it as wide as what they may move by."""
        if self.noise is None:
            return values
        moved = 2 * self.longest[node] * LONGEST / self.batch
        unit = (moved * self.noise.deviation / DEVIATION)[..., None]
        drawn = [
            self._law.draw(
                subseed(self.seed, "without replacement", run, node, number), values.shape[1:]
            )
            for run in range(len(values))
        ]
        return np.asarray((np.rint(values / unit) + np.stack(drawn)) * unit)


def fit_without_replacement(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    graph: Any = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    policy: Policy = Coin(0.1),  # noqa: B008 - it is frozen
    steps: Steps | None = None,
    batch: int = 50,
    ridge: float = 0.0,
    radius: float = math.inf,
    calibration: Calibration = "joint",
    runs: int = 1,
    test: Table | None = None,
) -> Outcome:
    """Visits every row once; each node either steps alone or makes its model public, with noise.

    Rows are shortened to length 1. `privacy` is for a record, against whoever sees all public
    models; nodes' own models are told to nobody. Rows that fill no whole batch are left out.

    Raises:
        UsageError: parts do not fit together.
    """
    started, pace = perf_counter(), constant(0.1) if steps is None else steps
    data = _Rows.of(problem, batch, seed=seed, runs=runs, graph=graph, clock=clock)
    losses, iterations = OneVsAll.of(problem, ridge), data.batches
    _require_short(pace, losses)
    noise = _noise(privacy, losses, data.width, calibration)
    network = _Network.of(
        losses, len(problem), runs, data.width, batch=batch, noise=noise, radius=radius, seed=seed
    )
    spent = _spent(privacy, policy, noise, losses=losses, calibration=calibration)
    controllers = [
        policy.controller(node, runs=runs, models=losses.count, width=data.width, seed=seed)
        for node in range(len(problem))
    ]
    notes = Recorder()
    with told(progress) as advance:
        for number in range(iterations):
            advance("steps", number, iterations)
            length = float(pace(number + 1))
            for node, controller in enumerate(controllers):
                if rows := data.batch(node, number):
                    _act(network, node, controller, rows, length=length, number=number)
            _note(notes, number + 1, network, test)
        advance("steps", iterations, iterations)
    return _outcome(
        f"SGD without replacement ({policy.name})",
        network,
        notes,
        spent,
        started=started,
        seed=seed,
    )


def fit_with_replacement(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    graph: Any = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    steps: Steps | None = None,
    batch: int = 50,
    ridge: float = 0.0,
    radius: float = math.inf,
    calibration: Calibration = "joint",
    runs: int = 1,
    test: Table | None = None,
) -> Outcome:
    """Visits every row five times, each time with a fifth of epsilon and delta: the baseline.

    In each step a random node makes its model public, by random rows of those it has visited
    least often: so no row is visited more than five times.
    """
    started, pace = perf_counter(), root(1.0) if steps is None else steps
    _require_short(pace, OneVsAll.of(problem, ridge))
    passes = [
        _Rows.of(problem, batch, seed=seed, runs=runs, graph=graph, clock=clock, turn=turn)
        for turn in range(_VISITS)
    ]
    losses, width = OneVsAll.of(problem, ridge), passes[0].width
    part = None if privacy is None else (privacy.epsilon / _VISITS, privacy.delta / _VISITS)
    noise = (
        None
        if part is None
        else noise_for(*part, models=losses.count, width=width, calibration=calibration)
    )
    network = _Network.of(
        losses, len(problem), runs, width, batch=batch, noise=noise, radius=radius, seed=seed
    )
    spent = _spent(privacy, ALWAYS, noise, losses=losses, calibration=calibration, visits=_VISITS)
    left = np.array([len(rows) // batch * _VISITS for rows in problem.rows])
    order, notes = Draws(seed, "with replacement", "nodes"), Recorder()
    everybody = np.ones((runs, losses.count), dtype=bool)
    total, taken = int(left.sum()), np.zeros(len(problem), dtype=int)
    with told(progress) as advance:
        for number in range(total):
            advance("steps", number, total)
            busy = np.flatnonzero(left > taken)
            node = int(busy[order.below(len(busy), 1)[0]])
            turn, place = divmod(int(taken[node]), len(problem.rows[node]) // batch)
            taken[node] += 1
            if rows := passes[turn].batch(node, place):
                network.step(
                    node,
                    rows[0],
                    losses.signs(rows[1]),
                    length=float(pace(number + 1)),
                    number=number,
                    public=everybody,
                )
            if number % len(problem) == 0 or number == total - 1:
                _note(notes, number + 1, network, test)
        advance("steps", total, total)
    return _outcome("SGD with replacement", network, notes, spent, started=started, seed=seed)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Holds the rows of all nodes in the order in which each run visits them."""

    x: Floats
    labels: npt.NDArray[Any]
    order: Sequence[npt.NDArray[np.int64]]
    size: int

    @classmethod
    def of(  # noqa: PLR0913 - rows are visited by seed, run and turn
        cls,
        problem: Users,
        size: int,
        *,
        seed: int,
        runs: int,
        graph: Any,
        clock: Any,
        turn: int = 0,
    ) -> _Rows:
        """In an order of their own for each node and run."""
        require_seed(seed)
        if graph is not None or clock is not None:
            raise UsageError("all nodes hear the public model, and act in turn", "graph")
        if type(size) is not int or size < 1 or type(runs) is not int or runs < 1:
            raise UsageError("at least one row and one run", "batch")
        if int(problem.counts.min()) < size:
            raise UsageError(f"a node has fewer rows than a batch: {size}", "batch")
        order = [
            np.stack(
                [rows[Draws(seed, "rows", turn, run, node).order(len(rows))] for run in range(runs)]
            )
            for node, rows in enumerate(problem.rows)
        ]
        return cls(clip(problem.table.features, 2, LONGEST), problem.table.labels, order, size)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return int(self.x.shape[1])

    @property
    def batches(self) -> int:
        """How many the node with most rows has."""
        return max(int(each.shape[1]) // self.size for each in self.order)

    def batch(self, node: int, number: int) -> tuple[Floats, npt.NDArray[Any]] | None:
        """Rows (runs, batch, d) and labels of one batch; None when all were visited."""
        taken = self.order[node][:, number * self.size : (number + 1) * self.size]
        if taken.shape[1] < self.size:
            return None
        return self.x[taken], self.labels[taken]


def _act(  # noqa: PLR0913 - a step has a node, rows, a length and a number
    network: _Network,
    node: int,
    controller: Controller,
    rows: tuple[Floats, npt.NDArray[Any]],
    *,
    length: float,
    number: int,
) -> None:
    losses, x, own = network.losses, rows[0], network.own[node]
    signs = losses.signs(rows[1])
    public = controller.choose(own, losses.losses(own, x, signs))
    network.step(node, x, signs, length=length, number=number, public=public)
    controller.told(losses.losses(network.own[node], x, signs))


def _noise(
    privacy: Privacy | None, losses: OneVsAll, width: int, calibration: Calibration
) -> Noise | None:
    if privacy is None:
        return None
    return noise_for(
        privacy.epsilon, privacy.delta, models=losses.count, width=width, calibration=calibration
    )


def _spent(  # noqa: PLR0913 - what is spent depends on everything
    privacy: Privacy | None,
    policy: Policy,
    noise: Noise | None,
    *,
    losses: OneVsAll,
    calibration: Calibration,
    visits: int = 1,
) -> tuple[Spent, tuple[str, ...]]:
    """What the whole run costs, and what has to be said about it."""
    if privacy is None or noise is None:
        return Spent.nothing_hidden("record"), ()
    if privacy.unit != "record" or privacy.view != "everything":
        raise UsageError("it hides one record from whoever sees all public models", "privacy")
    if privacy.relation != "replace-one":
        raise UsageError("a record is replaced: the number of rows is known", "privacy")
    assumed = ["nodes tell nobody their own models"]
    if policy.reads_data:
        claim = (
            f"published claim: epsilon {privacy.epsilon:g} for each of {losses.count} models; "
            "decisions follow from private losses, and nothing protects them"
        )
        return Spent.of(privacy, math.inf, theorem="none", assumptions=assumed), (claim,)
    if calibration == "joint":
        ledger = PrivacyLedger(privacy, assumptions=assumed)
        ledger.charge(Charge.guarantee(privacy.epsilon / visits, privacy.delta / visits), visits)
        return ledger.spent(), ()
    claim = (
        f"published claim: epsilon {privacy.epsilon:g}, for each of {losses.count} models alone; "
        f"together they spend {visits * noise.epsilon:.3g}"
    )
    spent = Spent.of(
        privacy, visits * noise.epsilon, theorem="normal noise for all models", assumptions=assumed
    )
    return spent, (claim,) if losses.count > 1 else ()


def _require_short(steps: Steps, losses: OneVsAll) -> None:
    """A longer step spreads models apart, and noise is calibrated for steps that do not."""
    if float(steps(1)) * losses.smoothness > 1:
        raise UsageError(f"the first step is at most {1 / losses.smoothness:.3g}", "steps")


def _note(notes: Recorder, number: int, network: _Network, test: Table | None) -> None:
    models = Trained(network.losses.classes, network.public, network.own)
    row: dict[str, Any] = {"step": number, "public": network.decided}
    network.decided = 0
    if test is not None:
        row["accuracy"], row["own accuracy"] = models.accuracy(test)
    notes.note(**row)


def _outcome(  # noqa: PLR0913 - an outcome has many parts
    name: str,
    network: _Network,
    notes: Recorder,
    spent: tuple[Spent, tuple[str, ...]],
    *,
    started: float,
    seed: int,
) -> Outcome:
    trained = Trained(network.losses.classes, network.public, network.own)
    return Outcome(
        algorithm=name,
        model=trained,
        history=notes.history(),
        spent=spent[0],
        messages=network.messages,
        bytes=2 * _NUMBER_BYTES * trained.public.shape[-1] * network.fetched,
        seconds=perf_counter() - started,
        seed=seed,
        warnings=spent[1],
    )
