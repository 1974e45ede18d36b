"""How long `gopa join` looks for its session on a board that comes and goes."""

from __future__ import annotations

import asyncio
import os
from itertools import cycle
from pathlib import Path

import pytest

from bulletin_board.client.http import NetworkError
from gopa.cli.join_words import BoardUnreachable, PatientConnect, SessionAbsent
from gopa.cli.session_progress import progress
from gopa.sessions.following.follower import BoardFollower
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import MemoryVault
from tests.protocol.simulation.worlds import SCALAR
from tests.sessions.hostile.worlds import world
from wire.errors import ProtocolError

DOWN = NetworkError("nobody answers")
LOOKS = 40
PATIENCE = 10.0


def watched(ticket: Ticket, seen: tuple[ProtocolError | None, ...], *, found: bool) -> None:
    """Look at a board a second at a time, which is in these states in turn."""
    now = [0.0]
    connect = PatientConnect(progress(as_json=False, quiet=True), PATIENCE, lambda: now[0])
    log = connect.open(ticket, MemoryVault(), os.urandom)
    if found:
        log._search.body = b"found"

    async def look() -> None:
        try:
            for trouble, _ in zip(cycle(seen), range(LOOKS), strict=False):
                log.trouble = trouble
                connect._look()
                now[0] += 1.0
        finally:
            await log.close()

    asyncio.run(look())


@pytest.mark.parametrize(
    ("seen", "error"),
    [((None,), SessionAbsent), ((None, DOWN), SessionAbsent), ((DOWN,), BoardUnreachable)],
    ids=["there", "comes and goes", "away"],
)
def test_a_session_that_is_not_found_is_given_up(
    seen: tuple[ProtocolError | None, ...],
    error: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BoardFollower, "bytes_read", property(lambda _: 100))
    with world(tmp_path, SCALAR) as here:
        watched(here.ticket, (None, DOWN), found=True)
        with pytest.raises(error):
            watched(here.ticket, seen, found=False)
