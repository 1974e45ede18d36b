"""Makes small problems of many kinds, for claims that hold for all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gopa.graph import Graph, from_similarity
from gopa.learning.clocks import Poisson
from gopa.learning.objectives import LOGISTIC, Linear, RowLoss
from gopa.learning.personalised import Collaboration, Links
from gopa.learning.personalised.descent import GradientNoise, ModelDescent, schedule, turns
from gopa.learning.rows import AgentRows

Floats = npt.NDArray[np.float64]


def graph_of(rng: np.random.Generator, users: int) -> Graph:
    """A connected graph with weights of all sizes."""
    weights = np.triu(rng.exponential(size=(users, users)) * (rng.random((users, users)) < 0.5), 1)
    weights[np.arange(users - 1), np.arange(1, users)] += rng.uniform(0.1, 2.0, users - 1)
    return from_similarity(weights + weights.T)


def rows_of(
    rng: np.random.Generator, users: int, width: int, *, most: int = 6, norm: float = 2
) -> AgentRows:
    """Rows within length 1, and signs; the first user may have no row."""
    counts = rng.integers(1, most + 1, users)
    counts[0] = rng.integers(0, 2)
    pairs = [
        (rng.normal(size=(many, width)), rng.choice([-1.0, 1.0], many)) for many in counts.tolist()
    ]
    return AgentRows.of(pairs).clipped(norm, 1.0)


def problem_of(
    seed: int, *, users: int = 0, width: int = 0, loss: RowLoss = LOGISTIC, ridge: float = 0.3
) -> tuple[Collaboration, Graph, np.random.Generator]:
    """A problem that a seed decides, with its graph."""
    rng = np.random.default_rng(seed)
    users = users or int(rng.integers(2, 7))
    width = width or int(rng.integers(1, 5))
    local = Linear(loss, rows_of(rng, users, width), ridge=ridge * rng.uniform(0.5, 2.0, users))
    pull = float(rng.uniform(0.05, 2.0))
    return Collaboration(local, pull=pull, floor=0.2), graph_of(rng, users), rng


def walked(
    problem: Collaboration,
    graph: Graph,
    start: Floats,
    *,
    steps: int,
    runs: int,
    seed: int,
    disguise: GradientNoise | None = None,
) -> list[Floats]:
    """The models of all runs after each step, those of the start first."""
    links = Links.of(graph)
    actors = schedule(Poisson(problem.users), problem.users, seed, steps=steps, runs=runs)
    models = np.repeat(start[None], runs, axis=0)
    descent, found = ModelDescent(problem, links, models, disguise), [models.copy()]
    for now in turns(actors, links, 0, steps):
        descent(now)
        found.append(descent.models.copy())
    return found


def within_three_errors(values: Floats, bound: float) -> bool:
    """Whether a mean of runs is below a bound, up to three standard errors."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return bool(values.mean() - 3 * error <= bound * (1 + 1e-9) + 1e-12)


def graph_gradient(problem: Collaboration, models: Floats, weights: Floats) -> Floats:
    """The gradient of J in the weights, (2.7): symmetric (.., users, users), 0 on the diagonal."""
    squares = (models * models).sum(axis=-1)
    each = problem.confidences * problem.local.value(models) + problem.pull / 2 * squares
    each = each + problem.weight * problem.regulariser.degree.slope(weights.sum(axis=-1))
    both = each[..., :, None] + each[..., None, :]
    both -= problem.pull * np.einsum("...up,...vp->...uv", models, models)
    both += problem.weight * problem.regulariser.edge.slope(weights)
    return np.asarray(both * (1 - np.eye(problem.users)))
