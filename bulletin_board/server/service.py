"""What the HTTP handlers share: the committer, the limits, the health of the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bulletin_board.admission import Reason, Refused
from bulletin_board.committer import Committer
from bulletin_board.entry import Submission, verify_entry
from bulletin_board.policy import TrustPolicy
from bulletin_board.sequencer import Accepted
from bulletin_board.server.limits import RateLimit, ServerLimits
from bulletin_board.server.metrics import Metrics
from bulletin_board.server.view import NoView, SessionView
from bulletin_board.source import Source
from bulletin_board.witness.collect import Collector
from wire.errors import InvalidSignature, MalformedMessage


@dataclass(slots=True)
class BoardService:
    """One board. `collector` is there when the policy names witnesses to ask."""

    committer: Committer
    public: Source
    policy: TrustPolicy
    limits: ServerLimits = field(default_factory=ServerLimits)
    view: SessionView = field(default_factory=NoView)
    collector: Collector | None = None
    clock: Callable[[], float] = time.monotonic
    metrics: Metrics = field(default_factory=Metrics)
    rate: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        self.rate = RateLimit(self.limits.posts_per_second, self.limits.burst, self.clock)

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
        self.rate.take(submission.entry.author.data)
        outcome = await asyncio.wrap_future(self.committer.submit(submission))
        if isinstance(outcome, Refused):
            raise outcome
        if outcome.barrier and self.policy.needs_witnesses:
            return await self._under_quorum(outcome)
        return outcome

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

    def close(self) -> None:
        """Commit what waits, then stop."""
        self.committer.close()
        if self.collector is not None:
            self.collector.close()

    async def _under_quorum(self, accepted: Accepted) -> Accepted:
        """A barrier counts only under a quorum: fail closed, the entry may be posted again."""
        reader = None
        if self.collector is not None:
            wait = self.limits.quorum_seconds
            reader = await asyncio.to_thread(self.collector.wait_for, accepted.index, wait)
        if reader is None:
            raise Refused(Reason.QUORUM, "the entry is in the log and waits for witnesses", 5)
        receipt = await asyncio.to_thread(reader.receipt, accepted.index)
        return replace(accepted, receipt=receipt.to_bytes())
