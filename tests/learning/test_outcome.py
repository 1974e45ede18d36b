"""Outcomes are frozen, say what happened, are equal bytes for equal runs, and lead to audits."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from bulletin_board.reader import MissingResource
from gopa import UsageError
from gopa.graph import ring
from gopa.learning import (
    BudgetExceeded,
    History,
    Outcome,
    Privacy,
    PrivacyLedger,
    Spent,
    encoded,
    moons,
    ratings,
)
from gopa.learning.federated import FederatedLogisticRegression, fedavg
from gopa.learning.network_dp import fit_gossip, fit_sum
from gopa.learning.outcome import AlgorithmRun
from tests.learning.federated.problems import OFF, two_sides
from tests.learning.runs import digests

ASKED = Privacy(4.0, 1e-5)


def outcome(**changes: Any) -> Outcome:
    given: dict[str, Any] = {
        "algorithm": "nothing much",
        "model": {"w": np.array([1.0, np.nan, -0.0]), "b": 0.5},
        "history": History({"step": [0, 1], "loss": [1.0, 0.5]}),
        "spent": Spent.of(ASKED, 1.5, theorem="a theorem", assumptions=["honest noise"]),
        "messages": 1200,
        "bytes": 34_000,
        "seconds": 1.25,
        "seed": 7,
    }
    return Outcome(**{**given, **changes})


def test_nobody_changes_it() -> None:
    mine = np.zeros(2)
    found = outcome(model=mine)
    mine[0] = 1
    assert found.model.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        found.model[0] = 1
    with pytest.raises(FrozenInstanceError):
        found.seed = 8  # type: ignore[misc]


def test_it_says_everything_a_person_asks_first() -> None:
    said = str(outcome())
    for words in ("1,200 messages", "34,000 bytes", "1.25 s", "epsilon 1.5", "a theorem", "honest"):
        assert words in said
    assert "simulation; nothing here can be audited" in said
    assert "converge" not in said
    for shown in (said, repr(outcome()), outcome()._repr_html_()):
        assert "epsilon 1.5" in shown


def test_a_run_that_did_not_converge_says_so_wherever_it_is_shown() -> None:
    assert "converge" not in str(outcome(converged=True))
    bad = outcome(converged=False, warnings=("a <b>warning</b>",))
    assert "did not converge" in str(bad)
    assert "DID NOT CONVERGE" in repr(bad)
    assert "did not converge" in bad._repr_html_()
    assert "<b>" not in bad._repr_html_()


def test_seconds_change_nothing_and_everything_else_does() -> None:
    first = outcome()
    assert first.to_bytes() == outcome(seconds=99.0).to_bytes()
    assert pickle.loads(pickle.dumps(first)).digest() == first.digest()  # noqa: S301 - our own
    curve = History({"steps": [1], "epsilon": [1.5]})
    others = [
        outcome(algorithm="another"),
        outcome(model={"w": np.array([1.0, np.nan, 0.0]), "b": 0.5}),
        outcome(model={"w": np.array([1.0, 2.0, -0.0]), "b": 0.5}),
        outcome(model={"w": np.array([[1.0, np.nan, -0.0]]), "b": 0.5}),
        outcome(history=History({"step": [0, 1], "loss": [1.0, 0.25]})),
        outcome(history=History({"step": [0, 1], "error": [1.0, 0.5]})),
        outcome(spent=replace(first.spent, epsilon=1.25)),
        outcome(spent=replace(first.spent, curve=curve)),
        outcome(messages=1201),
        outcome(bytes=34_001),
        outcome(seed=8),
        outcome(converged=True),
        outcome(warnings=("careful",)),
    ]
    assert len({each.digest() for each in [first, *others]}) == len(others) + 1


def test_values_have_equal_bytes_only_if_they_are_equal() -> None:
    values: list[Any] = [
        None, "", b"", "None", 0, False, 0.0, -0.0, math.inf, [], {}, [0], [[0]],
        ["asb"], ["a", "b"], {"a": "b"}, {"ab": ""}, np.zeros(1), np.zeros(1, dtype=np.int64),
        np.zeros((1, 1)), np.zeros(1, dtype=np.float32), np.array([2**70]), 2**70,
        np.array(["a"]), Privacy(1.0), Privacy(2.0),
    ]  # fmt: skip
    assert len({encoded(each) for each in values}) == len(values)


def test_spelling_does_not_change_the_bytes() -> None:
    big = np.arange(6.0).reshape(2, 3)
    assert encoded({"a": 1, "b": 2}) == encoded({"b": 2, "a": 1})
    assert encoded(np.asfortranarray(big)) == encoded(big)
    assert encoded(big.astype(">f8")) == encoded(big)
    assert encoded(big[:, ::2]) == encoded(big[:, ::2].copy())
    assert encoded(np.int64(3)) == encoded(3)
    odd = np.frombuffer(bytes.fromhex("010000000000f87f"), dtype="<f8")
    assert np.isnan(odd).all()
    assert encoded(odd) == encoded(np.array([-np.nan]))


@pytest.mark.parametrize("model", [object(), {1, 2}, np.array([object()]), lambda: 0])
def test_what_has_no_bytes_of_its_own_says_so(model: Any) -> None:
    assert outcome(model=None).to_bytes()
    with pytest.raises(UsageError):
        outcome(model=model).to_bytes()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"messages": -1}, "messages"),
        ({"bytes": 1.5}, "bytes"),
        ({"messages": True}, "messages"),
        ({"transcript": ()}, "transcript"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], field: str) -> None:
    assert outcome().messages == 1200
    with pytest.raises(UsageError) as caught:
        outcome(**changes)
    assert caught.value.field == field


def test_a_simulation_is_not_audited() -> None:
    with pytest.raises(UsageError) as caught:
        outcome().audit()
    assert caught.value.field == "transcript"


@cache
def rounds(seed: int) -> tuple[Any, ...]:
    """The transcripts of two rounds of one session."""
    plan = gopa.plan(
        n=6, epsilon=40, delta="1e-4", corrupt=1, dropout=0.01, rounds=2, least_chance=0
    )
    with gopa.LocalAggregator(plan, mode="signed", seed=seed) as session:
        return tuple(session.average([0.5] * 6).transcript for _ in range(2))


def anchors(transcript: Any, path: Path) -> bytes:
    return bytes(transcript.anchors(path).read_bytes())


@pytest.mark.slow
def test_an_audit_covers_all_rounds_of_all_sessions(tmp_path: Path) -> None:
    first, second = rounds(1), rounds(2)
    given = {each.session: anchors(each, tmp_path / "anchors") for each in (first[0], second[0])}
    one = outcome(transcript=first)
    audited = one.audit(given[first[0].session])
    assert len(audited.reports) == 1
    assert audited.rounds == 2
    assert audited.missing == ()
    assert "2 rounds" in str(one)
    both = outcome(transcript=first + second)
    assert len(both.audit(given).reports) == 2
    assert both.audit(given).missing == ()
    assert "4 of 4" in str(both.audit(given))


def test_a_valid_log_without_a_round_does_not_stand_for_it(tmp_path: Path) -> None:
    (first, second) = rounds(1)
    known = anchors(first, tmp_path / "anchors")
    claimed = outcome(transcript=(first, replace(second, round=9)))
    audited = claimed.audit(known)
    assert audited.missing == ((first.session, 9),)
    assert not audited.valid


def test_a_log_that_nobody_serves_any_more_is_no_log_without_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between processes the board may have stopped: then rounds are not missing, but unread."""
    first, _ = rounds(1)
    known = anchors(first, tmp_path / "anchors")
    kept = first.archive(tmp_path / "kept.gopa")
    assert outcome(transcript=(first,)).audit(known).missing == ()

    log = first.log()

    def bundles() -> Iterator[list[bytes]]:
        raise MissingResource("nobody answers there", "tile/entries/000")

    monkeypatch.setattr(log, "bundles", bundles)
    with pytest.raises(UsageError, match="archive") as caught:
        outcome(transcript=(replace(first, log=lambda: log),)).audit(known)
    assert caught.value.field == "transcript"
    assert gopa.audit(kept, anchors=known).rounds[0].outcome == "result"


def test_a_round_that_is_named_twice_is_there_once(tmp_path: Path) -> None:
    first, second = rounds(1)
    known = anchors(first, tmp_path / "anchors")
    assert outcome(transcript=(first, second)).audit(known).missing == ()
    assert outcome(transcript=(first, first)).audit(known).missing == (
        (first.session, first.round),
    )


def test_the_logs_have_to_hold_by_keys_from_outside(tmp_path: Path) -> None:
    (first, *_), (other, *_) = rounds(1), rounds(2)
    one = outcome(transcript=(first,))
    verdicts = {
        name: one.audit(given)
        for name, given in {
            "right": anchors(first, tmp_path / "a"),
            "none": None,
            "wrong": anchors(other, tmp_path / "b"),
        }.items()
    }
    assert {name: each.reports[0].anchored for name, each in verdicts.items()}["right"]
    assert not verdicts["none"].valid
    assert not verdicts["wrong"].valid


def test_several_sessions_need_anchors_each(tmp_path: Path) -> None:
    both = outcome(transcript=rounds(1) + rounds(2))
    known = anchors(rounds(1)[0], tmp_path / "anchors")
    for given in (known, {rounds(1)[0].session: known}):
        with pytest.raises(UsageError) as caught:
            both.audit(given)
        assert caught.value.field == "anchors"


def test_a_copy_from_a_pickle_has_no_log_to_audit() -> None:
    copy = pickle.loads(pickle.dumps(outcome(transcript=rounds(1))))  # noqa: S301 - our own
    with pytest.raises(UsageError):
        copy.audit()


ROOT = Path(__file__).resolve().parents[2]


def told(*arguments: str, **environment: str) -> Any:
    command = [sys.executable, "-m", "tests.learning.runs", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return json.loads(done.stdout)


def threads(count: int) -> dict[str, str]:
    return {"OPENBLAS_NUM_THREADS": str(count), "OMP_NUM_THREADS": str(count)}


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.soak), 2])
@pytest.mark.slow
def test_a_seed_gives_equal_bytes_in_fresh_processes_forked_and_spawned(count: int) -> None:
    here = digests()
    assert len(set(here)) == 8
    assert told(**threads(count)) == [here] * 3


@pytest.mark.soak
@pytest.mark.parametrize("core", ["Nehalem", "Haswell", "Sandybridge"])
def test_another_core_gives_equal_integers_and_models_to_nine_digits(core: str) -> None:
    here, there = told("--facts"), told("--facts", OPENBLAS_CORETYPE=core)
    assert here["integers"] == there["integers"]
    assert np.allclose(here["models"], there["models"], rtol=1e-9, atol=1e-9)


def stop_after(steps: int) -> Callable[..., None]:
    """For `progress` and `callback`: what they hear last but one is how far the run is."""

    def watch(*said: Any) -> None:
        if said[-2] == steps:
            raise StopIteration

    return watch


def trained(rounds: int, **how: Any) -> Outcome:
    return fedavg(moons([3, 3], 3, seed=1), privacy=None, seed=1, rounds=rounds, **OFF, **how)


def test_a_stopped_run_has_the_model_of_its_last_round() -> None:
    whole, two = trained(4), trained(2)
    stopped = trained(4, progress=stop_after(2))
    assert len(whole.history) == 4
    assert len(stopped.history) == 2
    assert np.array_equal(stopped.model["coef"], two.model["coef"])
    assert any("stopped" in each for each in stopped.warnings)
    assert not any("stopped" in each for each in whole.warnings)


def test_a_callback_hears_every_model() -> None:
    heard: list[Any] = []

    def watch(done: int, model: dict[str, Any]) -> None:
        heard.append(model["coef"])
        stop_after(3)(done, model)

    found = trained(5, callback=watch)
    assert len(heard) == len(found.history) == 3
    assert np.array_equal(heard[-1], found.model["coef"])


def test_to_stop_gives_nothing_back_and_to_go_on_costs_nothing() -> None:
    table = two_sides().table
    x, y, groups = table.features, table.labels, np.arange(60) % 8
    how: dict[str, Any] = {"epsilon": 8.0, "rounds": 3, "most_rows": 8, "random_state": 1, **OFF}
    account = PrivacyLedger(Privacy(9.0, 1e-4))
    model = FederatedLogisticRegression(ledger=account, callback=stop_after(1), **how)
    model.fit(x, y, groups=groups)
    assert model.n_iter_ == 1
    assert model.outcome_.spent.epsilon > 7
    assert len(account.entries) == 1
    model.partial_fit(x, y, groups=groups)
    model.partial_fit(x, y, groups=groups)
    assert model.n_iter_ == 3
    assert len(account.entries) == 1
    with pytest.raises(BudgetExceeded):
        model.partial_fit(x, y, groups=groups)
    straight = FederatedLogisticRegression(**how).fit(x, y, groups=groups)
    assert np.allclose(model.coef_, straight.coef_)


def test_gossip_may_stop_and_half_a_token_may_not() -> None:
    users, graph = ratings(12, seed=1), ring(12)
    near = Privacy(1.0, 1e-5, view="neighbour")
    found = fit_gossip(users, privacy=None, graph=graph, seed=1, progress=stop_after(3), high=5)
    assert found.messages == 3 * 24
    whole: dict[str, Any] = {"privacy": near, "graph": graph, "seed": 1, "high": 5, "rounds": 3}
    assert fit_sum(users, progress=False, **whole).spent.within(near)
    # Its last noise is added in its last step: what it holds before is bare.
    with pytest.raises(UsageError) as caught:
        fit_sum(users, progress=stop_after(2), **whole)
    assert caught.value.field == "progress"


def test_steps_end_where_somebody_stops_them() -> None:
    with AlgorithmRun(seed=1, progress=stop_after(2)) as run:
        assert list(run.steps(5)) == [0, 1]
    with AlgorithmRun(seed=1, progress=False) as run:
        assert list(run.steps(5)) == [0, 1, 2, 3, 4]
