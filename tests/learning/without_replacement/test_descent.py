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
from gopa.learning.clocks import Steps, constant, harmonic
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


def bare(steps: Steps, **how: Any) -> _Network:
    """One node with two numbers in each row, whose steps a test takes itself."""
    settings = {"batch": 1, "radius": math.inf, "runs": 1, "privacy": None, **how}
    return _Network.of(
        four_rows(0), policy=ALWAYS, seed=1, progress=False, steps=steps,
        ridge=0.0, calibration="joint", test=None, visits=1, **settings,
    )  # fmt: skip


def moved(
    rows: np.ndarray, signs: np.ndarray, other: np.ndarray, model: np.ndarray, at: int, **how: Any
) -> np.ndarray:
    """How far public models move if row `at` is another one: steps alone, then one in public.

    For many runs at once: three rows each, their labels, another row with another label.
    """
    runs, found = len(rows), []
    for exchanged in (False, True):
        network = bare(constant(1.0), runs=runs, **how)
        network.public = model[:, None].copy()
        network.own = network.public[None].copy()
        for number in range(3):
            here = exchanged and number == at
            x = other[:, None] if here else rows[:, number : number + 1]
            sign = (-signs if here else signs)[:, number, None, None]
            last = np.full((runs, 1), number == 2)
            network.step(0, x, sign, number=number, public=last)
        found.append(network.public[:, 0])
    return np.asarray(np.linalg.norm(found[0] - found[1], axis=1))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_row_moves_the_public_model_by_what_is_charged(at: int) -> None:
    """Lemma 4, by search: two rows on both sides of a long model, which gets both wrong."""
    side = np.array([0.03, 0.05, 0.08])
    up = np.stack([side, np.sqrt(1 - side**2)], axis=1)
    rows = np.zeros((3, 3, 2))
    rows[:, at] = up
    long = np.array([[100.0, 0.0]] * 3)
    worst = moved(rows, -np.ones((3, 3)), up * [-1, 1], long, at)
    assert 0.9 * 2 <= worst.max() <= 2
    rng = np.random.default_rng(at)
    drawn = rng.normal(size=(2000, 4, 2))
    drawn /= np.linalg.norm(drawn, axis=-1, keepdims=True)
    models = rng.normal(size=(2000, 2)) * 10 ** rng.uniform(-1, 2, (2000, 1))
    for radius in (math.inf, 3.0):
        found = moved(
            drawn[:, :3], rng.choice([-1.0, 1.0], (2000, 3)), drawn[:, 3], models, at, radius=radius
        )
        assert 1 < found.max() <= 2


def test_noise_is_as_wide_as_a_row_needs() -> None:
    """For the longest step since the model was public, not for the last."""
    noise = noise_for(1.0, 1e-6, models=1, width=2)
    network = bare(harmonic(2.0), runs=2000, batch=4, privacy=ASKED)
    rows, signs = np.zeros((2000, 4, 2)), np.ones((2000, 4, 1))
    for number, longest in ((0, 2.0), (2, 2.0), (3, 0.5)):
        before = network.public
        for each in range(number, number + (2 if number == 0 else 1)):
            public = np.full((2000, 1), each > 1)
            network.step(0, rows, signs, number=each, public=public)
        if number:
            added = network.public - before / 2 - before / 2 * (number > 2)
            assert added.std() == pytest.approx(2 * longest / 4 * noise.deviation, rel=0.05)
            assert (network.longest == 0).all()


def test_noise_is_never_swallowed_by_roundings() -> None:
    """Steps that vanish at once leave noise that floats could not add to a model."""
    network = bare(Steps(1.0, 40.0), privacy=ASKED)
    rows, signs, public = np.array([[[1.0, 0.0]]]), np.ones((1, 1, 1)), np.ones((1, 1), dtype=bool)
    network.step(0, rows, signs, number=0, public=public)
    with pytest.raises(UsageError, match="lost in the roundings"):
        network.step(0, rows, signs, number=9, public=public)


@pytest.mark.parametrize(("models", "epsilon"), [(1, 1.0), (3, 1.0), (10, 0.2)])
def test_what_noise_costs(models: int, epsilon: float) -> None:
    joint = noise_for(epsilon, 1e-6, models=models, width=50)
    assert 0.98 * epsilon < joint.epsilon(models) <= epsilon * (1 + 1e-4)
    each = noise_for(epsilon, 1e-6, models=models, width=50, calibration="each")
    assert 0.98 * epsilon < each.epsilon(1) <= epsilon * (1 + 1e-4)
    assert joint.deviation == pytest.approx(math.sqrt(models) * each.deviation, rel=0.05)
    classical = noise_for(epsilon, 1e-6, models=models, width=50, calibration="classical")
    assert classical.deviation > each.deviation
    assert (each.epsilon(models) > epsilon * 1.5) == (models > 1)
    with pytest.raises(UsageError, match="delta"):
        noise_for(epsilon, 0.0, models=models, width=50)


def test_every_row_is_visited_once() -> None:
    problem = circles()
    rows = _Rows.of(problem, 10, seed=1, runs=2, turn=0)
    for node in range(4):
        found = np.concatenate([rows.order[node][:, at * 10 : at * 10 + 10] for at in range(10)], 1)
        assert (np.sort(found, axis=1) == problem.rows[node]).all()
        assert (found[0] != found[1]).any()
        assert rows.batches(node) == 10


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
            circles(1600), privacy=None, seed=1, policy=policy, batch=10
        ).messages

    assert messages(NEVER) == 0
    assert messages(ALWAYS) == 2 * 160
    assert messages(Coin(0.25)) == pytest.approx(80, abs=44)
    assert 16 < messages(DeepQ(annealed=20)) < 304


def test_without_noise_it_learns_and_privacy_costs() -> None:
    problem, test = circles(2000), circles(1000, 1).table

    def right(privacy: Privacy | None, policy: Policy) -> float:
        found = fit_without_replacement(
            problem, privacy=privacy, seed=1, policy=policy, batch=20,
            steps=constant(0.2), runs=5, test=test,
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
    fifths = fit_with_replacement(
        two_classes(), privacy=ASKED, seed=1, batch=10, calibration="each"
    )
    assert 0.95 < fifths.spent.epsilon < 1.001
    assert not fit_without_replacement(circles(), privacy=None, seed=1, batch=10).spent.hides


def test_the_baseline_visits_every_row_five_times() -> None:
    found = fit_with_replacement(circles(), privacy=None, seed=1, batch=10)
    assert found.messages == 2 * 5 * 40
    assert found.history["step"][-1] == 200


def two_classes(rows: int = 400, labels: tuple[Any, Any] = (0, 1)) -> Users:
    """The same with two classes."""
    three = circles(rows).table
    return iid(Table(three.features, np.array(labels)[(three.labels > 0) * 1], "made up"), 4, 1)


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

    found = distinguish(runs(0), runs(1), lambda models: models[:, 0], 1e-2, 3000)
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
    """Theorem 3 with the dimension that it leaves out, at the last of all iterates.

    So many rows that the bound says something: uphill, the gap would be 2.
    """
    rng = np.random.default_rng(3)
    angle, signs = rng.uniform(-0.5, 0.5, 20_000), rng.choice([-1, 1], 20_000)
    x = signs[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    problem, radius, batch, step = iid(Table(x, signs, "made up"), 2, 1), 2.0, 50, 0.25

    def total(model: np.ndarray) -> float:
        return float(np.logaddexp(0, -signs * (x * model).sum(axis=1)).mean())

    ball = {"type": "ineq", "fun": lambda model: radius**2 - model @ model}
    best = minimize(total, np.zeros(2), method="SLSQP", constraints=[ball]).fun
    found = fit_without_replacement(
        problem, privacy=ASKED, seed=1, policy=policy, batch=batch, steps=constant(step),
        radius=radius, runs=3,
    )  # fmt: skip
    gaps = [total(model) - best for model in found.model.public[:, 0]]
    noise = noise_for(1.0, 1e-6, models=1, width=2)
    bound = gap_bound(
        nodes=2, rows=20_000, batch=batch, iterations=200, step=step, diameter=2 * radius,
        slope=1.0, deviation=2 * noise.deviation / batch, width=2, public=2 * policy.chance,
    )  # fmt: skip
    assert -1e-6 < np.mean(gaps) < bound < 1.2


def test_strong_convexity_brings_models_together() -> None:
    """Theorem 4: with steps 1/(a k) squared distances fall like 1/k, up to its logarithm."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3200, 2))
    x /= np.linalg.norm(x, axis=1)[:, None]
    problem = iid(Table(x, (x[:, 0] + rng.normal(size=3200) > 0).astype(int), "made up"), 4, seed=1)
    losses = OneVsAll.of(problem, 0.2)
    signs = losses.signs(problem.table.labels)[None]
    whole = minimize(
        lambda model: float(losses.losses(model[None, None], x[None], signs)[0, 0]), np.zeros(2)
    ).x

    def off(batches: int) -> float:
        part = Users(problem.table, tuple(rows[: batches * 4] for rows in problem.rows))
        found = fit_without_replacement(
            part, privacy=Privacy(4.0, 1e-4, unit="record"), seed=1, policy=Coin(0.5), batch=4,
            ridge=0.2, radius=5.0, steps=harmonic(10.0, 25.0), runs=6,
        )  # fmt: skip
        models = np.concatenate([found.model.public[None], found.model.own])[:, :, 0]
        return float(((models - whole) ** 2).sum(axis=-1).mean())

    assert off(200) < off(25) / 3


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
            ("runs", {"runs": 0}),
            ("problem", {"problem": np.eye(3)}),
            ("graph", {"graph": 1}),
            ("graph", {"clock": 1}),
            ("seed", {"seed": "seven"}),
            ("steps", {"steps": constant(4.1)}),
            ("steps", {"steps": 0.1}),
            ("radius", {"radius": math.nan}),
            ("test", {"test": Table(np.eye(3), np.arange(3), "wider")}),
            ("privacy", {"privacy": 1.0}),
            ("ridge", {"ridge": -1.0}),
            ("ridge", {"ridge": "little"}),
            ("radius", {"radius": "far"}),
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
    for policy, field in (
        (lambda: Coin(1.5), "chance"),
        (lambda: Coin("often"), "chance"),  # type: ignore[arg-type]
        (lambda: DeepQ(annealed=0), "annealed"),
        (lambda: DeepQ(annealed=5, follows=0), "follows"),
        (lambda: DeepQ(annealed=5, discount=math.nan), "discount"),
    ):
        with pytest.raises(UsageError) as caught:
            policy()
        assert caught.value.field == field
    with pytest.raises(UsageError, match="rows of 2"):
        run().model.predict([[1.0, 0.0, 0.0]])
    assert run().model.predict([[1.0, 0.1]], node=0).shape == (1,)


def test_a_label_that_was_not_trained_on_is_never_right() -> None:
    """Also where it lies between two others."""
    problem = two_classes(labels=(0, 2))
    found = fit_without_replacement(problem, privacy=None, seed=1, batch=10)
    table = problem.table
    known, own = found.model.accuracy(table)
    assert known.shape == own.shape == (1,)
    assert known > 0.5
    for label in (-1, 1, 3):
        unknown = Table(table.features, np.full(len(table), label), "unknown")
        assert found.model.accuracy(unknown)[0] == 0


def test_labels_may_be_text_and_arrays_read_only() -> None:
    problem = two_classes(labels=("no", "yes"))
    problem.table.features.flags.writeable = False
    found = fit_without_replacement(problem, privacy=ASKED, seed=1, batch=10, test=problem.table)
    assert set(found.model.predict(problem.table.features)) <= {"no", "yes"}


def test_two_classes_have_one_model() -> None:
    problem = moons(seed=1)
    found = fit_without_replacement(problem, privacy=None, seed=1, batch=1)
    assert found.model.public.shape[1] == 1
    assert set(found.model.predict(problem.table.features)) <= set(problem.table.labels)
