"""Boards whose files are in memory, whose requests need no socket, and readers in a hurry."""

import pytest

from gopa.sessions.following import SelectiveLog, WholeLog
from gopa.sessions.following.follower import PollingPace
from tests.board.conftest import tmp_path
from tests.board.direct import direct

__all__ = ["direct", "looking_often", "tmp_path"]


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for an entry sees it soon."""
    for kind in (SelectiveLog, WholeLog):
        defaults = kind.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setitem(defaults, "pace", PollingPace(0.05, 0.4))
