"""Training: rounds that average what gradient descent would do, within a budget, audited."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from examples.federated import NEAR as CLOSE
from examples.federated import accuracy, cancer_rows, trained
from gopa import UsageError
from gopa.learning import BudgetExceeded, Charge, Outcome, Privacy, PrivacyLedger, Users
from gopa.learning.clipping import clip, length
from gopa.learning.federated import (
    AdaptiveClip,
    Recipe,
    RoundShape,
    Setting,
    fedavg,
    fedsgd,
    mean_round,
)
from gopa.learning.federated.rounds import require_bound
from gopa.learning.objectives import SQUARED
from tests.learning.federated.problems import NEAR, OFF, RECORD, USER, two_sides, uneven

BOUND = 0.4


def slopes(problem: Users, weights: np.ndarray) -> list[np.ndarray]:
    """What each row of each user would change, written down once more."""
    found = []
    for x, y in problem.pairs():
        rows = np.hstack([x, np.full((len(x), 1), 0.2)])
        found.append((y / (1 + np.exp(y * (rows @ weights))))[:, None] * rows)
    return found


def weights_of(outcome: Outcome) -> np.ndarray:
    return np.append(outcome.model["coef"], outcome.model["intercept"] / 0.2)


def test_fedsgd_is_gradient_descent_on_all_rows() -> None:
    problem = uneven()
    outcome = fedsgd(problem, privacy=None, seed=1, rounds=4, rate=2.0, ridge=0.1, **OFF)
    weights = np.zeros(3)
    for _ in range(4):
        rows = np.concatenate(slopes(problem, weights))
        weights = weights + 2.0 * (rows.mean(axis=0) - 0.1 * weights)
    assert np.allclose(weights_of(outcome), weights, atol=1e-6)
    assert outcome.history["weight"] == pytest.approx([10] * 4)
    assert outcome.history["users"].tolist() == [5] * 4
    assert outcome.converged is None


def test_gradients_of_records_are_shortened_one_by_one() -> None:
    problem = uneven()
    outcome = fedsgd(problem, privacy=RECORD, seed=1, rounds=1, rate=1.0, clip=BOUND, **OFF)
    rows = np.concatenate(slopes(problem, np.zeros(3)))
    expected = clip(rows, 2, BOUND).mean(axis=0)
    noise = float(outcome.history["noise"][0])
    assert np.abs(weights_of(outcome) - expected).max() < 5 * noise < 1
    shortened = int((length(rows, 2) > BOUND).sum())
    assert outcome.history["shortened"].tolist() == [shortened]
    assert 0 < shortened < 10
    assert any(f"{shortened} gradients of records were shortened" in w for w in outcome.warnings)
    assert outcome.spent.unit == "record"
    assert any("one record" in each for each in outcome.spent.assumptions)
    assert any("seed" in each for each in outcome.spent.assumptions)


def test_fedavg_weighs_users_by_their_rows_or_all_alike() -> None:
    problem = uneven()
    recipe: dict[str, Any] = {"local_steps": 3, "rate": 1.0, "rounds": 2, "clip": 50.0}
    for weighted in (True, False):
        outcome = fedavg(problem, privacy=None, seed=1, weighted=weighted, **recipe, **OFF)
        weights = np.zeros(3)
        for _ in range(2):
            locals_ = []
            for user in range(5):
                own = weights.copy()
                for _ in range(3):
                    rows = slopes(problem, own)[user]
                    own = own + (rows.mean(axis=0) if len(rows) else 0.0)
                locals_.append(own - weights)
            counts = problem.counts if weighted else np.ones(5)
            weights = weights + np.average(locals_, axis=0, weights=counts)
        assert np.allclose(weights_of(outcome), weights, atol=1e-5)
        assert outcome.warnings == ()


def test_a_line_is_learnt_by_the_squared_loss() -> None:
    problem = two_sides()
    straight = problem.table.features @ np.array([0.5, -0.25]) + 0.1
    table = replace(problem.table, labels=straight)
    outcome = fedavg(
        replace(problem, table=table), privacy=None, seed=1, rounds=40, loss=SQUARED, rate=0.5,
        intercept=1.0, tol=1e-6, **OFF,
    )  # fmt: skip
    assert np.allclose(outcome.model["coef"], [0.5, -0.25], atol=1e-3)
    assert outcome.model["intercept"] == pytest.approx(0.1, abs=1e-3)
    assert outcome.converged
    assert len(outcome.history) < 40
    short = fedavg(problem, privacy=None, seed=1, rounds=2, tol=1e-6, **OFF)
    assert short.converged is False


def test_a_round_that_the_budget_does_not_cover_is_not_begun() -> None:
    problem = two_sides()
    asked: dict[str, Any] = {"privacy": USER, "seed": 1, "most_rows": 8, **OFF}
    outcome = fedavg(problem, rounds=5, planned=2, **asked)
    assert len(outcome.history) == 2
    assert any("stopped before round 3 of 5" in each for each in outcome.warnings)
    assert outcome.spent.epsilon == USER.epsilon
    assert outcome.spent.within(USER)
    assert not fedavg(problem, rounds=2, **asked).warnings[0].startswith("stopped")


def test_a_shared_account_is_charged_first_and_refuses() -> None:
    problem = two_sides()
    ledger = PrivacyLedger(Privacy(9.0, 1e-4))
    asked: dict[str, Any] = {"privacy": USER, "seed": 1, "most_rows": 8, **OFF}
    fedavg(problem, rounds=1, ledger=ledger, **asked)
    assert ledger.entries[0].charge == Charge.guarantee(8.0, 1e-5)
    with pytest.raises(BudgetExceeded):
        fedavg(problem, rounds=1, ledger=ledger, **asked)
    with pytest.raises(BudgetExceeded):
        fedavg(problem, rounds=1, ledger=ledger, **{**asked, "privacy": None})
    assert len(ledger.entries) == 1


def test_an_account_of_something_else_is_refused() -> None:
    """Noise for one record hides no user, and a session hides nobody's taking part."""
    problem = two_sides()
    asked: dict[str, Any] = {"seed": 1, "most_rows": 8, "rounds": 1, **OFF}
    for other in (Privacy(9.0, 1e-4), replace(RECORD, epsilon=9.0, relation="add-remove")):
        ledger = PrivacyLedger(other)
        with pytest.raises(UsageError) as caught:
            fedsgd(problem, privacy=RECORD, ledger=ledger, **asked)
        assert caught.value.field == "ledger"
        assert not ledger.entries
    own = PrivacyLedger(Privacy(16.0, 1e-4, unit="record"))
    for privacy in (RECORD, USER):
        fedsgd(problem, privacy=privacy, ledger=own, **asked)
    assert own.spent().epsilon == pytest.approx(16, abs=1e-3)


def test_no_more_colluders_are_claimed_than_are_planned_for() -> None:
    problem = two_sides()
    asked: dict[str, Any] = {"seed": 1, "most_rows": 8, "rounds": 1, "mode": "off"}
    three = Privacy(8.0, 1e-5, view="coalition", colluders=3)
    planned = {"corrupt": 3, "dropout": 0.0}
    assert fedavg(problem, privacy=three, session=planned, **asked).spent.within(three)
    more: list[dict[str, Any]] = [{"privacy": three}]
    more += [{"privacy": USER, "ledger": PrivacyLedger(replace(three, epsilon=9.0))}]
    for each in more:
        with pytest.raises(UsageError) as caught:
            fedavg(problem, session=NEAR, **asked, **each)
        assert caught.value.field == "colluders"


def test_an_adaptive_bound_is_asked_within_the_same_budget() -> None:
    problem = two_sides(40, 400)
    asked: dict[str, Any] = {"privacy": USER, "seed": 1, "most_rows": 10, "rounds": 6, **OFF}
    outcome = fedavg(problem, clip=AdaptiveClip(0.05, rate=0.7), **asked)
    bounds = outcome.history["bound"]
    assert bounds[-1] > 1.3 * bounds[0]
    assert np.isfinite(outcome.history["kept"]).all()
    assert outcome.spent.within(USER)
    fixed = fedavg(problem, clip=0.05, **asked)
    assert np.isnan(fixed.history["kept"]).all()


def test_users_with_too_many_rows_count_less_and_are_named() -> None:
    problem = uneven()
    outcome = fedavg(problem, privacy=None, seed=1, rounds=1, most_rows=2, **OFF)
    assert outcome.history["weight"] == pytest.approx([0 + 1 + 2 + 2 + 2])
    assert any(each.startswith("2 users have more than 2 rows") for each in outcome.warnings)


def test_who_leaves_is_not_in_the_round_and_too_many_end_it_alone() -> None:
    problem = two_sides()
    session = {"corrupt": 1, "dropout": 0.2, "attempts": 1, "script": _leaving}
    asked: dict[str, Any] = {"privacy": None, "seed": 1, "rounds": 3, "mode": "off"}
    outcome = fedavg(problem, session=session, **asked)
    assert outcome.history["users"].tolist() == [7, 8]
    assert outcome.history["round"].tolist() == [1, 3]
    assert any(each.startswith("round 2 had no result") for each in outcome.warnings)
    with pytest.raises(UsageError) as caught:
        fedavg(problem, session={**session, "script": _nobody}, **asked)
    assert caught.value.field == "session"


def _leaving(round_number: int) -> dict[int, str]:
    return {1: {0: "JOIN"}, 2: dict.fromkeys(range(7), "JOIN")}.get(round_number, {})


def _nobody(_: int) -> dict[int, str]:
    return dict.fromkeys(range(7), "JOIN")


def test_every_round_is_in_the_log_and_a_seed_is_a_run(tmp_path: Path) -> None:
    problem = two_sides(5, 30)
    asked: dict[str, Any] = {"privacy": USER, "seed": 4, "most_rows": 6, "session": NEAR}
    outcome = fedavg(problem, rounds=2, **asked)
    assert outcome.transcript is not None
    assert len(outcome.transcript) == 2
    known = outcome.transcript[0].anchors(tmp_path / "anchors").read_bytes()
    audited = outcome.audit(known)
    assert audited.rounds == 2
    assert audited.missing == ()
    assert [each.verdict.value for each in audited.reports] == ["SIGNED-ONLY"]
    assert audited.reports[0].anchored
    assert outcome.messages > 40
    assert outcome.spent.within(USER)
    assert fedavg(problem, rounds=2, **asked).digest() == outcome.digest()
    assert fedavg(problem, rounds=2, **{**asked, "seed": 5}).digest() != outcome.digest()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"privacy": RECORD}, "privacy"),
        ({"privacy": replace(USER, relation="add-remove")}, "relation"),
        ({"privacy": Privacy(1.0)}, "delta"),
        ({"most_rows": None}, "most_rows"),
        ({"most_rows": 0}, "most_rows"),
        ({"session": {"corupt": 1}}, "session['corupt']"),
        ({"rounds": 0}, "rounds"),
        ({"clip": -1.0}, "clip"),
        ({"rate": 0.0}, "rate"),
        ({"local_steps": -1}, "local_steps"),
        ({"ridge": float("nan")}, "ridge"),
        ({"mode": "fast"}, "mode"),
        ({"loss": SQUARED, "rate": 1e200}, "rate"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], field: str) -> None:
    right: dict[str, Any] = {"privacy": USER, "seed": 1, "most_rows": 8, "rounds": 1, **OFF}
    assert fedavg(two_sides(), **right)
    with pytest.raises(UsageError) as caught:
        fedavg(two_sides(), **{**right, **changes})
    assert caught.value.field == field


def test_a_recipe_goes_with_fewer_keywords() -> None:
    assert Recipe(clip=3).bound == Recipe(clip=AdaptiveClip(3)).bound == 3
    assert Recipe(intercept=0.0).split(np.ones(2))["intercept"] == 0


def cancer(parties: int, epsilon: float, seeds: int) -> float:
    rows, asked = cancer_rows(), Privacy(epsilon, 1e-5)
    runs = [trained(rows, parties, asked, seed, CLOSE) for seed in range(seeds)]
    return float(np.mean([accuracy(outcome.model, test) for outcome, test in runs]))


@pytest.mark.slow
def test_forty_parties_learn_with_privacy() -> None:
    assert cancer(40, 2.0, 1) > 0.9


@pytest.mark.soak
@pytest.mark.parametrize(
    ("parties", "epsilon", "least", "most"),
    [(40, 2.0, 0.92, 1), (40, 1.0, 0.90, 1), (10, 8.0, 0.92, 1), (10, 2.0, 0.7, 0.85)],
)
def test_few_parties_pay_more(parties: int, epsilon: float, least: float, most: float) -> None:
    """The mean of twenty runs, user level, 31 numbers, 5 rounds."""
    assert least <= cancer(parties, epsilon, 20) <= most


def test_the_account_says_what_each_round_has_used() -> None:
    """All is charged before the first round; the curve grows to that, and ends where rounds end."""
    problem = two_sides()
    asked: dict[str, Any] = {"privacy": USER, "seed": 1, "most_rows": 8, **OFF}
    curve = fedavg(problem, rounds=3, **asked).spent.curve
    assert curve is not None
    assert curve["round"].tolist() == [0, 1, 2, 3]
    assert curve["epsilon"][[0, 3]].tolist() == [0, USER.epsilon]
    assert (np.diff(curve["epsilon"]) > 0).all()
    assert USER.epsilon / 3 < curve["epsilon"][1] < USER.epsilon * 0.6
    early = fedavg(problem, rounds=1, planned=3, **asked).spent
    assert early.epsilon == USER.epsilon
    assert early.curve is not None
    assert early.curve["epsilon"].tolist() == curve["epsilon"][:2].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("privacy", [None, USER])
def test_full_mode_proves_how_long_updates_are(privacy: Privacy | None) -> None:
    """Where records are hidden vectors are longer than what hides them: every bit is proved."""
    asked: dict[str, Any] = {"mode": "full", "session": NEAR, "seed": 1, "rounds": 1, "rate": 1.0}
    asked |= {"most_rows": 8, "clip": 0.5}
    outcome = fedavg(two_sides(5, 20), privacy=privacy, local_steps=2, **asked)
    off = fedavg(two_sides(5, 20), privacy=privacy, local_steps=2, **asked | {"mode": "off"})
    noise = float(outcome.history["noise"][0])
    assert np.abs(weights_of(outcome) - weights_of(off)).max() < (6 * noise if privacy else 1e-3)
    user = Setting(privacy, 1, 8, "full", NEAR)
    assert user.plan(5, 3, 1.0, 1).path == "rows"
    assert user.plan(5, 3, 1.0, 1, vouched=True).path == "bits"


UPDATES = np.array([[1.0, -2.0], [0.5, 0.25], [6.0, 8.0], [0.0, 0.0]])


WEIGHTS = np.array([1.0, 5.0, 2.0, 0.0])


def aggregator(shape: RoundShape, mode: Any = "off", epsilon: float | None = None) -> Any:
    plan = gopa.plan(
        n=4, epsilon=epsilon, delta=None if epsilon is None else 1e-5, corrupt=1, dropout=0.0,
        dimension=shape.dimension, range=(-1, 1), norm=shape.half, rounds=3, least_chance=0,
        mode=mode, beacon="commit-reveal",
    )  # fmt: skip
    return gopa.LocalAggregator(plan, mode=mode, seed=3, vouched=shape.vouched)


@pytest.mark.parametrize("mode", ["off", "signed", "full"])
def test_every_mode_has_the_weighted_mean_of_shortened_updates(mode: Any) -> None:
    shape = RoundShape(2, most=5.0, adaptive=True)
    with aggregator(shape, mode) as rounds:
        found = mean_round(rounds, shape, UPDATES, WEIGHTS, bound=5.0)
    expected = np.average(clip(UPDATES, 2, 5.0), axis=0, weights=WEIGHTS)
    assert np.allclose(found.mean, expected, atol=2e-3)
    assert found.weight == pytest.approx(8, abs=2e-3)
    assert found.kept == pytest.approx(1 - 2 / 8, abs=2e-3)
    assert found.shortened == 1
    assert found.count == 4


def test_all_count_alike_without_weights_and_one_number_is_enough() -> None:
    shape = RoundShape(1, weighted=False)
    with aggregator(shape) as rounds:
        found = mean_round(rounds, shape, UPDATES[:, :1], bound=2.0)
    assert found.mean == pytest.approx([(1 + 0.5 + 2 + 0) / 4], abs=1e-4)
    assert found.kept is None


def test_means_of_records_are_counted_by_records() -> None:
    shape = RoundShape(2, most=5.0, adaptive=True, unit="record")
    kept = np.array([1.0, 0.6, 1.0, 0.0])
    with aggregator(shape) as rounds:
        found = mean_round(rounds, shape, UPDATES, WEIGHTS, bound=10.0, kept=kept)
    assert np.allclose(found.mean, np.average(UPDATES, axis=0, weights=WEIGHTS), atol=1e-3)
    assert found.kept == pytest.approx((1 + 3 + 2) / 8, abs=1e-3)
    assert found.shortened == 2


def test_a_user_never_moves_a_sum_by_more_than_noise_is_made_for() -> None:
    """Two extreme vectors of one user come as far apart as twice `half`, and none farther."""
    rng = np.random.default_rng(1)
    for adaptive in (False, True):
        shape = RoundShape(3, most=7.0, adaptive=adaptive)
        updates = clip(rng.normal(0, 4, (400, 3)), 2, 2.0)
        updates[0], updates[1] = [2, 0, 0], [-2, 0, 0]
        weights = rng.choice([0.0, 3.0, 7.0], 400)
        weights[0] = weights[1] = 7.0
        kept = rng.integers(0, 2, 400).astype(float)
        vectors = np.array(shape.vectors(updates, weights, 2.0, kept))
        apart = np.linalg.norm(vectors[:, None] - vectors, axis=2).max()
        assert np.linalg.norm(vectors, axis=1).max() <= shape.half
        assert 2 <= apart <= 2 * shape.half
        assert np.abs(vectors).max() <= 1


def test_a_record_never_moves_a_sum_by_more_than_noise_is_made_for() -> None:
    rng = np.random.default_rng(2)
    shape = RoundShape(3, most=10.0, adaptive=True, unit="record")
    assert shape.half > RoundShape(3, most=10.0, unit="record").half  # the question costs noise
    farthest = 0.0
    for _ in range(300):
        records = clip(rng.normal(0, 4, (6, 3)), 2, 2.0)
        other = records.copy()
        other[0] = -records[0]
        kept = rng.integers(0, 2, 6) / 1.0
        both = [
            np.array(shape.vectors([each.mean(axis=0)], [6.0], 2.0, [share]))
            for each, share in ((records, kept.mean()), (other, (1 - kept[0] + kept[1:].sum()) / 6))
        ]
        farthest = max(farthest, float(np.linalg.norm(both[0] - both[1])))
    assert 0.9 * 2 * shape.half < farthest <= 2 * shape.half


def test_few_weights_under_much_noise_shorten_the_step() -> None:
    """A sum of weights that noise made small, or negative, leads to no long step."""
    shape = RoundShape(2, most=1.0)
    total = np.array([1.0, 0.0, -0.4])
    found = shape.read(total, stderr=2.0, count=4, bound=1.0)
    assert found.weight == pytest.approx(4 * 0.5 - 0.4 / 0.25)
    assert found.weight_stderr == pytest.approx(2.0 / 0.25)
    assert found.mean == pytest.approx(total[:2] / 4)
    assert found.divisor(0.5, 0.1) == pytest.approx(2)
    nobody = shape.read(np.array([0.0, 0.0, -0.5]), stderr=0.0, count=4, bound=1.0)
    assert np.isfinite(nobody.mean).all()


def test_an_adaptive_bound_finds_the_quantile() -> None:
    clipping, bound = AdaptiveClip(8.0, quantile=0.75, rate=0.5), 8.0
    lengths = np.linspace(0, 1, 101)
    for _ in range(60):
        bound = clipping.after(bound, float(np.mean(lengths <= bound)))
    assert bound == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: require_bound(0.0),
        lambda: require_bound(math.nan),
        lambda: AdaptiveClip(math.inf),
        lambda: AdaptiveClip(1.0, quantile=1.0),
        lambda: AdaptiveClip(1.0, rate=0.0),
        lambda: RoundShape(0),
        lambda: RoundShape(2, most=0.0),
        lambda: RoundShape(2, most=5.0, weighted=False, unit="record"),
        lambda: RoundShape(2, most=2.0).vectors(UPDATES, [1, 2, 3, 0], 10, [1] * 4),
        lambda: RoundShape(2, most=2.0).vectors(UPDATES, [1, 2, -1, 0], 10, [1] * 4),
    ],
)
def test_nonsense_is_refused(wrong: Any) -> None:
    assert RoundShape(2, most=2.0).vectors(UPDATES, [1, 2, 1, 0], 10, [1] * 4)
    with pytest.raises(UsageError):
        wrong()
