"""Peers that never stop, never read or look for what is not there."""

from __future__ import annotations

import json
import socket
import time
from asyncio import TimerHandle
from collections.abc import Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Queue
from threading import Event
from urllib.parse import urlsplit

import pytest

from bulletin_board.admission import Refused
from bulletin_board.server import connection as connection_module
from bulletin_board.server import limits as limits_module
from bulletin_board.server.connection import BoundedConnection
from bulletin_board.server.limits import RateLimit, ServerLimits
from bulletin_board.server.metrics import Metrics
from bulletin_board.server.static import OutgrownFiles, live_directory
from bulletin_board.server.view import NoView, SessionPicture, overview
from bulletin_board.source import DirectorySource, MemorySource, MissingResource
from tests.board.asking import ask, head, post, raw_exchange
from tests.board.live import live_board
from tests.board.tools import append, entry_bytes, new_board, open_log, submissions
from tests.board.waiting import LONG, until
from wire.errors import MalformedMessage


@pytest.fixture(scope="module")
def url(scratch: Path) -> Iterator[str]:
    with live_board(scratch / "log") as url:
        yield url


def socket_to(url: str) -> socket.socket:
    target = urlsplit(url)
    return socket.create_connection((str(target.hostname), target.port or 0), LONG)


def is_dropped(connection: socket.socket) -> bool:
    connection.settimeout(LONG)
    try:
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def sent_until_cut_off(connection: socket.socket, start: bytes, more: bytes, most: int) -> int:
    sent = 0
    try:
        connection.sendall(start)
        while sent < most:
            connection.sendall(more)
            sent += len(more)
    except OSError:
        pass
    return sent


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_SECONDS", 0.5)


REQUEST_LINE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "endless",
    [
        (REQUEST_LINE, b"X-A: " + b"a" * 1_000 + b"\r\n"),
        (REQUEST_LINE + b"X-A: ", b"a" * 1_000),
        (REQUEST_LINE, b"a" * 1_000),
        (b"GET /", b"a" * 1_000),
        (head("Transfer-Encoding: chunked") + b"0\r\n", b"X-A: " + b"a" * 1_000 + b"\r\n"),
        (head("Transfer-Encoding: chunked") + b"0\r\nX-A: ", b"a" * 1_000),
        (head("Transfer-Encoding: chunked") + b"1;", b"a" * 1_000),
    ],
)
def test_an_endless_head_is_cut_off(url: str, endless: tuple[bytes, bytes]) -> None:
    assert ask(url, "GET", "/healthz", headers={"X-A": "a" * 10_000}).status == 200
    start, more = endless
    with socket_to(url) as connection:
        sent = sent_until_cut_off(connection, start, more, 5_000_000)
    assert sent < 5_000_000


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "sent", [b"", b"\r\n", b"GET / HT", REQUEST_LINE, head("Content-Length: 9")]
)
def test_a_request_that_never_ends_is_given_up(tmp_path: Path, sent: bytes) -> None:
    with live_board(tmp_path / "log") as url, socket_to(url) as connection:
        connection.sendall(sent)
        assert is_dropped(connection)


def test_empty_lines_do_not_hold_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_board(tmp_path / "log") as url, socket_to(url) as connection:
        connection.sendall(REQUEST_LINE + b"\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(connection_module, "REQUEST_SECONDS", 0.5)
        connection.sendall(b"\r\n")
        assert is_dropped(connection)


def count_is(items: Sized, count: int) -> bool:
    return len(items) == count


def test_a_connection_serves_longer_than_one_request_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request has a time of its own, which ends with it."""
    timers: list[TimerHandle] = []
    begin = BoundedConnection._expect_request

    def expect(connection: BoundedConnection) -> None:
        begin(connection)
        assert connection._request_timer is not None
        timers.append(connection._request_timer)

    monkeypatch.setattr(BoundedConnection, "_expect_request", expect)
    with live_board(tmp_path / "log") as url, socket_to(url) as connection:
        for number in range(1, 5):
            connection.sendall(REQUEST_LINE)
            assert until(partial(count_is, timers, number))
            assert not timers[-1].cancelled()
            connection.sendall(b"\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
            assert all(timer.cancelled() for timer in timers)


def test_a_reader_that_does_not_read_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was sent is not kept for it, and goes back to the budget."""
    limits = ServerLimits(sending_bytes=20_000_000)
    with live_board(tmp_path / "log", limits=limits) as url:
        raws = [entry_bytes(n, body=bytes(60_000)) for n in range(256)]
        with ThreadPoolExecutor(16) as pool:
            assert {answer.status for answer in pool.map(lambda raw: post(url, raw), raws)} == {201}
        whole = ask(url, "GET", "/tile/entries/000")
        assert len(whole.body) > 15_000_000
        with socket_to(url) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            with stalling(monkeypatch) as stalled:
                connection.sendall(b"GET /tile/entries/000 HTTP/1.1\r\nHost: x\r\n\r\n")
                found = stalled.get(timeout=LONG)
                busy = ask(url, "GET", "/tile/entries/000")
                assert (busy.status, busy.problem) == (503, "busy")
                assert ask(url, "GET", "/checkpoint").status == 200
            assert time_passes(found, monkeypatch)
            assert until(lambda: ask(url, "GET", "/tile/entries/000").body == whole.body)
            assert found.transport.is_closing()


@contextmanager
def stalling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue[BoundedConnection]]:
    """Connections that wait for their readers; their time does not begin."""
    stalled: Queue[BoundedConnection] = Queue()

    def expect(connection: BoundedConnection) -> None:
        stalled.put(connection)

    with monkeypatch.context() as patch:
        patch.setattr(BoundedConnection, "_expect_reader", expect)
        yield stalled


def time_passes(connection: BoundedConnection, monkeypatch: pytest.MonkeyPatch) -> bool:
    """The time of the reader begins, and is short."""
    begun = Event()

    def begin() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(connection_module, "STALLED_SECONDS", 0.1)
            connection._expect_reader()
        begun.set()

    connection.loop.call_soon_threadsafe(begin)
    return begun.wait(LONG)


def test_heads_of_static_files_have_no_body(url: str) -> None:
    assert ask(url, "GET", "/checkpoint").status == 200
    found = ask(url, "HEAD", "/checkpoint")
    assert (found.status, found.body) == (200, b"")
    assert int(found.headers["content-length"]) > 0


def test_the_host_header_leads_nowhere(url: str) -> None:
    for path in ("/checkpoint/", "/healthz/", "/v1/entries/"):
        answer = ask(url, "GET", path, headers={"Host": "evil.example"})
        assert answer.status == 404
        assert "location" not in answer.headers
    for host in ("x/tile/entries/000?", "x#", "x\\", "["):
        answer = ask(url, "GET", "/checkpoint", headers={"Host": host})
        assert answer.body.startswith(b"board.example/log\n")


def test_a_length_in_many_digits_is_no_error_of_the_server(url: str) -> None:
    assert b" 413 " in raw_exchange(url, head("Content-Length: 70000"))
    answer = raw_exchange(url, head(f"Content-Length: {'0' * 5_000}1", "Connection: close"), b"x")
    assert b"HTTP/1.1 5" not in answer


def test_counts_are_exact() -> None:
    assert "gopa_board_entries 12345678\n" in Metrics().render({"entries": 12_345_678})


def test_older_partial_files_are_there_while_the_log_grows(tmp_path: Path) -> None:
    """Between the removal of outgrown files and the end of a commit, nothing is missing."""
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(300))
    source = live_directory(board.public)
    missing: list[str] = []
    remove = log._storage.public.remove

    def remove_and_read(paths: Iterable[str]) -> None:
        outgrown = list(paths)
        remove(outgrown)
        for path in outgrown:
            assert source.fetch(path, 10**6)
            missing.append(path)

    log._storage.public.remove = remove_and_read  # type: ignore[method-assign]
    append(log, submissions(5, 300))
    log.close()
    assert "tile/0/001.p/44" in missing
    app_source = OutgrownFiles(DirectorySource(board.public))
    assert len(app_source.fetch("tile/0/001.p/44", 10**6)) == 44 * 32
    with pytest.raises(MissingResource):
        app_source.fetch("tile/0/001.p/50", 10**6)


def test_a_flood_of_sessions_keeps_the_page_small_and_cheap() -> None:
    census = {(n.to_bytes(32), phase): 1 + n % 7 for n in range(40_000) for phase in (2, 1)}
    started = time.thread_time()
    document = overview("x", "x", 80_000, census, {}, NoView())
    assert time.thread_time() - started < LONG / 2  # all of them for each would take minutes
    sessions = document["sessions"]
    assert isinstance(sessions, list)
    assert len(sessions) == 100
    assert sessions[0]["id"] == (6).to_bytes(32).hex()
    assert [phase["name"] for phase in sessions[0]["phases"]] == ["phase 1", "phase 2"]


def test_the_overview_is_made_once_for_many(tmp_path: Path) -> None:
    calls: list[bytes] = []

    class Counting(NoView):
        def picture(self, session: bytes) -> SessionPicture | None:
            calls.append(session)
            return None

    limits = ServerLimits(overview_seconds=3_600.0)
    with live_board(tmp_path / "log", view=Counting(), limits=limits) as url:
        assert post(url, entry_bytes(0)).status == 201
        for _ in range(5):
            assert json.loads(ask(url, "GET", "/v1/overview").body)["size"] == 1
    assert len(calls) == 1


def test_the_memory_of_rates_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "_AUTHORS_REMEMBERED", 10)
    rate = RateLimit(0.001, 1, lambda: 0.0)
    for number in range(100):
        rate.take(number.to_bytes(4))
    assert len(rate._buckets) == 10
    with pytest.raises(Refused):
        rate.take((99).to_bytes(4))


def test_a_source_returns_no_more_than_it_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(11))
    for source in (DirectorySource(tmp_path), MemorySource({"file": bytes(11)})):
        assert len(source.fetch("file", 11)) == 11
        with pytest.raises(MalformedMessage):
            source.fetch("file", 10)
