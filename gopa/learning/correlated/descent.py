"""Runs descent on a network in one of four ways, many runs at once.

Specification: `specs/18-correlated-noise.md`, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gopa import UsageError
from gopa.accounting import gaussian_sigma
from gopa.graph import Graph, MixingMatrix
from gopa.learning.calls import algorithm
from gopa.learning.checks import generator, require_seed, whole
from gopa.learning.clipping import DEVIATION, finite, length, within
from gopa.learning.clocks import Steps, harmonic
from gopa.learning.correlated.disclosure import disclosure
from gopa.learning.correlated.disguises import (
    Disguise,
    InFunctions,
    InStates,
    Method,
    require_fitting,
)
from gopa.learning.correlated.optimum import mean_gradient, mean_value
from gopa.learning.data import Users, class_numbers
from gopa.learning.ledger import BudgetExceeded, PrivacyLedger
from gopa.learning.objectives import (
    LOGISTIC,
    LOSSES,
    Linear,
    Objective,
    RowLoss,
    Softmax,
    mean_of_rows,
)
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.privacy import Charge, Privacy
from gopa.learning.rows import AgentRows
from gopa.noise import rounded_gaussian
from gopa.support.arrays import Floats

_HARMONIC: Final = harmonic(1.0)
_CLOSE: Final = 1e-2
_FAR: Final = 1e100
_KEY_BYTES: Final = 32
_NUMBER_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Iterate:
    """All models after `number` iterations: by agent, run and number."""

    number: int
    models: Floats

    @property
    def average(self) -> Floats:
        """The average model of each run."""
        return np.asarray(self.models.mean(axis=0))

    @property
    def spread(self) -> Floats:
        """How far the farthest agent of each run is from the average."""
        apart = self.models - self.average
        return np.asarray(np.sqrt((apart * apart).sum(axis=-1)).max(axis=0))


def descend(  # noqa: PLR0913 - descent has many parts
    objective: Objective,
    graph: Graph,
    *,
    method: Method = "rss",
    mixing: MixingMatrix | None = None,
    steps: Steps = _HARMONIC,
    noise: float = 1.0,
    radius: float = math.inf,
    start: Floats | float = 0.0,
    batch: int | None = None,
    seed: int,
    runs: int = 1,
) -> Iterator[Iterate]:
    """All iterates, without end.

    Agents average what they hear by `mixing`, by default with equal weights of all edges, then
    take a step along their own gradient and stay within `radius`. `noise` is the deviation of
    what two neighbours share, measured like a gradient. With `batch` the gradient is that of so
    many rows, which each agent draws anew in every step, of its own with replacement.

    Raises:
        UsageError: parts do not fit together, or the method cannot keep the sum of all models.
    """
    chosen = require_fitting(objective, graph, method, mixing, noise)
    require_seed(seed)
    if not isinstance(steps, Steps):
        raise UsageError("Steps, such as constant(0.1)", "steps")
    how: dict[str, Any] = {"noise": noise, "seed": seed, "runs": whole(runs, "runs")}
    if method == "dgd":
        disguise = Disguise(chosen)
    elif method == "functions":
        disguise = InFunctions(graph, chosen, objective=objective, **how)
    else:
        how["dimension"] = objective.dimension
        disguise = InStates(graph, chosen, to_each=method == "rss-lb", **how)
    begin, shape = finite(np.atleast_1d(start), "start"), (objective.agents, objective.dimension)
    if begin.shape not in {(1,), shape[1:], shape}:
        raise UsageError("one model for all, or one for each agent", "start")
    models = np.repeat(within(np.broadcast_to(begin, shape), radius)[:, None], runs, axis=1)
    slope = _slope(objective, batch, seed, runs)
    return _iterates(slope, disguise, steps, radius, models)


def _slope(
    objective: Objective, batch: int | None, seed: int, runs: int
) -> Callable[[Floats], Floats]:
    """The gradients of all agents at models by run, agent and number."""
    if batch is None:
        return objective.gradient
    if not isinstance(objective, Linear | Softmax):
        raise UsageError("rows are drawn of a mean over rows only: leave it out", "batch")
    many, counts = whole(batch, "batch"), np.maximum(objective.rows.counts, 1)[:, None]
    streams = [generator(seed, "drawn rows", str(run)) for run in range(runs)]

    def drawn(models: Floats) -> Floats:
        shape = (objective.agents, many)
        places = np.stack([rng.integers(counts, size=shape) for rng in streams])
        return objective.drawn_gradient(models, places)

    return drawn


def _iterates(
    gradient: Callable[[Floats], Floats],
    disguise: Disguise,
    steps: Steps,
    radius: float,
    models: Floats,
) -> Iterator[Iterate]:
    number = 0
    while True:
        yield Iterate(number, models)
        step = float(steps(number + 1))
        heard = disguise.heard(models, step, number)
        slope = gradient(heard.transpose(1, 0, 2)).transpose(1, 0, 2)
        models = within(heard - step * (slope + disguise.bent(heard)), radius)
        if not np.abs(models).max() < _FAR:
            raise UsageError("models grow without bound: take shorter ones or a radius", "steps")
        number += 1


@algorithm(named={"loss": (RowLoss, LOSSES)}, ready="gradient")
def fit_correlated(  # noqa: PLR0913 - every algorithm is called like this
    problem: Objective | Users,
    *,
    privacy: Privacy | None = None,
    graph: Graph,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    method: Method = "rss",
    mixing: MixingMatrix | None = None,
    steps: Steps = _HARMONIC,
    noise: float = 1.0,
    radius: float = math.inf,
    batch: int | None = None,
    iterations: int = 1000,
    runs: int = 1,
    loss: RowLoss = LOGISTIC,
    ridge: float = 0.0,
    row_bound: float | None = None,
) -> Outcome:
    """Minimises the sum of all agents' functions; the model is the average of all agents'.

    An `Objective` is minimised as it is. Of data in another form it is the mean of `loss` over an
    agent's rows, with a `ridge`; a softmax for several classes. Rows are shortened to `row_bound`,
    which has to be said with `privacy`. Other parts are those of `descend`.

    With `privacy` it stops before the step that would show one neighbour, or a coalition of
    neighbours, more than was asked for; `batch` is then refused. What is claimed ends when a model
    is published, and is of one run: several `runs` on the same data are for statistics.

    Raises:
        BudgetExceeded: no noise hides anything from those who look.
        UsageError: parts do not fit together.
    """
    if clock is not None:
        raise UsageError("all agents act in every step: None", "clock")
    classes = None
    if isinstance(problem, Users):
        if privacy is not None and row_bound is None:
            raise UsageError("with privacy it is public: say how long a row may be", "row_bound")
        problem, classes = mean_loss(problem, loss, ridge=ridge, row_bound=row_bound)
    iterations = whole(iterations, "iterations")
    ledger = PrivacyLedger(privacy, assumptions=_ASSUMED)
    run = AlgorithmRun(seed=seed, progress=progress, ledger=ledger)
    parts: dict[str, Any] = {"method": method, "mixing": mixing, "steps": steps, "noise": noise}
    if privacy is not None and batch is not None:
        # The account is of means over all rows: of a batch one record moves more.
        raise UsageError("the account of privacy is of steps over all rows: leave it out", "batch")
    walk = descend(problem, graph, radius=radius, batch=batch, seed=seed, runs=runs, **parts)
    warnings: tuple[str, ...] = ()
    with run:
        if privacy is not None:
            fits = _charged(
                ledger, privacy, problem, graph, iterations=iterations, progress=progress, **parts
            )
            if fits < iterations:
                said = f"stopped after {fits} of {iterations} steps: one more exceeds the privacy"
                warnings, iterations = (said,), fits
        marks = {0, *np.geomspace(1, iterations, 60).astype(int).tolist()}
        for each in walk:
            average, spread = each.average, each.spread
            if each.number in marks:
                run.note(step=each.number, loss=mean_value(problem, average), spread=spread)
            run.advance("steps", each.number, iterations)
            if run.stopped or each.number == iterations:
                break
    sent = each.number * _messages(graph, method, mixing)
    keys = 2 * graph.edge_count if method in {"rss", "functions"} else 0
    return run.outcome(
        f"correlated descent ({method})",
        average if runs > 1 else average[0],
        messages=sent + keys,
        bytes=_NUMBER_BYTES * problem.dimension * sent + _KEY_BYTES * keys,
        converged=bool((_left(problem, average, radius) + spread < _CLOSE).all()),
        warnings=warnings,
        classes=classes,
    )


def mean_loss(
    users: Users, loss: RowLoss, *, ridge: float, row_bound: float | None
) -> tuple[Objective, Any]:
    """The mean loss of each user's rows, and the classes that labels are of."""
    classes = None
    if loss.labels == "signs":
        users, classes = class_numbers(users)
    rows = AgentRows.of(users.pairs())
    longest = float(length(rows.x, 2).max()) * (1 + 1e-9)
    rows = rows.clipped(2, max(1.0, longest) if row_bound is None else row_bound)
    many = 2 if classes is None else len(classes)
    return mean_of_rows(loss, rows, many, ridge=ridge), classes


def _messages(graph: Graph, method: Method, mixing: MixingMatrix | None) -> int:
    """How many are sent in a step: noise that cancels goes to all neighbours, heard or not."""
    if mixing is None or method in {"rss", "rss-lb"}:
        return int(graph.degrees.sum())
    return mixing.messages()


_ASSUMED: Final = (
    "colluders follow the protocol, and nobody publishes a model",
    "neighbours share their noise over channels that nobody else reads",
)


def _charged(  # noqa: PLR0913 - what is seen depends on many parts
    ledger: PrivacyLedger,
    privacy: Privacy,
    problem: Objective,
    graph: Graph,
    *,
    iterations: int,
    progress: Progress,
    **parts: Any,
) -> int:
    """Charges as many steps as are within what was asked for, and says how many."""
    if privacy.relation != "replace-one":
        raise UsageError("data are replaced: who takes part is known", "privacy")
    seen = disclosure(
        problem, graph, iterations=iterations, colluders=privacy.colluders, unit=privacy.unit,
        view=privacy.view, progress=progress, **parts,
    )  # fmt: skip
    if seen.reason:
        raise BudgetExceeded(f"no noise hides anything: {seen.reason}", math.inf, 0)
    tables = float(rounded_gaussian(DEVIATION).charged(seen.draws * iterations, privacy.epsilon))
    ledger.charge(Charge.guarantee(0.0, tables), note="tables")
    if privacy.delta <= tables:
        raise UsageError("normal noise needs a delta above 0", "delta")
    most = 1 / gaussian_sigma(privacy.epsilon, privacy.delta - tables)
    fits = int(np.searchsorted(seen.composed, most * (1 - 1e-9), side="right"))
    shift = float(seen.composed[fits - 1])
    ledger.charge(Charge.gaussian(1.0, shift), note=f"{fits} steps")
    return fits


def _left(objective: Objective, model: Floats, radius: float) -> Floats:
    """How far one more step of gradient descent in one place would move each model."""
    pace = 1 / float(objective.smoothness().mean())
    moved = within(model - pace * mean_gradient(objective, model), radius)
    return np.asarray(np.sqrt(((moved - model) ** 2).sum(axis=-1)))
