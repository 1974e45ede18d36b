"""Scratch space in memory where there is some: these tests sync files thousands of times.

What is tested is the order of operations, which does not depend on the medium.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bulletin_board.server import run as start_module
from tests.board.waiting import LONG

SHORT = 0.5
"""Seconds that a board waits for silent witnesses when it opens a log without entries."""

MEMORY = Path("/dev/shm")  # noqa: S108 - a fresh directory with a random name is made in it


def _parent() -> Path | None:
    return MEMORY if MEMORY.is_dir() else None


@pytest.fixture(autouse=True)
def patient_with_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stalls must not make an honest witness a silent one."""
    monkeypatch.setattr(start_module, "_WITNESS_SECONDS", LONG)
    monkeypatch.setattr(start_module, "_OPENING_SECONDS", SHORT)
    monkeypatch.setattr(start_module, "_CONFIRMING_SECONDS", LONG)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gopa-board-", dir=_parent()) as path:
        yield Path(path)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gopa-board-", dir=_parent()) as path:
        yield Path(path)
