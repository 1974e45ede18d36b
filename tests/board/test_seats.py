"""Seats for connections: who gets one, and who gives way."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bulletin_board.server import accepting
from bulletin_board.server.accepting import (
    MOST_LEAVING,
    RESERVED,
    ConnectionAcceptor,
    OpenConnection,
    OpenConnections,
    most_connections,
    origins_of,
    raise_descriptor_limit,
)
from tests.board.live import write_certificate
from tests.board.waiting import LONG
from wire.errors import UsageError

PROXY = "127.0.0.1"


class Peers:
    """Connections that remember who was dropped."""

    def __init__(self, most: int, per_address: int = 1_000) -> None:
        self.seats = OpenConnections(most, per_address)
        self.dropped: list[int] = []
        self._count = 0

    def comes(self, address: str = PROXY) -> OpenConnection | None:
        number = self._count
        self._count += 1
        return self.seats.take(address, lambda: self.dropped.append(number))


def seated(found: OpenConnection | None) -> OpenConnection:
    assert found is not None
    return found


def test_who_has_waited_longest_gives_way() -> None:
    peers = Peers(3)
    first, second, third = (seated(peers.comes()) for _ in range(3))
    assert peers.dropped == []
    first.works()
    second.works()
    second.waits()
    seated(peers.comes())
    assert peers.dropped == [2]
    third.leave()
    seated(peers.comes())
    assert peers.dropped == [2, 1]
    second.leave()
    first.waits()
    seated(peers.comes())
    seated(peers.comes())
    seated(peers.comes())
    assert peers.dropped == [2, 1, 3, 4, 0]


def test_who_is_being_answered_keeps_its_seat() -> None:
    peers = Peers(3)
    for _ in range(3):
        seated(peers.comes()).works()
    assert peers.comes() is None
    assert peers.dropped == []


def test_waiting_on_is_no_new_beginning() -> None:
    peers = Peers(2)
    first, second = seated(peers.comes()), seated(peers.comes())
    first.waits()
    seated(peers.comes())
    assert peers.dropped == [0]
    first.waits()  # it has to go: a late answer changes nothing
    seated(peers.comes())
    assert peers.dropped == [0, 1]
    first.leave()
    first.leave()
    second.leave()
    assert not peers.seats.crowded


def test_as_many_as_have_to_go_are_waited_for() -> None:
    peers = Peers(MOST_LEAVING + 5)
    seats = [seated(peers.comes()) for _ in range(MOST_LEAVING + 5)]
    crowded = []
    for _ in range(MOST_LEAVING):
        crowded.append(peers.seats.crowded)
        seated(peers.comes())
    assert not any(crowded)
    assert peers.seats.crowded
    assert peers.comes() is None
    seats[0].leave()
    seated(peers.comes())
    assert len(peers.dropped) == MOST_LEAVING + 1


def test_addresses_have_a_share() -> None:
    peers = Peers(100, per_address=2)
    first = seated(peers.comes("192.0.2.1"))
    seated(peers.comes("192.0.2.1"))
    assert peers.comes("192.0.2.1") is None
    seated(peers.comes("192.0.2.2"))
    first.leave()
    seated(peers.comes("192.0.2.1"))
    assert peers.comes("192.0.2.1") is None
    for _ in range(9):
        seated(peers.comes(PROXY))
        seated(peers.comes("::1"))


def test_a_network_of_version_6_is_one_address() -> None:
    one, same = origins_of("2001:db8::1"), origins_of("2001:db8::ffff:1%eth0")
    assert one == same == {"2001:db8::/64": 1, "2001:db8::/48": 2}
    assert origins_of("2001:db8:0:1::1") == {"2001:db8:0:1::/64": 1, "2001:db8::/48": 2}
    assert origins_of("192.0.2.1") == origins_of("::ffff:192.0.2.1") == {"192.0.2.1/32": 1}
    assert origins_of("unknown") == origins_of("/a/socket") == {"no address": 1}
    for here in ("127.0.0.9", "::1", "::ffff:127.0.0.1", ""):
        assert origins_of(here) == {}


def test_who_has_many_networks_has_no_more_than_two_shares() -> None:
    """A site has 65,536 networks of hosts: with a share for each it would take all seats."""
    peers = Peers(1_000, per_address=5)
    found = [peers.comes(f"2001:db8:0:{number:x}::1") for number in range(50)]
    mine = [each for each in found if each is not None]
    assert len(mine) == 10
    assert found[:10] == mine
    one_host = [peers.comes("2001:db8:1::7") for _ in range(9)]
    assert [each is not None for each in one_host] == [True] * 5 + [False] * 4
    seated(peers.comes("2001:db8:1:1::7"))
    seated(peers.comes("192.0.2.1"))
    mine[0].leave()
    seated(peers.comes("2001:db8:0:ff::1"))
    assert peers.comes("2001:db8:0:fe::1") is None
    for each in mine[1:]:
        each.works()  # what it is answered takes long: the share holds, whatever its seats do
    assert peers.comes("2001:db8:0:fd::1") is None


def test_connections_leave_descriptors_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [1_024, 4_096]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.__setitem__(slice(2), new))
    assert most_connections(10_000) == 1_024 - RESERVED
    assert most_connections(10) == 10
    raise_descriptor_limit()
    assert limits == [4_096, 4_096]
    assert most_connections(10_000) == 4_096 - RESERVED
    limits[:] = [1_024, resource.RLIM_INFINITY]
    raise_descriptor_limit()
    assert limits == [accepting.MOST_DESCRIPTORS, resource.RLIM_INFINITY]
    limits[:] = [resource.RLIM_INFINITY, resource.RLIM_INFINITY]
    raise_descriptor_limit()
    assert most_connections(10_000) == 10_000
    limits[:] = [RESERVED, RESERVED]
    with pytest.raises(UsageError):
        most_connections(10)


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
