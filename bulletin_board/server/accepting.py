"""Accepts connections, and says which one gives way when there are too many.

Connections are counted before anything is done for them, TLS included. A connection costs its
peer nothing and the board a descriptor. Peers that say nothing must keep nobody out: when all
places are taken, the connection that has waited longest for its peer to finish a request gives
way to the newcomer.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
import ssl
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from wire.errors import GopaError, UsageError

MOST_LEAVING: Final = 32
"""Connections that were told to end and whose descriptors are not closed yet."""

_SHARES: Final = {4: {32: 1}, 6: {64: 1, 48: 2}}
"""By version and leading bits of an address: how often the share of one address they have.

Whoever has a host of version 6 chooses among the addresses of its /64, and whoever has a site
often among 65,536 of those.
"""


_NO_ADDRESS: Final = "no address"


class OpenConnection:
    """The entry of one connection in the table: whether it waits, works, or has ended.

    `drop` ends it at once; whoever owns the connection sets it.
    """

    __slots__ = ("_table", "drop", "origins")

    def __init__(
        self, table: OpenConnections, origins: Collection[str], drop: Callable[[], None]
    ) -> None:
        self._table = table
        self.origins = origins
        self.drop = drop

    def waits(self) -> None:
        """Note that from now on it waits for its peer to send a request."""
        self._table.waits(self)

    def works(self) -> None:
        """Note that a whole request has arrived: it keeps its place until that was answered."""
        self._table.waiting.pop(self, None)

    def leave(self) -> None:
        """Note that the connection is closed."""
        self._table.left(self)


class OpenConnections:
    """The connections there are: at most `most`, and at most `per_address` from one address.

    A network of version 6 counts as an address: a /64 once, a /48 twice. Used by one event loop.
    """

    def __init__(self, most: int, per_address: int) -> None:
        self._most = most
        self._per_address = per_address
        self._taken: set[OpenConnection] = set()
        self._leaving: set[OpenConnection] = set()
        self._from: Counter[str] = Counter()
        self._refused = self._given_way = 0
        self.waiting: OrderedDict[OpenConnection, None] = OrderedDict()

    @property
    def crowded(self) -> bool:
        """Whether newcomers had better wait until some of those that have to go are gone."""
        return len(self._leaving) >= MOST_LEAVING

    def gauges(self) -> dict[str, int]:
        """How many are open, and what became of others so far, by the names of metrics."""
        return {
            "connections": len(self._taken),
            "connections_most": self._most,
            "connections_refused_total": self._refused,
            "connections_given_way_total": self._given_way,
        }

    def take(self, address: str, drop: Callable[[], None]) -> OpenConnection | None:
        """Let a new connection in, which waits for a request; None if there is no room."""
        origins = origins_of(address)
        crowd = any(self._from[each] >= n * self._per_address for each, n in origins.items())
        full = len(self._taken) - len(self._leaving) >= self._most
        if crowd or (full and not self._make_room()):
            self._refused += 1
            return None
        connection = OpenConnection(self, origins, drop)
        self._taken.add(connection)
        self._from.update(origins.keys())
        connection.waits()
        return connection

    def waits(self, connection: OpenConnection) -> None:
        """Put it behind all that wait, unless it is one of them or has to go anyway."""
        if connection in self._taken and connection not in self._leaving:
            self.waiting[connection] = None

    def left(self, connection: OpenConnection) -> None:
        """Forget a closed connection; may be called again."""
        if connection not in self._taken:
            return
        self._taken.discard(connection)
        self._leaving.discard(connection)
        self.waiting.pop(connection, None)
        for each in connection.origins:
            self._from[each] -= 1
            if not self._from[each]:
                del self._from[each]

    def _make_room(self) -> bool:
        """The one that has waited longest goes, unless too many are still going."""
        if not self.waiting or self.crowded:
            return False
        connection, _ = self.waiting.popitem(last=False)
        self._given_way += 1
        self._leaving.add(connection)
        connection.drop()
        return True


def origins_of(address: str) -> dict[str, int]:
    """The networks of an address, and how many shares of connections each of them has.

    None for this machine, where a proxy may be. An address of version 4 that is
    written as one of version 6 is the former: else all of them would be in one network. What is
    no address, as some proxies call a peer, is one network: else it would have no bounds.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return {_NO_ADDRESS: 1} if address else {}
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return {}
    return {
        str(ipaddress.ip_network(f"{found}/{bits}", strict=False)): share
        for bits, share in _SHARES[found.version].items()
    }


RESERVED: Final = 128
"""Descriptors for everything that is no connection: files, databases, witnesses."""
MOST_DESCRIPTORS: Final = 65_536

_AT_ONCE: Final = 32
_BACKLOG: Final = 1_024
_HANDSHAKE_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.2
_MOMENT: Final = 0.005
_SCARCE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class CannotListen(GopaError):
    """An address that another process has taken, or that is not there yet."""


ProtocolFactory = Callable[[OpenConnection], asyncio.Protocol]


class ConnectionAcceptor:
    """The taker of connections of one listening socket, as long as the table has room."""

    def __init__(
        self,
        listening: socket.socket,
        table: OpenConnections,
        factory: ProtocolFactory,
        tls: ssl.SSLContext | None,
    ) -> None:
        """Connections wait in the socket until `open`; `tls` may be exchanged at any time."""
        self._listening = listening
        self._table = table
        self._factory = factory
        self.tls = tls
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
            if self._table.crowded:
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
            opened = self._table.take(str(address[0]), partial(_shut, connection))
            if opened is None:
                connection.close()
                continue
            connection.setblocking(False)
            task = asyncio.get_running_loop().create_task(self._serve(connection, opened))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    def _pause(self, seconds: float) -> None:
        """Nobody can be taken now: asking again at once would keep a processor busy."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listening)
        self._later = loop.call_later(seconds, self.open)

    async def _serve(self, connection: socket.socket, opened: OpenConnection) -> None:
        """Hand the connection to a protocol, which says when it has ended."""
        loop = asyncio.get_running_loop()
        tls = self.tls
        seconds = None if tls is None else _HANDSHAKE_SECONDS
        served = False
        try:
            await loop.connect_accepted_socket(
                lambda: self._factory(opened),
                connection,
                ssl=tls,
                ssl_handshake_timeout=seconds,
            )
            served = True
        except (OSError, asyncio.CancelledError):
            pass  # among others, no handshake in time
        finally:
            if not served:
                opened.leave()
                connection.close()


def _shut(connection: socket.socket) -> None:
    """Shut a connection: whoever reads or writes there finds an end."""
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
    """The wanted number, if the descriptors of this process are enough for it.

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
