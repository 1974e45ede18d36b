"""Runs descent on a network in one of four ways, many runs at once.

Specification: `specs/18-correlated-noise.md`, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from gopa import UsageError
from gopa.graph import Graph, MixingMatrix, fixed, require_doubly_stochastic
from gopa.learning.correlated.disclosure import disclosure
from gopa.learning.correlated.disguises import Disguise, InFunctions, InStates, Nothing
from gopa.learning.correlated.optimum import mean_gradient, mean_value, projected
from gopa.learning.fitting import Progress, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.objectives import Floats, Objective
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy
from gopa.learning.steps import Steps, harmonic

Method: TypeAlias = Literal["dgd", "rss", "rss-lb", "functions"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""Plain descent; noise in states, in states for each neighbour, in functions."""

_CLOSE: Final = 1e-2
_KEY_BYTES: Final = 32
_NUMBER_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Iterate:
    """Holds all models after `number` iterations: by agent, run and number."""

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
    steps: Steps | None = None,
    noise: float = 1.0,
    radius: float = math.inf,
    start: Floats | float = 0.0,
    seed: int,
    runs: int = 1,
) -> Iterator[Iterate]:
    """All iterates, without end.

    Agents average what they hear by `mixing`, by default with equal weights of all edges, then
    take a step along their own gradient and stay within `radius`. `noise` is the deviation of
    what two neighbours share, measured like a gradient.

    Raises:
        UsageError: parts do not fit together, or the method cannot keep the sum of all models.
    """
    chosen = _checked(objective, graph, mixing)
    disguise = _disguise(objective, graph, method, mixing=chosen, noise=noise, seed=seed, runs=runs)
    begin = np.broadcast_to(
        np.asarray(start, dtype=np.float64), (objective.agents, objective.dimension)
    )
    models = np.repeat(projected(begin, radius)[:, None], runs, axis=1)
    pace = harmonic(1.0) if steps is None else steps
    return _iterates(objective, disguise, pace, radius, models)


def _iterates(
    objective: Objective, disguise: Disguise, steps: Steps, radius: float, models: Floats
) -> Iterator[Iterate]:
    number = 0
    while True:
        yield Iterate(number, models)
        step = float(steps(number + 1))
        heard = disguise.heard(models, step, number)
        slope = objective.gradient(heard.transpose(1, 0, 2)).transpose(1, 0, 2)
        models = projected(heard - step * (slope + disguise.bent(heard)), radius)
        number += 1


def fit_correlated(  # noqa: PLR0913 - every algorithm is called like this
    problem: Objective,
    *,
    privacy: Privacy | None = None,
    graph: Graph | None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    method: Method = "rss",
    mixing: MixingMatrix | None = None,
    steps: Steps | None = None,
    noise: float = 1.0,
    radius: float = math.inf,
    iterations: int = 1000,
    runs: int = 1,
) -> Outcome:
    """Minimises the sum of all agents' functions; the model is the average of all agents'.

    With `privacy` it stops before the step that would show one neighbour, or a coalition of
    neighbours, more than was asked for. What is claimed ends when a model is published.

    Raises:
        BudgetExceeded: not even one step is within what was asked for.
        UsageError: parts do not fit together.
    """
    if graph is None or clock is not None:
        raise UsageError("a connected graph, and all agents act in every step: no clock", "graph")
    if type(iterations) is not int or iterations < 1 or type(runs) is not int or runs < 1:
        raise UsageError("at least one iteration and one run", "iterations")
    begun, pace = perf_counter(), harmonic(1.0) if steps is None else steps
    walk = descend(
        problem, graph, method=method, mixing=mixing, steps=pace, noise=noise,
        radius=radius, seed=seed, runs=runs,
    )  # fmt: skip
    ledger = PrivacyLedger(privacy, assumptions=_ASSUMED)
    warnings: tuple[str, ...] = ()
    if privacy is not None:
        chosen = _checked(problem, graph, mixing)
        seen = disclosure(
            problem, graph, method=method, mixing=chosen, steps=pace, iterations=iterations,
            noise=noise, colluders=privacy.colluders, unit=privacy.unit, view=privacy.view,
        )  # fmt: skip
        fits = seen.fits(privacy)
        if fits < iterations and fits:
            warnings = (
                f"stopped after {fits} of {iterations} steps: one more exceeds the privacy",
            )
            iterations = fits
        seen.charge(ledger, iterations)
    notes = Recorder()
    marks = set(np.unique(np.geomspace(1, iterations, 60).astype(int)).tolist()) | {0}
    with told(progress) as advance:
        for each in walk:
            if each.number in marks:
                average = each.average
                notes.note(step=each.number, loss=mean_value(problem, average), spread=each.spread)
            advance("steps", each.number, iterations)
            if each.number == iterations:
                break
    average, sent = each.average, iterations * int(graph.degrees.sum())
    keys = 2 * graph.edge_count if method in {"rss", "functions"} else 0
    left = _left(problem, average, radius) + each.spread
    return Outcome(
        algorithm=f"correlated descent ({method})",
        model=average if runs > 1 else average[0],
        history=notes.history(),
        spent=ledger.spent(),
        messages=sent + keys,
        bytes=_NUMBER_BYTES * problem.dimension * sent + _KEY_BYTES * keys,
        seconds=perf_counter() - begun,
        seed=seed,
        converged=bool((left < _CLOSE).all()),
        warnings=warnings,
    )


_ASSUMED: Final = (
    "colluders follow the protocol, and nobody publishes a model",
    "neighbours share their noise over channels that nobody else reads",
)


def _left(objective: Objective, model: Floats, radius: float) -> Floats:
    """How far one more step of gradient descent in one place would move each model."""
    pace = 1 / float(objective.smoothness().mean())
    moved = projected(model - pace * mean_gradient(objective, model), radius)
    return np.asarray(np.sqrt(((moved - model) ** 2).sum(axis=-1)))


def _checked(objective: Objective, graph: Graph, mixing: MixingMatrix | None) -> MixingMatrix:
    if graph.parties != objective.agents or graph.parties < 2 or not graph.is_connected():
        raise UsageError(f"a connected graph of all {objective.agents} agents", "graph")
    if not np.isfinite(objective.smoothness()).all():
        raise UsageError("a gradient may jump: take a smooth loss", "problem")
    chosen = fixed(graph) if mixing is None else require_doubly_stochastic(mixing)
    links = graph.adjacency()
    if (
        chosen.matrix.shape != links.shape
        or (chosen.matrix - chosen.matrix.multiply(links)).nnz > graph.parties
    ):
        raise UsageError(
            "it mixes agents that are no neighbours: make it from this graph", "mixing"
        )
    return chosen


def _disguise(
    objective: Objective, graph: Graph, method: Method, *, mixing: MixingMatrix, **how: Any
) -> Disguise:
    if method not in METHODS:
        raise UsageError(f"one of {', '.join(METHODS)}", "method")
    require_seed(how["seed"])
    if method == "dgd":
        return Nothing(mixing)
    noise = how["noise"]
    if not (isinstance(noise, int | float) and 0 < noise < math.inf):
        raise UsageError("a deviation above 0; method='dgd' has no noise", "noise")
    if method == "functions":
        return InFunctions(graph, mixing, objective=objective, **how)
    return InStates(graph, mixing, dimension=objective.dimension, to_each=method == "rss-lb", **how)
