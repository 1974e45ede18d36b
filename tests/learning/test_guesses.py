"""First guesses of people who train models with other libraries: they work, or name what does."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gopa import UsageError
from gopa.graph import ring
from gopa.learning import (
    BudgetExceeded,
    Outcome,
    Privacy,
    Table,
    Users,
    iid,
    linear_models,
    ratings,
    users_of,
)
from gopa.learning.correlated import fit_correlated
from gopa.learning.federated import (
    FederatedKMeans,
    FederatedLinearRegression,
    FederatedLogisticRegression,
    fedavg,
    fedsgd,
    kmeans,
    mean,
)
from gopa.learning.network_dp import fit_sgd
from gopa.learning.objectives import HINGE, LOGISTIC, Linear
from gopa.learning.pairwise import GINI, PairwiseScorer, fit_dual_averaging, fit_local, fit_pairwise
from gopa.learning.personalised import Personalised
from gopa.learning.rows import AgentRows
from gopa.learning.without_replacement import fit_without_replacement
from tests.learning.federated.problems import OFF, two_sides

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
PARTIES = np.arange(60) % 6
PAIRS = [(X[each == PARTIES], Y[each == PARTIES]) for each in range(6)]
PLAIN: dict[str, Any] = {"privacy": None, "seed": 1, "rounds": 2, **OFF}


SIMILAR: dict[str, Any] = {"graph": np.ones((6, 6))}


class Sparse:
    """Looks like a matrix of scipy."""

    shape = (60, 2)

    def toarray(self) -> Any:
        return X


def expected() -> Outcome:
    return fedavg(users_of(PAIRS), **PLAIN)


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "sick": Y, "clinic": PARTIES})


WORKS: dict[str, Callable[[], Outcome]] = {
    "X, y, groups": lambda: fedavg(X, Y, groups=PARTIES, **PLAIN),
    "one tuple": lambda: fedavg((X, Y, PARTIES), **PLAIN),
    "lists of numbers": lambda: fedavg(X.tolist(), Y.tolist(), PARTIES.tolist(), **PLAIN),
    "a list of pairs": lambda: fedavg(PAIRS, **PLAIN),
    "a tuple of pairs": lambda: fedavg(tuple(PAIRS), **PLAIN),
    "a dict of pairs": lambda: fedavg(dict(enumerate(PAIRS)), **PLAIN),
    "pairs of lists": lambda: fedavg([(x.tolist(), y.tolist()) for x, y in PAIRS], **PLAIN),
    "a table with groups": lambda: fedavg(Table(X, Y, groups=PARTIES), **PLAIN),
    "a table, and groups": lambda: fedavg(Table(X, Y), groups=PARTIES, **PLAIN),
    "a frame with names of columns": lambda: fedavg(frame(), "sick", "clinic", **PLAIN),
    "a frame and series": lambda: fedavg(
        frame()[["a", "b"]], frame()["sick"], groups=frame()["clinic"], **PLAIN
    ),
    "max_iter": lambda: fedavg(
        PAIRS, privacy=None, random_state=1, max_iter=2, verbose=False, **OFF
    ),
    "names of losses": lambda: fedavg(PAIRS, loss="logistic", **PLAIN),
    "weights of 1": lambda: fedavg(X, Y, PARTIES, sample_weight=np.ones(60), **PLAIN),
    "triples": lambda: fedavg([(x, y, np.ones(len(y))) for x, y in PAIRS], **PLAIN),
    "weights of classes": lambda: fedavg(PAIRS, class_weight={-1: 1.0, 1: 1.0}, **PLAIN),
    "a start of zeros": lambda: fedavg(
        PAIRS, start={"coef": [0.0, 0.0], "intercept": 0.0}, **PLAIN
    ),
}


@pytest.mark.parametrize("name", WORKS)
def test_every_way_in_leads_to_the_same_model(name: str) -> None:
    found, right = WORKS[name](), expected()
    assert np.allclose(found.model["coef"], right.model["coef"], atol=1e-6)
    assert np.allclose(found.model["intercept"], right.model["intercept"], atol=1e-6)
    assert found.spent == right.spent


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (False, True), ("no", "yes"), (1, 2), (-5.5, 0.25)],
)
def test_labels_are_of_any_kind(low: Any, high: Any) -> None:
    labels = np.where(Y > 0, high, low)
    found = fedavg(X, labels, PARTIES, **PLAIN)
    assert np.array_equal(found.model["coef"], expected().model["coef"])
    assert set(found.predict(X).tolist()) == {low, high}
    asked: dict[str, Any] = {"privacy": None, "seed": 1, "steps": 200}
    assert np.array_equal(fit_sgd(X, labels, PARTIES, **asked).model, fit_sgd(PAIRS, **asked).model)
    assert set(fit_sgd(X, labels, PARTIES, **asked).predict(X).tolist()) <= {low, high}


def test_several_classes_and_one_budget() -> None:
    kinds = np.digitize(X[:, 0], [-0.5, 0.5])
    words = np.array(["low", "middle", "high"])[kinds]
    found = fedavg(X, words, PARTIES, **{**PLAIN, "rounds": 30})
    assert (found.predict(X) == words).mean() > 0.85
    asked = Privacy(20.0, 1e-5)
    hidden = fedavg(X, words, PARTIES, **{**PLAIN, "privacy": asked, "most_rows": 10})
    assert hidden.spent.within(asked)
    by_record = fedsgd(
        X, words, PARTIES,
        **{**PLAIN, "privacy": Privacy(20.0, 1e-5, unit="record"), "clip": 1.0},
    )  # fmt: skip
    assert by_record.spent.unit == "record"
    with pytest.raises(UsageError) as caught:
        fedavg(X, words, PARTIES, loss="hinge", **PLAIN)
    assert caught.value.field == "loss"
    model = FederatedLogisticRegression(epsilon=None, random_state=1, **OFF)
    assert model.fit(X, words, groups=PARTIES).score(X, words) > 0.85
    assert model.predict_proba(X).shape == (60, 3)
    nodes = fit_without_replacement(X, words, PARTIES, privacy=None, seed=1, batch=2)
    assert set(nodes.predict(X)) <= set(words)


@pytest.mark.parametrize(
    ("fit", "asked"),
    [
        (fit_sgd, {"privacy": Privacy(9.0, 1e-4, view="neighbour"), "steps": 20}),
        (
            fit_correlated,
            {
                "privacy": Privacy(10.0, 1e-4, unit="record", view="neighbour"), "noise": 10.0,
                "row_bound": 1.0, "iterations": 3, "graph": ring(6),
            },
        ),
        (fedavg, {"privacy": Privacy(90.0, 1e-3), "most_rows": 10, "rounds": 1, **OFF}),
    ],
    ids=["fit_sgd", "fit_correlated", "fedavg"],
)  # fmt: skip
def test_a_private_model_of_classes_says_that_these_are_public(fit: Any, asked: Any) -> None:
    """They are looked up in the rows of all: who alone has one is known by it."""
    words = np.where(Y > 0, "yes", "no")
    found = fit(X, words, PARTIES, seed=1, **asked)
    assert found.spent.hides
    assert found.classes.tolist() == ["no", "yes"]
    assert found.spent.assumptions.count("public: which classes there are") == 1


def test_weights_count_like_rows() -> None:
    doubled = np.where(Y > 0, 2.0, 1.0)
    twice = np.repeat(np.arange(60), doubled.astype(int))
    asked = {**PLAIN, "rounds": 6}
    weighed = fedavg(X, Y, PARTIES, sample_weight=doubled, **asked)
    repeated = fedavg(X[twice], Y[twice], PARTIES[twice], **asked)
    by_class = fedavg(PAIRS, class_weight={1: 2.0, -1: 1.0}, **asked)
    for each in (repeated, by_class):
        assert np.allclose(weighed.model["coef"], each.model["coef"], atol=1e-6)
    without = fedavg(X, Y, PARTIES, sample_weight=(PARTIES > 0).astype(float), **asked)
    five = fedavg(PAIRS[1:], **asked)
    assert np.allclose(without.model["coef"], five.model["coef"], atol=1e-6)
    fedavg(PAIRS, class_weight="balanced", **asked)


def test_names_are_the_objects_they_name() -> None:
    asked: dict[str, Any] = {"seed": 1, "steps": 200}
    numbers = ratings(8, seed=1)
    named = fit_pairwise(numbers, kernel="gini", graph="ring", **asked)
    same = fit_pairwise(numbers, kernel=GINI, graph=ring(8), random_state=1, max_iter=200)
    assert named.digest() == same.digest()
    assert fit_sgd(PAIRS, privacy=None, loss="squared", **asked).digest()
    hinge = fedavg(PAIRS, loss="hinge", **PLAIN)
    assert hinge.digest() == fedavg(PAIRS, loss=HINGE, **PLAIN).digest()
    one = [(x[:1], y[:1]) for x, y in PAIRS]
    assert fit_dual_averaging(one, loss="ranking", graph="complete", **asked).converged is not None


def test_noise_that_cancels_takes_data() -> None:
    asked: dict[str, Any] = {"seed": 1, "iterations": 60, "noise": 0.1}
    words = np.where(Y > 0, "yes", "no")
    found = fit_correlated(X, words, PARTIES, graph="ring", loss="logistic", ridge=0.1, **asked)
    longest = max(1.0, float(np.linalg.norm(X, axis=1).max())) * (1 + 1e-8)
    objective = Linear(LOGISTIC, AgentRows.of(PAIRS).clipped(2, longest), ridge=0.1)
    same = fit_correlated(objective, graph=ring(6), **asked)
    assert np.array_equal(found.model, same.model)
    assert (found.predict(X) == words).mean() > 0.9
    assert fit_correlated(objective, graph="ring", **asked).digest() == same.digest()
    kinds = np.digitize(X[:, 0], [-0.5, 0.5])
    near = Privacy(9.0, 1e-5, "record", "neighbour")
    for more in ({}, {"batch": 4, "method": "dgd"}, {"privacy": near, "noise": 400.0}):
        how: dict[str, Any] = {**asked, "graph": "ring", "ridge": 0.1, "row_bound": 2.0, **more}
        three = fit_correlated(X, kinds, PARTIES, **how)
        assert set(three.predict(X)) <= {0, 1, 2}
        assert "privacy" not in more or three.spent.within(near)


def test_a_seed_of_none_is_another_one_each_time() -> None:
    asked = {**PLAIN, "privacy": Privacy(20.0, 1e-5), "most_rows": 10, "seed": None}
    assert fedavg(PAIRS, **asked).seed != fedavg(PAIRS, **asked).seed


def test_columns_that_do_not_count_are_named() -> None:
    numbers = linear_models(6, 3, seed=1, rows=(1, 1))
    asked: dict[str, Any] = {"kernel": "auc", "graph": "ring", "seed": 1, "steps": 50}
    assert any("3 columns" in each for each in fit_pairwise(numbers, **asked).warnings)
    assert fit_pairwise(ratings(6, seed=1), **{**asked, "kernel": "gini"}).warnings == ()


NAMED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "no groups": (lambda: fedavg(X, Y, **PLAIN), "groups", "groups=range"),
    "no labels": (lambda: fedavg(X, groups=PARTIES, **PLAIN), "problem", "X, y and groups"),
    "iid of an array": (lambda: iid(X, 10, 1), "table", "Table(X, y)"),  # type: ignore[arg-type]
    "a table whose rows are nobody's": (lambda: fedavg(Table(X, Y), **PLAIN), "problem", "iid("),
    "a sparse matrix": (lambda: fedavg(Sparse(), Y, PARTIES, **PLAIN), "problem", "toarray"),
    "a sparse table": (lambda: Table(Sparse(), Y), "features", "toarray"),  # type: ignore[arg-type]
    "users and groups": (lambda: fedavg(two_sides(), groups=PARTIES, **PLAIN), "groups", "leave"),
    "one class": (lambda: fedavg(X, np.zeros(60), PARTIES, **PLAIN), "labels", "one class"),
    "numbers and text": (
        lambda: fedavg([(X[:2], [0, 1]), (X[:2], ["0", "1"]), (X, Y)], **PLAIN), "labels", "text",
    ),
    "several classes where two are told apart": (
        lambda: fit_sgd(X, PARTIES, PARTIES, privacy=None, seed=1), "labels", "fit_correlated",
    ),
    "pairs of several classes": (
        lambda: fit_pairwise(X, Y + (PARTIES == 0), PARTIES, kernel="auc", graph="ring", seed=1),
        "labels", "two classes",
    ),
    "no such loss": (lambda: fedavg(PAIRS, loss="mse", **PLAIN), "loss", "'squared'"),
    "no such graph": (
        lambda: fit_pairwise(ratings(6, seed=1), kernel=GINI, graph="torus", seed=1), "graph",
        "'ring'",
    ),
    "a kernel as a function": (
        lambda: fit_local(ratings(6, seed=1), kernel=max, privacy=Privacy(1.0), seed=1),
        "kernel", "Kernel(..)",
    ),
    "users as the unit without replacement": (
        lambda: fit_without_replacement(PAIRS, privacy=Privacy(1.0, 1e-5), seed=1, batch=2),
        "privacy", 'unit="record"',
    ),
    "weights where rows count alike": (
        lambda: mean(X, groups=PARTIES, low=-9, high=9, sample_weight=np.ones(60),
                     **{k: v for k, v in PLAIN.items() if k != "rounds"}),
        "sample_weight", "fedavg",
    ),
    "negative weights": (
        lambda: fedavg(X, Y, PARTIES, sample_weight=-np.ones(60), **PLAIN), "sample_weight", "none",
    ),
    "records that count more": (
        lambda: fedsgd(X, Y, PARTIES, sample_weight=np.ones(60), **PLAIN
                       | {"privacy": Privacy(9.0, 1e-5, unit="record")}),
        "sample_weight", "hidden less",
    ),
    "counts of classes that are private": (
        lambda: fedavg(PAIRS, class_weight="balanced", most_rows=10,
                       **PLAIN | {"privacy": Privacy(9.0, 1e-5)}),
        "class_weight", "contingency_table",
    ),
    "a class without a weight": (
        lambda: fedavg(PAIRS, class_weight={1: 2.0}, **PLAIN), "class_weight", "-1",
    ),
    "a column that is not there": (
        lambda: fedavg(pd.DataFrame(X, columns=["a", "b"]), "c", PARTIES, **PLAIN), "labels", "b",
    ),
    "whose rows they are in no column": (
        lambda: fedavg(pd.DataFrame(X, columns=["a", "b"]), "a", "c", **PLAIN), "groups", "b",
    ),
    "a matrix of who is similar": (
        lambda: Personalised(**SIMILAR).fit(X, Y, groups=PARTIES),
        "graph", "gopa.graph",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_does_not_work_names_what_does(name: str) -> None:
    call, field, word = NAMED[name]
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.field == field
    assert word in str(caught.value)


KEYWORDS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (fedavg, {"epsilon": 1.0}, "privacy=Privacy"),
    (fedavg, {"optimizer": "adam"}, "rate="),
    (fedavg, {"model": None}, "start="),
    (fedavg, {"warm_start": True}, "start="),
    (fedavg, {"n_jobs": 2}, "session="),
    (fedavg, {"clients_per_round": 3}, "dropout"),
    (fedavg, {"callbacks": []}, "callback="),
    (fedavg, {"early_stopping": True}, "callback="),
    (fedavg, {"C": 1.0}, "ridge="),
    (fedavg, {"penalty": "l2"}, "ridge="),
    (fedavg, {"learning_rate": 0.1}, "rate="),
    (fedavg, {"epochs": 3}, "local_steps="),
    (fedavg, {"nonsense": 3}, "most_rows"),
    (kmeans, {"n_clusters": 3}, "clusters="),
    (fit_sgd, {"epsilon": 1.0}, "privacy=Privacy"),
    (fit_sgd, {"early_stopping": True}, "progress="),
    (fit_sgd, {"start": None}, "fedavg and fedsgd"),
    (fit_sgd, {"warm_start": True}, "fedavg and fedsgd"),
    (kmeans, {"start": None}, "centres="),
    (fit_pairwise, {"alpha": 1.0}, "kernel"),
]


@pytest.mark.parametrize(
    ("fit", "asked", "word"),
    KEYWORDS,
    ids=[f"{f.__name__}-{next(iter(k))}" for f, k, _ in KEYWORDS],
)
def test_keywords_of_other_libraries_name_ours(
    fit: Callable[..., Any], asked: dict[str, Any], word: str
) -> None:
    with pytest.raises(TypeError, match=fit.__name__) as caught:
        fit(PAIRS, privacy=None, seed=1, **asked)
    assert next(iter(asked)) in str(caught.value)
    assert word in str(caught.value)
    assert str(caught.value).count(" classes") < 2


@pytest.mark.parametrize(
    ("estimator", "asked", "word"),
    [
        (FederatedLogisticRegression, {"max_iter": 3}, "rounds="),
        (FederatedLogisticRegression, {"C": 1.0}, "ridge="),
        (FederatedLogisticRegression, {"privacy": None}, "epsilon="),
        (FederatedLogisticRegression, {"verbose": 1}, "progress=True"),
        (FederatedLogisticRegression, {"callbacks": []}, "callback="),
        (FederatedLogisticRegression, {"early_stopping": True}, "callback="),
        (FederatedLogisticRegression, {"n_jobs": 1}, "session="),
        (FederatedLogisticRegression, {"penalty": "l1"}, "ridge="),
        (FederatedLinearRegression, {"alpha": 1.0}, "ridge="),
        (FederatedKMeans, {"seed": 1}, "random_state="),
        (Personalised, {"epsilon": 1.0}, "privacy=Privacy"),
        (Personalised, {"max_iter": 1}, "steps="),
        (PairwiseScorer, {"max_iter": 1}, "steps="),
    ],
)
def test_keywords_of_estimators_name_ours(estimator: Any, asked: Any, word: str) -> None:
    with pytest.raises(TypeError, match=estimator.__name__) as caught:
        estimator(**asked)
    assert word in str(caught.value)


def test_two_names_of_one_keyword_are_one_too_many() -> None:
    with pytest.raises(TypeError, match="random_state"):
        fedavg(PAIRS, random_state=1, **PLAIN)


def test_a_watcher_may_stop_a_run_and_keeps_the_model() -> None:
    def stop(done: int, _model: Any) -> None:
        if done == 2:
            raise StopIteration

    found = fedavg(PAIRS, callback=stop, **{**PLAIN, "rounds": 9})
    assert len(found.history) == 2
    assert np.array_equal(found.model["coef"], expected().model["coef"])
    private = {**PLAIN, "rounds": 9, "privacy": Privacy(20.0, 1e-5), "most_rows": 10}
    assert fedavg(PAIRS, callback=stop, **private).spent.epsilon == 20


def test_a_copy_goes_on_where_nothing_is_spent_and_only_there() -> None:
    exact = FederatedLogisticRegression(epsilon=None, random_state=1, **OFF)
    exact.partial_fit(X, Y, groups=PARTIES)
    copied = pickle.loads(pickle.dumps(exact))  # noqa: S301 - our own
    assert copied.partial_fit(X, Y, groups=PARTIES).n_iter_ == 1
    private = FederatedLogisticRegression(epsilon=20.0, most_rows=10, random_state=1, **OFF)
    private.fit(X, Y, groups=PARTIES)
    for each in (private, pickle.loads(pickle.dumps(private))):  # noqa: S301 - our own
        with pytest.raises(BudgetExceeded):
            each.partial_fit(X, Y, groups=PARTIES)
    assert clone(private).fit(X, Y, groups=PARTIES).outcome_.spent.epsilon == 20


def test_a_notebook_shows_no_markup_of_others() -> None:
    words = np.where(Y > 0, "<script>", "no")
    found = fedavg(X, words, PARTIES, **PLAIN)
    assert "<script>" not in found._repr_html_()
    assert found._repr_html_().startswith("<table>")


def test_users_of_says_how_many_there_are() -> None:
    assert isinstance(users_of(PAIRS), Users)
    named = users_of({"b": PAIRS[0], "a": PAIRS[1]})
    assert named.table.groups is not None
    assert named.table.groups[[0, -1]].tolist() == ["b", "a"]
    assert len(users_of(X, groups=range(60), labelled=False)) == 60
    none = users_of([(np.zeros((0, 2)), []), *PAIRS])
    assert none.counts[0] == 0
    for wrong in (None, 5, "text", [], [1, 2], [(X, Y[:3])], {"a": X}, (X,), [(X, Y, Y, Y)]):
        with pytest.raises(UsageError):
            users_of(wrong)


def test_objectives_of_users_keep_their_weights() -> None:
    weights = [np.arange(len(y), dtype=float) for _, y in PAIRS]
    rows = AgentRows.of(PAIRS, weights)
    assert np.allclose(rows.shares.sum(axis=1), 1)
    assert rows.clipped(2, 0.5).weights is rows.weights
    with pytest.raises(UsageError) as caught:
        AgentRows(rows.x, rows.y, rows.counts, weights=np.ones(3))
    assert caught.value.field == "weights"
    assert Linear(HINGE, rows).value(np.zeros((6, 2))) == pytest.approx(1.0)
