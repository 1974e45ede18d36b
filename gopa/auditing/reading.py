"""The entries of a log on their way through the checks, once, in bounded batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Final

from bulletin_board.entry import VERSION, Entry, Submission
from bulletin_board.fsck import SlotChecks
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.auditing.choice import SessionChoice
from gopa.auditing.sources import Unsupported
from gopa.messages.framing import Posted
from gopa.rules import LogCheck
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SIGNATURE_SIZE, Signed, verify_many
from wire.errors import BackendError, InvalidProof, InvalidSignature, MalformedMessage
from wire.pae import pre_auth_encoding

MOST_BAD: Final = 1_000
"""So many bad entries are named one by one; the others are counted."""

MOST_TRACED: Final = 100_000
"""Entries of one author that are kept to be shown."""

BATCH: Final = 1_024
"""Signatures are handed out so many at a time."""


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An entry that a log must not hold: which check and rule it fails, and why."""

    check: str
    rule: str
    index: int
    leaf: bytes
    what: str


@dataclass(frozen=True, slots=True)
class Traced:
    """An entry of somebody whom the reader wants to follow; `size` is that of its body."""

    index: int
    entry: Entry
    size: int


@dataclass(slots=True)
class EntryReading:
    """Takes entries in the order of the log; may go on when the log has grown.

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
    _waiting: list[tuple[int, Submission]] = field(default_factory=list)

    def take(self, raws: Sequence[bytes]) -> None:
        """The next entries. Raises `Unsupported` for one of a later version."""
        for raw in raws:
            self._take(raw)
        if len(self._waiting) >= BATCH:
            self.finish()

    def finish(self) -> None:
        """Judge what is still waiting for its signature to be checked."""
        batch, self._waiting = self._waiting, []
        wrong = wrong_signatures((submission for _, submission in batch), self.executor)
        for number, (index, submission) in enumerate(batch):
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

    def _take(self, raw: bytes) -> None:
        index, self.size = self.size, self.size + 1
        leaf = leaf_hash(raw)
        self.check.take_leaf(index, leaf)
        self.edge.extend([leaf])
        version = int.from_bytes(raw[:2])
        if len(raw) > 2 and version > VERSION:
            raise Unsupported(f"entry {index} is of version {version}; known is {VERSION}")
        try:
            submission = Submission.decode(raw)
        except MalformedMessage as error:
            what = f"entry {index} is not an entry: {error}"
            self.undecodable = True
            self._note(BadEntry("1.4", "05-F6", index, leaf, what))
            return
        try:
            self._slots.take(index, submission.entry.slot, leaf)
        except InvalidProof as error:
            self._note(BadEntry("1.4", "05-F6", index, leaf, error.message))
        self._waiting.append((index, submission))
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


def wrong_signatures(
    submissions: Iterable[Submission], executor: Executor | None
) -> frozenset[int]:
    """The positions of entries that their authors did not sign."""
    try:
        verify_many(map(_signed, submissions), executor)
    except InvalidSignature as error:
        return frozenset(error.culprits)
    return frozenset()


def _signed(submission: Submission) -> Signed:
    message = pre_auth_encoding(ENTRY_PAYLOAD_TYPE, submission.raw[:-SIGNATURE_SIZE])
    return Signed(submission.entry.author, message, submission.signed.signature)
