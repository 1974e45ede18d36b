"""Boards that show another history, or stop for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from errno import ENOSPC
from pathlib import Path

import pytest

from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.client.state import DirectoryState, MemoryState
from bulletin_board.server.run import start_board
from bulletin_board.storage.directory import BoardDirectory
from gopa.sessions.following import Horizon, SelectiveLog, WholeLog
from tests.board.live import client, free_port, serving
from tests.board.tools import anyone, entry_bytes, log_key, signer, trust
from tests.sessions.following.worlds import (
    QUICK,
    Lying,
    Recorded,
    board_with,
    by,
    link_to,
    recorded,
    said,
    stored,
)
from wire.errors import FaultyBoard

# Old and other histories

BOTH = pytest.mark.parametrize("opened", [WholeLog, SelectiveLog], ids=["whole", "selective"])


@BOTH
def test_an_older_checkpoint_changes_nothing(
    opened: type[WholeLog | SelectiveLog], url: str, record: Recorded
) -> None:
    transport, fresh = Lying(), 100 + 2 * (opened is WholeLog)
    old: list[Response] = []

    def remember(asked: str, answer: Response) -> Response:
        if asked.endswith("/checkpoint"):
            old.append(answer)
        return answer

    async def work() -> None:
        log = opened(link_to(url, transport), record.session, pace=QUICK)
        try:
            transport.answer = remember
            horizon = await log.grown(0)
            await asyncio.to_thread(client(url).submit, entry_bytes(0, author=fresh))
            newer = await log.grown(horizon.size)
            transport.answer = lambda asked, answer: (
                old[0] if asked.endswith("/checkpoint") else answer
            )
            await asyncio.sleep(0.3)
            assert await log.grown(0) == newer
            transport.answer = lambda _, answer: answer
            await asyncio.to_thread(client(url).submit, entry_bytes(0, author=fresh + 1))
            assert (await log.grown(newer.size)).size > newer.size
        finally:
            await log.close()

    asyncio.run(work())


@BOTH
def test_a_fork_is_for_good_and_everybody_who_waits_is_told(
    opened: type[WholeLog | SelectiveLog], tmp_path: Path
) -> None:
    record = recorded(1)
    half = len(record.raws) // 2
    forked = [*record.raws[: half - 1], *record.raws[half:]]
    state = DirectoryState(tmp_path / "state", log_key())
    transport = Lying()

    async def work(honest: str, other: str) -> None:
        log = opened(link_to(honest, transport, state), record.session, pace=QUICK)
        try:
            size = (await log.grown(0)).size
            assert size == half
            waiting: list[asyncio.Future[Horizon]] = [
                *(asyncio.ensure_future(log.grown(size)) for _ in range(20)),
                *(asyncio.ensure_future(log.spoken(size)) for _ in range(20)),
            ]
            await asyncio.sleep(0.1)
            elsewhere = HttpTransport()

            class Other(Lying):
                def request(
                    self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
                ) -> Response:
                    return elsewhere.request(
                        method,
                        url.replace(honest, other),
                        body=body,
                        media_type=media_type,
                        limit=limit,
                    )

            transport.request = Other().request  # type: ignore[method-assign]
            found = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(each) for each in found} == {FaultyBoard}
            for again in (log.grown(0), log.spoken(0), log.submit((record.raws[0],))):
                with pytest.raises(FaultyBoard):
                    await again
        finally:
            await log.close()

    async def later(honest: str) -> None:
        log = opened(
            link_to(honest, state=DirectoryState(tmp_path / "state", log_key())),
            record.session,
            pace=QUICK,
        )
        try:
            with pytest.raises(FaultyBoard):
                await log.grown(0)
        finally:
            await log.close()

    with (
        board_with(tmp_path / "honest", record.raws[:half]) as honest,
        board_with(tmp_path / "forked", forked) as other,
    ):
        asyncio.run(work(honest, other))
        asyncio.run(later(honest))
    assert list((tmp_path / "state").rglob("fork-*"))


@BOTH
def test_a_session_that_has_not_begun_has_no_entries(
    opened: type[WholeLog | SelectiveLog], tmp_path: Path, record: Recorded
) -> None:
    """Only others have spoken so far; as soon as the manifest is there it is followed."""

    async def work(url: str) -> None:
        log = opened(link_to(url), record.session, pace=QUICK)
        try:
            horizon = await log.grown(0)
            assert await log.controls(0, horizon) == ()
            assert await log.own(record.parties[0], 0, horizon.size, horizon) == ()
            before = log.bytes_posted
            await log.submit((record.raws[0],))
            assert log.bytes_posted - before == len(record.raws[0])
            horizon = await log.grown(horizon.size)
            assert [each.index for each in await log.controls(0, horizon)] == [1]
        finally:
            await log.close()

    with board_with(tmp_path / "log", [entry_bytes(0, author=100)]) as url:
        asyncio.run(work(url))


class Broken(MemoryState):
    """A disk that takes no checkpoint."""

    def store(self, checkpoint: bytes) -> None:
        raise OSError(ENOSPC, f"no space for {len(checkpoint)} bytes")


@BOTH
def test_whoever_waits_is_told_what_nobody_foresaw(
    opened: type[WholeLog | SelectiveLog], url: str, record: Recorded
) -> None:
    """Without it everybody would wait for ever, behind a task that has ended."""

    async def work(state: MemoryState) -> Horizon:
        log = opened(link_to(url, state=state), record.session, pace=QUICK)
        try:
            return await asyncio.wait_for(log.grown(0), 30)
        finally:
            await log.close()

    assert asyncio.run(work(MemoryState())).size
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number says which
        asyncio.run(work(Broken()))
    assert caught.value.errno == ENOSPC


def test_a_restarted_reader_goes_on_from_what_was_seen(tmp_path: Path) -> None:
    """The checkpoint is remembered: a board that has lost entries is found."""
    record = recorded(1)
    state = DirectoryState(tmp_path / "state", log_key())

    async def look(url: str, least: int) -> str:
        link = link_to(url, state=DirectoryState(tmp_path / "state", log_key()))
        log = WholeLog(link, record.session, pace=QUICK)
        try:
            waiting = asyncio.ensure_future(log.grown(least))
            await asyncio.wait({waiting}, timeout=1.0)
            waiting.cancel()
            return type(log.trouble).__name__
        finally:
            await log.close()

    assert state.load() is None
    with board_with(tmp_path / "log", record.raws) as url:
        assert asyncio.run(look(url, 0)) == "NoneType"
        assert asyncio.run(look(url, 0)) == "NoneType"
    assert state.load() is not None
    with board_with(tmp_path / "shorter", record.raws[:-3]) as url:
        assert asyncio.run(look(url, 0)) == "StaleMirror"


# Boards that stop


@BOTH
def test_a_board_that_restarts_in_the_middle(
    opened: type[WholeLog | SelectiveLog], tmp_path: Path
) -> None:
    record = recorded(1)
    half = len(record.raws) // 2
    place = BoardDirectory(stored(tmp_path / "log", record.raws[:half]))
    port = free_port()

    @contextmanager
    def board() -> Iterator[str]:
        with ExitStack() as stack:
            app = start_board(place, signer(), trust(), anyone, stack)
            yield stack.enter_context(serving(app, port))

    async def work() -> None:
        log = opened(link_to(f"http://127.0.0.1:{port}"), record.session, pace=QUICK)
        try:
            with board():
                horizon = await log.grown(half - 1)
                before = await said(log, 0, horizon)
                assert before == by(record.organiser, record.posted(), 0, half)
            waiting = asyncio.ensure_future(log.spoken(before[-1].index + 1))
            while not isinstance(log.trouble, NetworkError):
                await asyncio.wait({waiting}, timeout=0.05)
            assert not waiting.done()
            with board() as url:
                for raw in record.raws[half:]:
                    await asyncio.to_thread(client(url).submit, raw)
                await waiting
                horizon = await log.grown(len(record.raws) - 1)
                found = await said(log, 0, horizon)
                assert found == by(record.organiser, record.posted(), 0, horizon.size)
        finally:
            await log.close()

    asyncio.run(work())
