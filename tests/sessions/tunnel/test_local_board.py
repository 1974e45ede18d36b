"""A log in memory reads again what it has dropped, and hands out what the log has."""

from __future__ import annotations

import pytest

from bulletin_board import Submission
from tests.sessions.tunnel.test_hiding import held


@pytest.mark.slow
def test_what_was_dropped_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = held()
    board, raws = world.board, list(world.board.reader().entries())
    expected = [(at, raw) for at, raw in enumerate(raws)]
    assert [(posted.index, raw) for posted, raw in board.posted(0)] == expected
    kept = dict(board._recent)
    for gone in (range(len(raws)), range(3), range(2, 5), (1, 4, 6)):
        left = {at: kept[at] for at in kept if at not in gone}
        monkeypatch.setattr(board, "_recent", left)
        found = board.posted(1)
        assert [(posted.index, raw) for posted, raw in found] == expected[1:]
        assert [posted.leaf for posted, _ in found] == [
            Submission.decode(raw).leaf for raw in raws[1:]
        ]
