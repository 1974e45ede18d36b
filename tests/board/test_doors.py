"""Listening sockets: what they do when descriptors are scarce, or a handshake fails."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bulletin_board.server.accepting import ConnectionAcceptor, OpenConnection, OpenConnections
from tests.board.certificates import write_certificate
from tests.board.waiting import LONG

if TYPE_CHECKING:
    import pytest


class Greeting(asyncio.Protocol):
    """Says something, and gives its seat back."""

    def __init__(self, seat: OpenConnection) -> None:
        self._seat = seat

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.write(b"hello")
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._seat.leave()


class Scarce(socket.socket):
    """Accepts nothing at first: the process has no descriptors left."""

    failures = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


def listening(kind: type[socket.socket] = socket.socket) -> socket.socket:
    found = kind(socket.AF_INET)
    found.bind(("127.0.0.1", 0))
    return found


def through(door: ConnectionAcceptor, visit: Callable[[tuple[str, int]], Awaitable[None]]) -> None:
    """Open the door, visit, close it."""

    async def run() -> None:
        door.open()
        try:
            await asyncio.wait_for(visit(door.sockets[0].getsockname()), LONG)
        finally:
            door.close()
            door.close()
            await door.wait_closed()

    asyncio.run(run())


async def greeted(place: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*place)
    assert await reader.read() == b"hello"
    writer.close()


def test_scarce_descriptors_are_waited_for() -> None:
    door = ConnectionAcceptor(listening(Scarce), OpenConnections(10, 10), Greeting, None)
    through(door, greeted)


def test_crowds_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded = [True, True]
    monkeypatch.setattr(
        OpenConnections, "crowded", property(lambda _: bool(crowded and crowded.pop()))
    )
    through(ConnectionAcceptor(listening(), OpenConnections(10, 10), Greeting, None), greeted)


def test_whoever_fails_at_tls_gives_back_the_seat(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cafile=str(certificate))

    async def visit(place: tuple[str, int]) -> None:
        for _ in range(5):
            reader, writer = await asyncio.open_connection(*place)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await reader.read()
            writer.close()
        silent = [(await asyncio.open_connection(*place))[1] for _ in range(5)]
        reader, writer = await asyncio.open_connection(
            *place, ssl=client, server_hostname="localhost"
        )
        assert await reader.read() == b"hello"
        for each in (writer, *silent):
            each.close()

    through(ConnectionAcceptor(listening(), OpenConnections(2, 2), Greeting, server), visit)
