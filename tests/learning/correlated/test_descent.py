"""Descent behind noise that cancels: what is kept in every step, and where every run leads."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from scipy.optimize import minimize

from gopa import UsageError
from gopa.graph import (
    MixingMatrix,
    complete,
    equal_neighbour,
    fitted_mixing,
    fixed,
    from_edges,
    heterogeneity,
    metropolis,
    path,
    random_regular,
    ring,
    star,
)
from gopa.learning import BudgetExceeded, Privacy
from gopa.learning.clipping import DEVIATION
from gopa.learning.clocks import Steps, constant, harmonic
from gopa.learning.correlated import (
    METHODS,
    Method,
    descend,
    descent_bound,
    disclosure,
    fit_correlated,
    gradient_heterogeneity,
    optimum,
    spread_bound,
)
from gopa.learning.correlated.disguises import InFunctions, InStates, mixed
from gopa.learning.objectives import HINGE, LOGISTIC, Linear, Objective, Quadratic
from gopa.learning.rows import AgentRows
from tests.learning.correlated.networks import GRAPHS, four, points, tumours

NOISY: tuple[Method, ...] = METHODS[1:]


@pytest.mark.parametrize("to_each", [False, True])
def test_noise_sums_to_zero_in_every_step_as_integers(to_each: bool) -> None:
    graph = random_regular(10, 4, seed=1)
    noise = InStates(graph, fixed(graph), noise=1.0, seed=1, runs=3, dimension=2, to_each=to_each)
    for number in (0, 1, 300, 5):
        drawn = noise.drawn(number)
        assert drawn.dtype == np.int64
        assert drawn.any(axis=(0, 2)).all()
        if to_each:
            starts = np.cumsum(graph.degrees) - graph.degrees
            assert not np.add.reduceat(drawn, starts, axis=0).any()
        else:
            assert not drawn.sum(axis=0).any()
    again = noise.drawn(300)
    assert (again == noise.drawn(300)).all()
    assert (again != noise.drawn(301)).any()


@pytest.mark.parametrize("to_each", [False, True])
def test_noise_is_as_wide_as_asked(to_each: bool) -> None:
    graph = ring(6)
    noise = InStates(graph, fixed(graph), noise=3.0, seed=2, runs=2, dimension=1, to_each=to_each)
    drawn = np.stack([noise.drawn(number) for number in range(400)]) / DEVIATION
    # Two edges of an agent; a neighbour of two hears the noise of one edge.
    expected = 1.0 if to_each else 2.0
    assert drawn.var() == pytest.approx(expected, rel=5 * math.sqrt(2 / drawn.size))
    heard = np.stack([noise.heard(np.zeros((6, 2, 1)), 0.5, number) for number in range(400)])
    weights, edges = fixed(graph).matrix.toarray(), graph.laplacian().toarray()
    fused = 2 / 9 if to_each else (weights @ edges @ weights)[0, 0]
    assert heard.var() == pytest.approx((0.5 * 3.0) ** 2 * fused, rel=5 * math.sqrt(2 / heard.size))


@pytest.mark.parametrize("method", METHODS)
def test_mixing_keeps_the_sum(method: Method) -> None:
    """Of all models, whatever noise there is: functions that are flat leave the average alone."""
    graph = random_regular(8, 3, seed=2)
    start = np.random.default_rng(1).normal(size=(8, 3))
    flat = Quadratic(np.zeros((8, 3)), scale=1e-300)
    if method == "functions":
        drawn = InFunctions(graph, fixed(graph), noise=1.0, seed=3, runs=2, objective=flat)
        everywhere = np.repeat(start[:1, None], 8, axis=0).repeat(2, axis=1)
        bent = drawn.bent(everywhere)
        assert np.abs(bent).min() > 0
        assert np.abs(np.asarray(bent).sum(axis=0)).max() < 1e-12
        return
    for each in islice(descend(flat, graph, method=method, start=start, seed=3, runs=2), 30):
        assert np.abs(each.average - start.mean(axis=0)).max() < 1e-12
    assert each.spread.max() < (1e-3 if method == "dgd" else 1.0)


def test_runs_are_the_same_alone_and_together() -> None:
    for method in METHODS:
        alone, together = (
            next(islice(descend(points(4), ring(4), method=method, seed=1, runs=runs), 600, None))
            for runs in (1, 3)
        )
        assert (alone.models[:, 0] == together.models[:, 0]).all()
        if method != "dgd":
            assert (together.models[:, 0] != together.models[:, 1]).any()


@pytest.mark.parametrize("method", METHODS)
def test_four_agents_on_a_cycle_come_to_one_limit(method: Method) -> None:
    """As Gade and Vaidya say; .009 to .018 after 400 steps of 1/k."""
    runs = 1 if method == "dgd" else 40
    noise = 0.1 if method == "functions" else 1.0
    walk = descend(four(), ring(4), method=method, seed=1, runs=runs, noise=noise, radius=10.0)
    after = {each.number: np.abs(each.models - 2.5).max(axis=(0, 2)) for each in islice(walk, 1601)}
    assert after[400].max() < 0.018
    # Errors fall like 1/k.
    assert np.median(after[400]) / np.median(after[1600]) == pytest.approx(4, rel=0.25)


def test_noise_costs_iterations() -> None:
    """To stay within 0.1 of the limit plain descent takes 38 steps; noise makes it more."""
    last = {}
    for method in ("dgd", "rss", "rss-lb"):
        runs = 1 if method == "dgd" else 60
        walk = descend(four(), ring(4), method=method, seed=1, runs=runs, radius=10.0)
        off = np.stack(
            [np.abs(each.models - 2.5).max(axis=(0, 2)) > 0.1 for each in islice(walk, 300)]
        )
        last[method] = np.median(300 - np.argmax(off[::-1], axis=0))
    assert last["dgd"] == 38
    assert 38 < last["rss"] < 60
    assert 38 < last["rss-lb"] < 60


@pytest.mark.soak
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("problem", ["points", "points near an edge", "tumours"])
def test_every_one_of_a_thousand_runs_comes_to_the_optimum(
    method: Method, name: str, problem: str
) -> None:
    graph = GRAPHS[name]
    radius = 0.4 if problem == "points near an edge" else math.inf
    objective: Objective
    if problem == "tumours":
        # Shared functions stay disguised for ever, which costs more of the same error.
        noise = 0.05 if method == "functions" else 0.1
        objective, steps = tumours(graph.parties), Steps(10.0, 1.0, 20.0)
    else:
        objective, steps, noise = points(graph.parties), harmonic(1.0), 0.2
    best = optimum(objective, radius=radius)
    assert (math.dist(best, np.zeros_like(best)) == pytest.approx(radius)) == (radius < math.inf)
    walk = descend(
        objective, graph, method=method, steps=steps, noise=noise, radius=radius, seed=4, runs=1000
    )
    final = next(islice(walk, 10_000, None))
    off = np.sqrt(((final.models - best) ** 2).sum(axis=-1)).max(axis=0)
    assert off.shape == (1000,)
    assert off.max() < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_runs_come_to_the_optimum_of_real_data(method: Method) -> None:
    """A short run; the long ones are soaks."""
    objective = tumours(4, 40)
    best = optimum(objective)
    walk = descend(
        objective, ring(4), method=method, steps=Steps(10.0, 1.0, 20.0), noise=0.2, seed=4, runs=4
    )
    final = next(islice(walk, 1500, None))
    assert np.abs(final.models - best).max() < 1e-2


def test_the_optimum_is_that_of_another_solver() -> None:
    objective = tumours(4)

    def total(model: np.ndarray) -> float:
        return float(objective.value(np.tile(model, (4, 1))).mean())

    other = minimize(total, np.zeros(objective.dimension), method="BFGS", options={"gtol": 1e-9})
    assert np.abs(optimum(objective) - other.x).max() < 1e-5
    radius = float(np.linalg.norm(other.x)) / 2
    within = optimum(objective, radius=radius)
    ball = {"type": "ineq", "fun": lambda model: radius**2 - model @ model}
    other = minimize(
        total, within * 0.9, method="SLSQP", constraints=[ball], options={"ftol": 1e-14}
    )
    assert np.abs(within - other.x).max() < 1e-5
    assert optimum(four(), radius=1.0) == pytest.approx(1.0)
    with pytest.raises(UsageError, match="jump"):
        optimum(Linear(HINGE, AgentRows.of([([[1.0]], [1.0])]).clipped(2, 1.0)))


@pytest.mark.parametrize("method", ["dgd", "rss"])
@pytest.mark.parametrize("name", GRAPHS)
def test_agents_stay_as_close_as_the_bound_says(method: Method, name: str) -> None:
    """With the largest draws there were, and not those there might have been."""
    graph = GRAPHS[name]
    mixing, steps = metropolis(graph), harmonic(1.0)
    objective = points(graph.parties)
    noise = InStates(graph, mixing, noise=0.5, seed=1, runs=5, dimension=1, to_each=False)
    drawn = np.stack([mixed(mixing.matrix, noise.drawn(number)) for number in range(200)])
    largest = 0.5 * float(np.abs(drawn).max()) / DEVIATION if method == "rss" else 0.0
    walk = descend(
        objective, graph, method=method, mixing=mixing, noise=0.5, seed=1, runs=5, radius=1.0
    )
    # Models of length 1 at most, heard with noise.
    slope = 2 * (1 + largest + 1)
    bound = spread_bound(mixing, steps, 200, slope=slope, noise=largest)
    found = []
    for each in islice(walk, 1, 201):
        apart = each.models - each.average
        found.append(np.sqrt((apart * apart).sum(axis=(0, 2))).max())
    assert (np.array(found) <= bound).all()
    assert found[0] > 0.02 * bound[0]


def test_what_an_agent_balances_needs_equal_weights() -> None:
    path = from_edges(4, [(0, 1), (1, 2), (2, 3)])
    descend(points(4), path, method="rss", mixing=metropolis(path), seed=1)
    descend(points(4), path, method="rss-lb", mixing=fixed(path), seed=1)
    star = from_edges(5, [(0, 1), (0, 2), (0, 3), (3, 4)])
    with pytest.raises(UsageError, match="use `fixed`"):
        descend(points(5), star, method="rss-lb", mixing=metropolis(star), seed=1)


def own(weights: npt.ArrayLike) -> MixingMatrix:
    """A matrix that somebody made and calls doubly stochastic."""
    matrix = sparse.csr_array(np.array(weights, dtype=np.float64))
    return MixingMatrix("own", matrix, np.full(4, 1 / 4), True)


HALF = np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5]])
SKIP = [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]


@pytest.mark.parametrize(
    ("field", "how"),
    [
        ("graph", {"graph": ring(5)}),
        ("graph", {"graph": None}),
        ("graph", {"graph": [[0, 1], [1, 2], [2, 3], [3, 0]]}),
        ("problem", {"objective": np.eye(4)}),
        ("method", {"method": "rss_lb"}),
        ("mixing", {"mixing": fixed(complete(4))}),
        ("mixing", {"mixing": fixed(ring(5))}),
        ("mixing", {"mixing": own(SKIP)}),
        ("mixing", {"mixing": own(2 * HALF)}),
        ("mixing", {"mixing": own(2 * HALF - np.eye(4))}),
        ("noise", {"noise": 0.0}),
        ("noise", {"noise": -1.0}),
        ("noise", {"noise": math.nan}),
        ("noise", {"noise": math.inf}),
        ("noise", {"noise": "1"}),
        ("steps", {"steps": 0.1}),
        ("start", {"start": math.nan}),
        ("start", {"start": np.zeros((3, 1))}),
        ("start", {"start": "0"}),
        ("radius", {"radius": math.nan}),
        ("radius", {"radius": -1.0}),
        ("seed", {"seed": -1}),
        ("runs", {"runs": 0}),
    ],
)
def test_what_does_not_fit_is_refused(field: str, how: dict[str, Any]) -> None:
    """Also by the account, where it is asked about the same."""
    settings: dict[str, Any] = {"objective": four(), "graph": ring(4), "seed": 1}
    descend(**settings, mixing=own(HALF))
    with pytest.raises(UsageError) as caught:
        descend(**{**settings, **how})
    assert caught.value.field == field
    if field in {"graph", "problem", "method", "mixing", "noise"}:
        right = {k: v for k, v in settings.items() if k != "seed"}
        right |= {"steps": harmonic(1.0), "iterations": 2, "noise": 1.0, "method": "rss"}
        assert disclosure(**right).reason == ""
        with pytest.raises(UsageError) as caught:
            disclosure(**{**right, **how})
        assert caught.value.field == field


def test_a_walk_that_leads_away_says_so() -> None:
    tiny = descend(four(), ring(4), noise=1e-14, seed=1, start=1.0)
    with pytest.raises(UsageError, match="lost in the roundings"):
        list(islice(tiny, 3))
    for method in ("dgd", "functions"):
        walk = descend(four(), ring(4), method=method, seed=1, steps=constant(10.0))
        with pytest.raises(UsageError, match="without bound"):
            list(islice(walk, 200))


def test_an_outcome_says_what_was_done() -> None:
    found = fit_correlated(four(), graph=ring(4), seed=1, radius=10.0, iterations=800)
    assert found.converged
    assert found.model == pytest.approx([2.5], abs=0.01)
    assert not found.spent.hides
    assert found.messages == 800 * 8 + 8
    assert found.bytes == 8 * 800 * 8 + 32 * 8
    assert found.history["loss"][-1] == pytest.approx(1.25, abs=1e-3)
    assert (
        found.digest()
        == fit_correlated(four(), graph=ring(4), seed=1, radius=10.0, iterations=800).digest()
    )
    assert fit_correlated(four(), graph=ring(4), seed=1, iterations=3).converged is False


def test_privacy_ends_a_run_before_it_is_exceeded() -> None:
    objective, graph = points(6), ring(6)
    asked = Privacy(2.0, 1e-6, view="neighbour")
    found = fit_correlated(
        objective, graph=graph, privacy=asked, noise=200.0, radius=1.0, iterations=200, seed=1
    )
    assert found.spent.within(asked)
    assert 1.9 < found.spent.epsilon <= 2.0
    assert "stopped after" in found.warnings[0]
    short = fit_correlated(
        objective, graph=graph, privacy=asked, noise=200.0, radius=1.0, iterations=3, seed=1
    )
    assert not short.warnings
    assert short.spent.epsilon < found.spent.epsilon
    for method in ("dgd", "functions"):
        with pytest.raises(BudgetExceeded, match="no noise hides"):
            fit_correlated(objective, graph=graph, privacy=asked, method=method, seed=1)
    with pytest.raises(BudgetExceeded, match="adds up"):
        fit_correlated(objective, graph=graph, privacy=Privacy(2.0, 1e-6), seed=1)
    other = Privacy(2.0, 1e-6, view="neighbour", relation="add-remove")
    with pytest.raises(UsageError, match="data are replaced"):
        fit_correlated(objective, graph=graph, privacy=other, seed=1)
    with pytest.raises(UsageError, match="delta"):
        fit_correlated(objective, graph=graph, privacy=Privacy(2.0, view="neighbour"), seed=1)


def uneven(agents: int) -> np.ndarray:
    """Proportions of three labels: an agent has one of them, and a little of the others."""
    return 0.1 + 0.7 * np.eye(3)[np.arange(agents) % 3]


MIXINGS: dict[str, MixingMatrix] = {
    "ring": fixed(ring(12)),
    "star": metropolis(star(12)),
    "complete": fixed(complete(12), 0.05),
    "fitted": fitted_mixing(uneven(12), 3),
}


@pytest.mark.parametrize("share", [0.1, 0.45])
@pytest.mark.parametrize("name", MIXINGS)
def test_descent_on_quadratics_stays_below_its_bound(name: str, share: float) -> None:
    mixing, rng = MIXINGS[name], np.random.default_rng(8)
    objective = Quadratic(rng.standard_normal((12, 3)), scale=0.5)
    best, step = objective.centres.mean(axis=0), share / 1.0
    unlike = float(gradient_heterogeneity(objective, mixing, best))
    away = mixing.matrix @ (objective.centres - best)
    assert unlike == pytest.approx(np.sqrt((away**2).sum(axis=1).mean()))
    start = best + 3.0
    how: dict[str, Any] = {"heterogeneity": unlike, "distance": math.dist(start, best)}
    bound = descent_bound(mixing, step=step, iterations=300, smoothness=1.0, **how)
    curved = descent_bound(mixing, step=step, iterations=300, smoothness=1.0, curvature=1.0, **how)
    assert (curved.distance <= bound.distance).all()
    assert (curved.apart <= bound.apart).all()
    walk = descend(
        objective, mixing.graph(), method="dgd", mixing=mixing, steps=constant(step), start=start,
        seed=1,
    )  # fmt: skip
    losses: list[float] = []
    for each in islice(walk, 301):
        fused, average = mixing.matrix @ each.models[:, 0], each.average[0]
        if each.number:
            apart = np.sqrt(((fused - average) ** 2).sum(axis=1).mean())
            assert np.mean(losses) <= bound.loss[each.number - 1]
            assert apart <= curved.apart[each.number - 1] * (1 + 1e-9)
            assert math.dist(average, best) <= curved.distance[each.number - 1] + 1e-9
        losses.append(((average - best) ** 2).sum() / 2)
    assert apart > curved.apart[-1] / 4


@pytest.mark.parametrize("curvature", [0.0, 0.3])
@pytest.mark.parametrize("name", MIXINGS)
def test_the_bound_is_that_of_its_theorem(name: str, curvature: float) -> None:
    """[C10], written down again from the page, and its closed form."""
    dense, n = MIXINGS[name].matrix.toarray(), 12
    a, L, tau, sigma, r = 0.1, 2.0, 0.7, 0.4, 1.5
    bound = descent_bound(
        MIXINGS[name], step=a, iterations=50, smoothness=L, heterogeneity=tau, distance=r,
        curvature=curvature, noise=sigma,
    )  # fmt: skip
    rho = float(np.linalg.norm(dense - 1 / n, 2))
    omega = float(np.linalg.norm(dense - 1 / n)) / math.sqrt(n)
    d, R = [0.0], [r**2]
    for _ in range(50):
        keeps, noise = 1 - a * curvature, (a * sigma) ** 2
        one = (keeps * math.sqrt(R[-1]) + a * L * d[-1]) ** 2
        two = keeps * R[-1] + a * L * (1 + 2 * a * L) * d[-1] ** 2
        R.append(min(one, two) + noise / n)
        d.append(math.sqrt((rho * keeps * d[-1] + a * tau) ** 2 + noise * omega**2))
    assert bound.apart == pytest.approx(d[1:], rel=1e-9)
    assert bound.distance == pytest.approx(np.sqrt(R[1:]), rel=1e-9)
    far = a * (tau / (1 - rho) + sigma * omega / math.sqrt(1 - rho**2))
    for T in range(1, 51):
        squares = sum(each**2 for each in d[:T]) / T
        inside = r**2 / (a * T) + L * (1 + 2 * a * L) * squares + a * sigma**2 / n
        assert bound.loss[T - 1] == pytest.approx(inside / (2 * (1 - 2 * a * L)), rel=1e-9)
        assert bound.apart[T - 1] <= far * (1 + 1e-9)
        # a = 1 / (5 L)
        closed = r**2 / (a * T) + 1.5 * L * far**2 + a * sigma**2 / n
        assert bound.loss[T - 1] <= closed


def test_the_bound_of_two_agents_is_reached() -> None:
    """All that mixing leaves lies in one direction: nothing is lost in estimates."""
    mixing = fixed(path(2), 0.25)
    objective, step = Quadratic([[-1.0], [1.0]], scale=0.5), 0.25
    bound = descent_bound(
        mixing, step=step, iterations=40, smoothness=1.0, curvature=1.0, heterogeneity=0.5,
        distance=0.0,
    )  # fmt: skip
    walk = descend(objective, path(2), method="dgd", mixing=mixing, steps=constant(step), seed=1)
    for each in islice(walk, 1, 41):
        fused = mixing.matrix @ each.models[:, 0]
        assert np.abs(fused).max() == pytest.approx(bound.apart[each.number - 1])


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("name", MIXINGS)
def test_descent_on_logistic_losses_stays_below_its_bound(name: str, batch: int | None) -> None:
    mixing, objective = MIXINGS[name], tumours(12)
    best, runs, step = optimum(objective), 1 if batch is None else 40, 1.0
    walk = descend(
        objective, mixing.graph(), method="dgd", mixing=mixing, steps=constant(step), batch=batch,
        seed=2, runs=runs,
    )  # fmt: skip
    met = list(islice(walk, 121))
    averages = np.stack([each.average for each in met])
    bound = descent_bound(
        mixing,
        step=step,
        iterations=120,
        smoothness=float(objective.smoothness().max()),
        curvature=0.1,
        heterogeneity=gradient_heterogeneity(objective, mixing, averages).max(),
        distance=float(np.linalg.norm(best)),
        noise=0.0 if batch is None else objective.row_gradient_bound(2) / math.sqrt(batch),
    )

    def loss(models: np.ndarray) -> np.ndarray:
        everywhere = np.repeat(models[..., None, :], 12, axis=-2)
        return np.asarray(objective.value(everywhere).mean(axis=-1))

    above = (loss(averages) - loss(best)).mean(axis=1)
    so_far = np.cumsum(above)[:-1] / np.arange(1, 121)
    assert (so_far <= bound.loss).all()
    far = np.sqrt(((averages - best) ** 2).sum(axis=-1).mean(axis=1))
    assert (far[1:] <= bound.distance).all()
    fused = np.stack([mixed(mixing.matrix, each.models) for each in met])
    apart = ((fused - fused.mean(axis=1, keepdims=True)) ** 2).sum(axis=-1).mean(axis=(1, 2))
    assert (np.sqrt(apart)[1:] <= bound.apart).all()


def test_noise_cancels_where_agents_do_not_hear_each_other_alike() -> None:
    """A directed matrix whose columns sum to 1 keeps the sum; "rss-lb" needs equal weights."""
    mixing, flat = MIXINGS["fitted"], Quadratic(np.zeros((12, 2)), scale=1e-300)
    start = np.random.default_rng(9).normal(size=(12, 2))
    how: dict[str, Any] = {"mixing": mixing, "start": start, "seed": 3}
    walk = descend(flat, mixing.graph(), method="rss", **how)
    for each in islice(walk, 30):
        assert np.abs(each.average - start.mean(axis=0)).max() < 1e-12
    assert each.spread.max() > 1e-3
    with pytest.raises(UsageError) as caught:
        descend(flat, mixing.graph(), method="rss-lb", **how)
    assert caught.value.field == "mixing"


def test_a_fitted_matrix_brings_agents_closer_to_the_optimum() -> None:
    """Two labels pull in two directions; neighbourhoods that have both pull in none."""
    held = np.eye(2)[np.repeat([0, 1], 10)]
    objective = Quadratic(held @ np.array([[-1.0], [1.0]]))
    found = {}
    fitted = fitted_mixing(held, 4)
    for mixing in (fixed(random_regular(20, 4, seed=1)), fitted):
        walk = descend(
            objective, mixing.graph(), method="dgd", mixing=mixing, steps=constant(0.1), seed=1
        )
        last = next(islice(walk, 200, None))
        found[mixing.name] = np.abs(mixing.matrix @ last.models[:, 0]).max()
    assert found["fitted"] < found["fixed"] / 3
    assert heterogeneity(fitted, held) < 0.01


def test_drawn_rows_are_those_of_each_agent_and_fair() -> None:
    """One row drawn of as many agents as rows; the mean over draws is the whole gradient."""
    data = [
        (np.array([[1.0], [2.0], [4.0]]), np.array([1.0, -1.0, 1.0])),
        (np.array([[3.0]]), np.array([-1.0])),
        (np.array([[0.5], [5.0]]), np.array([1.0, 1.0])),
    ]
    objective = Linear(LOGISTIC, AgentRows.of(data).clipped(2, 9.0), ridge=0.2)
    models = np.array([[0.3], [0.1], [-0.2]])
    each = objective.row_gradients(models) + 0.2 * models[:, None]
    places = np.array([[[0, 2, 2], [0, 0, 0], [1, 0, 0]]])
    drawn = objective.drawn_gradient(models[None], places)
    expected = [each[u, places[0, u]].mean(axis=0) for u in range(3)]
    assert drawn[0] == pytest.approx(np.array(expected))
    graph, runs = complete(3), 4000
    still = MixingMatrix("own", sparse.csr_array(np.eye(3)), np.full(3, 1 / 3), True)
    how: dict[str, Any] = {"method": "dgd", "mixing": still, "steps": constant(1.0), "seed": 3}
    walk = descend(objective, graph, start=models, batch=1, runs=runs, **how)
    moved = models[:, None] - next(islice(walk, 1, None)).models
    for agent, (rows, _) in enumerate(data):
        assert {round(x, 9) for x in moved[agent, :, 0].tolist()} == {
            round(x, 9) for x in each[agent, : len(rows), 0].tolist()
        }
    spread = each.std() * 5 / math.sqrt(runs)
    assert moved.mean(axis=1) == pytest.approx(objective.gradient(models), abs=spread)
    alone = next(islice(descend(objective, graph, start=models, batch=1, **how), 30, None))
    again = next(islice(descend(objective, graph, start=models, batch=1, runs=3, **how), 30, None))
    assert (alone.models[:, 0] == again.models[:, 0]).all()
    assert (again.models[:, 0] != again.models[:, 1]).any()


@pytest.mark.parametrize(
    ("field", "how"),
    [
        ("mixing", {"mixing": equal_neighbour(star(12))}),
        ("step", {"step": 0.5}),
        ("step", {"step": 0.0}),
        ("step", {"step": "0.1"}),
        ("smoothness", {"smoothness": 0.0}),
        ("smoothness", {"smoothness": math.inf}),
        ("smoothness", {"curvature": 1.1}),
        ("curvature", {"curvature": -0.1}),
        ("heterogeneity", {"heterogeneity": math.nan}),
        ("distance", {"distance": math.inf}),
        ("noise", {"noise": -1.0}),
        ("iterations", {"iterations": 0}),
    ],
)
def test_a_bound_is_of_what_was_proved(field: str, how: dict[str, Any]) -> None:
    right: dict[str, Any] = {
        "mixing": fixed(ring(12)), "step": 0.49, "smoothness": 1.0, "curvature": 0.0,
        "heterogeneity": 1.0, "distance": 1.0, "noise": 1.0, "iterations": 2,
    }  # fmt: skip
    descent_bound(**right)
    with pytest.raises(UsageError) as caught:
        descent_bound(**{**right, **how})
    assert caught.value.field == field


def test_messages_of_a_directed_matrix_are_counted_as_they_are_sent() -> None:
    mixing, objective = MIXINGS["fitted"], tumours(12)
    how: dict[str, Any] = {"graph": mixing.graph(), "mixing": mixing, "iterations": 5, "seed": 1}
    plain = fit_correlated(objective, method="dgd", batch=2, **how)
    assert plain.messages == 5 * mixing.messages() < 5 * how["graph"].degrees.sum()
    hidden = fit_correlated(objective, method="rss", **how)
    assert hidden.messages == 5 * how["graph"].degrees.sum() + 2 * how["graph"].edge_count
    asked = Privacy(5.0, 1e-6, view="neighbour")
    fit_correlated(objective, privacy=asked, noise=1e4, **how)
    for wrong in ({"batch": 2, "privacy": asked, "noise": 1e4}, {"batch": 0}, {"batch": 1.5}):
        with pytest.raises(UsageError) as caught:
            fit_correlated(objective, **how, **wrong)
        assert caught.value.field == "batch"
    with pytest.raises(UsageError) as caught:
        descend(points(12), how["graph"], mixing=mixing, seed=1, batch=2)
    assert caught.value.field == "batch"
