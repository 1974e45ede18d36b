"""Learning the graph: rates, optimum, peers, and what it costs in privacy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chisquare

from gopa import UsageError
from gopa.learning import Privacy
from gopa.learning.objectives import Linear
from gopa.learning.personalised import (
    Accounts,
    BudgetShares,
    Collaboration,
    GossipPeers,
    GraphLearner,
    GraphSteps,
    Links,
    PrivateLosses,
    UniformPeers,
    fit_jointly,
    log_degrees,
)
from gopa.learning.personalised.descent import ModelDescent, schedule, turns
from gopa.learning.personalised.graph_learning import learned
from tests.learning.personalised.problems import (
    Floats,
    graph_gradient,
    problem_of,
    within_three_errors,
)
from tests.learning.personalised.test_objective import INSTANCES


def made(seed: int, users: int) -> tuple[Collaboration, Floats, np.random.Generator]:
    """A problem whose graph has to be learned, and models to learn it from."""
    problem, _, rng = problem_of(seed, users=users)
    regulariser = log_degrees(float(rng.uniform(0.3, 2)), float(rng.uniform(0.3, 1)))
    found = Collaboration(
        problem.local, pull=problem.pull, weight=float(rng.uniform(0.3, 3)),
        regulariser=regulariser,
    )  # fmt: skip
    return found, rng.normal(size=(users, problem.dimension)), rng


def best_graph(problem: Collaboration, models: Floats) -> Floats:
    """The weights of least J, found in one place."""
    users = problem.users
    upper = np.triu_indices(users, 1)

    def square(flat: Floats) -> Floats:
        weights = np.zeros((users, users))
        weights[upper] = flat
        return weights + weights.T

    def at(flat: Floats) -> tuple[float, Floats]:
        weights = square(flat)
        value = problem.value(models[None], Links.of_weights(weights[None]))
        return float(value[0]), graph_gradient(problem, models, weights)[upper]

    begin = np.full(len(upper[0]), 0.1)
    found = minimize(
        at, begin, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(begin),
        options={"ftol": 0.0, "gtol": 1e-11, "maxiter": 5000},
    )  # fmt: skip
    return square(found.x)


def graph_walk(
    problem: Collaboration, models: Floats, start: Floats, *, peers: int, steps: int, runs: int
) -> list[Floats]:
    """J of all runs after each step."""
    weights = np.repeat(start[None], runs, axis=0)
    everywhere = np.repeat(models[None], runs, axis=0)
    learner = GraphLearner(problem, weights, everywhere)
    sampler = UniformPeers().begin(problem.users, peers, runs=runs, seed=1)
    found = [problem.value(everywhere, Links.of_weights(learner.weights))]
    for users in schedule(None, problem.users, 2, steps=steps, runs=runs).T:
        learner(users, sampler.draw(users))
        found.append(problem.value(everywhere, Links.of_weights(learner.weights)))
    return found


@INSTANCES
def test_graphs_keep_the_linear_rate(seeds: range) -> None:
    """Theorem 2.1 for one peer, five, and all others; no step goes up."""
    for seed in seeds[:: 1 if len(seeds) > 50 else 3]:
        users = int(np.random.default_rng(seed).integers(6, 9))
        problem, models, rng = made(seed, users)
        best = best_graph(problem, models)
        least = float(problem.value(models[None], Links.of_weights(best[None]))[0])
        start = np.abs(rng.normal(size=(users, users)))
        start = np.triu(start, 1) + np.triu(start, 1).T
        for peers in (1, 5, users - 1):
            excess = [
                each - least
                for each in graph_walk(problem, models, start, peers=peers, steps=30, runs=20)
            ]
            bend = problem.graph_curvature() / problem.graph_smoothness(peers)
            kept = 1 - 2 * peers * bend / (users * (users - 1))
            assert all((after <= before + 1e-9).all() for before, after in pairwise(excess))
            for step in (1, 10, 30):
                assert within_three_errors(excess[step], kept**step * excess[0][0])


def test_graphs_end_at_the_central_optimum() -> None:
    problem, models, _ = made(3, 6)
    best = best_graph(problem, models)
    for peers in (3, 5):
        learner = GraphLearner(problem, np.zeros((1, 6, 6)), models[None].copy())
        sampler = UniformPeers().begin(6, peers, runs=1, seed=1)
        links = learned(learner, sampler, schedule(None, 6, 1, steps=300, runs=1))
        assert learner.weights[0] == pytest.approx(best, abs=1e-6)
        assert np.array_equal(learner.weights, learner.weights.transpose(0, 2, 1))
        assert links.degrees[0] == pytest.approx(best.sum(axis=0), abs=1e-5)
        assert learner.messages == 3 * peers * 300
    assert (best == 0).sum() > 6


def test_nothing_grows_in_turn() -> None:
    """J falls with every step of models and of the graph, in any order: the slides' theorem."""
    for seed in range(4):
        problem, models, _ = made(seed, 6)
        learner = GraphLearner(problem, np.zeros((3, 6, 6)), np.repeat(models[None], 3, axis=0))
        sampler = UniformPeers().begin(6, 3, runs=3, seed=seed)
        descent = ModelDescent(problem, Links.of_weights(learner.weights), learner._models.copy())
        value = problem.value(descent.models, Links.of_weights(learner.weights))
        for phase in range(6):
            learner.renew(descent.models.copy())
            links = learned(learner, sampler, schedule(None, 6, phase, steps=10, runs=3))
            descent.relink(links)
            after = problem.value(descent.models, links)
            assert (after <= value + 1e-9).all()
            for now in turns(schedule(None, 6, phase, steps=20, runs=3), links, 0, 20):
                descent(now)
            value = problem.value(descent.models, links)
            assert (value <= after + 1e-9).all()


def test_the_oracle_draws_every_set_alike() -> None:
    sampler = UniformPeers().begin(5, 2, runs=200, seed=1)
    seen = [sampler.draw(np.full(200, 3)) for _ in range(60)]
    drawn = np.sort(np.concatenate(seen), axis=1)
    assert (drawn[:, 0] < drawn[:, 1]).all()
    pairs, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(pairs) == 6
    assert 3 not in pairs
    assert chisquare(counts).pvalue > 1e-3
    whole = UniformPeers().begin(5, 4, runs=1, seed=1).draw(np.array([2]))
    assert sorted(whole[0].tolist()) == [0, 1, 3, 4]


def test_gossip_brings_everybody_about_as_often() -> None:
    """From a ring, views soon lead to all; nobody meets itself or anybody twice at a time."""
    users, steps = 30, 1200
    sampler: Any = GossipPeers(view=8, healing=1, swap=3, cycles=15).begin(users, 3, runs=2, seed=1)
    met = np.zeros((users, users), dtype=int)
    for turn in range(steps):
        user = turn % users
        drawn = sampler.draw(np.array([user, 0]))
        assert len(set(drawn[0].tolist())) == 3
        assert user not in drawn[0]
        met[user, drawn[0]] += 1
    assert all(len(view) == 8 for view in sampler.views[0])
    off = ~np.eye(users, dtype=bool)
    assert (met[off] > 0).mean() > 0.9
    expected = steps * 3 / users
    assert met.sum(axis=0).min() > 0.6 * expected
    assert met.sum(axis=0).max() < 1.5 * expected
    assert sampler.bytes > 0
    for wrong in ({"view": 2}, {"view": 30}, {"healing": -1}, {"swap": -1}):
        with pytest.raises(UsageError):
            GossipPeers(**wrong).begin(users, 3, runs=1, seed=1)


def test_the_farthest_are_forgotten() -> None:
    """Remark 2.5."""
    problem, models, _ = made(5, 7)
    learner = GraphLearner(problem, np.zeros((1, 7, 7)), models[None].copy(), nearest=2)
    sampler = UniformPeers().begin(7, 6, runs=1, seed=1)
    learned(learner, sampler, np.array([[4]]))
    near = np.flatnonzero(learner.weights[0, 4])
    apart = np.linalg.norm(models - models[4], axis=1)
    assert 0 < len(near) <= 2
    assert set(near) <= set(np.argsort(apart)[1:3])
    assert learner.degrees[0] == pytest.approx(learner.weights[0].sum(axis=0))


def test_losses_are_told_behind_what_is_charged() -> None:
    problem, models, _ = made(5, 4)
    assert isinstance(problem.local, Linear)
    asked = Privacy(5.0, 1e-5, unit="record")
    accounts = Accounts(asked, 4)
    told = PrivateLosses(
        problem, accounts, share=asked, times=2, largest=3.0, noise="gaussian", seed=1
    )
    found = np.stack([told(models[None], phase)[0] for phase in range(2)])
    counts = problem.local.rows.counts
    true = problem.local.value(models)
    scale = 3.0 / np.maximum(counts, 1) / 2.5
    assert (np.abs(found - true) <= 20 * scale).all()
    assert (found[0] != found[1])[counts > 0].all()
    assert accounts.spent().epsilon == pytest.approx(5, rel=0.02)
    # The loss of a row moves by `largest` at most.
    rows = told._rows
    for value in (-1.5, 1.5):
        steps = rows.on_grid(np.full((1, 1, 1), value), np.array([100]))
        assert abs(int(steps[0, 0])) <= 100


@pytest.mark.soak
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_models_and_graph_together_keep_the_budget(noise: Any) -> None:
    problem, _, _ = made(2, 6)
    asked = Privacy(8.0, 1e-4, unit="record")
    found = fit_jointly(
        problem, privacy=asked, seed=1, steps=24, every=12, noise=noise,
        learning=GraphSteps(first=40, then=20, peers=3), shares=BudgetShares(0.3, 0.2),
    )  # fmt: skip
    assert 4 < found.spent.epsilon <= 8
    assert found.spent.within(asked)
    assert found.model["weights"].shape == (6, 6)


def test_a_schedule_that_means_nothing_is_refused() -> None:
    problem, _, _ = made(2, 6)
    how = {"privacy": None, "seed": 1, "steps": 12, "learning": GraphSteps(first=5, then=5)}
    right = fit_jointly(problem, **how)  # type: ignore[arg-type]
    assert right.history["step"].tolist() == [0, 2, 4, 6, 8, 10, 12]
    for wrong in ({"learning": None}, {"method": "sgd"}, {"every": 0},
                  {"method": "frank-wolfe", "privacy": Privacy(1.0, 1e-5)},
                  {"method": "frank-wolfe", "radius": 0.0}):  # fmt: skip
        with pytest.raises(UsageError):
            fit_jointly(problem, **{**how, **wrong})  # type: ignore[arg-type]
    for made_wrong in (
        lambda: GraphSteps(peers=0), lambda: GraphSteps(cut=-1.0), lambda: GraphSteps(nearest=0),
        lambda: BudgetShares(0.6, 0.4), lambda: BudgetShares(largest=0.0),
        lambda: GraphSteps(first=-1),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            made_wrong()
