"""Judges the signatures of a log, batch by batch, while workers look at the batches behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Final

from bulletin_board.entry import Submission
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SIGNATURE_SIZE, SignatureClaim, verify_many
from wire.errors import InvalidSignature
from wire.pae import pre_auth_encoding

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
        signed = [_signed(submission) for _, submission in self.entries]
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
    """The positions of entries that their authors did not sign."""
    return _wrong([_signed(submission) for submission in submissions])


def _wrong(signed: Sequence[SignatureClaim]) -> frozenset[int]:
    try:
        verify_many(signed)
    except InvalidSignature as error:
        return frozenset(error.culprits)
    return frozenset()


def _signed(submission: Submission) -> SignatureClaim:
    message = pre_auth_encoding(ENTRY_PAYLOAD_TYPE, submission.raw[:-SIGNATURE_SIZE])
    return SignatureClaim(submission.entry.author, message, submission.signed.signature)
