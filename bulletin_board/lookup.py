"""Requests of a client for entries by place, and the check of what a board answers.

Specification: `specs/05-bulletin-board.md`, section 11. An answer proves what it shows. It
does not prove that there is nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bulletin_board.entry import LARGEST_ENTRY, Submission, verify_entry
from bulletin_board.tree import verify_subset
from wire.codec import Codec, fixed, opaque, record, u8, u16, u64, vector
from wire.ed25519 import KEY_SIZE
from wire.errors import InvalidProof, UsageError

MEDIA_TYPE: Final = "application/vnd.gopa.lookup.v1"

VERSION: Final = 1
MOST_AUTHORS: Final = 256
MOST_PHASES: Final = 16
MOST_STREAMS: Final = 1_024
"""Pairs of an author and a phase in one request."""

MOST_FOUND: Final = 256
MOST_FOUND_BYTES: Final = 2**20
"""An answer ends behind the entry that exceeds it, so it has at most one entry more."""

_HIGHEST_TREE = 63

LARGEST_ANSWER: Final = 2**21


@dataclass(frozen=True, slots=True)
class Lookup:
    """Which entries are wanted: index from `start`, below `below`, in the tree of `size`.

    `phases` and `authors` are in strictly increasing order. No authors stand for one: that of
    the first entry of the session, which is how somebody who knows nothing but the session
    finds its manifest.
    """

    version: int
    session: bytes
    round: int
    start: int
    below: int
    size: int
    phases: tuple[int, ...]
    authors: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")
        if not self.start < self.below <= self.size:
            raise UsageError("start < below <= size", "below")
        for name, items in (("phases", self.phases), ("authors", self.authors)):
            if not _rises(items):
                raise UsageError("distinct and in increasing order", name)
        if len(self.phases) * len(self.authors) > MOST_STREAMS:
            raise UsageError(f"at most {MOST_STREAMS} pairs of author and phase", "authors")


LOOKUP: Codec[Lookup] = record(
    Lookup,
    version=u16,
    session=fixed(32),
    round=u16,
    start=u64,
    below=u64,
    size=u64,
    phases=vector(u8, 1, MOST_PHASES),
    authors=vector(fixed(KEY_SIZE), 0, MOST_AUTHORS),
)


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """A signed entry and its index; nothing is verified yet."""

    index: int
    entry: bytes


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """All entries that the board says there are below `until`, and a proof of inclusion."""

    until: int
    found: tuple[FoundEntry, ...]
    proof: tuple[bytes, ...]


FOUND_ENTRY: Codec[FoundEntry] = record(FoundEntry, index=u64, entry=opaque(1, LARGEST_ENTRY))

LOOKUP_ANSWER: Codec[LookupAnswer] = record(
    LookupAnswer,
    until=u64,
    found=vector(FOUND_ENTRY, 0, MOST_FOUND),
    proof=vector(fixed(32), 0, MOST_FOUND * _HIGHEST_TREE),
)


@dataclass(frozen=True, slots=True)
class VerifiedEntry:
    """An entry whose index, inclusion, signature and place are verified."""

    index: int
    submission: Submission


@dataclass(frozen=True, slots=True)
class LookupPage:
    """The verified entries of one answer; what lies behind has index `until` or more."""

    until: int
    found: tuple[VerifiedEntry, ...]


def open_answer(data: bytes, wanted: Lookup, root: bytes) -> LookupPage:
    """Verify the entries of an answer under the caller's checkpoint (wanted.size, root).

    Raises `MalformedMessage`, and `InvalidProof` or `InvalidSignature` for an answer to
    another question, entries that are not in this tree, or that nobody signed.
    """
    answer = LOOKUP_ANSWER.decode(data)
    indexes = [each.index for each in answer.found]
    if not (wanted.start < answer.until <= wanted.below and _rises(indexes)):
        raise InvalidProof("indexes out of order, or behind the end of the answer", "05-Q4")
    if indexes and not wanted.start <= indexes[0] <= indexes[-1] < answer.until:
        raise InvalidProof("indexes outside of what was asked for", "05-Q4")
    # A board that answers with no entry and no progress would keep a client asking for ever.
    if not indexes and answer.until < wanted.below:
        raise InvalidProof("an answer that shows nothing has no continuation", "05-Q4")
    found = tuple(VerifiedEntry(each.index, Submission.decode(each.entry)) for each in answer.found)
    _require_place(found, wanted)  # a board may answer with true entries of another round
    leaves = [(each.index, each.submission.leaf) for each in found]
    verify_subset(leaves, wanted.size, answer.proof, root)
    for each in found:  # being in the log proves no authorship: a board can log anything
        verify_entry(each.submission)
    return LookupPage(answer.until, found)


def _require_place(found: Sequence[VerifiedEntry], wanted: Lookup) -> None:
    entries = [each.submission.entry for each in found]
    authors = {entry.author.data for entry in entries}
    known = authors.issubset(wanted.authors) if wanted.authors else len(authors) <= 1
    here = all(
        entry.session == wanted.session
        and entry.round == wanted.round
        and entry.phase in wanted.phases
        for entry in entries
    )
    if not (known and here):
        raise InvalidProof("an entry of another place than the one asked for", "05-Q5")


def _rises(items: Sequence[int] | Sequence[bytes]) -> bool:
    return all(a < b for a, b in pairwise(items))  # type: ignore[operator]
