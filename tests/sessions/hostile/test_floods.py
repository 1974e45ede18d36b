"""What strangers on the board can make a party hold in memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator

import pytest

from bulletin_board.entry import LARGEST_BODY
from gopa.contract.phases import Phase
from gopa.protocol.party import Fetch
from gopa.sessions.following.follower import BoardFollower
from tests.board.tools import entry_bytes, party
from tests.sessions.following.worlds import board_with, recorded, selective, whole

STRANGERS = 1_100


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A short session, and behind it 70 MB of other people's."""
    other = [entry_bytes(i, author=50, body=bytes(LARGEST_BODY)) for i in range(STRANGERS)]
    with board_with(tmp_path_factory.mktemp("flood") / "log", [*recorded(1).raws, *other]) as url:
        yield url


def peak_of(work: Callable[[], Coroutine[None, None, None]]) -> int:
    tracemalloc.start()
    try:
        asyncio.run(work())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("kind", [whole, selective])
def test_sessions_of_strangers_are_not_held_in_memory(
    kind: Callable[[str, bytes], BoardFollower], flooded: str
) -> None:
    """A bundle of 256 entries at a time is read. The board is in this process, too."""
    record = recorded(1)

    async def work() -> None:
        log = kind(flooded, record.session)
        try:
            size = len(record.raws) + STRANGERS
            horizon = await log.grown(size - 1)
            wanted = Fetch(Phase.COMMIT, 1, size, record.parties)
            found = await log.complete(wanted, 0, horizon)  # type: ignore[attr-defined]
            assert {each.entry.author.data for each in found} == set(record.parties)
        finally:
            await log.close()

    bundle = 256 * LARGEST_BODY
    assert peak_of(work) < 4 * bundle < STRANGERS * LARGEST_BODY


def test_a_party_of_the_tests_is_no_stranger() -> None:
    assert party(50).public.data not in recorded(1).parties
