"""The codes with which `gopa session` ends where its work did not end well."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from bulletin_board import RefusalReason, Refused
from gopa.cli import commands
from gopa.cli.exits import ERRORS_TO_DO, FAILED_EXIT, INTERRUPTED_EXIT, LATER_EXIT
from gopa.sessions.board_access import NotShown
from tests.board.tools import log_key
from wire.errors import FaultyBoard

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
