"""The codes with which `gopa session` ends where its work did not end well."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from gopa.cli import commands
from gopa.cli.exits import FAILED_EXIT, INTERRUPTED_EXIT
from tests.board.tools import log_key

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
    ],
    ids=["done", "without-a-result", "failed", "stopped", "closed", "close-stopped"],
)
def test_codes_tell_failed_from_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, state: object, code: int
) -> None:
    place = str(tmp_path / "mine")
    create = ["session", "create", place, *BOARD, "--log-key", str(log_key()), *PLAN]
    assert CliRunner().invoke(commands, create).exit_code == 0

    def ended(work: Coroutine[Any, Any, Any]) -> object:
        work.close()
        return state

    monkeypatch.setattr("gopa.cli.session_open._until_stopped", ended)
    assert CliRunner().invoke(commands, ["session", command, place]).exit_code == code
