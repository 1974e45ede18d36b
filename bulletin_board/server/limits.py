"""How much anyone may ask of the server."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from bulletin_board.admission import Reason, Refused

_AUTHORS_REMEMBERED = 65_536


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Defaults suit one machine. Rates are per author, after the signature is verified.

    A body has `body_seconds`, and more for what has come of it at `body_rate` bytes a
    second. `sending_bytes` are those of lookups and of bundles in gzip, which are held in
    memory until they have been read.
    """

    body_bytes: int = 65_535
    body_seconds: float = 5.0
    body_rate: float = 4_096.0
    posts_per_second: float = 200.0
    burst: int = 1_000
    stale_seconds: float = 30.0
    quorum_seconds: float = 10.0
    sending_bytes: int = 2**28
    overview_seconds: float = 1.0


class RateLimit:
    """A token bucket for each author. The clock is given; memory is bounded."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float]) -> None:
        self._rate = per_second
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, author: bytes) -> None:
        """Count one post, or raise `Refused` with the seconds to wait."""
        tokens = self._tokens(author)
        self._set(author, tokens - 1 if tokens >= 1 else tokens)
        if tokens < 1:
            wait = int((1 - tokens) / self._rate) + 1
            raise Refused(Reason.QUOTA, "too many posts in a short time", wait)

    def give_back(self, author: bytes) -> None:
        """The post was one that anybody may relay: it is not the author's doing."""
        self._set(author, min(self._burst, self._tokens(author) + 1))

    def _tokens(self, author: bytes) -> float:
        now = self._clock()
        tokens, then = self._buckets.get(author, (self._burst, now))
        return min(self._burst, tokens + max(0.0, now - then) * self._rate)

    def _set(self, author: bytes, tokens: float) -> None:
        self._buckets[author] = (tokens, self._clock())
        self._buckets.move_to_end(author)
        if len(self._buckets) > _AUTHORS_REMEMBERED:
            self._buckets.popitem(last=False)
