"""Which connections are open, and who gives way when there are too many.

A connection costs its peer nothing and the board a descriptor. Peers that say nothing must keep
nobody out: when all seats are taken, the connection that has waited longest for its peer
to finish a request loses its seat to the newcomer.
"""

from __future__ import annotations

import ipaddress
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

MOST_LEAVING: Final = 32
"""Connections that were told to end and whose descriptors are not closed yet."""

_NETWORK_OF_VERSION_6: Final = 64
"""Bits of an address that somebody cannot choose at will."""


class Seat:
    """One connection. `drop` ends it at once; whoever owns the connection sets it."""

    __slots__ = ("_seats", "drop", "origin")

    def __init__(self, seats: Seats, origin: str, drop: Callable[[], None]) -> None:
        self._seats = seats
        self.origin = origin
        self.drop = drop

    def waits(self) -> None:
        """From now on it waits for its peer to send a request."""
        self._seats.waits(self)

    def works(self) -> None:
        """A whole request has arrived: it keeps its seat until it was answered."""
        self._seats.waiting.pop(self, None)

    def leave(self) -> None:
        """The connection is closed."""
        self._seats.left(self)


class Seats:
    """At most `most` connections, at most `per_address` from one address. Of one event loop."""

    def __init__(self, most: int, per_address: int) -> None:
        self._most = most
        self._per_address = per_address
        self._taken: set[Seat] = set()
        self._leaving: set[Seat] = set()
        self._from: Counter[str] = Counter()
        self.waiting: OrderedDict[Seat, None] = OrderedDict()

    @property
    def crowded(self) -> bool:
        """Whether newcomers had better wait until some of those that have to go are gone."""
        return len(self._leaving) >= MOST_LEAVING

    def take(self, address: str, drop: Callable[[], None]) -> Seat | None:
        """A seat for a new connection, which waits; None if there is none."""
        origin = origin_of(address)
        if origin and self._from[origin] >= self._per_address:
            return None
        if len(self._taken) - len(self._leaving) >= self._most and not self._make_room():
            return None
        seat = Seat(self, origin, drop)
        self._taken.add(seat)
        self._from[origin] += 1
        seat.waits()
        return seat

    def waits(self, seat: Seat) -> None:
        """Behind all that wait already, unless it is one of them or has to go anyway."""
        if seat in self._taken and seat not in self._leaving:
            self.waiting[seat] = None

    def left(self, seat: Seat) -> None:
        """Its connection is closed; may be said again."""
        if seat not in self._taken:
            return
        self._taken.discard(seat)
        self._leaving.discard(seat)
        self.waiting.pop(seat, None)
        self._from[seat.origin] -= 1
        if not self._from[seat.origin]:
            del self._from[seat.origin]

    def _make_room(self) -> bool:
        """The one that has waited longest goes, unless too many are still going."""
        if not self.waiting or self.crowded:
            return False
        seat, _ = self.waiting.popitem(last=False)
        self._leaving.add(seat)
        seat.drop()
        return True


def origin_of(address: str) -> str:
    """Whose connections count together; empty for this machine, where a proxy may be.

    Whoever has an address of version 6 has a network of them.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if found.is_loopback:
        return ""
    if found.version == 6:
        return str(ipaddress.ip_network((int(found), _NETWORK_OF_VERSION_6), strict=False))
    return str(found)
