"""Takes the entries of a log through the checks, once, in bounded batches.

Signatures are judged batch by batch, while workers look at the batches behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import Final

from bulletin_board.entry import VERSION, Entry, Submission
from bulletin_board.fsck import SlotChecks
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.auditing.choice import SessionChoice
from gopa.auditing.sources import Unsupported
from gopa.contract.framing import Posted, signature_claim
from gopa.protocol.rules import LogCheck
from wire.ed25519 import SignatureClaim, verify_many
from wire.errors import BackendError, InvalidProof, InvalidSignature, MalformedMessage

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
