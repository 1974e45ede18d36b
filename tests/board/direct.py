"""Hands requests to servers of this process without a socket between them.

A session over a board sends about a thousand requests, and each spends most of its time in
HTTP, which `tests/board` tests by itself. The server's application, its own loop and threads,
its clients and the session are the real ones.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from bulletin_board.client.http import LARGEST_REFUSAL, HttpTransport, NetworkError, Response
from bulletin_board.server.run import BoardServer

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Near:
    """An application, and the loop that its server runs in."""

    app: Any
    loop: asyncio.AbstractEventLoop

    def answer(self, method: str, path: str, body: bytes, media_type: str) -> Response:
        """Raises `NetworkError` if the server stops meanwhile, or falls over."""
        asked = self._answered(method, path, body, media_type)
        try:
            future = asyncio.run_coroutine_threadsafe(asked, self.loop)
        except RuntimeError:
            asked.close()
            raise NetworkError(f"{path}: the server is gone") from None
        try:
            return future.result(_SECONDS)
        except (concurrent.futures.CancelledError, Exception) as error:
            future.cancel()
            raise NetworkError(f"{path}: no complete answer") from error

    async def _answered(self, method: str, path: str, body: bytes, media_type: str) -> Response:
        head: dict[str, Any] = {}
        parts: list[bytes] = []
        asked = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            return next(asked, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                head.update(message)
            else:
                parts.append(bytes(message.get("body", b"")))

        await self.app(_scope(method, path, body, media_type), receive, send)
        names = {name.decode().lower(): value.decode() for name, value in head["headers"]}
        return Response(head["status"], names, b"".join(parts))


def _scope(method: str, path: str, body: bytes, media_type: str) -> dict[str, Any]:
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", media_type.encode())]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers if body or media_type else [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


class Servers:
    """Those that run in this process, by address."""

    def __init__(self) -> None:
        self._near: dict[str, Near] = {}

    def begins(self, server: BoardServer) -> None:
        """Called in the loop of the server, when it has started."""
        if server.started and not server.config.is_ssl:
            near = Near(server.config.loaded_app, asyncio.get_running_loop())
            for bound in (bound for each in server.servers for bound in each.sockets):
                host, port = bound.getsockname()[:2]
                self._near[f"{host}:{port}"] = near

    def ends(self) -> None:
        """Called in the loop of the server, before it stops."""
        loop = asyncio.get_running_loop()
        self._near = {name: each for name, each in self._near.items() if each.loop is not loop}

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response | None:
        """As `Transport` says; None if no server here has this address."""
        found = urlsplit(url)
        near = self._near.get(found.netloc)
        if near is None:
            return None
        answer = near.answer(method, found.path, body or b"", media_type)
        if answer.status not in range(200, 300):
            return Response(answer.status, answer.headers, answer.body[:LARGEST_REFUSAL])
        if len(answer.body) > limit:
            raise NetworkError(f"{url} answered more than {limit} bytes")
        return answer


@contextmanager
def without_sockets() -> Iterator[Servers]:
    """Requests to servers that start meanwhile go to their applications, until they stop."""
    near = Servers()
    startup, shutdown, request = BoardServer.startup, BoardServer.shutdown, HttpTransport.request

    async def started(server: BoardServer, sockets: Any = None) -> None:
        await startup(server, sockets)
        near.begins(server)

    async def stopped(server: BoardServer, sockets: Any = None) -> None:
        near.ends()
        await shutdown(server, sockets)

    def asked(transport: HttpTransport, method: str, url: str, **options: Any) -> Response:
        answer = near.request(method, url, **options)
        return request(transport, method, url, **options) if answer is None else answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoardServer, "startup", started)
        patch.setattr(BoardServer, "shutdown", stopped)
        patch.setattr(HttpTransport, "request", asked)
        yield near


@pytest.fixture(autouse=True)
def direct() -> Iterator[None]:
    """What a folder's `conftest.py` imports where HTTP is not what is tested."""
    with without_sockets():
        yield
