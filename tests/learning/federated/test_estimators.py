"""Estimators keep scikit-learn's rules, and spend no budget twice."""

from __future__ import annotations

import pickle
import subprocess
import sys
from copy import copy
from dataclasses import replace
from typing import Any, Final
from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from gopa import UsageError
from gopa.learning import BudgetExceeded, Privacy, PrivacyLedger, Table, natural
from gopa.learning.estimators import UnfitData
from gopa.learning.federated import (
    FederatedKMeans,
    FederatedLinearRegression,
    FederatedLogisticRegression,
    FederatedPCA,
    fedavg,
    variance,
)
from tests.learning.federated.problems import NEAR, OFF, two_sides

EXACT: Final[dict[str, Any]] = {"epsilon": None, "random_state": 1, **OFF}
NOISY: Final[dict[str, Any]] = {"epsilon": 40.0, "random_state": 1, "most_rows": 8, **OFF}
PROBLEM = two_sides()
X, Y = PROBLEM.table.features, PROBLEM.table.labels
GROUPS = np.empty(len(X), dtype=int)
for user, own in enumerate(PROBLEM.rows):
    GROUPS[own] = user

ALL: Final = [
    FederatedLogisticRegression(
        rounds=12, local_steps=5, rate=0.3, intercept=5.0, clip=8.0, **EXACT
    ),
    FederatedPCA(**EXACT),
    FederatedLinearRegression(**EXACT),
    FederatedKMeans(3, rounds=3, **EXACT),
]
DEFAULTS: Final = [type(each)() for each in ALL]
LONG: Final = [*ALL[1:], DEFAULTS[0], *DEFAULTS[2:]]
SPENT: Final = {"check_fit_score_takes_y": "partial_fit after fit would spend the budget again"}
WEIGHED: Final = {
    "check_sample_weight_equivalence_on_dense_data": "noise and rounding follow from the number of "
    "parties, and a row of weight 2 is one party"
}
"""All checks that fail, each with a reason; the first only where noise is asked for."""


def name(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [ALL[0], DEFAULTS[1], *(pytest.param(each, marks=pytest.mark.soak) for each in LONG)],
    ids=name,
)
def test_scikit_learn_finds_nothing_wrong(estimator: Any) -> None:
    """With the defaults, too, where each row is a party and all of it is charged."""
    expected = {} if estimator.epsilon is None else SPENT
    if isinstance(estimator, FederatedLogisticRegression):
        expected = {**expected, **WEIGHED}
    found = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
    assert {each["check_name"] for each in found if each["status"] == "xfail"} == set(expected)


def test_without_groups_one_record_is_hidden_and_no_more_is_claimed() -> None:
    """Whoever asked for users is told that one is not hidden, and by the defaults nobody did."""
    model = FederatedLogisticRegression(random_state=1).fit(X, Y)
    asked = Privacy(1.0, 1e-5, unit="record")
    assert model.outcome_.spent.within(asked)
    assert not model.outcome_.spent.within(replace(asked, unit="user"))
    assert model.outcome_.spent.unit == "record"
    grouped = FederatedLogisticRegression(random_state=1, most_rows=8, **OFF)
    assert grouped.fit(X, Y, groups=GROUPS).outcome_.spent.unit == "user"
    with pytest.raises(ValueError, match="most_rows"):
        FederatedLogisticRegression(random_state=1).fit(X, Y, groups=GROUPS)
    account = PrivacyLedger(Privacy(9.0, 1e-3))
    for meant in ({"unit": "user"}, {"ledger": account}, {"weighted": False}, {"most_rows": 2}):
        plain = FederatedLogisticRegression(**meant)
        with pytest.raises(UnfitData) as caught:
            plain.fit(X, Y)
        assert caught.value.field == "groups"
    assert not account.entries


@pytest.mark.slow
def test_a_public_length_is_1_where_nobody_says() -> None:
    asked: dict[str, Any] = {"epsilon": 100.0, "random_state": 1}
    for estimator in (FederatedPCA, FederatedLinearRegression, FederatedKMeans):
        assumed = estimator(**asked).fit(3 * X, Y)
        assert "rows were shortened to the radius" in assumed.outcome_.warnings
        said = estimator(radius=1.0, **asked).fit(3 * X, Y)
        assert assumed.outcome_.digest() == said.outcome_.digest()


def test_another_fit_goes_on_and_is_charged_beside_the_first() -> None:
    """Whoever gets the second model has two releases: for both the budget is one."""
    model = FederatedLogisticRegression(warm_start=True, rounds=1, delta=1e-4, **NOISY)
    first = model.fit(X, Y, groups=GROUPS).outcome_
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y, groups=GROUPS)
    model.set_params(epsilon=60.0, delta=2e-4)
    second = model.fit(X, Y, groups=GROUPS).outcome_
    assert first.spent.epsilon == 40
    assert 40 < second.spent.epsilon <= 60
    assert second.spent.curve is not None
    assert second.spent.curve["epsilon"][0] == 40
    assert not np.array_equal(first.model["coef"], second.model["coef"])
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    copied.set_params(epsilon=200.0, delta=1e-3)
    for each in (copied, copy(copied)):
        with pytest.raises(BudgetExceeded):
            each.fit(X, Y, groups=GROUPS)
    rows = FederatedLogisticRegression(warm_start=True, random_state=1).fit(X, Y)
    rows.set_params(epsilon=2.0, delta=3e-5)
    assert rows.fit(X, Y).outcome_.spent.within(Privacy(2.0, 3e-5, unit="record"))
    rows.set_params(epsilon=4.0, delta=9e-5, most_rows=8)
    with pytest.raises(UnfitData) as caught:
        rows.fit(X, Y, groups=GROUPS)
    assert caught.value.field == "groups"
    exact = FederatedLogisticRegression(warm_start=True, rounds=1, **EXACT)
    exact.fit(X, Y, groups=GROUPS)
    exact.set_params(epsilon=40.0, most_rows=8)
    with pytest.raises(BudgetExceeded):
        exact.fit(X, Y, groups=GROUPS)


def test_noise_does_not_come_again() -> None:
    """With equal noise in both sessions their difference would show a sum without any."""
    asked = {**NOISY, "epsilon": 1.0, "delta": 1e-4}
    model = FederatedLogisticRegression(warm_start=True, rounds=1, clip=1e-3, rate=1e-6, **asked)
    first = model.fit(X, Y, groups=GROUPS).outcome_.model["coef"]
    model.set_params(epsilon=2.0, delta=2e-4)
    moved = model.fit(X, Y, groups=GROUPS).outcome_.model["coef"] - first
    assert np.abs(first).min() > 1e-5
    assert np.abs(moved - first).min() > 1e-6


def test_one_seed_on_one_account_has_two_noises() -> None:
    """Else two models on one account would differ by what a single party changed, bare."""
    account = PrivacyLedger(Privacy(100.0, 1e-3))
    other = X.copy()
    other[0] = -other[0]
    asked = {**NOISY, "ledger": account}
    first = FederatedPCA(**asked).fit(X, groups=GROUPS)
    second = FederatedPCA(**asked).fit(other, groups=GROUPS)
    alone = FederatedPCA(**{**NOISY, "ledger": None}).fit(X, groups=GROUPS)
    assert np.array_equal(first.components_, alone.components_)
    runs: list[Any] = [first._run, second._run]
    bare = np.abs(runs[0].total.total - runs[1].total.total)
    # One row changes no sum by more than 2, and noise has a deviation of more than 5.
    assert runs[0].total.stderr > 5
    assert bare.max() > 3
    assert bare.min() > 0.1


def test_records_that_count_more_are_refused_in_later_calls_too() -> None:
    """The noise is for rows that count alike: one of weight 8 would be hidden an eighth as well."""
    model = FederatedLogisticRegression(local_steps=0, unit="record", rounds=3, **NOISY)
    model.partial_fit(X, Y, GROUPS, classes=[-1, 1])
    model.partial_fit(X, Y, GROUPS)
    for own in (np.ones(len(X)), np.full(len(X), 8.0)):
        with pytest.raises(UnfitData) as caught:
            model.partial_fit(X, Y, GROUPS, sample_weight=own)
        assert caught.value.field == "sample_weight"
    model.partial_fit(X, Y, GROUPS)
    assert model.n_iter_ == 3


def test_what_hid_records_is_no_part_of_a_claim_for_users() -> None:
    asked: dict[str, Any] = {**NOISY, "rounds": 1, "local_steps": 0, "warm_start": True}
    model = FederatedLogisticRegression(unit="record", **asked).fit(X, Y, groups=GROUPS)
    model.set_params(epsilon=90.0, delta=1e-4, unit="user")
    with pytest.raises(UnfitData) as caught:
        model.fit(X, Y, groups=GROUPS)
    assert caught.value.field == "unit"
    model.set_params(unit="record")
    hidden = model.fit(X, Y, groups=GROUPS).outcome_.spent
    assert hidden.within(Privacy(90.0, 1e-4, unit="record"))
    users = FederatedLogisticRegression(unit="user", **asked).fit(X, Y, groups=GROUPS)
    users.set_params(epsilon=90.0, delta=1e-4, unit="record")
    assert users.fit(X, Y, groups=GROUPS).outcome_.spent.unit == "record"


def test_whose_rows_are_is_said_in_all_calls_or_in_none() -> None:
    """Rows of one party would else be taken for those of several, or be counted in the clear."""
    owners = np.arange(len(X))
    ways: tuple[tuple[dict[str, Any], Any, Any], ...] = (
        ({"epsilon": 40.0, "random_state": 1}, None, owners // 4),
        ({**NOISY, "most_rows": 1}, owners, None),
    )
    for asked, first, then in ways:
        model = FederatedLinearRegression(rounds=3, **asked)
        model.partial_fit(X, Y.astype(float), first)
        with pytest.raises(UnfitData) as caught:
            model.partial_fit(X, Y.astype(float), then)
        assert caught.value.field == "groups"
        model.partial_fit(X, Y.astype(float), first)
        assert model.n_iter_ == 2


def test_a_classifier_is_what_the_function_trains() -> None:
    model = FederatedLogisticRegression(rounds=4, **EXACT).fit(X, Y, groups=GROUPS)
    same = fedavg(natural(PROBLEM.table, GROUPS), privacy=None, seed=1, rounds=4, **OFF)
    assert np.array_equal(model.coef_[0], same.model["coef"])
    assert model.score(X, Y) > 0.9
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert ((model.predict_proba(X)[:, 1] > 0.5) == (model.predict(X) == 1)).all()
    named = FederatedLogisticRegression(rounds=4, **EXACT)
    words = np.where(Y > 0, "yes", "no")
    assert set(named.fit(X, words, groups=GROUPS).predict(X)) == {"yes", "no"}
    piped = make_pipeline(FunctionTransformer(lambda x: x / 2), clone(named))
    assert piped.fit(X, words).score(X, words) > 0.7


def test_a_line_components_and_clusters_are_those_of_all_rows() -> None:
    straight = X @ [1.0, 2.0] + 3
    line = FederatedLinearRegression(**EXACT).fit(X, straight, groups=GROUPS)
    assert np.allclose(line.coef_, LinearRegression().fit(X, straight).coef_, atol=1e-4)
    assert line.score(X, straight) > 0.999
    found, expected = FederatedPCA(2, **EXACT).fit(X, groups=GROUPS), PCA(2).fit(X)
    assert np.allclose(
        found.explained_variance_ratio_, expected.explained_variance_ratio_, atol=1e-5
    )
    assert np.allclose(found.inverse_transform(found.transform(X)), X)
    clusters = FederatedKMeans(2, **EXACT).fit(X, groups=GROUPS)
    assert np.array_equal(clusters.labels_, clusters.predict(X))
    assert clusters.transform(X).argmin(axis=1).tolist() == clusters.labels_.tolist()


def test_calls_of_partial_fit_are_rounds_of_one_session() -> None:
    whole = FederatedLogisticRegression(rounds=3, tol=0, **EXACT).fit(X, Y, groups=GROUPS)
    steps = FederatedLogisticRegression(rounds=3, tol=0, **EXACT)
    for _ in range(3):
        steps.partial_fit(X, Y, groups=GROUPS, classes=[-1, 1])
    assert np.allclose(steps.coef_, whole.coef_, atol=1e-6)
    halves = FederatedPCA(1, **EXACT)
    for half in (slice(0, 30), slice(30, 60)):
        halves.partial_fit(X[half], groups=np.arange(30) % 5)
    expected = PCA(1).fit(X).explained_variance_ * 59 / 60
    assert np.allclose(halves.explained_variance_, expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        FederatedLogisticRegression(rounds=2, **NOISY),
        pytest.param(FederatedPCA(rounds=2, radius=2.0, **NOISY), marks=pytest.mark.soak),
        pytest.param(
            FederatedLinearRegression(rounds=2, radius=2.0, label_radius=1.0, **NOISY),
            marks=pytest.mark.soak,
        ),
        FederatedKMeans(2, rounds=2, radius=2.0, **NOISY),
    ],
    ids=name,
)
def test_a_budget_is_never_spent_twice(estimator: Any) -> None:
    """Neither by one more call, nor by a copy, nor after `fit`."""
    for _ in range(2):
        estimator.partial_fit(X, Y, groups=GROUPS)
    assert estimator.outcome_.spent.epsilon == 40
    again = pickle.loads(pickle.dumps(estimator))  # noqa: S301 - our own
    assert again.outcome_.digest() == estimator.outcome_.digest()
    fitted = clone(estimator).fit(X, Y, groups=GROUPS)
    for spent in (estimator, again, fitted):
        with pytest.raises(BudgetExceeded):
            spent.partial_fit(X, Y, groups=GROUPS)


@pytest.mark.slow
@pytest.mark.parametrize("failed", [pytest.param("interrupted", marks=pytest.mark.soak), "lost"])
def test_a_session_without_an_outcome_is_spent_all_the_same(failed: str) -> None:
    """Else whoever makes rounds fail, or interrupts them, gets another session for nothing."""

    def stop(_what: str, done: int, _total: int) -> None:
        if failed == "interrupted" and done:
            raise KeyboardInterrupt

    lost = (lambda _: dict.fromkeys(range(7), "JOIN")) if failed == "lost" else None
    model = FederatedLogisticRegression(rounds=1, progress=stop, **NOISY)
    model.set_params(session={**NEAR, "script": lost})
    with pytest.raises(KeyboardInterrupt if lost is None else UsageError):
        model.fit(X, Y, groups=GROUPS)
    for each in (model, copy(model)):
        with pytest.raises(BudgetExceeded):
            each.partial_fit(X, Y, groups=GROUPS)


@pytest.mark.slow
def test_a_search_spends_one_account() -> None:
    """Copies that scikit-learn makes of an estimator share its ledger; other processes get none."""
    ledger = PrivacyLedger(Privacy(100.0, 1e-3))
    model = FederatedLogisticRegression(rounds=1, ledger=ledger, **{**NOISY, "most_rows": 1})
    search = GridSearchCV(
        model, {"rate": [1.0, 3.0]}, cv=GroupKFold(2), refit=False, error_score="raise"
    )
    with config_context(enable_metadata_routing=True), pytest.raises(BudgetExceeded):
        search.fit(X[:16], Y[:16], groups=np.arange(16))
    assert [each.charge.numbers[0] for each in ledger.entries] == [40.0, 40.0]
    with pytest.raises(UsageError, match="its process"):
        pickle.dumps(model)


def test_a_party_may_have_nothing_new_and_strangers_do_not_join() -> None:
    names = np.array([f"clinic {each}" for each in GROUPS])
    model = FederatedLogisticRegression(**EXACT).partial_fit(X, Y, groups=names)
    some = GROUPS > 1
    model.partial_fit(X[some], Y[some], groups=names[some])
    assert model.outcome_.history["users"].tolist() == [8, 8]
    assert model.outcome_.history["weight"][1] == pytest.approx(some.sum(), abs=1e-3)
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, Y, groups=GROUPS)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    for each in (model, copied):
        each.partial_fit(X, Y, groups=names)
    assert np.allclose(model.coef_, copied.coef_, atol=1e-7)


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_where_nothing_is_spent_a_copy_goes_on(estimator: Any) -> None:
    model = clone(estimator).partial_fit(X, Y, groups=GROUPS)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    for each in (model, copied):
        each.partial_fit(X[::2], Y[::2], groups=GROUPS[::2])
    shown = {"coef_", "cluster_centers_", "components_", "explained_variance_"} & set(vars(model))
    assert shown
    for attribute in shown:
        assert np.allclose(getattr(model, attribute), getattr(copied, attribute), atol=1e-7)


@pytest.mark.slow
def test_a_signed_session_is_in_its_outcome() -> None:
    asked = {**NOISY, "mode": "signed", "session": NEAR}
    model = FederatedLogisticRegression(rounds=2, **asked).fit(X, Y, groups=GROUPS)
    assert model.outcome_.audit().missing == ()
    assert model.outcome_.audit().rounds == 2


def test_mistakes_are_named() -> None:
    two = np.arange(len(X)) % 2
    noisy = {**NOISY, "most_rows": None}
    wrong: list[tuple[Any, Any, str]] = [
        (FederatedLogisticRegression(**EXACT), {"groups": two}, "groups"),
        (FederatedKMeans(2, **EXACT), {"groups": two}, "groups"),
        (FederatedLogisticRegression(**noisy), {"groups": GROUPS}, "most_rows"),
        (FederatedPCA(3, **EXACT), {"groups": GROUPS}, "components"),
        (
            FederatedLogisticRegression(epsilon=0.0, **{**OFF, "most_rows": 8}),
            {"groups": GROUPS},
            "epsilon",
        ),
    ]
    for estimator, given, field in wrong:
        with pytest.raises(UsageError) as caught:
            estimator.fit(X, Y, **given)
        assert caught.value.field == field
    with pytest.raises(ValueError, match="one class"):
        FederatedLogisticRegression(**EXACT).fit(X, np.ones(len(X)))
    unseen = FederatedLogisticRegression(**EXACT).partial_fit(X, Y)
    with pytest.raises(UsageError) as caught:
        unseen.partial_fit(X, np.full(len(X), 7))
    assert caught.value.field == "labels"


@pytest.mark.parametrize("asked", [{"epsilon": 40.0}, {"unit": "record"}, {"mode": "signed"}])
def test_without_groups_there_is_the_arithmetic_alone(asked: dict[str, Any]) -> None:
    """Else rows are hidden where whoever asked means parties, and sessions have too many."""
    plain = FederatedLogisticRegression(rounds=1, **EXACT).fit(X, Y)
    assert plain.outcome_.history["users"].tolist() == [60]
    assert any("60 rows" in each for each in plain.outcome_.warnings)
    noisy = {**NOISY, "local_steps": 0} if "unit" in asked else EXACT
    model = FederatedLogisticRegression(rounds=1, **{**noisy, "most_rows": 8, **asked})
    for call in (model.fit, model.partial_fit):
        with pytest.raises(UnfitData) as caught:
            call(X, Y)
        assert caught.value.field == "groups"
    fitted = clone(model).fit(X, Y, groups=GROUPS)
    assert fitted.outcome_.history["users"].tolist() == [8]


def searched(model: Any, rate: str) -> Any:
    """Cross-validates, and fits the best of two rates; the estimator that it ends with."""
    cross_val_score(model, X, Y, cv=GroupKFold(2), params={"groups": GROUPS}, error_score="raise")
    grid = GridSearchCV(model, {rate: [1.0, 3.0]}, cv=GroupKFold(2), error_score="raise")
    best = grid.fit(X, Y, groups=GROUPS).best_estimator_
    return best[-1] if isinstance(best, Pipeline) else best


@pytest.mark.parametrize("piped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_searches_hide_parties_or_refuse(*, piped: bool) -> None:
    """A splitter that keeps groups to itself would make every row a party."""
    model: Any = FederatedLogisticRegression(rounds=1, **NOISY)
    rate = "federatedlogisticregression__rate" if piped else "rate"
    model = make_pipeline(FunctionTransformer(), model) if piped else model
    with config_context(enable_metadata_routing=True):
        found = searched(model, rate)
    assert found.outcome_.history["users"].tolist() == [8]
    assert found.outcome_.spent.within(Privacy(40.0, 1e-5))
    asked: dict[str, Any] = {"cv": GroupKFold(2), "error_score": "raise"}
    with pytest.raises(UnfitData) as caught:
        cross_val_score(model, X, Y, groups=GROUPS, **asked)
    assert caught.value.field == "groups"
    with pytest.raises(UnfitData):
        GridSearchCV(model, {rate: [1.0]}, **asked).fit(X, Y, groups=GROUPS)


def test_parts_of_a_pipeline_are_told_groups() -> None:
    asked = {**NOISY, "rounds": 1}
    line = make_pipeline(FederatedPCA(2, radius=2.0, **asked), FederatedLogisticRegression(**asked))
    names = ("federatedpca", "federatedlogisticregression")
    named = clone(line).fit(X, Y, **{f"{each}__groups": GROUPS for each in names})
    with config_context(enable_metadata_routing=True):
        routed = clone(line).fit(X, Y, groups=GROUPS)
    for each in (*named, *routed):
        assert each.outcome_.history["users"].tolist() == [8]


def published(x: Any) -> Any:
    """Scales by what a verified sum says of all rows."""
    asked: dict[str, Any] = {"privacy": Privacy(40.0, 1e-5), "seed": 1, "most_rows": 8, **OFF}
    found = variance(natural(Table(X, Y, "all"), GROUPS), low=-1, high=1, **asked).model
    return (x - found["mean"]) / np.sqrt(found["variance"])


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=name)
def test_a_scaler_that_saw_all_rows_is_noticed(scaler: Any) -> None:
    """What it learned is exact, and was never charged: the caller hears it, no outcome has it."""
    last = {"federatedlogisticregression__groups": GROUPS}
    for first, noticed in ((FunctionTransformer(published), 0), (scaler, 1)):
        line = make_pipeline(first, FederatedLogisticRegression(rounds=1, **NOISY))
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            found = line.fit(X, Y, **last)[-1].outcome_
        assert [each.category for each in caught] == [UserWarning] * noticed
        assert not any(str(each.message) in found.warnings for each in caught)


@pytest.mark.slow
def test_all_but_the_estimators_works_without_scikit_learn() -> None:
    program = """
import sys
sys.modules["sklearn"] = None
from gopa import BackendError
import gopa.learning.federated as federated
assert federated.fedavg and "sklearn.base" not in sys.modules
try:
    federated.FederatedPCA
except BackendError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[learning]" in done.stdout
    with pytest.raises(ImportError):
        from gopa.learning.federated import FederatedForest  # noqa: F401
