"""Takes posts and lookups for the HTTP handlers: checks signatures, rates, and the quorum."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.committer import Committer
from bulletin_board.entry import Submission, verify_entry
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import PartialFiles
from bulletin_board.sequencer import Accepted
from bulletin_board.server.lookups import LookupService
from bulletin_board.server.metrics import Metrics
from bulletin_board.server.page import NoView, SessionTimes, SessionView
from bulletin_board.witness.collecting import Collector
from bulletin_board.witness.health import WitnessHealth
from wire.errors import InvalidSignature, MalformedMessage, ProtocolError

_AUTHORS_REMEMBERED = 65_536


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds what peers may ask. Rates are per author, after the signature is verified.

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
    """Limits the posts of each author by a token bucket. The clock is given; memory is bounded."""

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
            raise Refused(RefusalReason.QUOTA, "too many posts in a short time", wait)

    def give_back(self, author: bytes) -> None:
        """Uncount a post that anybody may have relayed: it is not the author's doing."""
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


_PROVERS = 2
"""Threads that make the receipts of barriers."""


@dataclass(slots=True)
class BoardService:
    """Serves one board. `collector` is there when the policy names witnesses to ask.

    Without `lookups` entries are found by reading the log.
    """

    committer: Committer
    public: PartialFiles
    policy: TrustPolicy
    limits: ServerLimits = field(default_factory=ServerLimits)
    view: SessionView = field(default_factory=NoView)
    collector: Collector | None = None
    lookups: LookupService | None = None
    clock: Callable[[], float] = time.monotonic
    metrics: Metrics = field(default_factory=Metrics)
    times: SessionTimes = field(init=False)
    rate: RateLimit = field(init=False)
    _provers: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        sequencer = self.committer.sequencer
        held = () if sequencer is None else (session for session, _ in sequencer.census)
        self.times = SessionTimes(held)
        self.rate = RateLimit(self.limits.posts_per_second, self.limits.burst, self.clock)
        self._provers = ThreadPoolExecutor(_PROVERS, "board-receipts")

    def size(self) -> int:
        """The number of entries; 0 while the log is closed."""
        sequencer = self.committer.sequencer
        return 0 if sequencer is None else sequencer.signed.size

    async def post(self, raw: bytes) -> Accepted:
        """Put an entry into the log, or raise `Refused`.

        Returns when the entry is durable and under a published checkpoint.
        """
        try:
            submission = Submission.decode(raw)
            verify_entry(submission)
        except MalformedMessage as error:
            raise Refused(RefusalReason.MALFORMED, str(error)) from None
        except InvalidSignature as error:
            raise Refused(RefusalReason.SIGNATURE, str(error)) from None
        author = submission.entry.author.data
        self.rate.take(author)  # only now: strangers could else use up the rate of an author
        outcome = await asyncio.wrap_future(self.committer.submit(submission))
        if isinstance(outcome, Refused):
            raise outcome
        if outcome.fresh:
            self.times.note(submission.entry.session)
        else:
            self.rate.give_back(author)  # strangers repeat what is public to use up the rate
        if outcome.barrier and self.policy.needs_witnesses:
            return await self._under_quorum(outcome)
        return outcome

    async def look_up(self, request: bytes) -> bytes:
        """The answer to a lookup, or raise `Refused`."""
        return await self._offered().answer(request)

    async def consistency(self, older: int, newer: int) -> bytes:
        """The proof that one tree extends another, or raise `Refused`."""
        return await self._offered().consistency(older, newer)

    def problem(self) -> str:
        """Why the board is not healthy, or the empty string."""
        if self.committer.fatal is not None:
            return f"the log is not written any more: {self.committer.fatal}"
        idle = self.clock() - self.committer.last_good
        if idle > self.limits.stale_seconds:
            return f"the checkpoint has been stale for {idle:.0f} seconds"
        if self.committer.sequencer is None:
            return "the log is closed after a failed write"
        if self.collector is not None and self.collector.problem:
            return self.collector.problem
        return ""

    def witnesses(self) -> dict[str, WitnessHealth]:
        """How each witness of the policy behaves."""
        if self.collector is None:
            return dict.fromkeys(self.policy.witnesses, WitnessHealth())
        return self.collector.standings()

    def close(self) -> None:
        """Commit what waits, then stop."""
        self.committer.close()
        if self.lookups is not None:
            self.lookups.close()
        if self.collector is not None:
            self.collector.close()
        self._provers.shutdown()

    def _offered(self) -> LookupService:
        if self.lookups is None:
            raise Refused(RefusalReason.UNAVAILABLE, "this board answers no lookups: read the log")
        return self.lookups

    async def _under_quorum(self, accepted: Accepted) -> Accepted:
        """A barrier counts only under a quorum: fail closed, the entry may be posted again.

        Waiting holds no thread, so however many barriers wait, nothing else does.
        """
        collector = self.collector
        covered = None if collector is None else collector.covering(accepted.index)
        if collector is None or covered is None:
            raise Refused(RefusalReason.BUSY, "too many entries wait for witnesses", 1)
        try:
            async with asyncio.timeout(self.limits.quorum_seconds):
                signed = await asyncio.wrap_future(covered)
        except TimeoutError:
            signed = None
        if signed is None:
            raise Refused(
                RefusalReason.QUORUM, "the entry is in the log and waits for witnesses", 5
            )

        def receipt() -> bytes:
            return collector.reader(signed).receipt(accepted.index).to_bytes()

        try:
            made = await asyncio.get_running_loop().run_in_executor(self._provers, receipt)
        except ProtocolError as error:
            raise Refused(RefusalReason.UNAVAILABLE, str(error), 1) from None
        return replace(accepted, receipt=made)
