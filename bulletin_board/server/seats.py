"""Which connections are open, and who gives way when there are too many.

A connection costs its peer nothing and the board a descriptor. Peers that say nothing must keep
nobody out: when all seats are taken, the connection that has waited longest for its peer
to finish a request loses its seat to the newcomer.
"""

from __future__ import annotations

import ipaddress
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from typing import Final

MOST_LEAVING: Final = 32
"""Connections that were told to end and whose descriptors are not closed yet."""

_SHARES: Final = {4: {32: 1}, 6: {64: 1, 48: 2}}
"""By version and leading bits of an address: how often the share of one address they have.

Whoever has a host of version 6 chooses among the addresses of its /64, and whoever has a site
often among 65,536 of those.
"""


class Seat:
    """One connection. `drop` ends it at once; whoever owns the connection sets it."""

    __slots__ = ("_seats", "drop", "origins")

    def __init__(self, seats: Seats, origins: Collection[str], drop: Callable[[], None]) -> None:
        self._seats = seats
        self.origins = origins
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
    """At most `most` connections, at most `per_address` from one address. Of one event loop.

    A network of version 6 counts as an address: a /64 once, a /48 twice.
    """

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
        origins = origins_of(address)
        if any(self._from[each] >= n * self._per_address for each, n in origins.items()):
            return None
        if len(self._taken) - len(self._leaving) >= self._most and not self._make_room():
            return None
        seat = Seat(self, origins, drop)
        self._taken.add(seat)
        self._from.update(origins.keys())
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
        for each in seat.origins:
            self._from[each] -= 1
            if not self._from[each]:
                del self._from[each]

    def _make_room(self) -> bool:
        """The one that has waited longest goes, unless too many are still going."""
        if not self.waiting or self.crowded:
            return False
        seat, _ = self.waiting.popitem(last=False)
        self._leaving.add(seat)
        seat.drop()
        return True


def origins_of(address: str) -> dict[str, int]:
    """With whose connections one counts, and how often the share of an address those have.

    Nobody's for this machine, where a proxy may be. An address of version 4 that is
    written as one of version 6 is the former: else all of them would be in one network.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return {}
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return {}
    return {
        str(ipaddress.ip_network(f"{found}/{bits}", strict=False)): share
        for bits, share in _SHARES[found.version].items()
    }
