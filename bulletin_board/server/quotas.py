"""Bounds how much is written to a board: by author, by network address, in a day, and by its disk.

Keys and sessions cost strangers nothing, so what only counts those bounds nothing. An address
costs something, and the disk is what has to last.
"""

from __future__ import annotations

import logging
import shutil
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.display import visible
from bulletin_board.entry import LARGEST_ENTRY
from bulletin_board.server.accepting import origins_of

_LOG: Final = logging.getLogger("gopa.board")

DAY: Final = 86_400
MOST_A_DAY: Final = 2**35
"""Bytes of entries in all, on a large disk: a few sessions of 1,000 parties with 10^6 numbers."""
MOST_KEPT_FREE: Final = 2**30
_REMEMBERED: Final = 65_536
_LOOK_SECONDS: Final = 1.0
_SAY_SECONDS: Final = 60.0
_FULL_SECONDS: Final = 30


class RateLimit:
    """Limits what comes under each key by a token bucket. The clock is given; memory is bounded."""

    def __init__(
        self,
        per_second: float,
        burst: float,
        clock: Callable[[], float],
        refusal: tuple[RefusalReason, str] = (
            RefusalReason.QUOTA,
            "too many posts in a short time",
        ),
    ) -> None:
        self._rate = per_second
        self._burst = float(burst)
        self._clock = clock
        self._refusal = refusal
        self._buckets: OrderedDict[bytes | str, tuple[float, float]] = OrderedDict()

    def take(self, key: bytes | str, amount: float = 1, share: int = 1) -> None:
        """Count `amount`, or raise `Refused` with the seconds to wait.

        A key with a `share` of 2 has twice as much as others.
        """
        tokens = self.left(key, share)
        enough = tokens >= amount
        self._set(key, tokens - amount if enough else tokens)
        if not enough:
            wait = int((amount - tokens) / (self._rate * share)) + 1
            raise Refused(*self._refusal, wait)

    def give_back(self, key: bytes | str, amount: float = 1, share: int = 1) -> None:
        """Uncount what did not happen, or was another one's doing."""
        self._set(key, min(self._burst * share, self.left(key, share) + amount))

    def left(self, key: bytes | str, share: int = 1) -> float:
        """What the key may take now."""
        now, most = self._clock(), self._burst * share
        tokens, then = self._buckets.get(key, (most, now))
        return min(most, tokens + max(0.0, now - then) * self._rate * share)

    def _set(self, key: bytes | str, tokens: float) -> None:
        self._buckets[key] = (tokens, self._clock())
        self._buckets.move_to_end(key)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)


class DiskUsage(NamedTuple):
    """The bytes of a file system, and those that may still be written to it."""

    total: int
    free: int


def usage_of(root: Path) -> DiskUsage:
    """Asks the system about the file system below a directory."""
    found = shutil.disk_usage(root)
    return DiskUsage(found.total, found.free)


@dataclass(frozen=True, slots=True)
class WritingLimits:
    """Bounds of writing: posts of one address, bytes of one and of all in a day, free disk.

    A network of version 6 counts as an address: a /64 once, a /48 twice. None is no bound.
    """

    posts_per_second: float = 500.0
    burst: int = 5_000
    address_bytes: int | None = None
    all_bytes: int | None = None
    least_free: int = 0

    @classmethod
    def of_disk(cls, disk: DiskUsage) -> WritingLimits:
        """Limits for a board to which strangers write.

        In a day a quarter of what is free, and a quarter of that from one address, so that
        its operator has days to notice; a twentieth of the disk, or 1 GiB, stays free. A disk
        that is full now may have room before the board starts again.
        """
        most = min(MOST_A_DAY, max(disk.free // 4, disk.total // 20))
        return cls(
            address_bytes=most // 4,
            all_bytes=most,
            least_free=min(MOST_KEPT_FREE, disk.total // 20),
        )


class WritingQuota:
    """The count of what is written. Used by one event loop; refusals name the time to wait.

    Whoever shares an address with others shares its quota: parties wait, and go on. What comes
    from the machine itself, where a proxy may be, counts for all together only.
    """

    def __init__(
        self, limits: WritingLimits, disk: Callable[[], DiskUsage], clock: Callable[[], float]
    ) -> None:
        self.limits = limits
        self._look = disk
        self._clock = clock
        self._seen = disk()
        self._looked = self._said = float("-inf")
        self.written = 0
        reason = RefusalReason.ADDRESS
        self._posts = RateLimit(
            limits.posts_per_second,
            limits.burst,
            clock,
            (reason, "too many posts from this network in a short time"),
        )
        written = "this network has written as much as it may in a day"
        self._from = _daily(limits.address_bytes, clock, reason, written)
        self._all = _daily(
            limits.all_bytes,
            clock,
            RefusalReason.STORAGE,
            "as much was written today as the board takes from everybody together",
        )

    @property
    def disk(self) -> DiskUsage:
        """The disk as it was about a second ago, or when it last answered."""
        if self._clock() >= self._looked + _LOOK_SECONDS:
            with suppress(OSError):  # whoever writes to it says what is wrong
                self._seen = self._look()
            self._looked = self._clock()
        return self._seen

    @property
    def problem(self) -> str:
        """Why nothing at all is taken now, or the empty string."""
        if self.disk.free < self.limits.least_free + LARGEST_ENTRY:
            return f"its disk is nearly full ({self.disk.free} bytes are free): posts are refused"
        if self.left is not None and self.left < LARGEST_ENTRY:
            return "as much was written today as may be: posts are refused"
        return ""

    @property
    def left(self) -> int | None:
        """Bytes that may still be written today, in all; None without a bound."""
        return None if self._all is None else int(self._all.left(""))

    def ask(self, address: str) -> None:
        """Count a post before anything is done for it, or raise `Refused`."""
        self._take(address, [(self._posts, *each, 1) for each in origins_of(address).items()])

    def take(self, address: str, size: int) -> None:
        """Count bytes that are about to be written, or raise `Refused`."""
        if self.disk.free < self.limits.least_free + size:
            refusal = Refused(RefusalReason.STORAGE, "its disk is nearly full", _FULL_SECONDS)
            self._say(address, refusal)
            raise refusal
        self._take(address, self._counts(address, size))
        self.written += size

    def give_back(self, address: str, size: int) -> None:
        """Uncount bytes that were not written."""
        self.written -= size
        for limit, key, share, amount in self._counts(address, size):
            limit.give_back(key, amount, share)

    def _counts(self, address: str, size: int) -> list[_Count]:
        counts: list[_Count] = []
        if self._from is not None:
            counts += [(self._from, *each, size) for each in origins_of(address).items()]
        if self._all is not None:
            counts.append((self._all, "", 1, size))
        return counts

    def _take(self, address: str, counts: list[_Count]) -> None:
        """All of them, or none."""
        taken: list[_Count] = []
        try:
            for limit, key, share, amount in counts:
                limit.take(key, amount, share)
                taken.append((limit, key, share, amount))
        except Refused as refusal:
            for limit, key, share, amount in taken:
                limit.give_back(key, amount, share)
            self._say(address, refusal)
            raise

    def _say(self, address: str, refusal: Refused) -> None:
        """Log a refusal, one in a while: a crowd of them must not fill the log."""
        if self._clock() >= self._said + _SAY_SECONDS:
            self._said = self._clock()
            _LOG.warning("posts are refused, among others from %s: %s", visible(address), refusal)


_Count = tuple[RateLimit, str, int, float]
"""A limit, whom it is about, the share of that one, and how much."""


def _daily(
    most: int | None, clock: Callable[[], float], reason: RefusalReason, message: str
) -> RateLimit | None:
    return None if most is None else RateLimit(most / DAY, most, clock, (reason, message))
