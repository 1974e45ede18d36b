"""The HTTP interface on a real socket."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette  # noqa: TC002 - a light module
from starlette.concurrency import run_in_threadpool

from bulletin_board import reader
from bulletin_board.admission import Refused, RosterAdmission
from bulletin_board.fsck import fsck_directory
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import CHECKPOINT, DirectorySource, MemorySource, MissingResource
from bulletin_board.receipt import Receipt, verify_receipt
from bulletin_board.server import app
from bulletin_board.server.connection import MOST_WAITING
from bulletin_board.server.public_files import PIECE, find_resource
from bulletin_board.server.quotas import RateLimit
from bulletin_board.server.run import start_board
from bulletin_board.server.service import ServerLimits
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.tree import resources
from tests.board.asking import ask, head, post, raw_exchange
from tests.board.live import free_port, live_board, write_certificate
from tests.board.tools import (
    anyone,
    append,
    entry_bytes,
    filled_board,
    log_key,
    memory_log,
    new_board,
    open_log,
    party,
    signer,
    submissions,
    trust,
)
from tests.board.waiting import LONG, until
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import UsageError

WRITER = "board-committer"
"""The name of the thread that owns a log."""


@pytest.fixture(scope="module")
def url(scratch: Path) -> Iterator[str]:
    with live_board(scratch / "log") as url:
        yield url


@pytest.fixture(scope="module")
def hasty(scratch: Path) -> Iterator[str]:
    """A board that waits for a body no longer than a second."""
    with live_board(scratch / "hasty", limits=ServerLimits(body_seconds=1.0)) as url:
        yield url


def test_a_post_is_answered_with_a_proof(url: str) -> None:
    raw = entry_bytes(0, author=1)
    answer = post(url, raw)
    assert answer.status == 201
    found = verify_receipt(Receipt.parse(answer.body), raw, log_key())
    again = post(url, raw)
    assert again.status == 200
    assert Receipt.parse(again.body).index == found.index


def test_a_conflict(url: str) -> None:
    assert post(url, entry_bytes(0, author=2)).status == 201
    first = post(url, entry_bytes(0, author=2, body=b"other"))
    later = post(url, entry_bytes(0, author=2, body=b"third"))
    assert (first.status, first.problem) == (later.status, later.problem) == (409, "conflict")
    documents = [json.loads(answer.body) for answer in (first, later)]
    assert documents[0]["evidence"] == documents[1]["evidence"]


def test_refusals(url: str) -> None:
    raw = entry_bytes(0, author=3)
    assert post(url, raw).status == 201
    flipped = raw[:-1] + bytes([raw[-1] ^ 1])
    assert post(url, flipped).problem == "signature"
    assert post(url, flipped).status == 401
    assert (post(url, raw[:-1]).status, post(url, raw[:-1]).problem) == (422, "malformed")
    assert post(url, raw + b"\0").problem == "malformed"
    assert post(url, b"").problem == "malformed"
    assert post(url, raw, "application/json").status == 415
    assert post(url, raw, "").problem == "media-type"


def test_a_body_is_of_one_type_and_not_encoded(url: str) -> None:
    """Who checks the other type, or what is inside, would see something else than the board."""
    raw = entry_bytes(0, author=7)
    close, size = "Connection: close", f"Content-Length: {len(raw)}"
    for line in ("Content-Type: text/plain", f"Content-Type: {ENTRY_PAYLOAD_TYPE}"):
        assert b" 415 " in raw_exchange(url, head(line, size, close), raw)
    for encoding in ("gzip", "deflate", "identity, gzip", ""):
        answer = raw_exchange(url, head(f"Content-Encoding: {encoding}", size, close), raw)
        assert answer.startswith(b"HTTP/1.1 415 ")
    plain = raw_exchange(url, head("Content-Encoding: identity", size, close), raw)
    assert plain.startswith(b"HTTP/1.1 201 ")


def test_few_requests_wait_on_one_connection(url: str) -> None:
    """Each costs its peer some bytes, and the board a thousand, until the answers are read."""
    request = b"GET /checkpoint HTTP/1.1\r\nHost: x\r\n\r\n"
    last = request.replace(b"Host", b"Connection: close\r\nHost")
    answers = raw_exchange(url, request * MOST_WAITING + last)
    assert answers.count(b"HTTP/1.1 200 ") == MOST_WAITING + 1
    answers = raw_exchange(url, request * 5_000)
    assert answers.count(b"HTTP/1.1 200 ") == MOST_WAITING + 1
    assert answers.lower().count(b"connection: close") == 1


def test_sizes(url: str) -> None:
    assert post(url, entry_bytes(1, author=3, body=bytes(60_000))).status == 201
    assert post(url, bytes(65_535)).status == 422
    assert post(url, bytes(65_536)).status == 413
    assert post(url, bytes(65_536)).headers["connection"] == "close"


def test_a_chunked_body_over_the_cap_is_cut_off(url: str) -> None:
    chunk = b"2000\r\n" + bytes(0x2000) + b"\r\n"
    assert b" 413 " in raw_exchange(url, head("Transfer-Encoding: chunked"), *[chunk] * 9)


def test_a_slow_body_is_given_up(hasty: str) -> None:
    answer = raw_exchange(hasty, head("Content-Length: 100", "Connection: close"), b"x")
    assert b" 503 " in answer


def test_static_files_and_their_headers(url: str) -> None:
    post(url, entry_bytes(0, author=4))
    checkpoint = ask(url, "GET", "/checkpoint")
    assert checkpoint.headers["cache-control"] == "no-cache"
    assert checkpoint.headers["content-type"] == "text/plain; charset=utf-8"
    size = int(checkpoint.body.split(b"\n")[1])
    tile = ask(url, "GET", f"/tile/0/000.p/{size}")
    assert tile.status == 200
    assert len(tile.body) == 32 * size
    assert "immutable" in tile.headers["cache-control"]
    assert tile.headers["content-type"] == "application/octet-stream"
    older = ask(url, "GET", "/tile/0/000.p/1")
    assert older.body == tile.body[:32]
    bundle = ask(url, "GET", f"/tile/entries/000.p/{size}")
    assert bundle.body.startswith(ask(url, "GET", "/tile/entries/000.p/1").body)


@pytest.mark.parametrize(
    "path",
    [
        "/tile/0/000",
        "/tile/0/000.p/255",
        "/tile/0/001.p/1",
        "/tile/../../key",
        "/tile/%2e%2e/%2e%2e/key",
        "/tile/entries/..%2f..%2f..%2fkey",
        "/tile/0/000.p/01",
        "/key",
        "/index.sqlite",
        "/public/checkpoint",
        "/checkpoint/",
        "/tile/" + "x000/" * 500,
    ],
)
def test_nothing_else_is_served(url: str, path: str) -> None:
    assert ask(url, "GET", "/checkpoint").status == 200
    answer = ask(url, "GET", path)
    assert answer.status in {404, 307, 405}
    assert b"PRIVATE" not in answer.body


def test_files_in_memory_keep_no_thread_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads take turns, and with many readers wait most of the time; a disk may take long."""
    board = filled_board(tmp_path / "log", submissions(256, size=3_000))
    bundle = (board.public / "tile/entries/000").read_bytes()
    threads = []

    async def counted(work: Callable[[], bytes]) -> bytes:
        threads.append(work)
        return await run_in_threadpool(work)

    monkeypatch.setattr(app, "run_in_threadpool", counted)
    with live_board(board.root) as url:
        assert ask(url, "GET", "/tile/entries/000").body == bundle
        assert ask(url, "GET", "/tile/0/000").body == (board.public / "tile/0/000").read_bytes()
        assert ask(url, "GET", "/checkpoint").status == 200
        assert not threads
        (board.public / "tile/0/000").write_bytes(bytes(8_193))
        assert ask(url, "GET", "/tile/0/000").status == 404
        threads.clear()
        monkeypatch.setattr(reader, "_in_memory", lambda *_: b"")
        assert ask(url, "GET", "/tile/entries/000").body == bundle
        assert len(threads) == -(-len(bundle) // PIECE)
        monkeypatch.setattr(DirectorySource, "part", lambda *_: b"")
        with pytest.raises(http.client.IncompleteRead):
            ask(url, "GET", "/tile/entries/000")


def test_documents(url: str) -> None:
    assert post(url, entry_bytes(0, author=8)).status == 201
    manifest = json.loads(ask(url, "GET", "/v1/manifest").body)
    assert manifest["log"] == str(log_key())
    policy = ask(url, "GET", "/v1/policy").body
    assert policy == trust().to_bytes()
    assert ask(url, "GET", "/healthz").status == 200
    metrics = ask(url, "GET", "/metrics").body.decode()
    assert "gopa_board_healthy 1" in metrics
    assert 'gopa_board_posts_total{outcome="created"}' in metrics


def test_100_concurrent_posts_to_one_slot(url: str) -> None:
    bodies = [entry_bytes(0, author=5, body=bytes([n])) for n in range(100)]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda body: post(url, body), bodies))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 99
    assert len({json.loads(a.body)["evidence"] for a in answers if a.status == 409}) == 1


PATHS = st.sampled_from(
    ["/v1/entries", "/checkpoint", "/tile/", "/tile/0/000", "/v1/overview", "/healthz", "/", "/x"]
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"])
HEADERS = st.dictionaries(
    st.sampled_from(["Content-Type", "Accept", "Range", "If-None-Match", "Expect-Not", "X-A"]),
    st.one_of(st.just(ENTRY_PAYLOAD_TYPE), st.text('abc/;=*"%', max_size=30)),
)


@settings(max_examples=150, deadline=None)
@given(METHODS, PATHS, st.text("abc0123%./x?&=", max_size=20), HEADERS, st.binary(max_size=400))
def test_no_request_makes_the_server_fail(  # noqa: PLR0917 - one argument for each part
    url: str, method: str, path: str, more: str, headers: dict[str, str], body: bytes
) -> None:
    answer = ask(url, method, path + more, body, headers)
    assert answer.status < 500


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_bytes_on_the_wire_make_the_server_fail(hasty: str, data: st.DataObject) -> None:
    request = bytearray(head("Content-Length: 3", "Connection: close") + b"abc")
    for _ in range(data.draw(st.integers(1, 5))):
        request[data.draw(st.integers(0, len(request) - 1))] = data.draw(st.integers(0, 255))
    received = raw_exchange(hasty, bytes(request) + b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert b"HTTP/1.1 5" not in received or b" 503 " in received
    assert ask(hasty, "GET", "/healthz").status == 200


def test_unregistered_keys_and_quotas(tmp_path: Path) -> None:
    def roster() -> RosterAdmission:
        return RosterAdmission([party(1).public.data], quota=2)

    with live_board(tmp_path / "log", admission=roster) as url:
        assert post(url, entry_bytes(0, author=1)).status == 201
        assert (post(url, entry_bytes(0, author=2)).status) == 403
        assert post(url, entry_bytes(1, author=1)).status == 201
        assert post(url, entry_bytes(2, author=1)).problem == "quota"


def test_rates(tmp_path: Path) -> None:
    with live_board(tmp_path / "log", limits=ServerLimits(posts_per_second=0.01, burst=2)) as url:
        answers = [post(url, entry_bytes(n)) for n in range(3)]
        assert [answer.status for answer in answers] == [201, 201, 429]
        assert int(answers[2].headers["retry-after"]) > 1
        assert post(url, entry_bytes(0, author=1)).status == 201


def test_what_strangers_repeat_does_not_use_up_an_author_s_rate(tmp_path: Path) -> None:
    """Entries are public: anybody can post them again, and its author still gets a turn."""
    with live_board(tmp_path / "log", limits=ServerLimits(posts_per_second=0.01, burst=3)) as url:
        public = [entry_bytes(n) for n in range(2)]
        assert [post(url, raw).status for raw in public] == [201, 201]
        assert {post(url, raw).status for raw in public * 10} == {200}
        assert post(url, entry_bytes(2)).status == 201
        assert post(url, entry_bytes(3)).status == 429


def test_a_clock_that_runs_backwards_gives_nothing_away() -> None:
    now = [100.0]
    rate = RateLimit(1.0, 1, lambda: now[0])
    rate.take(b"a")
    now[0] = 50.0
    with pytest.raises(Refused):
        rate.take(b"a")
    now[0] = 51.5
    rate.take(b"a")


def test_stale_and_broken_logs_are_not_healthy(tmp_path: Path) -> None:
    with live_board(tmp_path / "log", limits=ServerLimits(stale_seconds=-1)) as url:
        assert ask(url, "GET", "/healthz").status == 503
        assert "gopa_board_healthy 0" in ask(url, "GET", "/metrics").body.decode()


@pytest.mark.slow
def test_a_full_disk_is_not_called_healthy_in_between(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It has room for what opening a log writes, and none for what is posted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    place, full = new_board(tmp_path / "log"), 200_000
    with live_board(place.root) as url:
        assert post(url, entry_bytes(0, body=bytes(1_000))).status == 201
        assert place.index_path.stat().st_size < full
        seen = []
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (full, hard))
            seq = 1
            while post(url, entry_bytes(seq, body=bytes(60_000))).status == 201:
                seq += 1
            caplog.clear()
            while len(caplog.records) < 3:  # attempts to open it again
                seen.append(ask(url, "GET", "/healthz").status)
                assert post(url, entry_bytes(seq, body=bytes(60_000))).status == 503
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert set(seen) == {503}
        assert until(lambda: ask(url, "GET", "/healthz").status == 200)
        assert post(url, entry_bytes(seq, body=bytes(60_000))).status == 201
        assert not (place.scratch / "room").exists()


def test_a_board_whose_log_was_taken_over_says_so(tmp_path: Path) -> None:
    with live_board(tmp_path / "log") as url:
        assert post(url, entry_bytes(0)).status == 201
        assert ask(url, "GET", "/healthz").status == 200
        newer = open_log(BoardDirectory(tmp_path / "log"))
        refused = post(url, entry_bytes(1))
        assert (refused.status, refused.problem) == (503, "unavailable")
        assert int(refused.headers["retry-after"]) >= 1
        health = ask(url, "GET", "/healthz")
        assert health.status == 503
        assert b"not written any more" in health.body
        assert "gopa_board_healthy 0" in ask(url, "GET", "/metrics").body.decode()
        assert until(lambda: ask(url, "GET", "/v1/overview").status == 503)
        assert ask(url, "GET", "/checkpoint").status == 200
        newer.check()
        newer.close()


async def live(app: Starlette) -> None:
    """From start to end: a board that never lives writes on, where its folder is gone already."""
    async with app.router.lifespan_context(app):
        pass


def test_a_board_has_the_policy_of_its_own_log(tmp_path: Path) -> None:
    place, threads = new_board(tmp_path / "log"), set(threading.enumerate())
    with ExitStack() as stack:
        asyncio.run(live(start_board(place, signer(), trust(), anyone, stack)))
    other = TrustPolicy.single_log(signer("other.example/log").verifier)
    with ExitStack() as stack, pytest.raises(UsageError):
        start_board(place, signer(), other, anyone, stack)
    with ExitStack() as stack:  # nothing was left open
        asyncio.run(live(start_board(place, signer(), trust(), anyone, stack)))
    assert not {each for each in threading.enumerate() if each.name == WRITER} - threads


class Growing(MemorySource):
    """A log that has grown between any two looks, `times` of them."""

    def __init__(self, logs: list[dict[str, bytes]]) -> None:
        super().__init__(logs[0])
        self._logs = logs

    def fetch(self, path: str, limit: int) -> bytes:
        if path != CHECKPOINT and len(self._logs) > 1:
            del self._logs[0]
        return MemorySource(self._logs[0]).fetch(path, limit)


def test_a_log_that_outgrows_every_look_is_given_up() -> None:
    log, files = memory_log(1)
    logs: list[dict[str, bytes]] = []
    for number in range(1, 10):
        append(log, submissions(1, number))
        logs.append({path: files[path] for path in (CHECKPOINT, *resources(number + 1))})
    first = find_resource("tile/0/000.p/1", Growing(logs[:4])).data
    assert first == submissions(1)[0].leaf
    with pytest.raises(MissingResource):
        find_resource("tile/0/000.p/1", Growing(logs))


def test_the_longest_body_in_chunks(url: str) -> None:
    """65,535 bytes are read, and are no entry; one more is refused before it is looked at."""
    for size, status in ((65_535, b" 422 "), (65_536, b" 413 ")):
        chunk = b"%x\r\n" % size + bytes(size) + b"\r\n0\r\n\r\n"
        start = head("Transfer-Encoding: chunked", "Connection: close")
        assert status in raw_exchange(url, start, chunk)


# Processes

SERVE = "from gopa.cli.board import board; board()"


@contextmanager
def server_on(root: Path, port: int, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, until the test stops it or ends."""
    command = [sys.executable, "-c", SERVE, "serve", str(root), "--anyone", "--port", str(port)]
    server = subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL)
    try:
        assert until(lambda: accepts_connections(port))
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(LONG)


def accepts_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), LONG).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_acknowledged_is_lost(tmp_path: Path, how: signal.Signals) -> None:
    """Stop, or kill, a server under load; every 201 is in the log afterwards."""
    board = new_board(tmp_path / "log")
    port = free_port()
    acknowledged: set[bytes] = set()
    stop = threading.Event()

    def load(author: int) -> None:
        for number in range(10_000):
            raw = entry_bytes(number, author=author)
            try:
                if stop.is_set() or post(f"http://127.0.0.1:{port}", raw).status != 201:
                    return
            except (OSError, http.client.HTTPException):
                return
            acknowledged.add(raw)

    with server_on(board.root, port) as server, ThreadPoolExecutor(8) as pool:
        pool.map(load, range(8))
        enough = until(lambda: len(acknowledged) >= 100)
        server.send_signal(how)
        assert server.wait(LONG) in {0, -how, 143}
        stop.set()
    assert enough
    with server_on(board.root, port):
        for raw in list(acknowledged)[:50]:
            assert post(f"http://127.0.0.1:{port}", raw).status == 200
    report = fsck_directory(board.public, trust(), signatures=True)
    assert report.size >= len(acknowledged)


def test_tls(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key)
    port = free_port()
    with server_on(board.root, port, "--tls-cert", str(certificate), "--tls-key", str(key)):
        context = ssl.create_default_context(cafile=os.fspath(certificate))
        connection = http.client.HTTPSConnection("localhost", port, context=context, timeout=LONG)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.slow
def test_a_second_server_on_one_directory_does_not_start(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    with server_on(board.root, free_port()):
        command = [sys.executable, "-c", SERVE, "serve", str(board.root), "--anyone"]
        second = subprocess.run(
            [*command, "--port", str(free_port())], capture_output=True, check=False
        )
    assert second.returncode != 0
    assert b"another process writes" in second.stderr
