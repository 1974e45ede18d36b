"""The second verifier on every published transcript: everything that is stated there."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.vectors.registry import TRANSCRIPTS
from tests.verifier.answers import LONG, Outcome, anchors_of, answer_of, report

NAMES: Final = sorted(path.stem for path in TRANSCRIPTS.glob("*.json"))

OUTSIDE: Final = {
    "clean_drand": "INCOMPLETE",
    "organiser_drand_cosigned_late": "INCOMPLETE",
}
"""What needs the beacon of drand: no part of the program."""


def stated(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    return found


def anchors_for(name: str) -> bytes:
    anchors = stated(name)["anchors"]
    return anchors_of(anchors["log"], anchors["manifest_sha256"], anchors["policy"])


def archive_of(name: str) -> bytes:
    return (TRANSCRIPTS / f"{name}.gopa").read_bytes()


def test_there_are_transcripts_and_what_is_outside_is_among_them() -> None:
    assert len(NAMES) > 100
    assert OUTSIDE.keys() <= set(NAMES)


@pytest.mark.thirds(6)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in OUTSIDE])
def test_finds_what_is_stated(name: str) -> None:
    expected = stated(name)["expected"]
    whole = report(archive_of(name), anchors_for(name))
    found = answer_of(whole)
    assert found.verdict == expected["verdict"]
    assert found.complete == expected["complete"]
    assert found.rounds == tuple(map(_outcome, expected["rounds"]))
    faults = {(each["class"], each["author"], each["rule"]) for each in expected["faults"]}
    assert found.faults == faults
    proved = {(each["author"], each["rule"], each["proved"]) for each in expected["faults"]}
    long = [each for each in expected["faults"] if each["rule"].startswith(LONG)]
    shown = {(each["author"], each["rule"], tuple(each["entries"])) for each in long}
    assert found.shown == shown
    told = whole["faults"]
    assert {(each["author"], each["rule"], each["proved"]) for each in told} == proved


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_what_is_outside_is_never_accepted(name: str) -> None:
    found = report(archive_of(name), anchors_for(name))
    assert found["verdict"] == OUTSIDE[name]
    assert found["problems"]
    assert all(each["sums"] is None for each in found["rounds"])


def _outcome(expected: dict[str, Any]) -> Outcome:
    roll = expected["roll"]
    return Outcome(
        expected["number"],
        tuple(roll[place] for place in expected["included"] or []),
        None if expected["sums"] is None else tuple(expected["sums"]),
        expected["abort"],
        frozenset((row["author"], row["phase"], row["cause"]) for row in expected["removed"]),
        tuple(expected["barred"]),
        tuple(expected["culprits"]),
        tuple(expected["veto"]),
    )
