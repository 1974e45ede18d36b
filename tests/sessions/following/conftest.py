"""Scratch space in memory where there is some, and requests that need no socket."""

from tests.board.conftest import scratch, tmp_path
from tests.board.direct import direct

__all__ = ["direct", "scratch", "tmp_path"]
