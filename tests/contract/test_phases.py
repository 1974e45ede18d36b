"""The table of phases agrees with itself, with the second verifier, and with what logs show."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from gopa.contract.phases import (
    CLOSED,
    KIND_IN,
    MAY_BE_FINAL,
    ORDER,
    REPEATABLE,
    TABLE,
    Kind,
    Phase,
    Turn,
    course,
    is_open,
    turn_after,
)
from gopa.protocol.rules import RULES
from tests.vectors.registry import TRANSCRIPTS
from tests.verifier.answers import program

EVERYWHERE: Final = "04-S4 04-E2 04-E3 04-E4 04-L2 04-C6"
"""Rules by which somebody may be out of any list."""


def rounds() -> Iterator[tuple[Any, bool]]:
    """The rounds of all transcripts, and whether theirs is a session with rows."""
    for file in sorted(TRANSCRIPTS.glob("*.json")):
        found = json.loads(file.read_text())["expected"]["rounds"]
        rows = any(listed["phase"] == "prove" for each in found for listed in each["lists"])
        yield from ((each, rows) for each in found)


def test_the_order_is_that_of_the_rules() -> None:
    names = "join coins commit accuse publish prove rollback confirm unmask recover"
    assert [phase.name.lower() for phase in ORDER] == names.split()
    places = [Phase.ORGANISER.place, *(phase.place for phase in ORDER)]
    assert places == list(range(len(Phase)))
    assert sorted(Phase, key=lambda phase: phase.place) != sorted(Phase)


def test_numbers_are_those_of_the_format() -> None:
    assert (Phase.PROVE, Kind.PROVE) == (10, 25)
    assert sorted(Phase) == list(range(11))
    assert all(KIND_IN[phase] == 15 + phase for phase in ORDER)


def test_the_second_verifier_has_the_same_phases() -> None:
    program()
    theirs, summing = importlib.import_module("rounds"), importlib.import_module("summing")
    names = {phase: phase.name.lower() for phase in Phase}
    assert [names[phase] for phase in sorted(Phase)] == theirs.PHASES
    assert sorted((names[phase] for phase in ORDER), key=theirs.ORDER.__getitem__) == [
        names[phase] for phase in ORDER
    ]
    assert {names[phase] for phase in REPEATABLE} == theirs.REPEATABLE
    assert {names[phase] for phase in MAY_BE_FINAL} == set(summing.LISTING)
    assert {*(names[phase] for phase in CLOSED), "result"} == set(summing.DUE)


def test_courses_of_sessions() -> None:
    honest = course(rows=False, trusted=False, recovers=False)
    usual = "JOIN COINS COMMIT ACCUSE PUBLISH ROLLBACK CONFIRM UNMASK"
    assert " ".join(phase.name for phase in honest) == usual
    recovers = course(rows=False, trusted=False, recovers=True)
    assert " ".join(phase.name for phase in recovers) == usual + " RECOVER"
    rows = course(rows=True, trusted=False, recovers=True)
    assert tuple(rows) == ORDER
    trusted = course(rows=False, trusted=True, recovers=False)
    assert " ".join(phase.name for phase in trusted) == "JOIN COINS COMMIT ACCUSE PUBLISH"


def test_every_turn_leads_forward_or_back_to_itself() -> None:
    for phase, row in TABLE.items():
        for turn, then in row.then.items():
            again = (phase, turn) == (Phase.ROLLBACK, Turn.CROSSED)
            assert then is None or then.place > phase.place or (again and then is phase)


def test_an_accusation_is_heard_while_values_come() -> None:
    assert [now for now in Phase if is_open(Phase.ACCUSE, now)] == [Phase.ACCUSE, Phase.PUBLISH]
    assert [phase for phase in ORDER if is_open(phase, Phase.PUBLISH)] == [
        Phase.ACCUSE,
        Phase.PUBLISH,
    ]
    assert not any(is_open(phase, None) for phase in ORDER)


def test_lists_of_all_transcripts_follow_each_other_as_the_table_says() -> None:
    seen: set[tuple[Phase, Turn]] = set()
    for found, rows in rounds():
        for one, other in pairwise(found["lists"]):
            phase = Phase[one["phase"].upper()]
            turn = turn_after(phase, final=one["final"], rows=rows, trusted=False)
            assert TABLE[phase].then[turn] is Phase[other["phase"].upper()]
            seen.add((phase, turn))
    every = {(phase, turn) for phase, row in TABLE.items() for turn in row.then}
    without_a_list_behind = {Turn.TRUSTED, Turn.MISSING}
    assert {each for each in every if each[1] not in without_a_list_behind} == seen


def test_rules_by_which_somebody_is_out_in_any_transcript_are_those_of_the_phase() -> None:
    heard = {Phase.PUBLISH: TABLE[Phase.ACCUSE].rules}
    seen: set[str] = set()
    for found, _ in rounds():
        for row in found["removed"]:
            phase = Phase[row["phase"].upper()]
            seen.add(row["rule"])
            assert row["rule"] in f"{TABLE[phase].rules} {EVERYWHERE} {heard.get(phase)}".split()
    assert len(seen) > 25


def test_rules_of_the_table_are_rules() -> None:
    named = [rule for row in TABLE.values() for rule in row.rules.split()]
    assert {*named, *EVERYWHERE.split()} <= RULES.keys()
    letters = "JVKAPOFU"
    assert {rule for rule in RULES if rule[3] in letters} <= {*named, "04-V7", "14-K6"}
