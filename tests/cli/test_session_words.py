"""What `gopa session` and `gopa join` call things that seldom happen."""

from __future__ import annotations

import io
import json
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

import gopa
from bulletin_board import RefusalReason, Refused
from gopa.cli import commands
from gopa.cli.exits import ERRORS_TO_DO, FAILED_EXIT, INTERRUPTED_EXIT, LATER_EXIT
from gopa.cli.join_words import facts_of, sentence
from gopa.cli.roster import NOBODY, Names
from gopa.cli.session import _table
from gopa.cli.session_progress import (
    CurrentActivity,
    JsonLines,
    OrganiserProgress,
    ProgressDisplay,
    ProgressEvent,
    Screen,
    Silent,
    ended_line,
    left,
    progress,
    question_rows,
    result_facts,
    result_text,
)
from gopa.contract.organiser import Abort, AbortReason, Released, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.protocol.simulation import Script
from gopa.sessions.board_access import NotShown
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
from wire.errors import FaultyBoard

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


PLAN = ("--epsilon", "100", "--delta", "0.01", "--mode", "signed", "--anyone", "-n", "10")


BOARD = ("--board", "http://127.0.0.1:9", "--offline")


@pytest.mark.parametrize(
    ("command", "state", "code"),
    [
        ("open", SimpleNamespace(failed=False, results=1), 0),
        ("open", SimpleNamespace(failed=False, results=0), FAILED_EXIT),
        ("open", SimpleNamespace(failed=True, results=1), FAILED_EXIT),
        ("open", None, INTERRUPTED_EXIT),
        ("close", SimpleNamespace(rounds_ended=3), 0),
        ("close", None, 1),
        ("open", NotShown("no board for an hour"), LATER_EXIT),
        ("close", NotShown("no board"), LATER_EXIT),
        ("open", FaultyBoard("two histories"), FAILED_EXIT),
        ("open", Refused(RefusalReason.UNREGISTERED), FAILED_EXIT),
    ],
    ids=[
        *("done", "without-a-result", "failed", "stopped", "closed", "close-stopped"),
        *("no-board", "close-no-board", "fork", "refused"),
    ],
)
def test_codes_tell_failed_from_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, state: object, code: int
) -> None:
    place = str(tmp_path / "mine")
    create = ["session", "create", place, *BOARD, "--log-key", str(log_key()), *PLAN]
    assert CliRunner().invoke(commands, create).exit_code == 0

    def ended(work: Coroutine[Any, Any, Any]) -> object:
        work.close()
        if isinstance(state, Exception):
            raise state
        return state

    monkeypatch.setattr("gopa.cli.session_open._until_stopped", ended)
    ran = CliRunner().invoke(commands, ["session", command, place])
    assert ran.exit_code == code
    # Whoever reads of a fork has to know that the evidence is worth something.
    assert (ERRORS_TO_DO["FaultyBoard"] in ran.output) == isinstance(state, FaultyBoard)


class Time:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def terminal() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=True, width=100, color_system=None), out


def test_json_lines_are_one_object_each() -> None:
    out = io.StringIO()
    with JsonLines(out) as shown:
        shown.add_event(ProgressEvent("result", "the mean is 3", {"mean": [3.0]}))
        shown.set_activity(CurrentActivity("joining", 3, 8, 1234.5))
        shown.set_activity(None)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"event": "result", "mean": [3.0]},
        {"event": "standing", "now": "joining", "done": 3, "total": 8, "ends": 1234.5},
    ]


def test_screen_keeps_lines_and_replaces_what_is_going_on() -> None:
    console, out = terminal()
    clock = Time(1_000.0)
    with Screen(console, clock) as shown:
        shown.set_activity(CurrentActivity("joining", 3, 8, 1_065.0))
        assert "joining" in _frame(shown)
        assert "3/8" in _frame(shown)
        assert "1:05 left" in _frame(shown)
        clock.now += 5
        assert "1:00 left" in _frame(shown)
        shown.set_activity(CurrentActivity("committing"))
        assert "joining" not in _frame(shown)
        shown.add_event(ProgressEvent("result", "round 1: the mean is 3"))
        shown.set_activity(None)
        assert not _frame(shown).strip()
    assert "round 1: the mean is 3" in out.getvalue()


def test_what_happens_while_somebody_is_asked_is_shown_after_the_answer() -> None:
    console, out = terminal()
    with Screen(console) as shown:
        with shown.paused():
            shown.add_event(ProgressEvent("phase", "round 1: joining"))
            assert "round 1" not in out.getvalue()
        assert out.getvalue().count("round 1: joining") == 1
        shown.add_event(ProgressEvent("phase", "round 1: committing"))
    assert out.getvalue().count("round 1: joining") == 1
    assert "round 1: committing" in out.getvalue()


def test_screen_shows_control_characters_as_text() -> None:
    """What a board or a beacon says must not drive somebody's terminal."""
    console, out = terminal()
    with Screen(console) as shown:
        shown.add_event(ProgressEvent("board-lost", "away: \x1b[2J[red]x[/red]"))
        shown.set_activity(CurrentActivity("away \x1b]0;title\x07"))
        assert "\x07" not in _frame(shown)
    assert "\x1b[2J[red]" not in out.getvalue()
    assert "[red]x[/red]" in out.getvalue()


def _frame(shown: Screen) -> str:
    out = io.StringIO()
    Console(file=out, width=100, color_system=None).print(shown._render())
    return out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0:00 left"), (0, "0:00 left"), (59.6, "1:00 left"), (3_725, "1:02:05 left")],
)
def test_time_that_is_left(seconds: float, text: str) -> None:
    assert left(seconds) == text


def test_who_wants_quiet_is_not_disturbed(capsys: pytest.CaptureFixture[str]) -> None:
    shown = progress(as_json=False, quiet=True)
    assert isinstance(shown, Silent)
    with shown, shown.paused():
        shown.add_event(ProgressEvent("x", "y"))
        shown.set_activity(CurrentActivity("z"))
    assert capsys.readouterr() == ("", "")
    assert isinstance(progress(as_json=True), JsonLines)
