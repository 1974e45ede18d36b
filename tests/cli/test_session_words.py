"""What `gopa session` and `gopa join` call things that seldom happen."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import gopa
from gopa.cli.join_words import facts_of, sentence
from gopa.cli.roster import NOBODY, Names
from gopa.cli.session import _table
from gopa.cli.session_progress import (
    CurrentActivity,
    OrganiserProgress,
    ProgressDisplay,
    ProgressEvent,
    ended_line,
    question_rows,
    result_facts,
    result_text,
)
from gopa.contract.organiser import Abort, AbortReason, Released, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.protocol.simulation import Script
from gopa.sessions.contribution import Contribution
from gopa.sessions.organising import (
    AwaitingBeacon,
    BadBeacon,
    BoardFound,
    BoardLost,
    Happening,
    RoundEnded,
)
from gopa.sessions.organising.reading import OpenRound, SessionStatus
from gopa.sessions.ticket import Ticket
from gopa.support.wording import PARTS, name_of
from tests.board.tools import log_key
from tests.contract.samples import row_manifest
from tests.vectors.transcripts.worlds import VECTORS

MANIFEST = VECTORS.simulation(Script()).manifest
TICKET = Ticket("http://127.0.0.1:9", log_key(), MANIFEST.session)
KEYS = tuple(bytes([number]) * 32 for number in range(1, 21))
OPEN = OpenRound(3, 2, 0, Phase.COMMIT, 0, KEYS, KEYS[:4])


class Heard(ProgressDisplay):
    """A screen that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[ProgressEvent] = []

    def add_event(self, what: ProgressEvent) -> None:
        self.events.append(what)

    def set_activity(self, now: CurrentActivity | None) -> None:
        raise AssertionError(now)


@pytest.mark.parametrize(
    ("what", "event", "facts"),
    [
        (AwaitingBeacon(2, 77, 1234.5), "beacon", {"round": 2, "beacon_round": 77, "due": 1234.5}),
        (BadBeacon(77, "forged"), "bad-beacon", {"beacon_round": 77, "error": "forged"}),
        (BoardLost("away"), "board-lost", {"error": "away"}),
        (BoardFound(61.23456), "board-found", {"seconds": 61.235}),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, str | dict) else "",
)
def test_what_holds_a_session_up_is_said(
    what: Happening, event: str, facts: dict[str, object]
) -> None:
    heard = Heard()
    OrganiserProgress(MANIFEST, heard)(what)
    (told,) = heard.events
    assert (told.event, told.facts) == (event, facts)
    known = {"AwaitingBeacon": "77", "BadBeacon": "forged", "BoardLost": "away", "BoardFound": "61"}
    assert known[type(what).__name__] in told.text


def test_whoever_an_abort_names_is_named() -> None:
    abort = Abort(bytes(32), 0, AbortReason.NOT_UNMASKED, Released.MASKED, (1,))
    ended = RoundEnded(1, 0, 0, abort, 0, "", KEYS[:2])
    told = ended_line(MANIFEST, ended, Names({KEYS[0]: "ada"}))
    assert f"ada ({KEYS[0].hex()[:16]}), {KEYS[1].hex()[:16]}" in told.text
    assert told.facts["culprits"] == [1]
    assert "missing" not in ended_line(MANIFEST, replace(ended, culprits=()), NOBODY).text


def test_a_sum_of_weights_is_no_mean_of_values() -> None:
    """The largest weight is not in the manifest, and the last coordinate is a weight."""
    result = ResultMessage(bytes(32), 0, (40,) * MANIFEST.terms.dimension, (), 0, 1)
    weighted = replace(MANIFEST, weighted=True)
    assert {"mean", "stderr"} <= result_facts(MANIFEST, result, 4).keys()
    assert result_facts(weighted, result, 4) == {"included": 4, "sums": list(result.sums)}
    assert result_text(MANIFEST, result, 4).startswith("mean ")
    assert "mean" not in result_text(weighted, result, 4)


def status_with(current: OpenRound | None, *, unreadable: bool = False) -> str:
    """The table of a session that has begun, for people."""

    class Found(SessionStatus):
        @property
        def open(self) -> OpenRound | None:
            return current

    console = Console(file=io.StringIO(), width=200)
    console.print(_table(Found(TICKET, MANIFEST, unreadable=unreadable), 12))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_round_that_is_open_is_told() -> None:
    said = status_with(OPEN)
    assert "committing: 4 have posted, 20 in the round " in said
    assert "attempt" not in said
    assert "attempt 3" in status_with(replace(OPEN, attempt=2))
    waiting = status_with(replace(OPEN, phase=None))
    assert "waiting for the result, 20 in the round" in waiting
    assert "in the round" not in status_with(None)


def test_many_keys_are_cut_and_none_is_said() -> None:
    few, many = status_with(replace(OPEN, present=KEYS[:12])), status_with(OPEN)
    for said, more in ((few, False), (many, True)):
        assert [key.hex()[:16] in said for key in KEYS] == [True] * 12 + [False] * 8
        assert ("and 8 more" in said) == more
    assert "nobody" in status_with(replace(OPEN, present=()))


def test_what_cannot_be_read_is_said() -> None:
    assert "cannot be read" in status_with(None, unreadable=True)
    assert "cannot be read" not in status_with(None)


FOUND = Contribution(
    session=bytes(32),
    round=1,
    logical=0,
    attempt=0,
    mean={"height": np.array([1.23456789, 2.0]), "age": [np.float64(30.1234567)]},
    sum=0.0,
    stderr={"height": np.array([0.1, 0.1]), "age": [0.2]},
    sum_stderr=0.0,
    count=9,
    included=True,
    part=Part.ACTIVE,
    clipped=0,
    scaled=0,
)


def test_a_person_reads_a_result_in_the_structure_of_the_value() -> None:
    lines = dict(line.split(maxsplit=1) for line in sentence(FOUND).splitlines())
    assert json.loads(lines["mean"]) == {
        "height": ["1.2 +- 0.1", "2.0 +- 0.1"],
        "age": ["30.1 +- 0.2"],
    }
    assert lines["parties"].startswith("9; ")
    assert json.loads(json.dumps(facts_of(FOUND)["mean"])) == {
        "height": [1.23456789, 2.0],
        "age": [30.1234567],
    }


@pytest.mark.parametrize("part", [each for each in Part if each is not Part.ACTIVE])
def test_a_person_reads_why_the_value_is_not_among_them(part: Part) -> None:
    without = replace(FOUND, included=False, part=part)
    assert PARTS[name_of(part)] in sentence(without)
    assert PARTS[name_of(part)] not in sentence(FOUND)


def test_a_party_is_warned_where_the_result_is_mostly_noise() -> None:
    warned = replace(FOUND, warnings=("this is mostly noise",))
    for shown in (sentence(warned), str(warned), repr(warned)):
        assert "this is mostly noise" in shown
    assert facts_of(warned)["warnings"] == ["this is mostly noise"]
    assert facts_of(FOUND)["warnings"] == []


@pytest.mark.parametrize(
    ("dimension", "value"),
    [
        (2, "a number from 170 to 190; and a weight"),
        (5, "4 numbers, each from 160 to 200, together no farther than 20 from 180; and a weight"),
    ],
)
def test_a_party_reads_from_where_lengths_are_measured(dimension: int, value: str) -> None:
    asked = {"n": 12, "epsilon": None, "range": (170, 190), "corrupt": 1, "least_chance": 0}
    terms = gopa.plan(**asked, dimension=dimension, weighted=True).terms  # type: ignore[arg-type]
    manifest = row_manifest(terms, weighted=True, word_width=64)
    assert dict(question_rows(manifest))["value"].startswith(value)
