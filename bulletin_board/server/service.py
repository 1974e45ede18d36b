"""Takes posts and lookups for the HTTP handlers: checks signatures, rates, and the quorum."""

from __future__ import annotations

import asyncio
import time
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
from bulletin_board.server.quotas import DiskUsage, RateLimit, WritingLimits, WritingQuota
from bulletin_board.witness.asking import WitnessHealth
from bulletin_board.witness.collecting import Collector
from wire.errors import InvalidSignature, MalformedMessage, ProtocolError


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds of what peers may ask. Rates are per author, after the signature is verified.

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
    writing: WritingLimits = field(default_factory=WritingLimits)


_PROVERS = 2
"""Threads that make the receipts of barriers."""


@dataclass(slots=True)
class BoardService:
    """The service of one board. `collector` is there when the policy names witnesses to ask.

    Without `lookups` entries are found by reading the log. `disk` and `exposed` look at the
    directory: how full it is, and what of it others may use (05-S9).
    """

    committer: Committer
    public: PartialFiles
    policy: TrustPolicy
    limits: ServerLimits = field(default_factory=ServerLimits)
    view: SessionView = field(default_factory=NoView)
    collector: Collector | None = None
    lookups: LookupService | None = None
    disk: Callable[[], DiskUsage] = lambda: DiskUsage(2**63, 2**63)
    exposed: Callable[[], str] = str
    access_log: bool = False
    clock: Callable[[], float] = time.monotonic
    metrics: Metrics = field(default_factory=Metrics)
    times: SessionTimes = field(init=False)
    rate: RateLimit = field(init=False)
    quota: WritingQuota = field(init=False)
    _provers: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        sequencer = self.committer.sequencer
        held = () if sequencer is None else (session for session, _ in sequencer.census)
        self.times = SessionTimes(held)
        self.rate = RateLimit(self.limits.posts_per_second, self.limits.burst, self.clock)
        self.quota = WritingQuota(self.limits.writing, self.disk, self.clock)
        self._provers = ThreadPoolExecutor(_PROVERS, "board-receipts")

    def size(self) -> int:
        """The number of entries; 0 while the log is closed."""
        sequencer = self.committer.sequencer
        return 0 if sequencer is None else sequencer.signed.size

    async def post(self, raw: bytes, address: str = "") -> Accepted:
        """Put an entry into the log, or raise `Refused`.

        Returns when the entry is durable and under a published checkpoint. What is written
        counts for the network of `address`.
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
        self.quota.take(address, len(raw))
        try:
            outcome = await asyncio.wrap_future(self.committer.submit(submission))
            if isinstance(outcome, Refused):
                raise outcome
        except Refused as refusal:
            if refusal.reason is not RefusalReason.CONFLICT:  # which may have been kept (D2)
                self.quota.give_back(address, len(raw))
            raise
        if outcome.fresh:
            self.times.note(submission.entry.session)
        else:
            self.rate.give_back(author)  # strangers repeat what is public to use up the rate
            self.quota.give_back(address, len(raw))
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
            why = self.committer.closed_by
            return f"the log is closed after a failed write{f': {why}' if why else ''}"
        if self.collector is not None and self.collector.problem:
            return self.collector.problem
        return self.quota.problem or self.exposed()

    def gauges(self) -> dict[str, float]:
        """The state of log, disk and quota, by the names of metrics."""
        committer, disk, limits = self.committer, self.quota.disk, self.limits.writing
        left = self.quota.left
        found: dict[str, float] = {
            "entries": self.size(),
            "healthy": int(not self.problem()),
            "exposed": int(bool(self.exposed())),
            "queue_length": committer.waiting,
            "checkpoint_age_seconds": self.clock() - committer.last_commit,
            "checked_age_seconds": self.clock() - committer.last_good,
            "commits_total": committer.commits,
            "commit_seconds_total": committer.commit_seconds,
            "written_bytes_total": self.quota.written,
            "disk_bytes": disk.total,
            "disk_free_bytes": disk.free,
            "disk_kept_free_bytes": limits.least_free,
        }
        if left is not None and limits.all_bytes is not None:
            found |= {"quota_bytes": limits.all_bytes, "quota_left_bytes": left}
        return found

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
