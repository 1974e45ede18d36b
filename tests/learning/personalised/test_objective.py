"""The objective's gradients, constants and minima."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from examples.personalised import gradient_of, minimum
from gopa.graph import complete, from_edges
from gopa.learning import Privacy
from gopa.learning.clocks import InTurn, Poisson, Replayed, Synchronous
from gopa.learning.objectives import HINGE, LOGISTIC, SQUARED, Boosting, Linear, Quadratic
from gopa.learning.personalised import (
    Collaboration,
    Convex,
    GraphRegulariser,
    Links,
    fit_admm,
    fit_descent,
    log_degrees,
    propagated,
)
from gopa.learning.personalised.descent import GradientNoise, turns
from gopa.learning.personalised.release import Mechanism, NoiseStream, private_gradients
from gopa.learning.rows import AgentRows
from tests.learning.personalised.problems import (
    Floats,
    graph_gradient,
    graph_of,
    problem_of,
    rows_of,
    walked,
    within_three_errors,
)
from wire.errors import UsageError

STEP = 1e-5


def quartic() -> GraphRegulariser:
    """Another regulariser: w^2 + exp(-degree)."""
    edge = Convex(np.square, lambda w: 2 * w, lambda w: np.full_like(w, 2.0), 2.0)
    degree = Convex(lambda d: np.exp(-d), lambda d: -np.exp(-d), lambda d: np.exp(-d))
    return GraphRegulariser(edge, degree)


@pytest.mark.parametrize("kind", ["logistic", "squared", "boosting", "quadratic"])
@pytest.mark.parametrize("regulariser", [log_degrees(0.7, 0.2), quartic()], ids=["log", "other"])
def test_gradients_are_those_of_the_value(kind: str, regulariser: GraphRegulariser) -> None:
    rng = np.random.default_rng(3)
    rows = rows_of(rng, 5, 3)
    local: Any = {
        "logistic": Linear(LOGISTIC, rows, ridge=0.2),
        "squared": Linear(SQUARED, rows),
        "boosting": Boosting(rows),
        "quadratic": Quadratic(rng.normal(size=(5, 3))),
    }[kind]
    problem = Collaboration(local, pull=0.6, weight=0.4, regulariser=regulariser)
    models = rng.normal(size=(2, 5, 3))
    weights = np.stack([graph_of(rng, 5).weight_matrix().toarray() for _ in range(2)])
    links = Links.of_weights(weights)

    move = rng.normal(size=models.shape)
    ends = [problem.value(models + sign * STEP * move, links) for sign in (1, -1)]
    slope = (gradient_of(problem, models, links) * move).sum(axis=(1, 2))
    assert (ends[0] - ends[1]) / (2 * STEP) == pytest.approx(slope, rel=1e-6, abs=1e-6)

    change = rng.normal(size=weights.shape) * (weights > 0)
    change = change + change.transpose(0, 2, 1)
    ends = [
        problem.value(models, Links.of_weights(weights + sign * STEP * change)) for sign in (1, -1)
    ]
    slope = (graph_gradient(problem, models, weights) * change).sum(axis=(1, 2)) / 2
    assert (ends[0] - ends[1]) / (2 * STEP) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_constants_bound_what_they_say() -> None:
    for seed in range(20):
        problem, graph, rng = problem_of(seed)
        links = Links.of(graph)
        here, there = rng.normal(size=(2, problem.users, problem.dimension))
        for user, most in enumerate(problem.smoothness(links)):
            moved = here.copy()
            moved[user] = there[user]
            bent = (gradient_of(problem, moved, links) - gradient_of(problem, here, links))[user]
            assert np.linalg.norm(bent) <= most * np.linalg.norm(there[user] - here[user]) + 1e-12
        slope = gradient_of(problem, here, links) - gradient_of(problem, there, links)
        apart = here - there
        assert (slope * apart).sum() >= problem.curvature(links) * (apart * apart).sum() - 1e-12
        own = Collaboration(problem.local, pull=problem.pull, floor=0.2, own_bends=True)
        assert (own.bends <= problem.bends * (1 + 1e-8)).all()
        assert 0 < problem.kept(links) < 1


def test_bends_of_the_graph_are_bounded() -> None:
    problem, _, rng = problem_of(2, users=6)
    weights = rng.exponential(size=(6, 6))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    models = rng.normal(size=(6, problem.dimension))
    for peers in (1, 3, 5):
        change = np.zeros((6, 6))
        change[0, 1 : 1 + peers] = change[1 : 1 + peers, 0] = rng.uniform(0, 1, peers)
        bent = graph_gradient(problem, models, weights + change)
        bent = (bent - graph_gradient(problem, models, weights))[0, 1 : 1 + peers]
        length = np.linalg.norm(change[0])
        assert np.linalg.norm(bent) <= problem.graph_smoothness(peers) * length
        assert bent @ change[0, 1 : 1 + peers] >= problem.graph_curvature() * length**2 - 1e-12


def test_the_bend_of_a_graph_is_reached_where_there_is_no_edge() -> None:
    problem, _, rng = problem_of(2, users=6)
    models, tiny = rng.normal(size=(6, problem.dimension)), 1e-7
    for peers in (1, 3, 5):
        change = np.zeros((6, 6))
        change[0, 1 : 1 + peers] = change[1 : 1 + peers, 0] = tiny
        bent = graph_gradient(problem, models, change) - graph_gradient(problem, models, 0 * change)
        reached = np.linalg.norm(bent[0, 1 : 1 + peers]) / (tiny * np.sqrt(peers))
        assert reached == pytest.approx(problem.graph_smoothness(peers), rel=1e-4)


@pytest.mark.slow
def test_limits_of_the_pull() -> None:
    """No pull gives what users learn alone, a strong one the same model in each component."""
    problem, _, _ = problem_of(5, users=5, width=3)
    graph = from_edges(5, [(0, 1), (1, 2), (3, 4)])
    links = Links.of(graph)
    weak = Collaboration(problem.local, pull=1e-9)
    assert minimum(weak, links) == pytest.approx(problem.alone(), abs=1e-4)
    strong = Collaboration(problem.local, pull=1e7)
    models = minimum(strong, links, 1e-13)
    for piece in ([0, 1, 2], [3, 4]):
        assert np.ptp(models[piece], axis=0) == pytest.approx(0, abs=1e-5)
        shares = (links.degrees[0] * strong.confidences)[piece]
        slope = strong.local.gradient(models)[piece]
        assert (shares[:, None] * slope).sum(axis=0) == pytest.approx(0, abs=1e-4)


@pytest.mark.slow
def test_models_learned_alone_are_found_for_many_users() -> None:
    """Where the sum of all losses is too coarse for the last digits of each."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        pairs = [
            (rng.normal(size=(many, 6)), rng.choice([-1.0, 1.0], many))
            for many in rng.integers(1, 20, 29)
        ]
        rows = AgentRows.of(pairs).clipped(2, 1.0)
        problem = Collaboration(Linear(LOGISTIC, rows, ridge=2 / rows.counts), pull=1.0)
        assert np.abs(problem.local.gradient(problem.alone(1e-10))).max() <= 1e-8


def test_users_without_rows_take_part() -> None:
    rows = AgentRows.of([(np.zeros((0, 2)), []), (np.eye(2), [1, -1])]).clipped(2, 1.0)
    problem = Collaboration(Linear(LOGISTIC, rows, ridge=0.1), pull=1.0, floor=0.01)
    assert problem.confidences.tolist() == [0.01, 1.0]
    models = minimum(problem, Links.of(complete(2)))
    assert models[0] == pytest.approx(models[1], rel=0.01)


def test_what_means_nothing_is_refused() -> None:
    rows = AgentRows.of([(np.eye(2), [1, -1])] * 2).clipped(2, 1.0)
    local = Linear(LOGISTIC, rows, ridge=0.1)
    assert Collaboration(local, pull=1.0).users == 2
    for wrong in ({"pull": -1.0}, {"pull": np.inf}, {"weight": -1.0}, {"floor": 0.0},
                  {"confidences": [1.0]}, {"confidences": [-1.0, 1.0]}):  # fmt: skip
        with pytest.raises(UsageError):
            Collaboration(local, **{"pull": 1.0, **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="smooth"):
        Collaboration(Linear(HINGE, rows), pull=1.0).paces.sum()
    with pytest.raises(UsageError):
        log_degrees(0.0)
    constant = Convex(np.ones_like, np.zeros_like, np.zeros_like)
    with pytest.raises(UsageError):
        GraphRegulariser(constant, constant)


@pytest.mark.parametrize("clock", [Poisson, InTurn])
def test_descent_ends_at_the_central_optimum(clock: type[Poisson | InTurn]) -> None:
    problem, graph, _ = problem_of(1, users=5, width=3, ridge=1.5)
    best = minimum(problem, Links.of(graph))
    found = fit_descent(
        problem, privacy=None, graph=graph, clock=clock(5), seed=1, steps=1200, progress=False
    )
    assert found.model == pytest.approx(best, abs=1e-6)
    assert found.converged
    assert not fit_descent(problem, privacy=None, graph=graph, seed=1, steps=5).converged
    assert found.history["vectors"][-1] == found.messages
    assert found.bytes == 24 * found.messages
    assert (np.diff(found.history["objective"]) <= 1e-12).all()


def test_admm_ends_there_too() -> None:
    problem, graph, _ = problem_of(1, users=3, width=2, ridge=1.5)
    best = minimum(problem, Links.of(graph))
    how: dict[str, Any] = {"graph": graph, "seed": 1, "penalty": 0.3, "inner": 4}
    found = fit_admm(problem, steps=250, runs=2, **how)
    assert found.model == pytest.approx(np.stack([best, best]), abs=1e-6)
    alone = fit_admm(problem, steps=20, **how)
    several = fit_admm(problem, steps=20, runs=2, **how)
    assert np.array_equal(alone.model, several.model[0])
    assert found.messages == 500
    with pytest.raises(UsageError):
        fit_admm(problem, graph=graph, seed=1, privacy=Privacy(1.0))
    with pytest.raises(UsageError):
        fit_admm(problem, graph=graph, seed=1, penalty=0)
    with pytest.raises(UsageError):
        fit_admm(problem, graph=from_edges(3, []), seed=1)


def test_propagation_minimises_along_a_block_exactly() -> None:
    """(15): a user takes the mean of its neighbours' models and its own, by confidence."""
    problem, graph, rng = problem_of(4, users=4, width=2)
    centres = rng.normal(size=(4, 2))
    spread = propagated(problem, centres)
    once = Replayed(4, np.array([[[2]]]))
    start = rng.normal(size=(4, 2))
    found = fit_descent(
        spread, privacy=None, graph=graph, clock=once, seed=1, steps=1, start=start
    ).model
    weights = graph.weight_matrix().toarray()[2]
    near, own = weights @ start / weights.sum(), problem.confidences[2] / problem.pull
    assert found[2] == pytest.approx((near + own * centres[2]) / (1 + own))
    assert np.array_equal(found[[0, 1, 3]], start[[0, 1, 3]])
    whole = fit_descent(spread, privacy=None, graph=graph, seed=1, steps=2000)
    assert whole.model == pytest.approx(minimum(spread, Links.of(graph)), abs=1e-6)


def test_steps_that_do_not_meet_are_taken_together() -> None:
    """What is computed at once is what happens one after the other, to the last bit."""
    problem, graph, _ = problem_of(7, users=30, width=3)
    alone = fit_descent(problem, privacy=None, graph=graph, seed=3, steps=400)
    several = fit_descent(problem, privacy=None, graph=graph, seed=3, steps=400, runs=2)
    assert several.model[0] == pytest.approx(alone.model, abs=1e-15)
    links = Links.of(from_edges(6, [(0, 1), (2, 3)]))
    actors = np.array([[0, 2, 4, 1, 5, 5]])
    listed = [now.users.tolist() for now in turns(actors, links, 0, 6)]
    assert listed == [[0, 2, 4], [1, 5], [5]]


def test_who_has_no_neighbour_learns_alone() -> None:
    problem, _, _ = problem_of(9, users=3, width=2)
    graph = from_edges(3, [(0, 1)])
    found = fit_descent(problem, privacy=None, graph=graph, seed=1, steps=3000)
    assert found.model[2] == pytest.approx(problem.alone()[2], abs=1e-6)
    assert found.converged


def test_what_does_not_fit_is_refused() -> None:
    problem, graph, _ = problem_of(1, users=5, width=3)
    assert fit_descent(problem, privacy=None, graph=graph, seed=1, steps=1).model.shape == (5, 3)
    for wrong in (
        {"graph": complete(4)}, {"graph": None}, {"clock": Poisson(4)}, {"clock": Synchronous(5)},
        {"start": np.zeros(2)}, {"start": np.nan}, {"steps": 0}, {"runs": 0}, {"seed": -1},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            fit_descent(problem, **{"privacy": None, "graph": graph, "seed": 1, **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        fit_descent("data", privacy=None, graph=graph, seed=1)  # type: ignore[arg-type]
    own = Collaboration(problem.local, pull=1.0, own_bends=True)
    with pytest.raises(UsageError, match="betray"):
        fit_descent(own, privacy=Privacy(1.0, 1e-5, unit="record"), graph=graph, seed=1)


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
        best = float(problem.loss(minimum(problem, links), links))
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
        slopes = gradient_of(problem, np.zeros((users, width)), links).ravel()
        bent = np.stack(
            [
                gradient_of(problem, each.reshape(users, width), links).ravel() - slopes
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
        best = float(problem.loss(minimum(problem, links), links))
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
    best = minimum(problem, links)
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
