"""What is read of a log: its entries, once and in bounded batches, and the trace of one author.

Signatures are judged batch by batch, while workers look at the batches behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import Final

from bulletin_board import Checkpoint
from bulletin_board.entry import VERSION, Entry, Submission
from bulletin_board.fsck import SlotChecks
from bulletin_board.policy import TrustPolicy
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.auditing.options import AuditOptions
from gopa.auditing.report import Anchor, Anchoring, AuditFault, Report, ShownEntry
from gopa.auditing.sources import SessionChoice, Unsupported
from gopa.contract.framing import Posted, signature_claim
from gopa.contract.manifest import Manifest, policy_of
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import LogCheck
from wire.ed25519 import SignatureClaim, verify_many
from wire.errors import BackendError, InvalidProof, InvalidSignature, MalformedMessage, UsageError

BATCH: Final = 1_024
"""Entries that are judged at once."""

_TASK: Final = 128
"""Signatures in one task: about 15 ms of work, and a tenth of a megabyte to move."""

MOST_BAD: Final = 1_000
"""So many bad entries are named one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class BadEntry:
    """Names an entry that a log must not hold: which check and rule it fails, and why."""

    check: str
    rule: str
    index: int
    leaf: bytes
    what: str


@dataclass(slots=True)
class Batch:
    """Collects entries on their way, with what was wrong about entries that were read among them.

    `size` has the bytes of the entries, `bad_count` counts what `bad` has no room for, too.
    """

    entries: list[tuple[int, Submission]] = field(default_factory=list)
    bad: list[BadEntry] = field(default_factory=list)
    bad_count: int = 0
    size: int = 0
    _answers: list[Future[frozenset[int]]] = field(default_factory=list)

    def add(self, index: int, submission: Submission) -> None:
        """The next entry."""
        self.entries.append((index, submission))
        self.size += len(submission.raw)

    def note(self, bad: BadEntry) -> None:
        """An entry that goes no further, or should not be there. A log of them takes no memory."""
        self.bad_count += 1
        if len(self.bad) < MOST_BAD:
            self.bad.append(bad)

    def send(self, executor: Executor) -> None:
        """Let workers verify the signatures from now on."""
        signed = [signature_claim(submission) for _, submission in self.entries]
        for at in range(0, len(signed), _TASK):
            self._answers.append(executor.submit(_wrong, signed[at : at + _TASK]))

    def wrong(self) -> frozenset[int]:
        """The positions of entries that their authors did not sign; waits for the workers."""
        if not self._answers:
            return wrong_signatures(submission for _, submission in self.entries)
        return frozenset(
            number * _TASK + position
            for number, answer in enumerate(self._answers)
            for position in answer.result()
        )


def wrong_signatures(submissions: Iterable[Submission]) -> frozenset[int]:
    """Finds the positions of entries that their authors did not sign."""
    return _wrong([signature_claim(submission) for submission in submissions])


def _wrong(signed: Sequence[SignatureClaim]) -> frozenset[int]:
    try:
        verify_many(signed)
    except InvalidSignature as error:
        return frozenset(error.culprits)
    return frozenset()


MOST_TRACED: Final = 100_000
"""Entries of one author that are kept to be shown."""

MOST_AHEAD: Final = 8 << 20
"""Bytes of entries that workers may still be busy with while the log is read on."""


@dataclass(frozen=True, slots=True)
class Traced:
    """Holds an entry of somebody whom the reader wants to follow; `size` is that of its body."""

    index: int
    entry: Entry
    size: int


@dataclass(slots=True)
class EntryReading:
    """Takes entries in the order of the log; may go on when the log has grown.

    With an executor its workers verify signatures while the entries behind are read. What
    is judged, and in which order, is the same.

    What is no entry, or not signed by its author, is named in `bad` and goes no further.
    `bad_count` counts all of them. `halted` says why the rules cannot be evaluated here,
    where this installation lacks something that they need.
    """

    check: LogCheck
    choice: SessionChoice
    executor: Executor | None = None
    trace: str = ""
    size: int = 0
    edge: RightEdge = field(default_factory=RightEdge)
    traced: list[Traced] = field(default_factory=list)
    halted: str = ""
    bad: list[BadEntry] = field(default_factory=list)
    bad_count: int = 0
    undecodable: bool = False
    _slots: SlotChecks = field(default_factory=SlotChecks)
    _batch: Batch = field(default_factory=Batch)
    _sent: deque[Batch] = field(default_factory=deque)

    def take(self, raws: Sequence[bytes]) -> None:
        """The next entries. Raises `Unsupported` for one of a later version."""
        leaves = [leaf_hash(raw) for raw in raws]
        self.edge.extend(leaves)
        try:
            for raw, leaf in zip(raws, leaves, strict=True):
                self._take(raw, leaf)
        except Unsupported:
            # A manifest of a later version in front of it would have been named first.
            self._settle(0)
            raise
        if len(self._batch.entries) >= BATCH:
            self._close(MOST_AHEAD)

    def finish(self) -> None:
        """Judge what is still waiting for its signature to be checked."""
        self._close(0)

    def _close(self, ahead: int) -> None:
        """The batch is whole: its signatures are due, and so are all but the last `ahead` bytes."""
        batch, self._batch = self._batch, Batch()
        if self.executor is None:
            self._judge_all(batch)
            return
        batch.send(self.executor)
        self._sent.append(batch)
        self._settle(ahead)

    def _settle(self, ahead: int) -> None:
        while self._sent and (not ahead or sum(each.size for each in self._sent) > ahead):
            self._judge_all(self._sent.popleft())

    def _judge_all(self, batch: Batch) -> None:
        self.bad += batch.bad[: MOST_BAD - len(self.bad)]
        self.bad_count += batch.bad_count
        wrong = batch.wrong()
        for number, (index, submission) in enumerate(batch.entries):
            if number in wrong:
                what = f"the signature of entry {index} does not verify"
                self._note(BadEntry("3.1", "05-F7", index, submission.leaf, what))
                continue
            for posted in self.choice.take(Posted(index, submission.leaf, submission.entry)):
                self._judge(posted)

    def _judge(self, posted: Posted) -> None:
        if self.halted:
            return
        try:
            self.check.judge(posted)
        except BackendError as error:
            self.halted = str(error)

    def _take(self, raw: bytes, leaf: bytes) -> None:
        index, self.size = self.size, self.size + 1
        self.check.take_leaf(index, leaf)
        version = int.from_bytes(raw[:2])
        if len(raw) > 2 and version > VERSION:
            raise Unsupported(f"entry {index} is of version {version}; known is {VERSION}")
        try:
            submission = Submission.decode(raw)
        except MalformedMessage as error:
            what = f"entry {index} is not an entry: {error}"
            self.undecodable = True
            self._batch.note(BadEntry("1.4", "05-F6", index, leaf, what))
            return
        try:
            self._slots.take(index, submission.entry.slot, leaf)
        except InvalidProof as error:
            self._batch.note(BadEntry("1.4", "05-F6", index, leaf, error.message))
        self._batch.add(index, submission)
        if self.trace and submission.entry.author.data.hex().startswith(self.trace):
            self._keep(index, submission)

    def _keep(self, index: int, submission: Submission) -> None:
        if len(self.traced) < MOST_TRACED:
            entry = submission.entry
            self.traced.append(Traced(index, replace(entry, body=b""), len(entry.body)))

    def _note(self, bad: BadEntry) -> None:
        self.bad_count += 1
        if len(self.bad) < MOST_BAD:
            self.bad.append(bad)


@dataclass(slots=True)
class LogState:
    """Holds one log under one note. `checkpoint` is None where the note could not be read.

    `breaks` are faults of the transcript that came up while it was read, `lacking` says
    what could not be had of it; `forks` is evidence that its board signed
    two histories; `ended` that its last entry was reached and all of them lead
    to the checkpoint.
    """

    name: str
    options: AuditOptions
    reading: EntryReading
    note: bytes = b""
    checkpoint: Checkpoint | None = None
    breaks: list[AuditFault] = field(default_factory=list)
    lacking: str = ""
    forks: list[bytes] = field(default_factory=list)
    ended: bool = False

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of the session, once it was seen and is valid."""
        return self.reading.check.ledger.manifest

    @property
    def manifest_hash(self) -> bytes | None:
        """SHA-256 of the manifest's body, also of one that is not valid."""
        return self.reading.choice.found.get(self.reading.choice.chosen or b"")

    @property
    def policy(self) -> TrustPolicy | None:
        """Whom to believe about the log: the reader's policy, else what the manifest says."""
        if self.options.anchors.policy is not None:
            return self.options.anchors.policy
        return None if self.manifest is None else embedded_policy(self.manifest)

    @property
    def anchoring(self) -> Anchoring:
        """Where trust comes from."""
        stands_in = Anchor.MISSING
        if self.options.trust_embedded and self.manifest is not None:
            stands_in = Anchor.EMBEDDED
        anchors = self.options.anchors
        return Anchoring(
            log=stands_in if anchors.policy is None else Anchor.OUTSIDE,
            manifest=stands_in if anchors.manifest is None else Anchor.OUTSIDE,
        )

    def shown(self, *indexes: int) -> tuple[ShownEntry, ...]:
        """Entries with their leaf hashes."""
        return tuple(ShownEntry(index, self.reading.check.leaf(index)) for index in indexes)


def embedded_policy(manifest: Manifest) -> TrustPolicy:
    """Gives the policy in a manifest, or trust in the one log that it names."""
    policy = policy_of(manifest.policy)
    if policy is not None:
        return policy
    return TrustPolicy.parse(b"log " + manifest.log + b"\nquorum none\n")


@dataclass(frozen=True, slots=True)
class TraceStep:
    """Holds one entry of the author, with what it is and what became of it."""

    index: int
    what: str
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Holds an author's entries in order, and where each round left it."""

    author: bytes
    steps: tuple[TraceStep, ...]
    fates: tuple[str, ...]


def trace(report: Report, traced: list[Traced]) -> Trace:
    """Traces the one author whose entries were kept.

    Raises:
        UsageError: nobody, or several authors, have keys that begin so.
    """
    authors = sorted({each.entry.author.data for each in traced})
    if not authors:
        raise UsageError("nobody in this log has a key that begins so", "trace")
    if len(authors) > 1:
        listed = ", ".join(each.hex()[:16] for each in authors[:8])
        raise UsageError(f"several keys begin so: {listed}", "trace")
    author = authors[0]
    steps = [
        TraceStep(each.index, _described(each), tuple(_verdicts(report, author, each)))
        for each in traced
    ]
    return Trace(author, tuple(steps), tuple(_fates(report, author)))


def _described(traced: Traced) -> str:
    entry = traced.entry
    kind = Kind(entry.kind).name.lower() if entry.kind in set(Kind) else f"kind {entry.kind}"
    phase = Phase(entry.phase).name.lower() if entry.phase in set(Phase) else str(entry.phase)
    part = f", part {entry.chunk + 1} of {entry.chunks}" if entry.chunks > 1 else ""
    return f"round {entry.round}, phase {phase}: {kind}{part}, {traced.size} bytes"


def _verdicts(report: Report, author: bytes, traced: Traced) -> Iterator[str]:
    if report.session is None or traced.entry.session != report.session.session:
        yield "of another session, or of none that was audited"
        return
    found = False
    for fault in report.faults:
        if any(each.index == traced.index for each in fault.entries):
            found = True
            yield f"fault [{fault.rule}]: {fault.got}"
    for remark in report.remarks:
        if traced.index in remark.entries:
            found = True
            yield f"remark [{remark.rule}]: {remark.what}"
    for each in report.rounds:
        for gone in each.excluded:
            if gone.author == author and gone.entry == traced.index:
                found = True
                yield f"removed at {gone.phase} of round {each.number}: {gone.cause} [{gone.rule}]"
    if not found:
        yield "nothing is wrong with it"


def _fates(report: Report, author: bytes) -> Iterator[str]:
    for each in report.rounds:
        name = f"round {each.number}"
        if author in each.included:
            yield f"{name}: in the final list; the round ended with: {each.outcome}"
            continue
        gone = next((row for row in each.excluded if row.author == author), None)
        if gone is not None:
            yield f"{name}: out since {gone.phase}, {gone.cause} [{gone.rule}]"
        elif author in each.joined:
            yield f"{name}: on the roll; the round came to no final list"
        else:
            yield f"{name}: not on the roll"
