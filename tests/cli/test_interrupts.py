"""Ctrl-C ends every command quietly, also while it is still being loaded."""

from __future__ import annotations

import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gopa.cli import COMMANDS, entry, main
from gopa.cli.exits import INTERRUPTED_EXIT

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


def ended() -> object:
    with pytest.raises(SystemExit) as ending:
        main()
    return ending.value.code


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_whoever_stops_a_command_gets_no_complaint(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gopa", command, "--help"])
    assert ended() == 0
    assert command in capfd.readouterr().out

    def stopped(_: str) -> SimpleNamespace:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "import_module", stopped)
    assert ended() == INTERRUPTED_EXIT
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
