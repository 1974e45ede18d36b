"""Boards whose files are in memory, and whose requests need no socket."""

from tests.board.conftest import tmp_path
from tests.board.direct import direct

__all__ = ["direct", "tmp_path"]
