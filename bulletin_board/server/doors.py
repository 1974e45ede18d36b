"""Listening sockets that count connections before anything is done for them, TLS included."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from wire.errors import UsageError

if TYPE_CHECKING:
    from bulletin_board.server.seats import Seat, Seats

RESERVED: Final = 128
"""Descriptors for everything that is no connection: files, databases, witnesses."""
MOST_DESCRIPTORS: Final = 65_536

_AT_ONCE: Final = 32
_BACKLOG: Final = 1_024
_HANDSHAKE_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.2
_MOMENT: Final = 0.005
_SCARCE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

ProtocolFactory = Callable[["Seat"], asyncio.Protocol]


class Door:
    """Takes connections of one listening socket, as long as there are seats."""

    def __init__(
        self,
        listening: socket.socket,
        seats: Seats,
        factory: ProtocolFactory,
        tls: ssl.SSLContext | None,
    ) -> None:
        """Connections wait in the socket until `open`."""
        self._listening = listening
        self._seats = seats
        self._factory = factory
        self._tls = tls
        self._arriving: set[asyncio.Task[None]] = set()
        self._later: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        listening.listen(_BACKLOG)

    @property
    def sockets(self) -> list[socket.socket]:
        return [self._listening]

    def open(self) -> None:
        """Take connections from now on; in the thread of the running loop."""
        self._later = None
        asyncio.get_running_loop().add_reader(self._listening, self._take)

    def close(self) -> None:
        """Take no more; those that have arrived stay."""
        if self._listening.fileno() == -1:
            return
        if self._later is not None:
            self._later.cancel()
        asyncio.get_running_loop().remove_reader(self._listening)
        self._listening.close()

    async def wait_closed(self) -> None:
        """Give up whoever has not ended its handshake."""
        for task in self._arriving:
            task.cancel()
        if self._arriving:
            await asyncio.wait(self._arriving)

    def _take(self) -> None:
        for _ in range(_AT_ONCE):
            if self._seats.crowded:
                self._pause(_MOMENT)
                return
            try:
                connection, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _SCARCE:
                    self._pause(_PAUSE_SECONDS)
                    return
                raise
            seat = self._seats.take(str(address[0]), partial(_shut, connection))
            if seat is None:
                connection.close()
                continue
            connection.setblocking(False)
            task = asyncio.get_running_loop().create_task(self._serve(connection, seat))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    def _pause(self, seconds: float) -> None:
        """Nobody can be taken now: asking again at once would burn a processor."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listening)
        self._later = loop.call_later(seconds, self.open)

    async def _serve(self, connection: socket.socket, seat: Seat) -> None:
        """Hand the connection to a protocol, which gives the seat back."""
        loop = asyncio.get_running_loop()
        seconds = None if self._tls is None else _HANDSHAKE_SECONDS
        served = False
        try:
            await loop.connect_accepted_socket(
                lambda: self._factory(seat),
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=seconds,
            )
            served = True
        except (OSError, asyncio.CancelledError):
            pass  # among others, no handshake in time
        finally:
            if not served:
                seat.leave()
                connection.close()


def _shut(connection: socket.socket) -> None:
    """Whoever reads or writes there finds an end."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def raise_descriptor_limit() -> None:
    """Let this process open as many files as it may, up to a bound."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections(wanted: int) -> int:
    """As many as wanted, if the descriptors of this process are enough for them.

    Raises:
        UsageError: there are hardly any descriptors.
    """
    try:
        import resource
    except ImportError:
        return wanted
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft <= RESERVED:
        raise UsageError(
            f"this process may open {soft} files, and a server needs more than {RESERVED}:"
            " raise the limit (ulimit -n)"
        )
    return min(wanted, soft - RESERVED)
