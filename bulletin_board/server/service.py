"""What the HTTP handlers share: the committer, the limits, the health of the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from bulletin_board.admission import Reason, Refused
from bulletin_board.committer import Committer
from bulletin_board.entry import Submission, verify_entry
from bulletin_board.policy import TrustPolicy
from bulletin_board.sequencer import Accepted
from bulletin_board.server.limits import RateLimit, ServerLimits
from bulletin_board.server.lookup import Lookups
from bulletin_board.server.metrics import Metrics
from bulletin_board.server.view import NoView, SessionView
from bulletin_board.source import Files
from bulletin_board.witness.collect import Collector
from bulletin_board.witness.standing import Standing
from wire.errors import InvalidSignature, MalformedMessage, ProtocolError

_PROVERS = 2
"""Threads that make the receipts of barriers."""


@dataclass(slots=True)
class BoardService:
    """One board. `collector` is there when the policy names witnesses to ask.

    Without `lookups` entries are found by reading the log.
    """

    committer: Committer
    public: Files
    policy: TrustPolicy
    limits: ServerLimits = field(default_factory=ServerLimits)
    view: SessionView = field(default_factory=NoView)
    collector: Collector | None = None
    lookups: Lookups | None = None
    clock: Callable[[], float] = time.monotonic
    metrics: Metrics = field(default_factory=Metrics)
    rate: RateLimit = field(init=False)
    _provers: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
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
            raise Refused(Reason.MALFORMED, str(error)) from None
        except InvalidSignature as error:
            raise Refused(Reason.SIGNATURE, str(error)) from None
        author = submission.entry.author.data
        self.rate.take(author)
        outcome = await asyncio.wrap_future(self.committer.submit(submission))
        if isinstance(outcome, Refused):
            raise outcome
        if not outcome.fresh:
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

    def witnesses(self) -> dict[str, Standing]:
        """How each witness of the policy behaves."""
        if self.collector is None:
            return dict.fromkeys(self.policy.witnesses, Standing())
        return self.collector.standings()

    def close(self) -> None:
        """Commit what waits, then stop."""
        self.committer.close()
        if self.lookups is not None:
            self.lookups.close()
        if self.collector is not None:
            self.collector.close()
        self._provers.shutdown()

    def _offered(self) -> Lookups:
        if self.lookups is None:
            raise Refused(Reason.UNAVAILABLE, "this board answers no lookups: read the log")
        return self.lookups

    async def _under_quorum(self, accepted: Accepted) -> Accepted:
        """A barrier counts only under a quorum: fail closed, the entry may be posted again.

        Waiting holds no thread, so however many barriers wait, nothing else does.
        """
        collector = self.collector
        covered = None if collector is None else collector.covering(accepted.index)
        if collector is None or covered is None:
            raise Refused(Reason.BUSY, "too many entries wait for witnesses", 1)
        try:
            async with asyncio.timeout(self.limits.quorum_seconds):
                signed = await asyncio.wrap_future(covered)
        except TimeoutError:
            signed = None
        if signed is None:
            raise Refused(Reason.QUORUM, "the entry is in the log and waits for witnesses", 5)

        def receipt() -> bytes:
            return collector.reader(signed).receipt(accepted.index).to_bytes()

        try:
            made = await asyncio.get_running_loop().run_in_executor(self._provers, receipt)
        except ProtocolError as error:
            raise Refused(Reason.UNAVAILABLE, str(error), 1) from None
        return replace(accepted, receipt=made)
