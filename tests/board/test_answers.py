"""What the network layer of a client makes of answers, whoever gives them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from threading import enumerate as enumerate_threads

import pytest

from bulletin_board.admission import RefusalReason, Refused, parse_problem, problem_body
from bulletin_board.client.http import LARGEST_REFUSAL, HttpTransport, NetworkError, Response
from bulletin_board.compression import gzipped
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


def test_a_server_of_these_tests_ends_with_what_it_was_started_for() -> None:
    before = set(enumerate_threads())
    assert got(Server(200, b"fine")).body == b"fine"
    with pytest.raises(NetworkError):
        got(Server(200, b"junk", {"Content-Encoding": "gzip"}))
    left = {each.name for each in set(enumerate_threads()) - before}
    assert not [name for name in left if "serve_forever" in name]


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
