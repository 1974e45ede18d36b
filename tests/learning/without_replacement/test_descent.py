"""Every row is visited once, and public models carry the noise that one row needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from gopa import UsageError
from gopa.adversary import distinguish
from gopa.learning import Outcome, Privacy, Table, Users, iid, moons, stacked
from gopa.learning.steps import constant, harmonic
from gopa.learning.without_replacement import (
    ALWAYS,
    NEVER,
    Coin,
    DeepQ,
    OneVsAll,
    Policy,
    fit_with_replacement,
    fit_without_replacement,
    gap_bound,
    noise_for,
)
from gopa.learning.without_replacement.descent import _Network, _Rows

ASKED = Privacy(1.0, 1e-6, unit="record")


def circles(rows: int = 400, nodes: int = 4) -> Users:
    """Three classes of rows on the unit circle, a third of a turn each."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, rows)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    labels = (angle // (2 * np.pi / 3)).astype(int)
    return iid(Table(x, labels, "made up"), nodes, seed=1)


def bare(radius: float = math.inf, batch: int = 1) -> _Network:
    return _Network.of(
        OneVsAll(np.array([0, 1])), 1, 1, 2, batch=batch, noise=None, radius=radius, seed=1
    )


def moved(
    rows: list[list[float]], labels: list[float], other: list[float], at: int, **how: Any
) -> float:
    """How far the public model moves if row `at` is another one: local steps, then a public one."""
    found = []
    for each in (rows[at], other):
        network = bare(**how)
        network.public = np.array([[[100.0, 0.0]]])
        network.own = network.public[None].copy()
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            x = np.array([[each if number == at else row]])
            last = np.full((1, 1), number == len(rows) - 1)
            network.step(0, x, np.array([[[label]]]), length=1.0, number=number, public=last)
        found.append(network.public[0, 0])
    return math.dist(*found)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_row_moves_the_public_model_by_what_is_charged(at: int) -> None:
    """Lemma 4, by search: two rows on both sides of a long model, which gets both wrong."""
    rng = np.random.default_rng(at)
    worst = 0.0
    for side in (0.03, 0.05, 0.08):
        up, down = [side, math.sqrt(1 - side**2)], [side, -math.sqrt(1 - side**2)]
        rows = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
        rows[at] = up
        worst = max(worst, moved(rows, [-1.0] * 3, down, at))
    assert 0.9 * 2 <= worst <= 2
    for _ in range(200):
        rows = (directions := rng.normal(size=(4, 2))) / np.linalg.norm(directions, axis=1)[:, None]
        labels = rng.choice([-1.0, 1.0], 3).tolist()
        assert moved(rows[:3].tolist(), labels, rows[3].tolist(), at) <= 2
        assert moved(rows[:3].tolist(), labels, rows[3].tolist(), at, radius=100.0) <= 2


def test_noise_is_as_wide_as_a_row_needs() -> None:
    """For the longest step since the model was public, not for the last."""
    noise = noise_for(1.0, 1e-6, models=1, width=2)
    network = _Network.of(
        OneVsAll(np.array([0, 1])), 1, 4000, 2, batch=5, noise=noise, radius=math.inf, seed=1
    )
    rows, signs = np.zeros((4000, 5, 2)), np.ones((4000, 5, 1))
    for number, (length, public) in enumerate([(2.0, False), (0.5, False), (0.1, True)]):
        network.step(
            0, rows, signs, length=length, number=number, public=np.full((4000, 1), public)
        )
    assert network.public.std() == pytest.approx(2 * 2.0 / 5 * noise.deviation, rel=0.04)
    assert (network.longest == 0).all()


@pytest.mark.parametrize(("models", "epsilon"), [(1, 1.0), (3, 1.0), (10, 0.2)])
def test_what_noise_costs(models: int, epsilon: float) -> None:
    joint = noise_for(epsilon, 1e-6, models=models, width=50)
    assert 0.98 * epsilon < joint.epsilon <= epsilon * (1 + 1e-4)
    each = noise_for(epsilon, 1e-6, models=models, width=50, calibration="each")
    assert 0.98 * epsilon < each.claimed <= epsilon * (1 + 1e-4)
    assert joint.deviation == pytest.approx(math.sqrt(models) * each.deviation, rel=0.05)
    classical = noise_for(epsilon, 1e-6, models=models, width=50, calibration="classical")
    assert classical.deviation > each.deviation
    assert (each.epsilon > epsilon * 1.5) == (models > 1)
    with pytest.raises(UsageError, match="delta"):
        noise_for(epsilon, 0.0, models=models, width=50)


def test_every_row_is_visited_once() -> None:
    problem = circles()
    rows = _Rows.of(problem, 10, seed=1, runs=2, graph=None, clock=None)
    for node in range(4):
        found = np.concatenate([rows.order[node][:, at * 10 : at * 10 + 10] for at in range(10)], 1)
        assert (np.sort(found, axis=1) == problem.rows[node]).all()
        assert (found[0] != found[1]).any()
        assert rows.batch(node, 10) is None


@pytest.mark.parametrize("policy", [ALWAYS, NEVER, Coin(0.3), DeepQ(annealed=5)])
def test_a_run_is_its_seed(policy: Policy) -> None:
    one, again, several = (
        fit_without_replacement(
            circles(), privacy=ASKED, seed=3, policy=policy, batch=10, runs=runs
        )
        for runs in (1, 1, 2)
    )
    assert one.digest() == again.digest()
    assert (one.model.public[0] == several.model.public[0]).all()
    assert (one.model.own[:, 0] == several.model.own[:, 0]).all()
    if policy is not NEVER:
        assert (several.model.public[0] != several.model.public[1]).any()


def test_policies_decide_how_often_models_are_public() -> None:
    def messages(policy: Policy) -> int:
        return fit_without_replacement(
            circles(4000), privacy=None, seed=1, policy=policy, batch=10
        ).messages

    assert messages(NEVER) == 0
    assert messages(ALWAYS) == 2 * 400
    assert messages(Coin(0.25)) == pytest.approx(200, abs=70)
    assert 40 < messages(DeepQ(annealed=50)) < 760


def test_without_noise_it_learns_and_privacy_costs() -> None:
    problem, test = circles(4000), circles(1000, 1).table

    def right(privacy: Privacy | None, policy: Policy) -> float:
        found = fit_without_replacement(
            problem, privacy=privacy, seed=1, policy=policy, batch=20,
            steps=constant(0.1), runs=10, test=test,
        )  # fmt: skip
        return float(found.history["accuracy"][-1].mean())

    little = Privacy(0.2, 1e-6, unit="record")
    noiseless, always, seldom = right(None, ALWAYS), right(little, ALWAYS), right(little, Coin(0.1))
    assert noiseless > 0.95
    assert always + 0.05 < seldom < noiseless


def test_what_is_spent_is_said() -> None:
    def spent(**how: Any) -> Outcome:
        return fit_without_replacement(circles(), privacy=ASKED, seed=1, batch=10, **how)

    joint = spent()
    assert joint.spent.within(ASKED)
    assert not joint.warnings
    each = spent(calibration="each")
    assert 1.5 < each.spent.epsilon < 3
    assert "together they spend" in each.warnings[0]
    learnt = spent(policy=DeepQ(annealed=5))
    assert learnt.spent.epsilon == math.inf
    assert "published claim" in learnt.warnings[0]
    again = fit_with_replacement(circles(), privacy=ASKED, seed=1, batch=10)
    assert again.spent.within(ASKED)
    assert not fit_without_replacement(circles(), privacy=None, seed=1, batch=10).spent.hides


def test_the_baseline_visits_every_row_five_times() -> None:
    found = fit_with_replacement(circles(), privacy=None, seed=1, batch=10)
    assert found.messages == 2 * 5 * 40
    assert found.history["step"][-1] == 200


def four_rows(label: int) -> Users:
    """One node; its first row has this label, and is far from all others."""
    x = np.array([[1.0, 0.0]] + [[0.0, 1.0]] * 3)
    return stacked([(x, np.array([label, 0, 1, 1]))], "made up")


def test_public_models_show_no_more_than_was_asked_for() -> None:
    """One row is exchanged; the best score is where the public model went in one step."""
    asked = Privacy(4.0, 1e-2, unit="record")

    def runs(label: int) -> Any:
        def many(rng: np.random.Generator, count: int) -> np.ndarray:
            found = fit_without_replacement(
                four_rows(label), privacy=asked, seed=int(rng.integers(2**40)), policy=ALWAYS,
                batch=4, steps=constant(1.0), runs=count, progress=False,
            )  # fmt: skip
            models: np.ndarray = found.model.public[:, 0]
            return models

        return many

    found = distinguish(runs(0), runs(1), lambda models: models[:, 0], 1e-2, 4000)
    assert 0.4 < found.epsilon < 4.0


@pytest.mark.soak
def test_decisions_of_deep_q_learning_show_more_than_was_claimed() -> None:
    """One of eight equal rows has another label: decisions change to and fro more often."""
    claimed = Privacy(0.1, 1e-6, unit="record")

    def runs(label: int) -> Any:
        rows = np.array([[1.0]] * 8 + [[0.0]])
        problem = stacked([(rows, np.array([label] + [1] * 7 + [0]))], "made up")

        def many(rng: np.random.Generator, count: int) -> np.ndarray:
            found = fit_without_replacement(
                problem, privacy=claimed, seed=int(rng.integers(2**40)), policy=DeepQ(annealed=1),
                batch=1, steps=constant(3.9), runs=count, progress=False,
            )  # fmt: skip
            assert found.spent.epsilon == math.inf
            never: np.ndarray = found.history["public"].sum(axis=0) == 0
            return never

        return many

    found = distinguish(runs(1), runs(0), lambda never: never.astype(float), 1e-6, 8000)
    assert found.epsilon > 1.5 * claimed.epsilon


@pytest.mark.parametrize("policy", [ALWAYS, Coin(0.5)])
def test_the_gap_is_below_the_bound(policy: Coin) -> None:
    """Theorem 3 with the dimension that it leaves out, at the mean of all iterates."""
    problem = circles(400, 4)
    problem = Users(
        Table(problem.table.features, (problem.table.labels > 0).astype(int), "made up"),
        problem.rows,
    )
    losses = OneVsAll.of(problem, 0.0)
    x, signs = problem.table.features[None], losses.signs(problem.table.labels)[None]
    radius, batch, step, iterations = 2.0, 5, 0.5, 20

    def total(model: np.ndarray) -> float:
        return float(losses.losses(model[None, None], x, signs)[0, 0])

    ball = {"type": "ineq", "fun": lambda model: radius**2 - model @ model}
    best = minimize(total, np.zeros(2), method="SLSQP", constraints=[ball]).fun
    gaps = []
    for seed in range(5):
        found = fit_without_replacement(
            problem, privacy=ASKED, seed=seed, policy=policy, batch=batch,
            steps=constant(step), radius=radius,
        )  # fmt: skip
        gaps.append(total(found.model.public[0, 0]) - best)
    noise = noise_for(1.0, 1e-6, models=1, width=2)
    bound = gap_bound(
        nodes=4, rows=400, batch=batch, iterations=iterations, step=step, diameter=2 * radius,
        slope=1.0, deviation=2 * noise.deviation / batch, width=2, public=4 * policy.chance,
    )  # fmt: skip
    assert -1e-6 < np.mean(gaps) < bound


def test_strong_convexity_brings_models_together() -> None:
    """Theorem 4: with steps 1/(a k) squared distances fall like 1/k, up to its logarithm."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6400, 2))
    x /= np.linalg.norm(x, axis=1)[:, None]
    problem = iid(Table(x, (x[:, 0] + rng.normal(size=6400) > 0).astype(int), "made up"), 4, seed=1)
    losses = OneVsAll.of(problem, 0.2)
    signs = losses.signs(problem.table.labels)[None]
    whole = minimize(
        lambda model: float(losses.losses(model[None, None], x[None], signs)[0, 0]), np.zeros(2)
    ).x

    def off(batches: int) -> float:
        part = Users(problem.table, tuple(rows[: batches * 4] for rows in problem.rows))
        found = fit_without_replacement(
            part, privacy=Privacy(4.0, 1e-4, unit="record"), seed=1, policy=Coin(0.5), batch=4,
            ridge=0.2, radius=5.0, steps=harmonic(10.0, 25.0), runs=15,
        )  # fmt: skip
        models = np.concatenate([found.model.public[None], found.model.own])[:, :, 0]
        return float(((models - whole) ** 2).sum(axis=-1).mean())

    assert off(400) < off(50) / 3


def test_what_does_not_fit_is_refused() -> None:
    def run(
        problem: Users | None = None, fit: Any = fit_without_replacement, **how: Any
    ) -> Outcome:
        settings = {"privacy": ASKED, "seed": 1, "batch": 10, **how}
        found: Outcome = fit(circles() if problem is None else problem, **settings)
        return found

    for fit in (fit_without_replacement, fit_with_replacement):
        run(fit=fit)
        for field, how in (
            ("batch", {"batch": 101}),
            ("batch", {"batch": 0}),
            ("batch", {"runs": 0}),
            ("graph", {"graph": 1}),
            ("graph", {"clock": 1}),
            ("seed", {"seed": "seven"}),
            ("steps", {"steps": constant(4.1)}),
            ("ridge", {"ridge": -1.0}),
            ("privacy", {"privacy": Privacy(1.0, 1e-6)}),
            ("privacy", {"privacy": Privacy(1.0, 1e-6, unit="record", view="neighbour")}),
            ("privacy", {"privacy": Privacy(1.0, 1e-6, unit="record", relation="add-remove")}),
            ("delta", {"privacy": Privacy(1.0, unit="record")}),
            ("calibration", {"calibration": "other"}),
        ):
            with pytest.raises(UsageError) as caught:
                run(fit=fit, **how)
            assert caught.value.field == field, how
        one = circles()
        with pytest.raises(UsageError, match="one class"):
            run(Users(Table(one.table.features, 0 * one.table.labels, "x"), one.rows), fit)
    with pytest.raises(UsageError, match="chance"):
        Coin(1.5)
    with pytest.raises(UsageError, match="rows of 2"):
        run().model.predict([[1.0, 0.0, 0.0]])
    assert run().model.predict([[1.0, 0.1]], node=0).shape == (1,)


def test_two_classes_have_one_model() -> None:
    problem = moons(seed=1)
    found = fit_without_replacement(problem, privacy=None, seed=1, batch=1)
    assert found.model.public.shape[1] == 1
    assert set(found.model.predict(problem.table.features)) <= set(problem.table.labels)
