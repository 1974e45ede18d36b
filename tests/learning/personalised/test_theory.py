"""The rates of the theorems hold on many problems, and misprints do not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gopa.graph import from_edges
from gopa.learning.objectives import SQUARED, Linear
from gopa.learning.personalised import Collaboration, Links
from gopa.learning.personalised.descent import GradientNoise
from gopa.learning.personalised.release import Mechanism, NoiseStream, private_gradients
from gopa.learning.rows import AgentRows
from tests.learning.personalised.problems import (
    Floats,
    graph_of,
    problem_of,
    rows_of,
    walked,
    within_three_errors,
)

INSTANCES = pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(200), marks=pytest.mark.soak)], ids=["some", "all"]
)
STEPS, RUNS = 60, 30


@INSTANCES
def test_descent_keeps_the_linear_rate(seeds: range) -> None:
    """Proposition 2.1, and every single step goes down."""
    for seed in seeds:
        problem, graph, rng = problem_of(seed)
        links = Links.of(graph)
        best = float(problem.loss(problem.minimum(links), links))
        start = rng.normal(size=(problem.users, problem.dimension)) * 3
        models = walked(problem, graph, start, steps=STEPS, runs=RUNS, seed=seed)
        excess = [problem.loss(each, links) - best for each in models]
        assert all((after <= before + 1e-12).all() for before, after in pairwise(excess))
        for step in (1, STEPS // 4, STEPS):
            bound = problem.kept(links) ** step * excess[0][0]
            assert within_three_errors(excess[step], bound)


@INSTANCES
def test_descent_without_strong_convexity(seeds: range) -> None:
    """Remark 2.2: 2 n L R^2 / T, where R is how far a model so good is from the nearest best."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        users, width = int(rng.integers(2, 6)), 6
        local = Linear(SQUARED, rows_of(rng, users, width, most=1))
        problem, graph = Collaboration(local, pull=0.5, floor=0.2), graph_of(rng, users)
        links = Links.of(graph)
        slopes = problem.gradient(np.zeros((users, width)), links).ravel()
        bent = np.stack(
            [
                problem.gradient(each.reshape(users, width), links).ravel() - slopes
                for each in np.eye(users * width)
            ]
        )
        values = np.linalg.eigvalsh((bent + bent.T) / 2)
        assert problem.curvature(links) == 0
        assert values[0] < 1e-9
        found = np.linalg.lstsq(bent, -slopes, rcond=1e-10)[0].reshape(users, width)
        best = np.asarray(found, dtype=np.float64)
        least = float(problem.loss(best, links))
        start = rng.normal(size=(users, width)) * 3
        models = walked(problem, graph, start, steps=STEPS, runs=RUNS, seed=seed)
        first = float(problem.loss(start, links)) - least
        radius = 2 * first / values[values > 1e-9][0]
        for step in (5, STEPS):
            bound = 2 * users * problem.smoothness(links).max() * radius / step
            assert within_three_errors(problem.loss(models[step], links) - least, bound)


def noisy(  # noqa: PLR0917 - what noise depends on
    problem: Collaboration,
    links: Links,
    noise: str,
    reaches: Floats,
    seed: int,
    clipping: float | None = None,
) -> tuple[GradientNoise, Floats]:
    """A disguise of given reaches (runs, users, updates), and E |noise|^2 of each user's."""
    mechanism = Mechanism.of(noise)  # type: ignore[arg-type]
    assert isinstance(problem.local, Linear)
    rows = private_gradients(problem.local, mechanism, "record", clipping)
    stream = NoiseStream(mechanism.law, problem.dimension, seed, "test")
    taken = np.zeros(reaches.shape[:2], dtype=np.int64)
    found = GradientNoise(rows, reaches.astype(np.int64), stream, taken)
    users = np.arange(problem.users)
    first = reaches[0, :, 0]
    # Rounding towards zero adds less than a step of the grid for each number of a mean.
    spread = rows.deviations(first, users) ** 2 + rows.unit_length(first) ** 2
    scaled = links.degrees[0] * problem.confidences
    return found, scaled**2 * problem.dimension * spread


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@INSTANCES
def test_noise_costs_no_more_than_the_theorem_says(noise: str, seeds: range) -> None:
    """Theorem 2.2, with the number of dimensions that the print lacks."""
    for seed in seeds:
        problem, graph, rng = problem_of(seed)
        links = Links.of(graph)
        best = float(problem.loss(problem.minimum(links), links))
        reaches = np.full((RUNS, problem.users, STEPS), int(rng.integers(500, 8000)))
        disguise, squares = noisy(problem, links, noise, reaches, seed)
        start = rng.normal(size=(problem.users, problem.dimension))
        models = walked(problem, graph, start, steps=STEPS, runs=RUNS, seed=seed, disguise=disguise)
        each = float((squares / (2 * problem.smoothness(links))).sum()) / problem.users
        kept, bound = problem.kept(links), float(problem.loss(start, links)) - best
        for step in range(1, STEPS + 1):
            bound = kept * bound + each
            if step in {1, STEPS // 4, STEPS}:
                assert within_three_errors(problem.loss(models[step], links) - best, bound)


def test_the_printed_bounds_of_noise_are_too_small() -> None:
    """Without the dimension, and with early noise weighed like late noise, they are exceeded."""
    width, runs = 20, 400
    rows = AgentRows.of([(np.full((1, width), 1e-3), [1.0])] * 2).clipped(1, 0.02, labels=1.0)
    problem = Collaboration(Linear(SQUARED, rows, ridge=1.0), pull=1.0)
    graph = from_edges(2, [(0, 1)])
    links = Links.of(graph)
    best = problem.minimum(links)
    least = float(problem.loss(best, links))
    last = np.zeros((runs, 2, 2))
    last[:, :, 0] = 100
    disguise, squares = noisy(problem, links, "laplace", last, 1, 0.02)
    one = walked(problem, graph, best, steps=1, runs=runs, seed=1, disguise=disguise)[1]
    excess = problem.loss(one, links) - least
    least_bend = float(problem.smoothness(links).min())
    printed = float(squares.sum() / width) / (2 * 2 * least_bend)
    assert not within_three_errors(excess, printed)
    assert within_three_errors(excess, width * printed)
    # Where noise comes in the last step alone, nothing of it is forgotten.
    kept = problem.kept(links)
    assert kept < 0.9
    assert excess.mean() > kept**10 * width * printed
