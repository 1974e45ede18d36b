"""Gradient steps of a token: contractions, as noisy as the law says, and they learn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import grid, ring
from gopa.learning import Privacy, Users, iid, linear_models, stacked
from gopa.learning.clocks import InTurn, Poisson, Steps, constant, root
from gopa.learning.data import Table
from gopa.learning.network_dp import Walk, carry, fit_sgd, local_sigma, sgd_law
from gopa.learning.network_dp.descent import Descent
from gopa.learning.objectives import HINGE, LOGISTIC, SQUARED, Linear, RowLoss
from gopa.learning.rows import AgentRows

NEAR = Privacy(4.0, 1e-5, view="neighbour")


def users(count: int = 40, rows: int = 4, *, seed: int = 0) -> Users:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((count * rows, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.where(features @ np.array([2.0, -1.0, 0.5]) > 0, 1, -1)
    return iid(Table(features, labels, "made up"), count, seed)


def descent(
    loss: RowLoss, steps: Steps, *, steepest: float, sigma: float = 0.0, **more: float
) -> Descent:
    rows = AgentRows.of(users(5).pairs()).clipped(2, 1.0)
    rng = np.random.default_rng(1)
    return Descent(loss, rows, steepest=steepest, sigma=sigma, steps=steps, rng=rng, **more)


@pytest.fixture(scope="module")
def accepted() -> dict[str, object]:
    """A call that is not refused."""
    right: dict[str, object] = {"problem": users(), "privacy": NEAR, "seed": 1, "steps": 100}
    fit_sgd(**right)
    return right


def moved(update: Descent, token: np.ndarray, user: int, step: int = 0) -> np.ndarray:
    one = np.full(len(token), user)
    return token + update(token, step, one, one * 0, np.ones(len(token), dtype=bool))


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=["logistic", "squared"])
def test_without_cutting_off_it_is_the_gradient(loss: RowLoss) -> None:
    rows = AgentRows.of(users(5).pairs()).clipped(2, 1.0)
    objective = Linear(loss, rows, ridge=0.3)
    token = np.random.default_rng(2).standard_normal((7, 3))
    update = descent(loss, root(0.5), steepest=99.0, ridge=0.3)
    expected = token - 0.5 / math.sqrt(4) * objective.gradient(token, np.full(7, 2))
    assert moved(update, token, 2, step=3) == pytest.approx(expected)


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=["logistic", "squared"])
def test_steps_contract_and_move_no_further_than_claimed(loss: RowLoss) -> None:
    """The longest step that is allowed; two users move a token apart by 2 steepest at most."""
    length = 2 / loss.bend
    update = descent(loss, constant(length), steepest=0.2, radius=2.0)
    rng = np.random.default_rng(3)
    one, other = rng.standard_normal((2, 400, 3)) * rng.exponential(2, (1, 400, 1))
    one, other = (
        each / np.maximum(1, np.linalg.norm(each, axis=1, keepdims=True) / 2)
        for each in (one, other)
    )
    for user in range(5):
        before = np.linalg.norm(one - other, axis=1)
        after = np.linalg.norm(moved(update, one, user) - moved(update, other, user), axis=1)
        assert (after <= before * (1 + 1e-12)).all()
    free = descent(loss, constant(length), steepest=0.2)
    apart = np.linalg.norm(moved(free, one, 1) - moved(free, one, 2), axis=1)
    assert apart.max() <= 0.4 * length
    assert apart.max() > 0.1 * length


def test_to_clip_a_mean_of_gradients_would_spread_models() -> None:
    """Two rows of a squared loss: shortened as a whole, their mean is no convex gradient."""
    x = np.array([[1.0, 0.0], [0.0, 0.1]])

    def step(w: np.ndarray) -> np.ndarray:
        gradient = x.T @ (x @ w) / 2
        return np.asarray(w - 0.5 * gradient / max(1.0, np.linalg.norm(gradient) / 0.01))

    one = np.array([0.3, 100.0])
    other = one + np.array([1e-4, 5e-3])
    assert np.linalg.norm(step(one) - step(other)) > np.linalg.norm(one - other) * (1 + 1e-6)


def test_inactive_users_add_noise_only() -> None:
    update = descent(LOGISTIC, constant(0.5), steepest=1.0, sigma=2.0)
    token, user = np.ones((4000, 3)), np.zeros(4000, dtype=int)
    noise = update(token, 0, user, user, np.zeros(4000, dtype=bool))
    assert noise.std() == pytest.approx(0.5 * 2.0, rel=0.03)
    assert abs(noise.mean()) < 0.05


def test_tokens_stay_in_their_ball() -> None:
    update = descent(LOGISTIC, constant(0.5), steepest=1.0, sigma=5.0, radius=0.7)
    visits = Walk(Poisson(5)).visits(1, steps=50, runs=20)
    found = carry(visits, update, np.zeros((20, 3)))
    assert np.linalg.norm(found, axis=1).max() <= 0.7 * (1 + 1e-12)


def test_blocks_of_noise_are_one_stream() -> None:
    """In parts or at once, over the end of a block."""
    visits = Walk(Poisson(5)).visits(1, steps=1100, runs=2)
    whole = carry(
        visits, descent(LOGISTIC, constant(0.5), steepest=1.0, sigma=1.0), np.zeros((2, 3))
    )
    parts = descent(LOGISTIC, constant(0.5), steepest=1.0, sigma=1.0)
    token = np.zeros((2, 3))
    for first, last in ((0, 512), (512, 700), (700, 1100)):
        token = carry(visits, parts, token, first=first, last=last)
    assert (token == whole).all()


def test_it_learns_what_gradient_descent_learns() -> None:
    problem = users()
    found = fit_sgd(problem, privacy=None, seed=1, steps=4000, step=1.0, steepest=1.0, runs=3)
    rows = AgentRows.of(problem.pairs()).clipped(2, 1.0)
    objective, model = Linear(LOGISTIC, rows), np.zeros(3)
    for _ in range(4000 // 40):
        model = model - objective.gradient(np.repeat(model[None], 40, axis=0)).mean(axis=0) * 40
    best = float(objective.value(np.repeat(model[None], 40, axis=0)).mean())
    assert found.history["objective"][-1] == pytest.approx(best, abs=0.05)
    assert found.model.shape == (3, 3)
    assert not found.spent.hides


def test_noise_is_what_was_asked_for() -> None:
    problem = users()
    for privacy, sigma in (
        (NEAR, sgd_law(40, 3).sigma(4.0, 1e-5, 0.8)),
        (
            Privacy(4.0, 1e-5, view="coalition", colluders=3),
            sgd_law(40, 3, 3).sigma(4.0, 1e-5, 0.8),
        ),
        (Privacy(4.0, 1e-5), local_sigma(4.0, 1e-5, 3, 0.8)),
    ):
        found = fit_sgd(problem, privacy=privacy, seed=1, steps=100)
        assert f"noise {sigma:.4g} " in found.spent.theorem
        assert found.spent.within(privacy)
    several = fit_sgd(problem, privacy=NEAR, seed=1, steps=100, tokens=4, cap=1)
    assert f"noise {sgd_law(40, 4).sigma(4.0, 1e-5, 0.8):.4g} " in several.spent.theorem
    local = fit_sgd(problem, privacy=Privacy(4.0, 1e-5), seed=1, steps=100, tokens=4, cap=1)
    assert f"noise {local_sigma(4.0, 1e-5, 4, 0.8):.4g} " in local.spent.theorem
    falling = fit_sgd(problem, privacy=NEAR, seed=1, steps=100, step=root(1.0))
    law = sgd_law(40, 3, 1, root(1.0))
    assert f"noise {law.sigma(4.0, 1e-5, 0.8):.4g} " in falling.spent.theorem


def test_noise_is_in_all_steps() -> None:
    """Rows of zeros have no slopes, so that a model is the noise of all of its steps."""
    tokens = 2
    empty = stacked([(np.zeros((1, 2)), np.array([1]))] * 6, "zeros")
    found = fit_sgd(empty, privacy=NEAR, seed=1, steps=60, step=0.5, cap=2, tokens=tokens, runs=600)
    sigma = sgd_law(6, 2 * tokens).sigma(4.0, 1e-5, 0.8)
    stated = 0.5 * sigma * math.sqrt(60 / tokens) / math.sqrt(tokens)
    assert found.model.std() == pytest.approx(stated, rel=0.08)


def test_a_curator_needs_less() -> None:
    near = fit_sgd(users(10), privacy=NEAR, seed=1, steps=30)
    central = fit_sgd(users(10), privacy=NEAR, seed=1, steps=30, curator=True)
    noises = [float(each.spent.theorem.split("noise ")[1].split()[0]) for each in (near, central)]
    assert noises[1] < noises[0]
    assert "A11" in central.spent.theorem


def test_on_a_graph() -> None:
    found = fit_sgd(users(12), privacy=NEAR, graph=grid(3, 4), seed=1, steps=60)
    assert "theorem 7" in found.spent.theorem
    again = fit_sgd(users(12), privacy=NEAR, graph=grid(3, 4), seed=1, steps=60)
    assert again.digest() == found.digest()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"step": 8.1}, "step"),
        ({"loss": HINGE}, "step"),
        ({"steepest": 0.0}, "steepest"),
        ({"steps": 0}, "steps"),
        ({"tokens": 0}, "tokens"),
        ({"runs": 1.5}, "runs"),
        ({"graph": ring(40)}, "clock"),
        ({"graph": grid(4, 10), "curator": True}, "clock"),
        ({"tokens": 101}, "steps"),
        ({"radius": 0.0}, "radius"),
        ({"radius": math.nan}, "radius"),
        ({"step": "long"}, "step"),
        ({"ridge": [0.1, 0.2]}, "ridge"),
        ({"steepest": math.nan}, "steepest"),
        ({"held_out": Table(np.ones((4, 2)), np.ones(4), "narrow")}, "held_out"),
        ({"held_out": Table(np.ones((0, 3)), np.ones(0), "empty")}, "held_out"),
        ({"held_out": Table(np.ones((2, 3)), np.array(["a", "b"]), "text")}, "held_out"),
        ({"curator": True, "cap": 3}, "cap"),
        ({"curator": True, "edge_cap": 1}, "cap"),
        ({"clock": InTurn(40)}, "clock"),
        ({"graph": grid(4, 10), "step": root(1.0)}, "graph"),
        ({"graph": grid(4, 10), "tokens": 2}, "graph"),
        (
            {"graph": grid(4, 10), "privacy": Privacy(1.0, 1e-5, view="coalition", colluders=2)},
            "graph",
        ),
        ({"privacy": Privacy(1.0)}, "delta"),
        ({"privacy": Privacy(1.0, 1e-5, relation="add-remove")}, "relation"),
    ],
)
def test_what_is_refused(
    accepted: dict[str, object], change: dict[str, object], field: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit_sgd(**{**accepted, **change})
    assert caught.value.field == field


def test_labels_and_rows_are_looked_at() -> None:
    odd = stacked([(np.eye(2), np.array([1, 2])), (np.eye(2), np.array([1, -1]))], "made up")
    with pytest.raises(UsageError):
        fit_sgd(odd, privacy=None, seed=1, steps=10)
    assert len(linear_models(4, 3, seed=1)) == 4
