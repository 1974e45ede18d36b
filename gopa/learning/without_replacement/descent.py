"""Runs the descent: every row once, or several times behind more noise.

Specification: `specs/19-without-replacement.md`, sections 1 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Required, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import whole
from gopa.learning.clipping import DEVIATION, clip, on_grid, within
from gopa.learning.clocks import Steps, constant, root
from gopa.learning.data import Table, Users
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.privacy import Charge, Privacy, Spent
from gopa.learning.without_replacement.models import LONGEST, OneVsAll, Trained
from gopa.learning.without_replacement.noise import Calibration, Noise, noise_for
from gopa.learning.without_replacement.policies import ALWAYS, Coin, Policy
from gopa.noise import rounded_gaussian, subseed
from gopa.support.arrays import Floats
from gopa.support.draws import Draws

_VISITS: Final = 5
_NUMBER_BYTES: Final = 8
_TENTH: Final = constant(0.1)
_ROOT: Final = root(1.0)
_COIN: Final = Coin(0.1)

Labels = npt.NDArray[Any]


class NodeOptions(TypedDict, total=False):
    """What training by nodes in turn is asked for; `_Network.of` has what follows if nothing is."""

    privacy: Required[Privacy | None]
    seed: Required[int]
    progress: Progress
    steps: Steps
    batch: int
    ridge: float
    radius: float
    calibration: Calibration
    runs: int
    test: Table | None


_IN_TURN: Final = "all nodes hear the public model, and act in turn"


@algorithm(more=NodeOptions.__annotations__, alone=_IN_TURN)
def fit_without_replacement(
    problem: Users, *, policy: Policy = _COIN, **asked: Unpack[NodeOptions]
) -> Outcome:
    """Visits every row once; each node either steps alone or makes its model public, with noise.

    Keywords are those of `NodeOptions`: by default `steps` are 0.1 long and a `batch` has 50 rows.
    Rows are shortened to length 1. `privacy` is for a record that one node has, against whoever
    sees all public models of one run; nodes' own models are told to nobody. Rows that fill no whole
    batch are left out.

    Raises:
        UsageError: parts do not fit together.
    """
    network = _Network.of(problem, policy, visits=1, **asked)
    seed, (runs, models, width) = network.run.seed, network.public.shape
    controllers = [
        policy.controller(node, runs=runs, models=models, width=width, seed=seed)
        for node in range(len(problem))
    ]
    rows, losses = network.passes[0], network.losses
    iterations = max(map(rows.batches, range(len(problem))))
    with network.run as run:
        for number in run.steps(iterations):
            for node, controller in enumerate(controllers):
                if number < rows.batches(node):
                    x, signs = rows.batch(node, number, losses)
                    own = network.own[node]
                    public = controller.choose(own, losses.losses(own, x, signs))
                    network.step(node, x, signs, number=number, public=public)
                    controller.told(losses.losses(network.own[node], x, signs))
            network.note(number + 1)
    return network.outcome(f"SGD without replacement ({policy.name})")


@algorithm(more=NodeOptions.__annotations__, alone=_IN_TURN)
def fit_with_replacement(problem: Users, **asked: Unpack[NodeOptions]) -> Outcome:
    """Visits every row five times, each time with a fifth of epsilon and delta: the baseline.

    In each step a random node makes its model public, by random rows of those it has visited
    least often: so no row is visited more than five times.
    """
    network = _Network.of(problem, ALWAYS, visits=_VISITS, **({"steps": _ROOT} | asked))
    nodes, order = len(problem), Draws(network.run.seed, "with replacement", "nodes")
    each = np.array([network.passes[0].batches(node) for node in range(nodes)])
    total, taken = int(each.sum()) * _VISITS, np.zeros(nodes, dtype=int)
    everybody = np.ones(network.public.shape[:2], dtype=bool)
    with network.run as run:
        for number in run.steps(total):
            busy = np.flatnonzero(_VISITS * each > taken)
            node = int(busy[order.below(len(busy), 1)[0]])
            turn, place = divmod(int(taken[node]), int(each[node]))
            taken[node] += 1
            x, signs = network.passes[turn].batch(node, place, network.losses)
            network.step(node, x, signs, number=number, public=everybody)
            if number % nodes == 0 or number == total - 1:
                network.note(number + 1)
    return network.outcome("SGD with replacement")


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of all nodes in the order in which each run visits them once."""

    x: Floats
    labels: Labels
    order: Sequence[npt.NDArray[np.int64]]
    size: int

    @classmethod
    def of(cls, problem: Users, size: int, *, seed: int, runs: int, turn: int) -> _Rows:
        """The rows in an order of their own for each node and run."""
        order = [
            np.stack(
                [rows[Draws(seed, "rows", turn, run, node).order(len(rows))] for run in range(runs)]
            )
            for node, rows in enumerate(problem.rows)
        ]
        return cls(clip(problem.table.features, 2, LONGEST), problem.table.labels, order, size)

    def batches(self, node: int) -> int:
        """How many whole ones a node has."""
        return int(self.order[node].shape[1]) // self.size

    def batch(self, node: int, number: int, losses: OneVsAll) -> tuple[Floats, Floats]:
        """Rows (runs, batch, d) of one batch, and what their labels are to each model."""
        taken = self.order[node][:, number * self.size : (number + 1) * self.size]
        return self.x[taken], losses.signs(self.labels[taken])


@dataclass(slots=True)
class _Network:
    """The public models and those of all nodes, their steps, and how it went."""

    losses: OneVsAll
    passes: list[_Rows]
    steps: Steps
    noise: Noise | None
    radius: float
    run: AlgorithmRun
    spent: tuple[Spent, tuple[str, ...]]
    test: Table | None
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
    def of(  # noqa: PLR0913 - a run has many parts
        cls,
        problem: Users,
        policy: Policy,
        *,
        visits: int,
        privacy: Privacy | None,
        seed: int,
        progress: Progress = None,
        steps: Steps = _TENTH,
        batch: int = 50,
        ridge: float = 0.0,
        radius: float = math.inf,
        calibration: Calibration = "joint",
        runs: int = 1,
        test: Table | None = None,
    ) -> _Network:
        """All models at zero, if everything fits together."""
        run = AlgorithmRun(seed=seed, progress=progress)
        whole(runs, "runs")
        if whole(batch, "batch") > int(problem.counts.min()):
            raise UsageError(f"a node has fewer rows than a batch: {batch}", "batch")
        losses, width = OneVsAll.of(problem, ridge), problem.table.features.shape[1]
        # A longer step spreads models apart, and noise is calibrated for steps that do not.
        if not isinstance(steps, Steps) or float(steps(1)) * losses.smoothness > 1:
            most = f"{1 / losses.smoothness:.3g}"
            raise UsageError(f"Steps, such as constant(0.1), the first at most {most}", "steps")
        if test is not None and test.features.shape[1] != width:
            raise UsageError(f"rows of {width} numbers", "test")
        public = within(np.zeros((runs, losses.count, width)), radius)
        own = np.zeros((len(problem), *public.shape))
        noise = None
        if privacy is not None:
            _require_kept(privacy)
            noise = noise_for(
                privacy.epsilon / visits, privacy.delta / visits, models=losses.count, width=width,
                calibration=calibration,
            )  # fmt: skip
        return cls(
            losses,
            [_Rows.of(problem, batch, seed=seed, runs=runs, turn=turn) for turn in range(visits)],
            steps, noise, radius, run,
            _spent(privacy, policy, noise, losses.count, calibration=calibration, visits=visits),
            test, public, own, np.zeros(own.shape[:-1]),
        )  # fmt: skip

    def step(
        self, node: int, x: Floats, signs: Floats, *, number: int, public: npt.NDArray[np.bool_]
    ) -> None:
        """One step of one node: by itself, or where `public` says so for all to see."""
        own, shared, length = self.own[node], self.public, float(self.steps(number + 1))
        self.longest[node] = np.maximum(self.longest[node], length)
        alone = own - 2 * length * self.losses.gradients(own, x, signs)
        if public.any():
            private = own / 2 - length * self.losses.gradients(shared, x, signs)
            joined = shared / 2 + self._noised(private, node, number)
            alone = np.where(public[..., None], joined, alone)
        self.own[node] = alone = within(alone, self.radius)
        self.public = np.where(public[..., None], alone, shared)
        self.longest[node][public] = 0.0
        self.decided = self.decided + public.sum(axis=1)
        self.fetched += int(public[0].sum())
        self.messages += 2 * bool(public[0].any())

    def _noised(self, values: Floats, node: int, number: int) -> Floats:
        """Values on a grid, and noise in whole steps of it as wide as what they may move by."""
        if self.noise is None:
            return values
        moved = 2 * self.longest[node] * LONGEST / self.passes[0].size
        unit = (moved * self.noise.deviation / DEVIATION)[..., None]
        drawn = [
            self._law.draw(
                subseed(self.run.seed, "without replacement", run, node, number), values.shape[1:]
            )
            for run in range(len(values))
        ]
        return np.asarray((on_grid(values, unit) + np.stack(drawn)) * unit)

    @property
    def trained(self) -> Trained:
        """The models as they are."""
        return Trained(self.losses.classes, self.public, self.own)

    def note(self, number: int) -> None:
        """Notes how many models became public, and how good they are."""
        row: dict[str, Any] = {"step": number, "public": self.decided}
        self.decided = 0
        if self.test is not None:
            row["accuracy"], row["own accuracy"] = self.trained.accuracy(self.test)
        self.run.note(**row)

    def outcome(self, name: str) -> Outcome:
        """The outcome of the whole run."""
        return self.run.outcome(
            name,
            self.trained,
            spent=self.spent[0],
            messages=self.messages,
            bytes=2 * _NUMBER_BYTES * self.public.shape[-1] * self.fetched,
            warnings=self.spent[1],
        )


def _require_kept(privacy: Privacy) -> None:
    if not isinstance(privacy, Privacy):
        raise UsageError("a Privacy, such as Privacy(1.0, 1e-6, unit='record'), or None", "privacy")
    if privacy.unit != "record" or privacy.view != "everything":
        raise UsageError(
            'it hides one record from whoever sees all public models: unit="record"', "privacy"
        )
    if privacy.relation != "replace-one":
        raise UsageError("a record is replaced: the number of rows is known", "privacy")


def _spent(  # noqa: PLR0913 - what is spent depends on everything
    privacy: Privacy | None,
    policy: Policy,
    noise: Noise | None,
    models: int,
    *,
    calibration: Calibration,
    visits: int,
) -> tuple[Spent, tuple[str, ...]]:
    """What the whole run costs, and what has to be said about it."""
    if privacy is None or noise is None:
        return Spent.nothing_hidden("record"), ()
    assumed = [
        "nodes tell nobody their own models",
        "a record is a row of one node only",
        "which labels there are is known",
    ]
    claim = f"published claim: epsilon {privacy.epsilon:g} for each of {models} models"
    if policy.reads_data:
        said = f"{claim}; decisions follow from private losses, and nothing protects them"
        return Spent.of(privacy, math.inf, theorem="none", assumptions=assumed), (said,)
    if calibration == "joint":
        ledger = PrivacyLedger(privacy, assumptions=assumed)
        ledger.charge(Charge.guarantee(privacy.epsilon / visits, privacy.delta / visits), visits)
        return ledger.spent(), ()
    epsilon = visits * noise.epsilon(models)
    found = Spent.of(privacy, epsilon, theorem="normal noise for all models", assumptions=assumed)
    said = f"{claim} alone; together they spend {epsilon:.3g}"
    return found, (said,) if models > 1 else ()
