"""`gopa demo`: what it says, what it leaves behind, and what it does not overwrite."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result

import gopa
from gopa.cli import commands, demo
from gopa.cli.exits import INTERRUPTED_EXIT
from wire.errors import UsageError

LEFT = {"session.gopa", "anchors.txt", "report.html", "damaged.gopa"}


def run(*arguments: object, answer: str | None = None) -> Result:
    return CliRunner().invoke(commands, ["demo", *map(str, arguments)], input=answer)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """One demo with few people: its directory, and what it printed."""
    out = tmp_path_factory.mktemp("demo") / "new" / "vote"
    return out, run("--out", out, "-n", 24)


@pytest.mark.slow
def test_it_goes_from_the_question_to_a_changed_bit(shown: tuple[Path, Result]) -> None:
    _, result = shown
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    text = " ".join(result.stdout.split())
    heads = ["The question", "The vote", "The audit", "One bit", "What is left"]
    places = [text.index(f"{number} {head}") for number, head in enumerate(heads, 1)]
    assert places == sorted(places)
    for words in ("answer", "truth", "left out person 7", "left out person 11", " VALID "):
        assert words in text
    assert "party number 11 (" in text
    assert "04-K3" in text
    assert " INVALID " in text[places[3] : places[4]]


@pytest.mark.slow
def test_what_it_leaves_behind_is_audited_as_it_says(shown: tuple[Path, Result]) -> None:
    out, result = shown
    assert {each.name for each in out.iterdir()} == LEFT
    keys = out / "anchors.txt"
    sound = gopa.audit(out / "session.gopa", anchors=keys)
    assert sound.verdict.value == "VALID"
    assert [fault.rule for fault in sound.faults] == ["04-K3"]
    assert len(sound.rounds[0].included) == 22
    damaged = gopa.audit(out / "damaged.gopa", anchors=keys)
    assert damaged.verdict.value == "INVALID"
    assert "Audit report" in (out / "report.html").read_text()
    said = [line.split("$ gopa ")[1] for line in result.stdout.splitlines() if "$ gopa " in line]
    assert len(said) >= 4
    for line, code in zip(said[:2], (0, 1), strict=True):
        assert CliRunner().invoke(commands, line.split()).exit_code == code


@pytest.mark.slow
def test_without_a_terminal_nothing_is_overwritten(shown: tuple[Path, Result]) -> None:
    out, _ = shown
    before = {each: each.read_bytes() for each in out.iterdir()}
    result = run("--out", out)
    assert isinstance(result.exception, UsageError)
    assert result.exception.field == "--out"
    assert {each: each.read_bytes() for each in out.iterdir()} == before


def test_on_a_terminal_it_asks(shown: tuple[Path, Result], monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = shown
    monkeypatch.setattr(demo, "_on_a_terminal", lambda: True)
    before = (out / "session.gopa").read_bytes()
    result = run("--out", out, answer="n\n")
    assert result.exit_code == 1
    assert "Write over them?" in result.output
    assert (out / "session.gopa").read_bytes() == before


def test_a_directory_that_nobody_named_is_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gopa-demo").mkdir()
    (tmp_path / "gopa-demo-2").write_text("mine")
    asked: list[Path] = []

    def stop(*_: object, **__: object) -> NoReturn:
        asked.extend(each for each in tmp_path.iterdir() if each.name.endswith("3"))
        raise UsageError("far enough")

    monkeypatch.setattr(demo, "average", stop)
    assert str(run().exception) == "far enough"
    assert [each.name for each in asked] == ["gopa-demo-3"]
    assert not (tmp_path / "gopa-demo-3").exists()


def test_a_place_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert run("--out", taken).exit_code == 2
    inside = run("--out", taken / "deeper")
    assert isinstance(inside.exception, UsageError)
    assert run("--out", tmp_path / "new", "-n", 3).exit_code == 2
    assert list(tmp_path.iterdir()) == [taken]


def test_without_the_native_core_fewer_people_vote_and_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> NoReturn:
        raise UsageError("far enough")

    monkeypatch.setattr(demo, "average", stop)
    monkeypatch.setattr(demo, "backend_status", lambda: SimpleNamespace(active="reference"))
    text = " ".join(run("--out", tmp_path / "few").output.split())
    assert "60 people vote" in text
    assert "native core" in text
    assert "Rust" in text
    monkeypatch.setattr(demo, "backend_status", lambda: SimpleNamespace(active="native"))
    text = " ".join(run("--out", tmp_path / "many").output.split())
    assert "300 people vote" in text
    assert "Rust" not in text


@pytest.mark.slow
def test_it_can_be_stopped_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from gopa.cli import main; sys.argv = ['gopa', 'demo']; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        while "The vote" not in process.stdout.readline():
            assert process.poll() is None
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED_EXIT
    assert said.strip().splitlines() == ["gopa: stopped; nothing was written"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.soak
def test_the_whole_demo_takes_less_than_a_minute(tmp_path: Path) -> None:
    started = time.process_time()
    result = run("--out", tmp_path / "whole")
    assert result.exit_code == 0, result.output
    assert time.process_time() - started < 60


def test_warnings_of_the_planner_are_said_once(capfd: pytest.CaptureFixture[str]) -> None:
    found: Any = CliRunner().invoke(
        commands, ["plan", "-n", "5", "--epsilon", "1", "--delta", "1e-6", "--json"]
    )
    assert found.stderr.count("mostly noise") == 1
    assert "mostly noise" not in capfd.readouterr().err


@pytest.mark.parametrize("columns", [40, 200])
def test_lines_are_no_longer_than_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    demo._say("many words " * 50)
    demo._show("name", "many words " * 50)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < columns
    assert max(map(len, lines)) > min(columns, 90) - 12
