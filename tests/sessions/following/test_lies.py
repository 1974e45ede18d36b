"""Boards that hide, reorder, change, stall, or answer too much."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bulletin_board import RefusalReason, Refused, Submission
from bulletin_board.admission import problem_body
from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.entry import sign_entry
from bulletin_board.lookup import LARGEST_ANSWER, LOOKUP_ANSWER, FoundEntry, Lookup
from gopa.contract.phases import Phase
from gopa.protocol.party import Fetch
from tests.board.live import client
from tests.board.tools import entry_bytes, party
from tests.sessions.following.worlds import (
    Lying,
    Recorded,
    asked_for,
    board_with,
    by,
    recorded,
    said,
    selective,
)


def commits(record: Recorded, count: int = 5) -> Fetch:
    mine = [each for each in record.posted() if each.entry.phase == Phase.COMMIT]
    cut = max(each.index for each in mine if each.entry.round == 1) + 1
    return Fetch(Phase.COMMIT, 1, cut, record.parties[:count])


def entry_of(found: FoundEntry) -> tuple[bytes, int, int]:
    entry = Submission.decode(found.entry).entry
    return entry.author.data, entry.round, entry.seq


# Hiding


def test_a_copy_of_the_manifest_in_its_place_makes_nobody_the_organiser(
    tmp_path: Path, record: Recorded
) -> None:
    """Anybody can post what the organiser has posted: whom a lookup shows is not believed."""
    thief = party(901)
    original = Submission.decode(record.raws[0]).entry
    copy = sign_entry(replace(original, author=thief.public), thief)
    raws = [*record.raws, copy]
    right = by(record.organiser, record.posted(), 0, len(record.raws))
    transport = Lying()

    def swapped(wanted: Lookup, found: list[FoundEntry]) -> list[FoundEntry]:
        return found if wanted.authors else [FoundEntry(len(raws) - 1, copy)]

    async def work(url: str) -> None:
        for lie, readings in ((None, 0), (swapped, 1)):
            log = selective(url, record.session, transport)
            transport.entries = lie or (lambda _, found: found)
            try:
                assert await log.manifest() == record.manifest
                horizon = await log.grown(len(raws) - 1)
                assert await said(log, 0, horizon) == right
                assert log.readings == readings
            finally:
                await log.close()

    with board_with(tmp_path / "log", raws) as url:
        asyncio.run(work(url))


def test_what_an_answer_hides_is_found_by_reading(url: str, record: Recorded) -> None:
    wanted, victim = commits(record), record.parties[2]
    right = asked_for(record.posted(), wanted)
    transport = Lying()

    async def work() -> None:
        log = selective(url, record.session, transport)
        try:
            horizon = await log.grown(wanted.cut)
            assert await log.answer(wanted, horizon) == right
            transport.entries = lambda _, found: [e for e in found if entry_of(e)[0] != victim]
            shown = await log.answer(wanted, horizon)
            assert shown == tuple(each for each in right if each.entry.author.data != victim)
            assert log.readings == 0
            assert await log.complete(wanted, 0, horizon) == right
            assert log.readings == 1
        finally:
            await log.close()

    asyncio.run(work())


@pytest.mark.parametrize("hidden", [(0, 0), (1, 0), (1, 2), (2, 0)])
def test_a_gap_in_what_the_organiser_says_is_filled(
    hidden: tuple[int, int], url: str, record: Recorded
) -> None:
    """Whatever is hidden in front of something that is shown; the rest is late."""
    right = by(record.organiser, record.posted(), 0, len(record.raws))
    organiser = record.organiser
    transport = Lying()

    def hide(_: Lookup, found: list[FoundEntry]) -> list[FoundEntry]:
        return [each for each in found if entry_of(each) != (organiser, *hidden)]

    async def work() -> None:
        honest = selective(url, record.session)
        log = selective(url, record.session, transport)
        try:
            horizon = await honest.grown(len(record.raws) - 1)
            assert await said(honest, 0, horizon) == right
            assert honest.readings == 0
            assert await log.manifest() == record.manifest
            transport.entries = hide
            horizon = await log.grown(len(record.raws) - 1)
            assert await said(log, 0, horizon) == right
            assert log.readings == int(hidden != (0, 0))
        finally:
            await honest.close()
            await log.close()

    asyncio.run(work())


def test_the_newest_word_that_is_hidden_is_late_and_not_lost(url: str, record: Recorded) -> None:
    right = by(record.organiser, record.posted(), 0, len(record.raws))
    last = right[-1]
    transport = Lying()

    async def work() -> None:
        log = selective(url, record.session, transport)
        try:
            horizon = await log.grown(len(record.raws) - 1)
            transport.entries = lambda _, found: [e for e in found if e.index != last.index]
            assert await said(log, 0, horizon) == right[:-1]
            transport.entries = lambda _, found: found
            board = client(url)
            await asyncio.to_thread(board.submit, entry_bytes(0, author=77))
            horizon = await log.grown(horizon.size)
            assert await said(log, 0, horizon) == right
            assert log.readings == 0
        finally:
            await log.close()

    asyncio.run(work())


def test_the_second_entry_of_a_slot_does_not_count_where_both_are_shown(tmp_path: Path) -> None:
    """A board that hides the first shows signed evidence; reading the log tells."""
    record = recorded(1)
    mine = party(900)
    session = record.session
    first = entry_bytes(0, author=900, session=session, phase=3, body=b"first")
    second = entry_bytes(0, author=900, session=session, phase=3, body=b"second")
    raws = [*record.raws, first, second]
    wanted = Fetch(Phase.COMMIT, 0, len(raws), (mine.public.data,))
    transport = Lying()

    async def work(url: str) -> None:
        log = selective(url, session, transport)
        try:
            horizon = await log.grown(len(raws) - 1)
            both = await log.answer(wanted, horizon)
            assert [each.entry.body for each in both] == [b"first", b"second"]
            transport.entries = lambda _, found: found[1:]
            shown = await log.answer(wanted, horizon)
            assert [each.entry.body for each in shown] == [b"second"]
            assert await log.complete(wanted, 0, horizon) == both
        finally:
            await log.close()

    with board_with(tmp_path / "log", raws) as url:
        asyncio.run(work(url))


# Answers that are wrong


WRONG: dict[str, Callable[[Response], Response]] = {
    "reordered": lambda answer: rewritten(answer, lambda a: replace(a, found=a.found[::-1])),
    "moved": lambda answer: rewritten(
        answer,
        lambda a: replace(a, found=tuple(replace(e, index=e.index + 1) for e in a.found)),
    ),
    "wrong inclusion": lambda answer: rewritten(
        answer, lambda a: replace(a, proof=(bytes(32), *a.proof[1:]))
    ),
    "garbage": lambda answer: replace(answer, body=b"?" * 100),
    "no lookups here": lambda answer: replace(answer, status=404, body=b"not found"),
    "too wide": lambda answer: replace(
        answer, status=413, body=problem_body(Refused(RefusalReason.TOO_WIDE))
    ),
}


def rewritten(answer: Response, change: Callable[..., object]) -> Response:
    decoded = LOOKUP_ANSWER.decode(answer.body)
    return replace(answer, body=LOOKUP_ANSWER.encode(change(decoded)))  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_that_does_not_hold_is_replaced_by_the_log(
    wrong: Callable[[Response], Response], url: str, record: Recorded
) -> None:
    wanted, author = commits(record), record.parties[1]
    posted = record.posted()
    transport = Lying()

    async def work() -> None:
        log = selective(url, record.session, transport)
        try:
            horizon = await log.grown(wanted.cut)
            right = by(author, posted, 0, horizon.size)
            assert await log.own(author, 0, horizon.size, horizon) == right
            assert log.readings == 0
            transport.answer = lambda asked, answer: (
                wrong(answer) if asked.endswith("/v1/lookup") else answer
            )
            assert await log.answer(wanted, horizon) == asked_for(posted, wanted)
            assert await log.own(author, 0, horizon.size, horizon) == right
            assert log.readings > 1
        finally:
            await log.close()

    asyncio.run(work())


def test_a_board_without_lookups_is_read(url: str, record: Recorded) -> None:
    """As a static mirror is: all of it from the first question on."""
    transport = Lying()
    transport.answer = lambda asked, answer: (
        replace(answer, status=405, body=b"") if asked.endswith("/v1/lookup") else answer
    )

    async def work() -> None:
        log = selective(url, record.session, transport)
        try:
            assert await log.manifest() == record.manifest
            horizon = await log.spoken(0)
            found = await said(log, 0, horizon)
            assert found == by(record.organiser, record.posted(), 0, horizon.size)
        finally:
            await log.close()

    asyncio.run(work())


@pytest.mark.parametrize("status", [503, 429])
def test_a_busy_board_is_not_made_busier(status: int, url: str, record: Recorded) -> None:
    busy = problem_body(Refused(RefusalReason.BUSY if status == 503 else RefusalReason.QUOTA))
    transport = Lying()

    async def work() -> None:
        log = selective(url, record.session, transport)
        try:
            horizon = await log.grown(0)
            assert await log.answer(commits(record), horizon)
            transport.answer = lambda asked, answer: (
                Response(status, {"retry-after": "1"}, busy)
                if asked.endswith("/v1/lookup")
                else answer
            )
            with pytest.raises(NetworkError):
                await log.answer(commits(record), horizon)
            assert log.readings == 0
        finally:
            await log.close()

    asyncio.run(work())


class Diverted(HttpTransport):
    """A transport whose lookups go to another server, once it lies."""

    def __init__(self, elsewhere: str, *, seconds: float = 60.0) -> None:
        super().__init__(seconds=seconds)
        self.elsewhere, self.lying = elsewhere, False

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        target = self.elsewhere if url.endswith("/v1/lookup") and self.lying else url
        return super().request(method, target, body=body, media_type=media_type, limit=limit)


def test_a_gigantic_answer_is_cut_off(url: str, record: Recorded) -> None:
    with stubborn(b"x" * (LARGEST_ANSWER + 2**20)) as large:
        transport = HttpTransport()
        with pytest.raises(NetworkError):
            transport.request("GET", large, body=None, media_type="", limit=LARGEST_ANSWER)

        async def work() -> None:
            transport = Diverted(large)
            log = selective(url, record.session, transport)
            try:
                horizon = await log.grown(0)
                assert await log.answer(commits(record), horizon)
                transport.lying = True
                with pytest.raises(NetworkError):
                    await log.answer(commits(record), horizon)
            finally:
                await log.close()

        asyncio.run(work())


def test_a_trickle_is_given_up(url: str, record: Recorded) -> None:
    with stubborn(b"x" * 1_000, pause=0.1) as slow:

        async def work() -> None:
            transport = Diverted(slow, seconds=0.5)
            log = selective(url, record.session, transport)
            try:
                horizon = await log.grown(0)
                assert await log.answer(commits(record), horizon)
                transport.lying, begun = True, time.monotonic()
                with pytest.raises(NetworkError):
                    await log.answer(commits(record), horizon)
                assert time.monotonic() - begun < 60  # a whole trickle takes 100 seconds
            finally:
                await log.close()

        asyncio.run(work())


@contextmanager
def stubborn(body: bytes, pause: float = 0.0) -> Iterator[str]:
    """A server that answers everything with these bytes, one at a time if there is a pause."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                for at in range(len(body)) if pause else (0,):
                    self.wfile.write(body[at : at + 1] if pause else body)
                    self.wfile.flush()
                    time.sleep(pause)
            except OSError:
                return

        do_GET = do_POST = answer  # noqa: N815 - the names that the server calls

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
