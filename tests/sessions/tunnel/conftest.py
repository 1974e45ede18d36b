"""Boards whose files are in memory, whose requests need no socket, and readers in a hurry."""

from tests.board.conftest import tmp_path
from tests.board.direct import direct
from tests.sessions.live.conftest import looking_often

__all__ = ["direct", "looking_often", "tmp_path"]
