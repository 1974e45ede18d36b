"""A process that is killed while it remembers something of its board can open its vault again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from bulletin_board.client.state import ClientState
from tests.sessions.vault.tools import opened

CHANGES: Final = frozenset({"open", "os.rename", "os.chmod", "os.mkdir", "os.remove"})
MOST: Final = 100
Act = Callable[[Path], None]


def store(path: Path) -> None:
    _board(path).store(b"new")


def keep_evidence(path: Path) -> None:
    _board(path).keep_evidence(b"a fork")


def keep_unproven(path: Path) -> None:
    _board(path).keep_unproven(b"new pair")


def make(path: Path) -> None:
    """A vault that was not there."""
    opened(path / "another").begin(b"memory")


def _board(path: Path) -> ClientState:
    return opened(path).board


def killed_at(number: int, act: Act, path: Path) -> bool:
    """Do it in a process that is killed before it changes a file for so many times.

    Whether it was: it has come to its end otherwise.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            os.umask(0o022)  # as on most systems: others may read what is made without care
            _die_before(number)
            act(path)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}
    return code != 0


def _die_before(number: int) -> None:
    left = number

    def hook(event: str, _: object) -> None:
        nonlocal left
        if event in CHANGES:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that share this one's memory")
@pytest.mark.parametrize("act", [store, keep_evidence, keep_unproven, make])
def test_the_vault_opens_again(act: Act, tmp_path: Path) -> None:
    for number in range(MOST):
        path = tmp_path / str(number)
        made = opened(path)
        made.begin(b"memory")
        made.board.store(b"old")
        made.board.keep_unproven(b"old pair")
        made.close()
        killed = killed_at(number, act, path)
        again = opened(path)
        assert again.board.load() in {b"old", b"new"}
        assert again.board.unproven() in {b"old pair", b"new pair"}
        assert again.memory() == b"memory"
        again.close()
        opened(path / "another").close()
        if not killed:
            assert number > 3
            return
    pytest.fail("it never came to its end")
