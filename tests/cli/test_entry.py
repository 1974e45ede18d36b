"""`gopa` itself: what it lists, and what it says to a command that there is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gopa.cli import COMMANDS, main
from gopa.cli.exits import LATER_EXIT, USAGE_EXIT


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
