"""Gossip about pairs: many exchanges at a time are as good as one, and lead to the statistic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import complete, from_edges, grid, ring
from gopa.learning.clocks import EdgeClock, Poisson, events
from gopa.learning.pairwise import (
    AUC,
    GINI,
    Pairs,
    estimates,
    expected_estimates,
    fit_pairwise,
    statistic,
)
from gopa.learning.pairwise.gossip import METHODS, Method, estimation_bound
from gopa.noise import subseed
from tests.learning.pairwise.samples import GRAPHS, users

STEPS = 150
REST = ("small world", "regular")


def one_by_one(method: Method, pairs: Pairs, graph: Any, seed: int, run: int) -> np.ndarray:
    """Algorithm 3.1, its asynchronous variant or U2 as they are written, for all steps."""
    n = pairs.users
    clock = EdgeClock(graph, 1.0)
    seeds: list[int | bytes] = [seed, subseed(seed, "pairwise", "second copy")]
    drawn = [events(clock, each, steps=STEPS, runs=run + 1).actors[run] for each in seeds]
    z, acted = np.zeros(n), np.zeros(n)
    copies = [np.arange(n), np.arange(n)]

    def h(one: int, other: int) -> float:
        return float(pairs.between(np.array([one]), np.array([other]))[0])

    found = []
    share = graph.degrees / graph.edge_count
    for step in range(1, STEPS + 1):
        u, v = drawn[0][step - 1]
        if method == "gosta":
            mean = (z[u] + z[v]) / 2
            for k in (u, v):
                acted[k] += 1 / share[k]
                weight = 1 / (share[k] * acted[k])
                z[k] = (1 - weight) * mean + weight * h(k, copies[0][k])
        else:
            for k in range(n):
                own = k if method == "gosta-sync" else int(copies[1][k])
                z[k] += (h(own, copies[0][k]) - z[k]) / step
            if method == "gosta-sync":
                z[u] = z[v] = (z[u] + z[v]) / 2
            else:
                i, j = drawn[1][step - 1]
                copies[1][[i, j]] = copies[1][[j, i]]
        copies[0][[u, v]] = copies[0][[v, u]]
        found.append(z.copy())
    return np.array(found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("each", [1, 2])
def test_runs_side_by_side_are_the_algorithms_as_they_are_written(
    method: Method, each: int
) -> None:
    pairs, graph = Pairs(GINI, users(each=each)), GRAPHS["lollipop"]
    marks = np.array([1, 2, 31, 32, 33, 100, STEPS])
    walk = estimates(pairs, graph, method=method, steps=STEPS, marks=marks, seed=5, runs=3)
    found = dict(walk)
    assert list(found) == marks.tolist()
    for run in range(3):
        expected = one_by_one(method, pairs, graph, 5, run)
        for mark in marks:
            assert np.allclose(found[mark][run], expected[mark - 1], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_runs_are_the_same_alone_and_together(method: Method) -> None:
    pairs = Pairs(AUC, users(40))
    alone, together = (
        next(estimates(pairs, grid(5, 8), method=method, steps=300, seed=1, runs=runs))[1]
        for runs in (1, 4)
    )
    assert (alone[0] == together[0]).all()
    assert (together[0] != together[1]).any()


@pytest.mark.parametrize("shape", GRAPHS)
def test_expectations_are_those_of_the_phantom_graphs(shape: str) -> None:
    """The matrix of the proof of Theorem 3.1, with n + n^2 rows, power by power."""
    graph, pairs = GRAPHS[shape], Pairs(GINI, users())
    n = pairs.users
    first, second = graph.edges()
    swaps = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        swap = np.eye(n)
        swap[[i, j]] = swap[[j, i]]
        swaps.append(swap)
    table = pairs.between(np.arange(n)[:, None], np.arange(n))
    state = np.concatenate([np.zeros(n), table.ravel()])
    found = expected_estimates(pairs, graph, 30)
    picks = np.zeros((n, n * n))
    picks[np.arange(n), np.arange(n) * n + np.arange(n)] = 1
    averages = np.mean([(np.eye(n) + swap) / 2 for swap in swaps], axis=0)
    moves = np.kron(np.eye(n), np.mean(swaps, axis=0))
    for step in range(1, 31):
        matrix = np.block(
            [
                [averages * (1 - 1 / step), averages @ picks / step],
                [np.zeros((n * n, n)), moves],
            ]
        )
        state = matrix @ state
        assert np.allclose(found[step - 1], state[:n], rtol=1e-12)


def as_printed(pairs: Pairs, graph: Any, steps: np.ndarray) -> np.ndarray:
    """(3.3) of the thesis."""
    everybody = np.arange(pairs.users)
    table = pairs.between(everybody[:, None], everybody)
    own = table.mean(axis=1)
    rate = np.linalg.eigvalsh(graph.laplacian().toarray())[1] / graph.edge_count * steps
    apart = np.linalg.norm(table - own[:, None], 2)
    return np.asarray(np.linalg.norm(own - own.mean()) / rate + (2 / rate + np.exp(-rate)) * apart)


@pytest.mark.parametrize(
    "shape",
    ["complete", "lollipop", *(pytest.param(each, marks=pytest.mark.soak) for each in REST)],
)
def test_the_mean_of_many_runs_is_the_expectation_and_below_the_bound(shape: str) -> None:
    """Theorem 3.1: 2,000 runs, nearly all users within three standard errors, all within four."""
    graph, pairs = GRAPHS[shape], Pairs(GINI, users())
    marks = [10, 40]
    exact = expected_estimates(pairs, graph, marks[-1])
    goal = statistic(GINI, users())
    walk = estimates(pairs, graph, method="gosta-sync", steps=40, marks=marks, seed=3, runs=2000)
    for step, found in walk:
        errors = found.std(axis=0, ddof=1) / math.sqrt(2000)
        apart = np.abs(found.mean(axis=0) - exact[step - 1]) / errors
        assert apart.max() < 4
        assert np.quantile(apart, 0.8) < 3
    missed = np.linalg.norm(exact - goal, axis=1)
    steps = np.arange(1, marks[-1] + 1)
    assert (missed <= estimation_bound(pairs, graph, steps)).all()
    assert (missed <= as_printed(pairs, graph, steps)).all()
    far = expected_estimates(pairs, graph, 4000)[-1]
    assert np.abs(far - goal).max() < 0.02 * goal


@pytest.mark.parametrize("last", [3000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_asynchronous_errors_fall_as_promised(last: int) -> None:
    """The mean over runs comes to the statistic as log t / t, up to 10^5 steps."""
    among = users(12, 4)
    marks = [100, 1000, last]
    scaled = [
        np.linalg.norm(found.mean(axis=0) - statistic(GINI, among)) * step / math.log(step)
        for step, found in estimates(
            Pairs(GINI, among), complete(12), steps=last, marks=marks, seed=2, runs=20
        )
    ]
    assert max(scaled[1:]) < 4 * scaled[0]


def test_gossip_beats_its_rival_and_likes_short_ways() -> None:
    among = users(64, 3)
    pairs, goal = Pairs(AUC, among), statistic(AUC, among)
    missed = {
        (name, method): float(np.abs(found - goal).mean())
        for name, graph in (("complete", complete(64)), ("grid", grid(8, 8)))
        for method in METHODS
        for _, found in estimates(pairs, graph, method=method, steps=700, seed=1, runs=20)
    }
    for name in ("complete", "grid"):
        assert missed[name, "gosta"] < 0.7 * missed[name, "u2"]
        assert missed[name, "gosta-sync"] < 0.7 * missed[name, "u2"]
    assert missed["complete", "gosta"] < missed["grid", "gosta"]


def test_a_run_that_did_not_converge_says_so() -> None:
    among = users(20, 3)
    short, long = (
        fit_pairwise(among, kernel=GINI, graph=complete(20), seed=1, steps=steps)
        for steps in (20, 8000)
    )
    assert (short.converged, long.converged) == (False, True)
    assert long.model.shape == (20,)
    assert not long.spent.hides
    assert long.messages == 16_000
    assert np.abs(long.model - statistic(GINI, among)).max() < 0.1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"graph": None}, "graph"),
        ({"graph": ring(6)}, "graph"),
        ({"graph": from_edges(7, [(0, 1)])}, "graph"),
        ({"clock": Poisson(7)}, "clock"),
        ({"clock": EdgeClock(ring(7))}, "clock"),
        ({"method": "fast"}, "method"),
        ({"steps": 0}, "steps"),
        ({"runs": 0}, "runs"),
        ({"seed": -1}, "seed"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, Any], field: str) -> None:
    right: dict[str, Any] = {"kernel": GINI, "graph": ring(7), "seed": 1, "steps": 20}
    fit_pairwise(users(), **right)
    with pytest.raises(UsageError) as caught:
        fit_pairwise(users(), **{**right, **change})
    assert caught.value.field == field
