"""An outcome in a file is the outcome, and anything else in a file is refused."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import ring
from gopa.learning import BudgetExceeded, History, Outcome, Privacy, Spent, linear_models, ratings
from gopa.learning.correlated import fit_correlated
from gopa.learning.federated import fedavg, kmeans, mean, quantiles
from gopa.learning.network_dp import fit_sgd, fit_sum
from gopa.learning.personalised import Personalised
from gopa.learning.without_replacement import fit_without_replacement
from tests.learning.federated.problems import NEAR, OFF, two_sides

PRIVATE = Privacy(20.0, 1e-5)


def noisy(**asked: Any) -> Outcome:
    given: dict[str, Any] = {"privacy": PRIVATE, "seed": 1, "rounds": 1, "most_rows": 8, **OFF}
    return fedavg(two_sides(), **{**given, **asked})


KINDS = ("noisy", "clusters", "quantiles", "token", "number", "nodes", "users")


@cache
def outcomes() -> dict[str, Outcome]:
    """Models of every kind: numbers, arrays, dicts, objects, with classes and without."""
    points, private = linear_models(12, 4, seed=3, rows=(4, 8)), Privacy(4.0, 1e-3, unit="record")
    words = np.array(["no", "yes"])[(points.table.labels > 0).astype(int)]
    worded = replace(points, table=replace(points.table, labels=words))
    return {
        "noisy": noisy(),
        "clusters": kmeans(two_sides(), clusters=2, privacy=None, seed=1, rounds=1, **OFF),
        "quantiles": quantiles(
            two_sides(), at=[0.5], low=-2, high=2, privacy=None, seed=1, most_rows=8, **OFF
        ),
        "token": fit_sgd(worded, privacy=None, seed=3, steps=100),
        "number": fit_sum(ratings(9, seed=1), privacy=None, graph=ring(9), high=5, seed=1),
        "nodes": fit_without_replacement(worded, privacy=private, seed=3, batch=2),
        "users": Personalised(graph="ring", seed=1, steps=40).fit(worded).outcome_,
    }


@pytest.mark.parametrize("name", KINDS)
def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    assert set(outcomes()) == set(KINDS)
    found = outcomes()[name]
    path = found.save(tmp_path / "outcome.gopa")
    again = Outcome.load(path)
    assert again.to_bytes() == found.to_bytes()
    assert again.seconds == found.seconds
    assert str(again) == str(found)
    assert again.save(tmp_path / "again.gopa").read_bytes() == path.read_bytes()
    assert b"pickle" not in path.read_bytes()


def test_a_loaded_model_predicts_as_it_did(tmp_path: Path) -> None:
    found = outcomes()
    rows = two_sides().table.features
    for name in ("noisy", "clusters"):
        again = Outcome.load(found[name].save(tmp_path / name))
        assert np.array_equal(again.predict(rows), found[name].predict(rows))
    four = np.random.default_rng(1).normal(size=(20, 4))
    assert set(found["token"].predict(four)) <= {"no", "yes"}
    nodes = Outcome.load(found["nodes"].save(tmp_path / "nodes"))
    assert nodes.predict(four, 1).tolist() == found["nodes"].predict(four, 1).tolist()
    widened = np.column_stack([four, np.ones(20)])
    assert set(found["users"].predict(widened, 3)) <= {"no", "yes"}
    for name, given, user, field in (
        ("users", widened, None, "user"), ("users", widened, 12, "user"),
        ("users", four, 0, "rows"), ("number", four, None, "model"),
        ("quantiles", four, None, "model"), ("noisy", four, None, "rows"),
        ("noisy", np.full((1, 2), np.nan), None, "rows"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            found[name].predict(given, user)
        assert caught.value.field == field


def several(fit: Callable[..., Outcome], **asked: Any) -> Outcome:
    """A model of three classes."""
    rows = np.random.default_rng(4).normal(size=(48, 2))
    kinds = np.digitize(rows[:, 0], [-0.4, 0.4])
    return fit(rows, kinds, np.arange(48) % 6, privacy=None, seed=1, **asked)


TOLD_APART: dict[str, Callable[[], Outcome]] = {
    "coefficients of two": noisy,
    "coefficients": lambda: several(fedavg, rounds=1, **OFF),
    "one vector": lambda: several(fit_correlated, graph="ring", iterations=3, ridge=0.1),
    "nodes": lambda: several(fit_without_replacement, batch=2),
}


@pytest.mark.parametrize("name", TOLD_APART)
def test_classes_that_a_model_does_not_tell_apart_are_refused(name: str, tmp_path: Path) -> None:
    """A file may be edited: what it says of classes is looked at before anybody predicts."""
    path = TOLD_APART[name]().save(tmp_path / "right")
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    assert set(Outcome.load(path).predict(np.eye(2))) <= {-1, 0, 1, 2}
    tree = json.loads(parts["outcome.json"])
    home = tree["model"]["Trained"]["dict"] if name == "nodes" else tree
    many = 2 if name == "coefficients of two" else 3
    for wrong in (
        [], [0], [0] * many, list(range(many + 2)), [[0, 1, 2][:many]],
        *([[0, 1]] * (name in LONG)),
    ):  # fmt: skip
        values = np.array(wrong, dtype=np.int64)
        changed = dict(parts)
        array(values, f"{home['classes']['array']}.npy")(changed)
        home["classes"] |= {"shape": list(values.shape)}
        changed["outcome.json"] = json.dumps(tree).encode()
        with pytest.raises(UsageError) as caught:
            Outcome.load(packed(changed, tmp_path / "other"))
        assert caught.value.field == str(tmp_path / "other")
        assert "classes" in str(caught.value)
    for other in (3, "yes", {"tuple": [0, 1]}):
        home["classes"] = other
        with pytest.raises(UsageError):
            Outcome.load(packed({"outcome.json": json.dumps(tree).encode()}, tmp_path / "other"))


LONG = {"coefficients", "nodes"}
"""Whose vectors are counted: one of weights for two classes would have as many numbers."""


def test_an_intercept_that_does_not_fit_is_no_model() -> None:
    found = noisy()
    for wrong in ("a", [0.0, 1.0, 2.0]):
        with pytest.raises(UsageError) as caught:
            replace(found, model={**found.model, "intercept": wrong}).predict(np.eye(2))
        assert caught.value.field == "model"


@pytest.mark.slow
def test_a_saved_session_names_its_rounds_and_has_no_log(tmp_path: Path) -> None:
    found = noisy(mode="signed", session=NEAR)
    again = Outcome.load(found.save(tmp_path / "signed"))
    assert again.digest() == found.digest()
    assert [each.round for each in again.transcript or ()] == [
        each.round for each in found.transcript or ()
    ]
    assert found.audit().missing == ()
    with pytest.raises(UsageError) as caught:
        again.audit()
    assert caught.value.field == "transcript"


def test_a_loaded_model_goes_on_and_is_charged_for_all_of_it(tmp_path: Path) -> None:
    """Whoever saves, loads and trains again would have two releases for one charge."""
    first = Outcome.load(noisy().save(tmp_path / "first"))
    with pytest.raises(BudgetExceeded):
        noisy(start=first)
    wider = Privacy(30.0, 3e-5)
    second = noisy(start=first, privacy=wider)
    assert second.spent.within(wider)
    assert second.spent.epsilon > 20
    assert second.spent.curve is not None
    assert second.spent.curve["epsilon"][0] == 20
    with pytest.raises(BudgetExceeded):
        noisy(start=second, privacy=wider)
    third = noisy(start=Outcome.load(second.save(tmp_path / "second")), privacy=Privacy(40, 9e-5))
    assert third.spent.epsilon > 30
    # What hides nothing cannot be made private afterwards, and needs no budget to go on.
    exact = noisy(privacy=None)
    with pytest.raises(BudgetExceeded):
        noisy(start=exact)
    assert not noisy(start=first, privacy=None).spent.hides
    assert not noisy(start=exact, privacy=None).spent.hides


def test_a_claim_of_another_kind_does_not_count_for_this_one() -> None:
    first = noisy()
    wider = Privacy(30.0, 3e-5)
    assert noisy(start=first, privacy=wider).spent.epsilon > 20
    for other in (
        {"unit": "record"}, {"view": "neighbour"}, {"relation": "add-remove"},
    ):  # fmt: skip
        spent = replace(first.spent, **other)  # type: ignore[arg-type]
        with pytest.raises(UsageError) as caught:
            noisy(start=replace(first, spent=spent), privacy=wider)
        assert caught.value.field == "start"
    # One record is hidden where all of a user is.
    asked = {"privacy": Privacy(30.0, 3e-5, unit="record"), "local_steps": 0}
    assert noisy(start=first, **asked).spent.epsilon > 20


def test_a_start_against_fewer_who_collude_is_no_claim_against_more() -> None:
    """The first session's noise may be known to more of those who collude than it allowed for."""
    first = noisy()
    asked: dict[str, Any] = {"session": {"corrupt": 4, "dropout": 0.0}, "mode": "off"}
    four = Privacy(40.0, 1e-4, view="coalition", colluders=4)
    assert noisy(**asked, privacy=four).spent.within(four)
    assert noisy(**asked, privacy=Privacy(40.0, 1e-4), start=first).spent.epsilon > 20
    with pytest.raises(UsageError) as caught:
        noisy(**asked, privacy=four, start=first)
    assert caught.value.field == "start"


def test_what_a_model_rests_on_stays_said() -> None:
    """Else a second session would drop that the first allowed for fewer who collude."""
    first = noisy()
    wider = {"corrupt": 4, "dropout": 0.0}
    second = noisy(privacy=Privacy(40.0, 1e-4), session=wider, mode="off", start=first)
    for said in ("at most 1 of 8 users collude", "public: which classes there are"):
        assert said in first.spent.assumptions
        assert said in second.spent.assumptions
    assert "at most 4 of 8 users collude" in second.spent.assumptions


def test_a_run_from_numbers_has_other_noise_than_the_one_that_made_them() -> None:
    """With one seed and the same noise the difference of two models would have none."""
    first = noisy(privacy=Privacy(90.0, 1e-3))
    parts = {name: first.model[name] for name in ("coef", "intercept")}
    # A tiny bound and no steps to speak of: what moves the model is noise.
    still: dict[str, Any] = {"rate": 1e-9, "privacy": Privacy(20.0, 1e-5)}
    fresh = noisy(**still)
    moved = noisy(**still, start=parts).model["coef"] - first.model["coef"]
    assert np.linalg.norm(moved - fresh.model["coef"]) > 0.5 * np.linalg.norm(fresh.model["coef"])
    assert noisy(**still, start=parts).digest() == noisy(**still, start=parts).digest()


def test_a_file_with_a_seed_is_for_its_owner(tmp_path: Path) -> None:
    """Who has the seed has all noise: a file that others read would give it away."""
    path = noisy().save(tmp_path / "own")
    assert path.stat().st_mode & 0o077 == 0
    assert noisy().save(path).stat().st_mode & 0o077 == 0
    assert [each.name for each in tmp_path.iterdir()] == ["own"]


def test_models_to_start_from_fit() -> None:
    first = noisy(privacy=None)
    again = noisy(privacy=None, start=dict(first.model), rate=1e-9, tol=0.0)
    assert np.allclose(again.model["coef"], first.model["coef"], atol=1e-6)
    assert again.model["intercept"] == pytest.approx(first.model["intercept"], abs=1e-6)
    for wrong in (
        first.model["coef"], {"coef": [1.0]}, {"coef": [1.0], "intercept": 0.0},
        {"coef": [1.0, np.nan], "intercept": 0.0}, mean_outcome(), "start",
        replace(first, classes=np.array(["a", "b"])),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            noisy(privacy=None, start=wrong)
        assert caught.value.field == "start"
    with pytest.raises(UsageError):
        noisy(privacy=None, start={"coef": [1.0, 1.0], "intercept": 1.0}, intercept=0.0)


def mean_outcome() -> Outcome:
    return mean(two_sides(), low=-2, high=2, privacy=None, seed=1, most_rows=8, **OFF)


Parts = dict[str, bytes]


def head(change: Callable[[dict[str, Any]], Any]) -> Callable[[Parts], Any]:
    """A change of the JSON."""

    def changed(parts: Parts) -> None:
        tree = json.loads(parts["outcome.json"])
        change(tree)
        parts["outcome.json"] = json.dumps(tree).encode()

    return changed


def array(values: Any, name: str = "0.npy", **how: Any) -> Callable[[Parts], Any]:
    """Another array in the place of one."""

    def changed(parts: Parts) -> None:
        file = io.BytesIO()
        np.save(file, np.asarray(values, **how), allow_pickle=True)
        parts[name] = file.getvalue()

    return changed


def huge(many: int) -> Callable[[Parts], Any]:
    """An array that says that it has so many numbers, and has two."""

    def changed(parts: Parts) -> None:
        file = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (many,)}
        np.lib.format.write_array_header_1_0(file, shape)
        parts["0.npy"] = file.getvalue() + bytes(16)

    return changed


WRONG: dict[str, Callable[[Parts], Any]] = {
    "another format": head(lambda tree: tree.update(format="gopa-outcome/v2")),
    "a key too few": head(lambda tree: tree.pop("noise")),
    "a key too many": head(lambda tree: tree.update(more=1)),
    "no seed": head(lambda tree: tree.update(seed="1")),
    "true as a number": head(lambda tree: tree.update(messages=True)),
    "negative bytes": head(lambda tree: tree.update(bytes=-1)),
    "text for converged": head(lambda tree: tree.update(converged="yes")),
    "a bare list": head(lambda tree: tree.update(warnings=["a"])),
    "another kind": head(lambda tree: tree.update(model={"set": []})),
    "two kinds": head(lambda tree: tree.update(model={"list": [], "tuple": []})),
    "a model that is infinite": head(lambda tree: tree.update(model={"float": "inf"})),
    "no such array": head(lambda tree: tree["model"]["dict"]["coef"].update(array=99)),
    "an array twice": head(lambda tree: tree.update(classes=tree["model"]["dict"]["coef"])),
    "an array too many": head(lambda tree: tree["model"]["dict"].pop("coef")),
    "another shape": head(lambda tree: tree["model"]["dict"]["coef"].update(shape=[1, 2])),
    "another dtype": head(lambda tree: tree["model"]["dict"]["coef"].update(dtype="<f4")),
    "a negative epsilon": head(lambda tree: tree["spent"]["dict"].update(epsilon=-1.0)),
    "an epsilon in words": head(lambda tree: tree["spent"]["dict"].update(epsilon="none")),
    "another unit": head(lambda tree: tree["spent"]["dict"].update(unit="nobody")),
    "another relation": head(lambda tree: tree["spent"]["dict"].update(relation="none")),
    "no delta": head(lambda tree: tree["spent"]["dict"].pop("delta")),
    "a session that is no bytes": head(lambda tree: tree.update(rounds=[["x", 1]])),
    "a history without columns": head(lambda tree: tree.update(history={"dict": {}})),
    "a number that is read as infinite": lambda parts: parts.update(
        {
            "outcome.json": re.sub(
                rb'"intercept": [-.e0-9]+', b'"intercept": 1e999', parts["outcome.json"]
            )
        }
    ),
    "a negative seed": head(lambda tree: tree.update(seed=-1)),
    "warnings that are numbers": head(lambda tree: tree.update(warnings={"tuple": [1]})),
    "assumptions in one text": head(lambda tree: tree["spent"]["dict"].update(assumptions="none")),
    "a theorem that is a number": head(lambda tree: tree["spent"]["dict"].update(theorem=4)),
    "nobody colludes": head(lambda tree: tree["spent"]["dict"].update(colluders=0)),
    "half of a round": head(lambda tree: tree.update(rounds=[["00", 1.5]])),
    "an array larger than any memory": huge(10**14),
    "an array larger than any number": huge(10**30),
    "no JSON": lambda parts: parts.update({"outcome.json": b"{"}),
    "a list": lambda parts: parts.update({"outcome.json": b"[]"}),
    "NaN in JSON": lambda parts: parts.update(
        {"outcome.json": parts["outcome.json"].replace(b'"noise": ', b'"noise": NaN, "noise": ')}
    ),
    "a key twice": lambda parts: parts.update(
        {"outcome.json": parts["outcome.json"].replace(b'"seed": 1', b'"seed": 1, "seed": 1')}
    ),
    "a part more": lambda parts: parts.update({"more.npy": b""}),
    "a part less": lambda parts: parts.pop("0.npy"),
    "an array of objects": array([{}, None], dtype=object),
    "an array that is not finite": array([np.nan, 1.0]),
    "an array of another shape": array([[1.0, 2.0]]),
    "an array of dates": array(np.array(["2020-01-01"], dtype="datetime64[D]")),
    "bytes behind an array": lambda parts: parts.update({"0.npy": parts["0.npy"] + b"x"}),
    "an archive for an array": lambda parts: parts.update({"0.npy": b"PK\x03\x04"}),
    "half of an array": lambda parts: parts.update({"0.npy": parts["0.npy"][:-1]}),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noisy().save(tmp_path_factory.mktemp("saved") / "outcome")


@pytest.mark.parametrize("name", WRONG)
def test_what_was_not_saved_is_refused(name: str, saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    path = packed(parts, tmp_path / "same")
    assert Outcome.load(path).digest() == Outcome.load(saved).digest()
    before = dict(parts)
    WRONG[name](parts)
    assert parts != before
    with pytest.raises(UsageError) as caught:
        Outcome.load(packed(parts, tmp_path / "other"))
    assert caught.value.field == str(tmp_path / "other")


@pytest.mark.parametrize("part", ["encrypted", "longer than the file"])
def test_edited_headers_are_no_outcome(part: str, saved: Path, tmp_path: Path) -> None:
    data, path = bytearray(saved.read_bytes()), tmp_path / "other"
    path.write_bytes(data)
    assert Outcome.load(path).digest() == Outcome.load(saved).digest()
    # Both headers of the last part: a flag, or its two lengths.
    flag, lengths = {b"PK\x03\x04": (6, 18), b"PK\x01\x02": (8, 20)}, (0, 4)
    for mark, (flags, first) in flag.items():
        place = data.rindex(mark)
        if part == "encrypted":
            data[place + flags] |= 1
        else:
            for each in lengths:
                data[place + first + each + 2] |= 0x10
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        Outcome.load(path)
    assert caught.value.field == str(path)


def packed(parts: Parts, path: Path, how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_files_that_are_no_archives_are_refused(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    # A part that is compressed could grow without bound.
    packed(parts, tmp_path / "small", zipfile.ZIP_DEFLATED)
    (tmp_path / "text").write_text("text")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "half").write_bytes(saved.read_bytes()[:-30])
    for name in ("small", "text", "empty", "half", "missing"):
        with pytest.raises(UsageError) as caught:
            Outcome.load(tmp_path / name)
        assert caught.value.field == str(tmp_path / name)


def test_what_no_file_can_hold_is_not_saved(tmp_path: Path) -> None:
    right: dict[str, Any] = {
        "model": {"w": np.zeros(2)}, "history": History({"step": [0], "loss": [np.nan]}),
        "spent": Spent.nothing_hidden(), "messages": 0, "bytes": 0, "seconds": 0.0, "seed": 1,
    }  # fmt: skip
    Outcome.load(Outcome(**right).save(tmp_path / "right"))
    for model in (
        {"w": np.array([np.inf])}, np.nan, {1: 2}, {"w": {1, 2}}, object(),
        np.array([None]), {"w": b"bytes"},
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            Outcome(**{**right, "model": model}).save(tmp_path / "wrong")
        assert caught.value.field == "model"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["right"]


def test_a_history_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    assert noisy(rounds=2).plot("step").get_xlabel() == "round"
