"""What a service's log has of a long command, and the figures that Prometheus reads."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gopa.cli.figures import Figures, MetricsAddress, serving, watched
from gopa.cli.logs import LogOptions, logging_to
from gopa.cli.session_progress import (
    CurrentActivity,
    JsonLines,
    LogLines,
    ProgressEvent,
    Several,
    Silent,
    progress,
)
from wire.errors import UsageError

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (DEBUG|INFO|WARNING|ERROR) +(.*)")
LOST = ProgressEvent("board-lost", "board lost: no answer", {"error": "no answer"})
PHASE = ProgressEvent("phase", "round 2: joining", {"round": 2, "phase": "join", "present": 6})


def told(capsys: pytest.CaptureFixture[str], options: LogOptions) -> list[str]:
    with LogLines(options) as shown:
        shown.add_event(PHASE)
        shown.set_activity(CurrentActivity("joining", 3, 8))
        shown.add_event(LOST)
        logging.getLogger("gopa.sessions").warning("round %d: \x1b stopped", 3)
    out, errors = capsys.readouterr()
    assert out == ""
    return errors.splitlines()


def test_one_plain_line_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    found = [LINE.fullmatch(line) for line in told(capsys, LogOptions())]
    assert [each.groups() for each in found if each] == [
        ("INFO", "round 2: joining"),
        ("WARNING", "board lost: no answer"),
        ("WARNING", "round 3: <U+001B> stopped"),
    ]
    assert len(told(capsys, LogOptions("debug"))) == 4
    assert len(told(capsys, LogOptions("warning"))) == 2
    assert told(capsys, LogOptions("error")) == []


def test_the_same_as_objects(capsys: pytest.CaptureFixture[str]) -> None:
    phase, lost, other = map(json.loads, told(capsys, LogOptions(None, "json")))
    assert (phase["event"], phase["level"], phase["facts"]) == ("phase", "info", dict(PHASE.facts))
    assert (lost["event"], lost["text"]) == ("board-lost", LOST.text)
    assert other["event"] == "gopa.sessions"


def test_an_unexpected_error_is_one_line() -> None:
    for form, trace in (("text", False), ("json", True)):
        stream = io.StringIO()
        with logging_to(stream, LogOptions(form=form)):
            try:
                int("one\ntwo")
            except ValueError:
                logging.getLogger("gopa.board").exception("unexpected")
        (line,) = stream.getvalue().splitlines()
        assert "ValueError" in line
        assert ("Traceback" in line) is trace


def test_loggers_are_as_before_when_it_is_over() -> None:
    logger = logging.getLogger("gopa")
    before = logger.level, logger.propagate, list(logger.handlers)
    with logging_to(io.StringIO(), LogOptions("debug")):
        assert logger.level == logging.DEBUG
    assert (logger.level, logger.propagate, list(logger.handlers)) == before


def test_who_is_shown_what() -> None:
    assert isinstance(progress(as_json=False), LogLines)
    assert isinstance(progress(as_json=False, quiet=True), Silent)
    assert isinstance(progress(as_json=True), JsonLines)
    assert isinstance(progress(as_json=True, logs=LogOptions("info")), Several)


def figures_after(*events: ProgressEvent) -> dict[str, str]:
    figures = Figures("party")
    for each in events:
        figures.add_event(each)
    rows = [line for line in figures.render().splitlines() if not line.startswith("#")]
    return dict(row.rsplit(" ", 1) for row in rows)


def test_figures_follow_what_happens() -> None:
    found = figures_after(PHASE)
    assert found["gopa_party_round"] == "2"
    assert found["gopa_party_parties"] == "6"
    assert found['gopa_party_phase{phase="join"}'] == "1"
    assert found['gopa_party_phase{phase="commit"}'] == "0"
    found = figures_after(PHASE, LOST)
    assert (found["gopa_party_board_lost"], found["gopa_party_board_losses_total"]) == ("1", "1")
    back = ProgressEvent("board-found", "back", {"seconds": 1.0})
    result = ProgressEvent("result", "done", {"round": 2, "part": "active"})
    found = figures_after(PHASE, LOST, back, result)
    assert (found["gopa_party_board_lost"], found["gopa_party_board_losses_total"]) == ("0", "1")
    assert found["gopa_party_results_total"] == "1"
    assert found["gopa_party_takes_part"] == "1"
    assert found['gopa_party_phase{phase="join"}'] == "0"


def test_figures_are_served_while_it_runs() -> None:
    figures = Figures("organiser")
    figures.set_activity(CurrentActivity("joining", 3, 8, 12.5))
    with serving(figures, MetricsAddress("127.0.0.1", 0)) as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.headers["Server"] == "gopa"
            text = answer.read().decode()
        with pytest.raises(HTTPError):
            urlopen(f"http://127.0.0.1:{port}/other", timeout=10)
        taken = MetricsAddress("127.0.0.1", port)
        with pytest.raises(UsageError), watched(Silent(), taken, "organiser"):
            pass
    assert "gopa_organiser_posted 3\n" in text
    assert "gopa_organiser_expected 8\n" in text
    assert "gopa_organiser_phase_ends_timestamp_seconds 12.5\n" in text


def test_figures_are_served_on_either_kind_of_address() -> None:
    with socket.socket(socket.AF_INET6) as trial:
        try:
            trial.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no ::1")
    with (
        serving(Figures("party"), MetricsAddress("::1", 0)) as port,
        urlopen(f"http://[::1]:{port}/metrics", timeout=10) as answer,
    ):
        assert answer.status == 200


def test_a_value_that_json_has_no_form_for_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    with LogLines(LogOptions(form="json")) as lines:
        lines.add_event(ProgressEvent("odd", "odd", {"path": Path("a"), "text": "x\n{}"}))
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["facts"] == {"path": "a", "text": "x\n{}"}
