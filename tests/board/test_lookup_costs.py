"""What lookups may cost a board, and what stands in their way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.entry import Submission
from bulletin_board.lookup import LOOKUP, Lookup, open_answer
from bulletin_board.reader import DirectorySource, LogReader
from bulletin_board.server.lookups import LookupLimits, LookupService
from bulletin_board.storage import StorageError
from bulletin_board.storage.sqlite import SqliteIndexReader
from tests.board.live import client, live_board
from tests.board.lookups import author, question
from tests.board.tools import SESSION, entry_bytes, filled_board, trust
from tests.board.waiting import LONG

# What it may cost


class Board(AbstractContextManager["Board"]):
    """Lookups on a directory, without a server."""

    def __init__(self, root: Path, entries: Sequence[bytes], limits: LookupLimits) -> None:
        self.place = place = filled_board(root, map(Submission.decode, entries))
        self.signed = LogReader.open(DirectorySource(place.public), trust()).signed
        self.size: int | None = self.signed.size
        self.busy: Callable[[], bool] = lambda: False
        self.lookups = LookupService(
            SqliteIndexReader.open(place.index_path),
            DirectorySource(place.public),
            lambda: self.size,
            self._busy,
            limits,
        )

    def __exit__(self, *_: object) -> None:
        self.lookups.close()

    def _busy(self) -> bool:
        return self.busy()

    def ask(self, wanted: Lookup) -> list[int]:
        answer = asyncio.run(self.lookups.answer(LOOKUP.encode(wanted)))
        return [each.index for each in open_answer(answer, wanted, self.signed.root).found]


ROWS = [entry_bytes(seq, author=seq % 2, phase=seq % 3) for seq in range(30)]


def test_too_many_rows_are_refused(tmp_path: Path) -> None:
    with Board(tmp_path / "log", ROWS, LookupLimits(rows=10, session_rows=29)) as board:
        assert len(board.ask(question(30, 0, 1, phases=(1,)))) == 10
        assert len(board.ask(question(30, 0, phases=(0, 1)))) == 10
        for wanted in (
            question(30, 0, 1, phases=(0, 1)),
            question(30, 0, 1, phases=(0, 1), below=1),  # rows that are not shown cost the same
            question(30, phases=(1,)),  # the first author, among too many
        ):
            with pytest.raises(Refused) as caught:
                board.ask(wanted)
            assert caught.value.reason is RefusalReason.TOO_WIDE


def test_an_answer_reads_no_more_bundles_than_its_budget(tmp_path: Path) -> None:
    entries = [entry_bytes(seq, body=bytes(40)) for seq in range(1_100)]
    with Board(
        tmp_path / "log", entries, LookupLimits(bundle_bytes=60_000, cache_bytes=1)
    ) as board:
        wanted, found, pages = question(1_100, 0), [0], []
        while len(found) <= 1_100:
            asked = replace(wanted, start=len(found) - 1)
            answer = asyncio.run(board.lookups.answer(LOOKUP.encode(asked)))
            page = open_answer(answer, asked, board.signed.root)
            pages.append(len(page.found))
            found += [each.index for each in page.found]
    assert found[1:] == list(range(1_100))
    assert pages[0] == 1  # the first bundle alone exceeds the budget, which goes on with each page
    assert len(pages) == 5 + 1


def test_what_is_not_committed_is_not_shown(tmp_path: Path) -> None:
    with Board(tmp_path / "log", ROWS, LookupLimits()) as board:
        assert board.ask(question(30, 0, phases=(0,)))
        board.size = 12  # the index may know more than has been published
        with pytest.raises(Refused) as caught:
            board.ask(question(13, 0, phases=(0,)))
        assert caught.value.reason is RefusalReason.UNAVAILABLE
        board.size = None  # the log is closed
        with pytest.raises(Refused) as caught:
            board.ask(question(1, 0, phases=(0,)))
        assert caught.value.retry_after is not None


async def refused(asking: Sequence[asyncio.Future[bytes]], count: int) -> None:
    pending = set(asking)
    while len(asking) - len(pending) < count:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        assert all(isinstance(each.exception(), Refused) for each in done)


def test_only_so_many_lookups_wait(tmp_path: Path) -> None:
    with Board(tmp_path / "log", ROWS, LookupLimits(waiting=3)) as board:
        hold = threading.Event()
        board.busy = lambda: not hold.wait(LONG)
        raw = LOOKUP.encode(question(30, 0, phases=(0,)))

        async def crowd() -> list[bytes | BaseException]:
            asking = [asyncio.ensure_future(board.lookups.answer(raw)) for _ in range(10)]
            await refused(asking, 7)
            hold.set()
            return await asyncio.gather(*asking, return_exceptions=True)

        found = asyncio.run(crowd())
        assert sum(isinstance(each, bytes) for each in found) == 3
        busy = [each for each in found if isinstance(each, Refused)]
        assert [each.reason for each in busy] == [RefusalReason.BUSY] * 7
        assert board.ask(question(30, 0, phases=(0,)))


def test_posts_go_before_lookups(tmp_path: Path) -> None:
    """It waits for posts, and not for ever."""
    with Board(tmp_path / "log", ROWS, LookupLimits()) as board:
        asked: list[int] = []

        def busy() -> bool:
            asked.append(1)
            return True

        board.busy = busy
        assert board.ask(question(30, 0, phases=(0,)))
        assert 1 < len(asked) < 10


def test_the_view_of_the_index_cannot_write(tmp_path: Path) -> None:
    place = filled_board(tmp_path / "log", map(Submission.decode, ROWS))
    places = SqliteIndexReader.open(place.index_path)
    assert places.posted(SESSION, author(0), 0, 0, 100)
    with pytest.raises(StorageError):
        places._database.execute("DELETE FROM slots")
    places.close()


@pytest.mark.slow
def test_lookups_and_posts_at_once(tmp_path: Path) -> None:
    """Answers are right while the log grows under them."""
    with live_board(tmp_path / "log") as url, ThreadPoolExecutor(8) as pool:
        poster, board, seen = client(url, attempts=20), client(url), 0
        posting = [
            pool.submit(poster.submit, raw)
            for raw in [entry_bytes(0, author=n) for n in range(120)]
        ]
        while not all(each.done() for each in posting):
            signed = board.update()
            if not signed.size:
                continue
            found = board.look_up(question(signed.size, *range(120)), signed.root)
            assert [each.index for each in found] == list(range(signed.size))
            seen = signed.size
        assert seen
        assert {each.result().index for each in posting} == set(range(120))
