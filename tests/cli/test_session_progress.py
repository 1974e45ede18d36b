"""What people and machines see of a long command."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from gopa.cli.session_progress import (
    CurrentActivity,
    JsonLines,
    ProgressEvent,
    Screen,
    Silent,
    left,
    progress,
)


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
