"""`gopa` itself: what it lists, and what it says to a command that there is not."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from gopa.cli import COMMANDS, commands, entry, main
from gopa.cli.exits import INTERRUPTED_EXIT, LATER_EXIT, USAGE_EXIT, exit_code
from gopa.cli.options import Seconds, read_value
from tests.board.tools import log_key
from tests.cli.test_roster import KEYS
from wire.errors import UsageError


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["gopa", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    return ending.value.code


def test_help_lists_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "--help") == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert set(COMMANDS) <= set(listed)


def test_a_command_has_one_thread_for_linear_algebra_unless_it_is_told_otherwise() -> None:
    """The variable counts only if it is there before numpy is."""
    script = (
        "import os, sys; sys.argv = ['gopa', '--version']\n"
        "from gopa.cli import main\n"
        "assert 'numpy' not in sys.modules\n"
        "try: main()\n"
        "finally: print(os.environ['OMP_NUM_THREADS'])"
    )
    for given, expected in (({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")):
        plain = {name: each for name, each in os.environ.items() if name != "OMP_NUM_THREADS"}
        ran = subprocess.run(
            [sys.executable, "-c", script],
            env=plain | given,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.split()[-1] == expected


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["plan", "--no-such-option"], ["keygen"], ["--no-such-option"]]
)
def test_what_click_refuses_is_wrong_usage(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "doctor", "--help") == 0
    capsys.readouterr()
    assert ended(monkeypatch, *arguments) == USAGE_EXIT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.strip()


@pytest.mark.slow
def test_the_code_is_right_where_nothing_can_be_said(tmp_path: Path) -> None:
    """A log on a full disk: Python would end with 1, which has a meaning of its own."""
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
        "from gopa.cli import main; main()"
    )
    for line in ("nonsense", "keygen", "board fsck nowhere"):
        with (tmp_path / "log").open("w") as log:
            command = [sys.executable, "-c", program, *line.split()]
            done = subprocess.run(command, stderr=log, check=False)
        assert done.returncode == USAGE_EXIT, line


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["plan", "-n", "100", "--epsilon", "1", "--delta", "1e-6"]

    def full(**_: object) -> None:
        raise MemoryError

    assert ended(monkeypatch, *command) == 0
    capsys.readouterr()
    monkeypatch.setattr("gopa.cli.plan.make_plan", full)
    assert ended(monkeypatch, *command) == LATER_EXIT
    (line,) = capsys.readouterr().err.splitlines()
    assert "give the process more" in line


_SLOW = """
import signal, sys, time
import gopa.cli as cli

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this test was started by

def slowly(name):
    print("loading", flush=True)
    time.sleep(600)

cli.entry.import_module = slowly
sys.argv = ["gopa", "plan", "--parties", "10"]
cli.main()
"""


def ended_interrupts() -> object:
    with pytest.raises(SystemExit) as ending:
        main()
    return ending.value.code


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_whoever_stops_a_command_gets_no_complaint(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gopa", command, "--help"])
    assert ended_interrupts() == 0
    assert command in capfd.readouterr().out

    def stopped(_: str) -> SimpleNamespace:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "import_module", stopped)
    assert ended_interrupts() == INTERRUPTED_EXIT
    said = capfd.readouterr()
    assert (said.out + said.err).strip() == ""


def test_a_signal_while_a_command_is_loaded() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED_EXIT
    assert (out + err).strip() == ""


CREATE = f"--board http://127.0.0.1:9 --log-key {log_key()} --offline --roster roster.txt"


@contextmanager
def no_room() -> Iterator[None]:
    """Files of this process take no more bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("keygen mine", "mine"),
        ("session invite them --count 3", "them"),
        (f"session roster list.txt ada={KEYS[0].hex()}", "list.txt"),
        ("board init log --origin board.example/1", "log"),
        (f"session create may {CREATE} --epsilon 8 --delta 1e-5 --corrupt 1", "may"),
        ("demo -n 20 --out tried", "tried"),
    ],
    ids=lambda text: text.partition(" -")[0],
)
def test_the_same_command_works_when_there_is_room(
    line: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roster.txt").write_text("".join(f"{key.hex()}\n" for key in KEYS))
    before = set(tmp_path.iterdir())
    with no_room():
        refused = CliRunner().invoke(commands, line.split())
    assert refused.exception is not None
    said, code = refused.output, refused.exit_code
    if isinstance(refused.exception, UsageError):  # which `gopa` turns into its line and its code
        said, code = str(refused.exception), exit_code(refused.exception)
    assert code == LATER_EXIT, said
    assert made in said
    assert set(tmp_path.iterdir()) == before
    if not line.startswith("demo"):  # which takes long
        assert CliRunner().invoke(commands, line.split()).exit_code == 0
        assert (tmp_path / made).exists()


@pytest.mark.parametrize(("text", "expected"), [("0", 0.0), ("1.5", 1.5), ("inf", math.inf)])
def test_times(text: str, expected: float) -> None:
    assert Seconds().convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["nan", "-1", "-inf", "", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    assert Seconds().convert("1", None, None) == 1.0
    with pytest.raises(click.BadParameter):
        Seconds().convert(text, None, None)


def test_a_file_of_several_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "value.npy"
    np.save(path, np.array([0.5, 0.25]))
    assert read_value(None, path).tolist() == [0.5, 0.25]
    np.save(path, np.array(0.5))
    assert read_value(None, path) == 0.5
    with path.open("wb") as file:
        np.savez(file, np.array([0.5, 0.25]))
    with pytest.raises(UsageError):
        read_value(None, path)
