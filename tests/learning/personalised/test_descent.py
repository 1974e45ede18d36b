"""Coordinate descent, propagation and ADMM reach the central optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import complete, from_edges
from gopa.learning import Privacy
from gopa.learning.clocks import InTurn, Poisson, Replayed, Synchronous
from gopa.learning.personalised import Collaboration, Links, fit_admm, fit_descent, propagated
from gopa.learning.personalised.descent import turns
from tests.learning.personalised.problems import problem_of


@pytest.mark.parametrize("clock", [Poisson, InTurn])
def test_descent_ends_at_the_central_optimum(clock: type[Poisson | InTurn]) -> None:
    problem, graph, _ = problem_of(1, users=5, width=3, ridge=1.5)
    best = problem.minimum(Links.of(graph))
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
    best = problem.minimum(Links.of(graph))
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
    assert whole.model == pytest.approx(spread.minimum(Links.of(graph)), abs=1e-6)


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
