"""The objective's gradients, constants and minima."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import complete, from_edges
from gopa.learning.objectives import HINGE, LOGISTIC, SQUARED, Boosting, Linear, Quadratic
from gopa.learning.personalised import Collaboration, Convex, GraphRegulariser, Links, log_degrees
from gopa.learning.rows import AgentRows
from tests.learning.personalised.problems import graph_gradient, graph_of, problem_of, rows_of

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
    slope = (problem.gradient(models, links) * move).sum(axis=(1, 2))
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
            bent = (problem.gradient(moved, links) - problem.gradient(here, links))[user]
            assert np.linalg.norm(bent) <= most * np.linalg.norm(there[user] - here[user]) + 1e-12
        slope = problem.gradient(here, links) - problem.gradient(there, links)
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
    assert weak.minimum(links) == pytest.approx(problem.alone(), abs=1e-4)
    strong = Collaboration(problem.local, pull=1e7)
    models = strong.minimum(links, 1e-13)
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
    models = problem.minimum(Links.of(complete(2)))
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
