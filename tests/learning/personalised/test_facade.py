"""All methods by one name, and users who come and go."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from gopa import UsageError
from gopa.graph import from_similarity
from gopa.learning import BudgetExceeded, Privacy, Users, linear_models, moons
from gopa.learning.personalised import (
    BudgetShares,
    GossipPeers,
    GraphSteps,
    Peers,
    Personalised,
    UniformPeers,
    stumps,
)
from gopa.learning.personalised.methods import METHODS, MethodName

QUICK = GraphSteps(first=150, then=50)


@pytest.fixture(scope="module")
def users() -> Users:
    return linear_models(20, 3, seed=2, rows=(3, 12))


def accuracy(found: Personalised, users: Users) -> float:
    """By the true separators, on fresh rows."""
    rows = np.random.default_rng(1).uniform(-1, 1, (200, 3))
    signs = np.where(rows @ users.truth["targets"].T < 0, -1, 1)
    return float(np.mean([found.score(rows, signs[:, user], user) for user in range(20)]))


def test_one_list_of_methods() -> None:
    """The registry, the type of the keyword, the page, and what is tried below."""
    page = Path(__file__).resolve().parents[3] / "docs" / "learning" / "personalised.md"
    rows = "\n".join(line for line in page.read_text().splitlines() if line.startswith('| `"'))
    firsts = [line.split("|")[1] for line in rows.splitlines()]
    assert set(METHODS) == set(get_args(MethodName))
    assert set(METHODS) == {name for cell in firsts for name in re.findall(r'`"([a-z-]+)"`', cell)}


def test_all_methods_learn_and_working_together_is_better(users: Users) -> None:
    graph = from_similarity(users.truth["weights"], 1e-2)
    base = stumps(-np.ones(3), np.ones(3), 5)
    how: dict[str, dict[str, Any]] = {
        "local": {}, "global": {}, "cd": {"graph": graph}, "admm": {"graph": graph, "steps": 200},
        "propagation": {"graph": graph},
        "frank-wolfe": {"graph": graph, "predictors": base, "steps": 1000},
    }  # fmt: skip
    assert set(how) == set(METHODS)
    reached = {}
    for method, more in how.items():
        found = Personalised(method, seed=1, **more).fit(users)
        reached[method] = accuracy(found, users)
        assert found.models_.shape == (20, 15 if method == "frank-wolfe" else 4)
        assert len(found.outcome_.history) >= 1
    assert reached["global"] < 0.65
    assert min(reached["cd"], reached["propagation"]) > reached["local"] + 0.02
    assert reached["admm"] > 0.65
    assert reached["frank-wolfe"] > reached["local"]


@pytest.mark.parametrize(
    "sampler",
    [GossipPeers(8, swap=3, cycles=3), pytest.param(UniformPeers(), marks=pytest.mark.soak)],
)
def test_a_graph_is_learned_from_peers_of_either_kind(sampler: Peers, users: Users) -> None:
    near = users.truth["weights"]
    learning = GraphSteps(first=200, then=60, sampler=sampler)
    found = Personalised(learning=learning, seed=1, steps=400, pull=0.3).fit(users)
    weights = found.graph_.weight_matrix().toarray()
    assert (weights > 0).any(axis=0).all()
    off = ~np.eye(20, dtype=bool)
    assert near[(weights > 0) & off].mean() > near[off].mean()


def test_users_come_and_go(users: Users) -> None:
    graph = from_similarity(users.truth["weights"], 1e-2)
    found = Personalised(graph=graph, seed=1).fit(users)
    rows = np.random.default_rng(5).uniform(-1, 1, (4, 3))
    signs = np.where(rows @ users.truth["targets"][0] < 0, -1, 1)
    before = found.models_.copy()
    number = found.add_user(rows, signs, {0: 1.0, 1: 0.1})
    assert number == 20
    assert found.graph_.parties == 21
    assert found.models_[:20] == pytest.approx(before, abs=1.0)
    assert np.linalg.norm(found.models_[20] - found.models_[0]) < 0.5 * np.linalg.norm(before[0])
    found.remove_user(3)
    assert found.users_ == [0, 1, 2, *range(4, 21)]
    assert (
        found.predict(rows, 20).tolist()
        == found.classes_[(found.decision_function(rows, 20) > 0).astype(int)].tolist()
    )
    assert found.add_user(rows[:0], [], {20: 1.0}) == 21
    for wrong in (
        lambda: found.predict(rows, 3), lambda: found.remove_user(3),
        lambda: found.add_user(rows, signs), lambda: found.add_user(rows, signs, {3: 1.0}),
        lambda: found.add_user(rows, signs, {0: 0.0}),
        lambda: found.add_user(rows, signs + 5, {0: 1}),
        lambda: found.add_user(rows[:, :2], signs, {0: 1}),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            wrong()


def test_whoever_is_interrupted_has_what_was_there_before(users: Users) -> None:
    graph = from_similarity(users.truth["weights"], 1e-2)
    found = Personalised(graph=graph, seed=1, steps=40).fit(users)
    before = (found.users_, found.models_, found.graph_.parties)
    new = users.pairs()[0]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    found.progress = stop
    with pytest.raises(KeyboardInterrupt):
        found.add_user(*new, {0: 1.0})
    with pytest.raises(KeyboardInterrupt):
        found.remove_user(0)
    assert (found.users_, found.models_, found.graph_.parties) == before
    found.progress = False
    assert found.add_user(*new, {0: 1.0}) == 20


def test_a_newcomer_finds_peers_itself() -> None:
    users = moons((4, 4), 2, seed=1, rows=(30, 40))
    base = stumps(-1.5 * np.ones(2), 1.5 * np.ones(2), 8)
    found = Personalised(
        "frank-wolfe", predictors=base, learning=QUICK, seed=1, steps=400, radius=3.0
    ).fit(users)
    number = found.add_user(*users.pairs()[0])
    assert len(found.graph_.neighbours(8)) > 0
    assert found.score(*users.pairs()[0], number) > 0.7
    for silent in ("local", "global"):
        alone = Personalised(silent).fit(users)
        assert alone.add_user(*users.pairs()[0]) == 8
        alone.remove_user(8)
        assert alone.models_.shape == (8, 3)


def test_privacy_is_kept_and_ends_there() -> None:
    users = linear_models(6, 3, seed=2, rows=(5, 6))
    asked = Privacy(4.0, 1e-5, unit="record")
    graph = from_similarity(users.truth["weights"], 1e-2)
    for method, more in (
        ("propagation", {"graph": graph}),
        ("cd", {"learning": QUICK, "shares": BudgetShares(0.3, 0.2)}),
    ):  # fmt: skip
        found = Personalised(method, privacy=asked, steps=12, seed=1, **more).fit(users)
        assert 3 < found.outcome_.spent.epsilon <= 4
        with pytest.raises(BudgetExceeded):
            found.remove_user(0)
    silent = Personalised("local", privacy=asked).fit(users)
    assert silent.outcome_.spent.epsilon == 0
    silent.remove_user(0)


def test_what_means_nothing_is_refused(users: Users) -> None:
    graph = from_similarity(users.truth["weights"], 1e-2)
    base = stumps(-np.ones(3), np.ones(3), 2)
    for wrong in (
        {"method": "sgd"}, {"method": "frank-wolfe"}, {"method": "cd", "predictors": base},
        {"graph": "none"}, {"method": "admm"}, {"method": "propagation"},
        {"method": "global", "privacy": Privacy(1.0)},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            Personalised(**wrong).fit(users)
    with pytest.raises(NotFittedError):
        Personalised(graph=graph).predict(np.zeros((1, 3)))
    plain = Personalised("local", intercept=False).fit(users)
    assert plain.predict(np.zeros((2, 3)), 0).shape == (2,)
    assert plain.score(np.zeros((2, 3)), [1, 1], 0) in {0, 1}
    # A column too few would be repeated, and labels too few compared with every row.
    for columns, labels in ((1, [1, 1]), (2, [1, 1]), (3, [1]), (3, [1, 1, 1])):
        with pytest.raises(ValueError, match=r"features|one for each row"):
            plain.score(np.zeros((2, columns)), labels, 0)
    pairs = users.pairs()
    for datasets in (
        [], [(np.eye(2), [1, 1])], [(np.eye(2), [0, 1]), (np.eye(3), [0, 1, 1])],
        [(np.eye(2), [0, 1, 1])],
        [(np.full((2, 2), np.nan), [0, 1])],
    ):  # fmt: skip
        failed = Personalised("local")
        with pytest.raises(ValueError):  # noqa: PT011 - some are refused by scikit-learn
            failed.fit(datasets)
        with pytest.raises(NotFittedError):
            failed.predict(np.zeros((1, 2)))
    with pytest.raises(UsageError):
        Personalised(graph=graph).fit(pairs[:5])
    alone = Personalised("local").fit(users)
    # Fitted again, it forgets how wide rows were.
    alone.fit([(np.eye(2), ["a", "b"])])
    assert alone.predict(np.eye(2), 0).tolist() == ["a", "b"]
    with pytest.raises(UsageError):
        alone.remove_user(0)
    for ends in (([1.0], [0.0], 2), ([0.0], [1.0, 2.0], 2), ([0.0], [1.0], 0)):
        with pytest.raises(UsageError):
            stumps(*ends)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        base(np.zeros((2, 2)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_wrong() -> None:
    """With the defaults, where all rows are one user's, and several classes among them."""
    check_estimator(Personalised(), on_skip=None)


def test_rows_come_with_the_names_of_their_users(users: Users) -> None:
    graph = from_similarity(users.truth["weights"], 1e-2)
    x, y = users.table.features, users.table.labels
    names = np.empty(len(x), dtype="U8")
    for user, own in enumerate(users.rows):
        names[own] = f"user {user:02}"
    words = np.where(y > 0, "yes", "no")
    named = Personalised(graph=graph, random_state=1).fit(x, words, groups=names)
    numbered = Personalised(graph=graph, seed=1).fit(users)
    assert np.array_equal(named.models_, numbered.models_)
    assert named.users_[:2] == ["user 00", "user 01"]
    every, whose = x[:5], names[:5]
    apart = [named.predict(row[None], name)[0] for row, name in zip(every, whose, strict=True)]
    assert named.predict(every, whose).tolist() == apart
    assert set(apart) <= {"yes", "no"}
    with config_context(enable_metadata_routing=True):
        found = cross_val_score(
            clone(named).set_params(graph="complete"), x, words, cv=3,
            params={"groups": np.arange(len(x)) % 2}, error_score="raise",
        )  # fmt: skip
    assert found.shape == (3,)
    copied = pickle.loads(pickle.dumps(named))  # noqa: S301 - our own
    assert copied.predict(every, whose).tolist() == apart
    parts = {name: (x[names == name], words[names == name]) for name in np.unique(names).tolist()}
    assert np.array_equal(Personalised(graph=graph, seed=1).fit(parts).models_, named.models_)
    widened = np.column_stack([every, np.ones(5)])
    assert named.outcome_.predict(widened, 0).tolist() == named.predict(every, names[0]).tolist()
    with pytest.raises(UsageError) as caught:
        named.predict(every, "a stranger")
    assert caught.value.field == "user"


def test_several_classes_are_hidden_by_one_budget() -> None:
    """A softmax has one vector of weights: what a row does to all of it is charged once."""
    rng = np.random.default_rng(3)
    centres = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    kinds = rng.integers(3, size=240)
    x, owners = centres[kinds] + rng.normal(0, 0.2, (240, 2)), np.arange(240) % 6
    words = np.array(["left", "right", "up"])[kinds]
    plain = Personalised(graph="ring").fit(x, words, groups=owners)
    assert plain.score(x, words, owners) > 0.95
    assert plain.decision_function(x, owners).shape == (240, 3)
    widened = np.column_stack([x, np.ones(240)])
    assert plain.outcome_.predict(widened, 2).tolist() == plain.predict(x, 2).tolist()
    asked = Privacy(8.0, 1e-4, unit="record")
    hidden = Personalised(graph="ring", privacy=asked, row_bound=1.5, steps=60, seed=1)
    assert hidden.fit(x, words, groups=owners).outcome_.spent.within(asked)
    for refused in ({"loss": "hinge"}, {"graph": "learn"}):
        with pytest.raises(ValueError, match=r"two classes|given graph"):
            hidden.set_params(**{"graph": "ring", **refused}).fit(x, words, groups=owners)
        hidden.set_params(loss="logistic")


def test_a_private_user_alone_does_not_open_its_model_to_a_newcomer(users: Users) -> None:
    """Alone it tells nothing and spends nothing; with another one steps would have no noise."""
    rows, labels = users.pairs()[0]
    found = Personalised(privacy=Privacy(4.0, 1e-5, unit="record")).fit(rows, labels)
    assert found.outcome_.spent.epsilon == 0
    with pytest.raises(BudgetExceeded):
        found.add_user(rows, labels)
    assert found.users_ == [0]


def test_noise_does_not_follow_from_a_default(users: Users) -> None:
    """Everybody knows a default seed, and so all noise; without noise runs are as they were."""
    asked: dict[str, Any] = {"graph": "ring", "steps": 20}
    plain = [Personalised(**asked).fit(users) for _ in range(2)]
    assert [each.outcome_.seed for each in plain] == [0, 0]
    hides = {**asked, "privacy": Privacy(4.0, 1e-5, unit="record")}
    hidden = [Personalised(**hides).fit(users) for _ in range(2)]
    assert len({0, *(each.outcome_.seed for each in hidden)}) == 3
    assert not np.array_equal(hidden[0].models_, hidden[1].models_)
    for said in ("seed", "random_state"):
        again = [Personalised(**{**hides, said: 0}).fit(users) for _ in range(2)]
        assert np.array_equal(again[0].models_, again[1].models_)
        assert again[0].outcome_.seed == 0
