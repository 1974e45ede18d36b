"""Peers that never stop, never read or look for what is not there."""

from __future__ import annotations

import json
import socket
import time
from asyncio import TimerHandle
from collections.abc import Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from queue import Queue
from threading import Event
from urllib.parse import urlsplit

import pytest

from bulletin_board.admission import Refused
from bulletin_board.compression import without_encoding
from bulletin_board.reader import DirectorySource, MemorySource, MissingResource
from bulletin_board.server import accepting, quotas
from bulletin_board.server import connection as connection_module
from bulletin_board.server.connection import BoundedConnection
from bulletin_board.server.metrics import Metrics
from bulletin_board.server.page import NoView, SessionPicture, overview
from bulletin_board.server.public_files import OutgrownFiles, ResourceInPieces, live_directory
from bulletin_board.server.quotas import RateLimit
from bulletin_board.server.service import ServerLimits
from tests.board.asking import ask, head, post, raw_exchange
from tests.board.live import client, live_board
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


@pytest.fixture(scope="module")
def large(scratch: Path) -> Iterator[str]:
    """A board with a bundle of 15 MB, and hardly any room for answers that it holds in memory."""
    with live_board(scratch / "large", limits=ServerLimits(sending_bytes=1_000)) as url:
        raws = [entry_bytes(n, body=bytes(60_000)) for n in range(256)]
        with ThreadPoolExecutor(16) as pool:
            assert {answer.status for answer in pool.map(lambda raw: post(url, raw), raws)} == {201}
        yield url


BUNDLE = b"GET /tile/entries/000 HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.slow
def test_readers_that_do_not_read_keep_nobody_from_reading(
    large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are sent is not kept for them, and after a while they are dropped."""
    whole = ask(large, "GET", "/tile/entries/000")
    assert len(whole.body) > 15_000_000
    with ExitStack() as stack:
        with stalling(monkeypatch) as stalled:
            for _ in range(10):
                connection = stack.enter_context(socket_to(large))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                connection.sendall(BUNDLE)
            found = [stalled.get(timeout=LONG) for _ in range(10)]
            assert ask(large, "GET", "/tile/entries/000").body == whole.body
        assert time_passes(found[0], monkeypatch)
        assert until(found[0].transport.is_closing)


@pytest.mark.slow
def test_a_reader_has_to_keep_up_an_average(large: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads a little whenever it would be dropped, is dropped all the same."""
    monkeypatch.setattr(connection_module, "STALLED_SECONDS", 1.0)
    with socket_to(large) as connection:
        connection.sendall(BUNDLE)
        assert received(connection) > 15_000_000
    dropped: set[object] = set()
    lost = BoundedConnection.connection_lost

    def losing(server: BoundedConnection, error: Exception | None) -> None:
        dropped.add(server.client)
        lost(server, error)

    monkeypatch.setattr(BoundedConnection, "connection_lost", losing)
    monkeypatch.setattr(connection_module, "READ_BYTES_PER_SECOND", 10**8)
    with socket_to(large) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(BUNDLE)
        count, mine = 0, connection.getsockname()
        while mine not in dropped and count < 15_000_000:
            time.sleep(0.01)
            count += len(connection.recv(65_536))
        assert count < 15_000_000


def received(connection: socket.socket) -> int:
    """Bytes until the end of the bundle, or of the connection."""
    count = 0
    try:
        while count < 15_400_000:
            data = connection.recv(65_536)
            if not data:
                break
            count += len(data)
    except OSError:
        pass
    return count


def test_a_body_has_to_keep_up_an_average(tmp_path: Path) -> None:
    """Time for the first byte, and more for what has come."""
    hasty = ServerLimits(body_seconds=1.0, body_rate=10_000.0)
    with live_board(tmp_path / "log", limits=hasty) as url:
        raw = entry_bytes(0, body=bytes(30_000))
        start = head(f"Content-Length: {len(raw)}", "Connection: close")
        for size, status in ((10_000, b" 201 "), (500, b" 503 ")):
            with socket_to(url) as connection:
                connection.sendall(start)
                for begin in range(0, len(raw), size):
                    time.sleep(0.3)
                    try:
                        connection.sendall(raw[begin : begin + size])
                    except OSError:
                        break
                    if begin > 10 * size and status == b" 503 ":
                        break
                assert status in connection.recv(65_536)


def test_idle_connections_keep_nobody_out(tmp_path: Path) -> None:
    """Whoever has waited longest for its peer gives way; requests that run do not."""
    with live_board(tmp_path / "log", connections=20) as url, ExitStack() as stack:
        assert post(url, entry_bytes(0)).status == 201
        idle = []
        for sent in (b"", REQUEST_LINE, head("Content-Length: 9") + b"x") * 20:
            idle.append(stack.enter_context(socket_to(url)))
            idle[-1].sendall(sent)
        for number in range(1, 40):
            assert post(url, entry_bytes(number)).status == 201
        assert is_dropped(idle[0])


def test_an_address_has_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the machine itself, where a proxy speaks for everybody."""
    with live_board(tmp_path / "log") as url, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(socket_to(url))
        assert ask(url, "GET", "/healthz").status == 200
        monkeypatch.setattr(accepting, "origins_of", lambda address: {address: 1})
        for _ in range(5):
            connection = stack.enter_context(socket_to(url))
            connection.sendall(REQUEST_LINE + b"\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        assert is_dropped(stack.enter_context(socket_to(url)))


def padded(size: int, *lines: bytes) -> bytes:
    """A head of so many bytes."""
    start = b"\r\n".join([b"GET /healthz HTTP/1.1", b"Host: x", *lines, b"X-A: "])
    return start + b"a" * (size - len(start) - 4) + b"\r\n\r\n"


@pytest.mark.parametrize("step", [1 << 20, 1_000, 16_384], ids=["whole", "pieces", "limit"])
def test_heads_have_a_length(url: str, step: int) -> None:
    for size, status in ((16_384, b" 200 "), (16_385, b" 431 "), (40_000, b" 431 ")):
        raw = padded(size, b"Connection: close")
        assert len(raw) == size
        parts = [raw[start : start + step] for start in range(0, size, step)]
        answer = raw_exchange(url, *parts)
        assert status in answer or (size > 16_384 and not answer)  # what is cut off may be lost


def test_blanks_count_as_part_of_a_head(url: str) -> None:
    for blanks, status in ((10_000, b" 200 "), (16_384, b" 431 "), (200_000, b" 431 ")):
        spaced = REQUEST_LINE + b"Connection: close\r\nX-A:" + b" " * blanks + b"a\r\n\r\n"
        assert status in raw_exchange(url, spaced)


def test_requests_in_a_row_are_answered_in_order(url: str) -> None:
    raw = entry_bytes(0, author=9)
    first = head(f"Content-Length: {len(raw)}") + raw
    answer = raw_exchange(url, first + padded(9_000) + padded(16_384, b"Connection: close"))
    assert answer.count(b"HTTP/1.1 201 ") == 1
    assert answer.count(b"HTTP/1.1 200 ") == 2
    assert answer.index(b" 201 ") < answer.index(b" 200 ")
    long = raw_exchange(url, padded(9_000) + padded(16_385, b"Connection: close"))
    assert long.count(b"HTTP/1.1 200 ") <= 1
    assert b"HTTP/1.1 200 OK" not in long.partition(b" 431 ")[2]


def test_nothing_behind_a_refused_head_is_done(url: str) -> None:
    raw = entry_bytes(0, author=11)
    behind = head(f"Content-Length: {len(raw)}") + raw
    raw_exchange(url, padded(100) + padded(16_400) + behind)
    assert post(url, raw).status == 201


SMUGGLED = [
    b"Content-Length: 1\r\nContent-Length: 2",
    b"Content-Length: 1, 1",
    b"Content-Length: +1",
    b"Content-Length: 0x1",
    b"Content-Length: 1\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 1",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding\r\n: chunked",
    b"Content-Length : 1",
    b" Content-Length: 1",
    b"Content-Length: 1\r\n folded: x",
    b"X-A: a\x00b",
    b"X-A: a\rb",
    b"no colon",
]


@pytest.mark.parametrize("lines", SMUGGLED)
@pytest.mark.parametrize("step", [1 << 20, 1], ids=["whole", "bytes"])
def test_heads_that_two_readers_may_read_differently_are_refused(
    url: str, lines: bytes, step: int
) -> None:
    for added, status in ((b"X-B: b", b" 422 "), (lines, b" 400 ")):
        body = b"Content-Length: 1" if added == b"X-B: b" else b"X-C: c"
        start = head("Connection: close")[:-2] + body + b"\r\n" + added + b"\r\n\r\nx"
        parts = [start[at : at + step] for at in range(0, len(start), step)]
        assert answered(raw_exchange(url, *parts), status)


@pytest.mark.parametrize("chunk", [b"1x\r\nx", b"-1\r\nx", b"1 \r\nx", b"1\nx", b"1\r\nxx", b"g"])
@pytest.mark.parametrize("step", [1 << 20, 1], ids=["whole", "bytes"])
def test_chunks_that_are_none_are_refused(url: str, chunk: bytes, step: int) -> None:
    start = head("Connection: close", "Transfer-Encoding: chunked")
    for raw, status in ((b"1\r\nx", b" 422 "), (chunk, b" 400 ")):
        data = start + raw + b"\r\n0\r\n\r\n"
        parts = [data[at : at + step] for at in range(0, len(data), step)]
        assert answered(raw_exchange(url, *parts), status)


def answered(answer: bytes, status: bytes) -> bool:
    """With this status and nothing else; what is refused while it is sent may find no answer."""
    once = answer.count(b"HTTP/1.1 ") == 1
    return (status in answer and once) or (status == b" 400 " and not answer)


@pytest.mark.slow
def test_bundles_come_in_gzip_if_asked_for(url: str, large: str) -> None:
    assert post(url, entry_bytes(0, author=10, body=bytes(9_000))).status == 201
    size = int(ask(url, "GET", "/checkpoint").body.split(b"\n")[1])
    path = f"/tile/entries/000.p/{size}"
    plain = ask(url, "GET", path)
    zipped = ask(url, "GET", path, headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert len(zipped.body) < len(plain.body)
    assert without_encoding(zipped.body, "gzip", 10**6) == plain.body
    assert plain.headers["vary"] == zipped.headers["vary"] == "Accept-Encoding"
    for where, other in ((url, "/checkpoint"), (large, "/tile/entries/000")):
        answer = ask(where, "GET", other, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in answer.headers
        assert answer.body == ask(where, "GET", other).body
    assert client(url).reader().size == size


def test_an_outgrown_bundle_is_cut_out_of_what_grew(tmp_path: Path) -> None:
    """Also if its file goes away while somebody reads it."""
    log = open_log(new_board(tmp_path / "log"))
    append(log, submissions(20, size=40_000))
    source = DirectorySource(tmp_path / "log" / "public")
    raw = source.fetch("tile/entries/000.p/20", 10**7)
    pieces = ResourceInPieces("tile/entries/000.p/20", source)
    found = pieces.begin()
    assert len(found) < pieces.length == len(raw)
    append(log, submissions(3, 20))
    log.close()
    with pytest.raises(MissingResource):
        source.fetch("tile/entries/000.p/20", 10**7)
    assert found + pieces.part(len(found), pieces.length) == raw
    older = ResourceInPieces("tile/entries/000.p/7", source)
    begun = older.begin()
    assert begun + older.part(len(begun), older.length) == raw[: older.length]
    with pytest.raises(MissingResource):
        ResourceInPieces("tile/entries/000.p/24", source).begin()


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
    busiest = [(6 + 7 * n).to_bytes(32).hex() for n in range(100)]
    assert [each["id"] for each in sessions] == busiest[::-1]  # the newest first
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
    monkeypatch.setattr(quotas, "_REMEMBERED", 10)
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
