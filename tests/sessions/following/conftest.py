"""Scratch space in memory, requests that need no socket, and a recorded session on a board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board.conftest import scratch, tmp_path
from tests.board.direct import direct
from tests.sessions.following.worlds import Recorded, board_with, recorded

__all__ = ["direct", "record", "scratch", "tmp_path", "url"]


@pytest.fixture(scope="module")
def record() -> Recorded:
    return recorded(1, 2)


@pytest.fixture(scope="module")
def url(record: Recorded, scratch: Path) -> Iterator[str]:
    with board_with(scratch / "log", record.raws) as url:
        yield url
