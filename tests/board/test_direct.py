"""A request without a socket has the answer that it has with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulletin_board.client.http import HttpTransport, NetworkError, Response
from tests.board.direct import without_sockets
from tests.board.live import client, live_board
from tests.board.tools import entry_bytes
from wire.domains import ENTRY_PAYLOAD_TYPE

REAL = HttpTransport.request
PATHS = ("checkpoint", "v1/policy", "v1/consistency/1/2", "healthz", "tile/0/000.p/2", "nowhere")


def both(url: str, body: bytes | None = None) -> tuple[Response, Response]:
    """The answer without a socket, and the one with it."""
    way = HttpTransport()
    method, kind = ("GET", "") if body is None else ("POST", ENTRY_PAYLOAD_TYPE)
    near = way.request(method, url, body=body, media_type=kind, limit=10**6)
    far = REAL(way, method, url, body=body, media_type=kind, limit=10**6)
    way.close()
    return near, far


def test_both_ways_have_the_same_answers(tmp_path: Path) -> None:
    with without_sockets(), live_board(tmp_path / "log") as url:
        first, again = both(f"{url}/v1/entries", entry_bytes(0))
        assert (first.status, again.status) == (201, 200)
        assert (first.body != b"", first.body) == (True, again.body)
        client(url).submit(entry_bytes(1))
        for path in PATHS:
            near, far = both(f"{url}/{path}")
            assert (near.status, near.body) == (far.status, far.body), path
            assert near.headers.items() <= far.headers.items(), path
            assert near.status == (404 if path == "nowhere" else 200)
        near, far = both(f"{url}/v1/entries", b"no entry")
        assert near.status == far.status == 422
        assert near.body == far.body


def test_limits_hold_and_a_server_that_stopped_does_not_answer(tmp_path: Path) -> None:
    way = HttpTransport()
    with without_sockets() as servers:
        with live_board(tmp_path / "log") as url:
            page = f"{url}/checkpoint"
            known = servers.request("GET", page, body=None, media_type="", limit=10**4)
            assert known is not None
            with pytest.raises(NetworkError):
                way.request("GET", page, body=None, media_type="", limit=len(known.body) - 1)
        assert servers.request("GET", page, body=None, media_type="", limit=10**4) is None
        with pytest.raises(NetworkError):
            way.request("GET", page, body=None, media_type="", limit=10**4)
    assert HttpTransport.request is REAL
