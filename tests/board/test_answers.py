"""What the network layer of a client makes of answers, whoever gives them."""

from __future__ import annotations

import gzip
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from bulletin_board.admission import RefusalReason, Refused, parse_problem, problem_body
from bulletin_board.client.http import LARGEST_REFUSAL, HttpTransport, NetworkError, Response
from bulletin_board.compression import gzipped, takes_gzip, without_encoding
from tests.board.live import client
from tests.board.tools import entry_bytes
from wire.errors import MalformedMessage

HOSTILE = b'{"' + b'\\"' * 100_000


@dataclass
class Server:
    """Answers everything in the same way, and remembers what was accepted."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def answering(answer: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            answer.accepted.append(self.headers.get("accept-encoding", ""))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = _answer  # noqa: N815 - names of the standard library

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        answer.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield answer
        finally:
            # Its thread would ask for ever about a socket that is closed.
            server.shutdown()
            thread.join()


def got(answer: Server, *, limit: int = 2**24, method: str = "GET") -> Response:
    with answering(answer):
        return HttpTransport().request(
            method, f"{answer.url}/x", body=None, media_type="", limit=limit
        )


@pytest.mark.parametrize("status", [300, 404, 409, 422, 429, 500, 503])
def test_bodies_of_answers_that_are_no_success_are_cut_off(status: int) -> None:
    assert got(Server(status, b"short")).body == b"short"
    assert got(Server(status, HOSTILE)).body == HOSTILE[:LARGEST_REFUSAL]
    assert got(Server(status, HOSTILE), limit=32).status == status


def test_successes_have_their_limit() -> None:
    assert got(Server(200, HOSTILE)).body == HOSTILE
    with pytest.raises(NetworkError):
        got(Server(200, HOSTILE), limit=len(HOSTILE) - 1)


def test_an_answer_in_gzip_is_read() -> None:
    """A log may send bundles so, even if nobody asked."""
    data = bytes(range(256)) * 100
    zipped = Server(200, gzipped(data), {"Content-Encoding": "gzip"})
    assert got(zipped, limit=len(data)).body == data
    assert zipped.accepted == ["gzip, identity"]
    assert got(Server(200, data, {"Content-Encoding": "identity"})).body == data


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(gzipped(bytes(10**7)), "gzip"), (b"junk", "gzip"), (b"junk", "br")],
    ids=["too much", "no gzip", "unknown"],
)
def test_other_encodings_are_no_answers(body: bytes, encoding: str) -> None:
    assert got(Server(200, gzipped(bytes(10**6)), {"Content-Encoding": "gzip"}), limit=10**6)
    with pytest.raises(NetworkError):
        got(Server(200, body, {"Content-Encoding": encoding}), limit=10**6)


def test_posts_ask_for_plain_answers() -> None:
    plain = Server(503, b"")
    got(plain, method="POST")
    assert plain.accepted == ["identity"]


def seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def test_a_hostile_refusal_costs_a_client_nothing() -> None:
    """It took 12 seconds of work for 32 kB, and four times as long for twice as much."""
    headers = {"Content-Type": "application/problem+json"}
    with answering(Server(503, HOSTILE, headers)) as server:
        board = client(server.url, attempts=2)

        def submit() -> None:
            with pytest.raises(Refused) as refused:
                board.submit(entry_bytes(0))
            assert refused.value.reason is RefusalReason.UNAVAILABLE

        assert seconds(submit) < 2.0


def test_problems_have_a_limit() -> None:
    known = problem_body(Refused(RefusalReason.BUSY))
    assert parse_problem(known + b" " * 16_000).reason is RefusalReason.BUSY
    with pytest.raises(MalformedMessage):
        parse_problem(known + b" " * 16_384)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def ask(url: str) -> str:
    transport = HttpTransport(seconds=1)
    try:
        with pytest.raises(NetworkError) as caught:
            transport.request("GET", url, body=None, media_type="", limit=100)
    finally:
        transport.close()
    return str(caught.value)


def test_a_closed_port_is_named_without_objects(closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/checkpoint"
    said = ask(url)
    assert said.startswith(url)
    assert "Connection(" not in said
    assert "refused" in said


def test_silence_is_told_apart_from_refusal(closed_port: int) -> None:
    """Somebody who listens and never answers is not nobody."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silence = ask(f"http://127.0.0.1:{silent.getsockname()[1]}/checkpoint")
    refusal = ask(f"http://127.0.0.1:{closed_port}/checkpoint")
    assert "Connection(" not in silence
    assert silence.partition(" ")[2] != refusal.partition(" ")[2]


DATA = bytes(range(256)) * 100


@pytest.mark.parametrize("encoding", ["gzip", " GZIP "])
def test_gzip_is_undone(encoding: str) -> None:
    assert without_encoding(gzipped(DATA), encoding, len(DATA)) == DATA
    assert without_encoding(gzip.compress(DATA), encoding, len(DATA)) == DATA
    assert gzipped(DATA) == gzipped(DATA)


@pytest.mark.parametrize("encoding", ["", "identity"])
def test_what_is_not_encoded_stays(encoding: str) -> None:
    assert without_encoding(DATA, encoding, len(DATA)) == DATA


def test_a_few_bytes_do_not_become_many() -> None:
    bomb = gzipped(bytes(10_000_000))
    assert len(bomb) < 100_000
    assert len(without_encoding(bomb, "gzip", 10_000_000)) == 10_000_000
    assert len(without_encoding(bomb, "gzip", 1_000)) == 1_001


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (gzipped(DATA)[:-1], "gzip"),
        (gzipped(DATA) + b"x", "gzip"),
        (gzipped(DATA) + gzipped(DATA), "gzip"),
        (b"", "gzip"),
        (DATA, "gzip"),
        (zlib.compress(DATA), "gzip"),
        (zlib.compress(DATA), "deflate"),
        (gzipped(gzipped(DATA)), "gzip, gzip"),
        (DATA, "br"),
    ],
)
def test_anything_else_is_refused(data: bytes, encoding: str) -> None:
    assert without_encoding(gzipped(DATA), "gzip", 10**6) == DATA
    with pytest.raises(MalformedMessage):
        without_encoding(data, encoding, 10**6)


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("identity, GZIP;q=0.5", True),
        ("br;q=1.0, gzip;q=1", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*", False),
        ("xgzip", False),
    ],
)
def test_who_takes_gzip(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes
