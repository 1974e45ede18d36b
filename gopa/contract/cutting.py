"""Where a message is cut into entries. `specs/04-protocol.md`, section 1, 04-E1.

The sums of a long result stand in entries of their own: who needs no sums is shown the others, and
those with sums by their hashes alone. So do the heads of commits and prove messages, which are all
that neighbours need of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bulletin_board import Entry
from bulletin_board.entry import LARGEST_BODY
from gopa.contract.organiser import SUM_SIZE, SUMS_BEGIN, sums_end
from gopa.contract.party import MOST_NEIGHBOURS
from gopa.contract.phases import Kind
from wire.codec import Codec, fixed, record, vector
from wire.codec.base import ByteReader, DecodeFault

MOST_SUMS_TOGETHER: Final = (LARGEST_BODY - SUMS_BEGIN) // SUM_SIZE
"""So many sums stand together with the rest of a result, in one entry if there is room for it."""

SHORT: Final = 2
"""Entries of a long result that may be short besides the last: the first, and the last of sums."""

SHORT_HEADS: Final = 1
"""The same of a commit and of a prove message: the head."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a message is cut: its first entry ends at `first`, and one more at `second`.

    Where both are 0, as in most messages, every entry but the last is full.
    """

    first: int = 0
    second: int = 0

    @property
    def short(self) -> int:
        """How many entries may be short besides the last."""
        return bool(self.first) + bool(self.second)


PLAIN: Final = Cut()


def own_sums(kind: int, beginning: bytes) -> int:
    """Where sums end that stand in entries of their own; 0 for all other messages."""
    end = sums_end(beginning) if kind == Kind.RESULT else 0
    return end if end > LARGEST_BODY else 0


def cut_of(kind: int, beginning: bytes, chunks: int) -> Cut:
    """How a message of so many entries is cut whose first entry is `beginning`."""
    sums = own_sums(kind, beginning)
    if sums:
        return Cut(SUMS_BEGIN, sums)
    return Cut(head_end(kind, beginning)) if chunks > 1 else PLAIN


def full_size(chunk: int, cut: Cut) -> int:
    """The most bytes of a chunk, which it has if another one follows."""
    if not chunk and cut.first:
        return cut.first
    rest = cut.second - cut.first - (chunk - 1) * LARGEST_BODY
    return min(rest, LARGEST_BODY) if rest > 0 else LARGEST_BODY


def least_size(chunks: int, cut: Cut) -> int:
    """A message of so many chunks has at least so many bytes; one more makes it exact."""
    return max(0, chunks - 1 - cut.short) * LARGEST_BODY


def pieces_of(kind: int, body: bytes) -> list[bytes]:
    """The bodies of the entries of a message."""
    cut, at = _own_cut(kind, body), 0
    made: list[bytes] = []
    while at < len(body) or not made:
        size = full_size(len(made), cut)
        made.append(body[at : at + size])
        at += size
    return made


def _own_cut(kind: int, body: bytes) -> Cut:
    """How an honest author cuts: a short tail stands in one entry with the head."""
    cut = cut_of(kind, body[:LARGEST_BODY], 2)
    together = len(body) <= LARGEST_BODY and len(body) - cut.first < LEAST_TAIL
    return PLAIN if together and not cut.second else cut


def chunks_of(size: int) -> int:
    """How many entries a message of so many bytes takes that are full but for the last."""
    return max(1, -(-size // LARGEST_BODY))


LEAST_TAIL: Final = 4_096
"""From so many bytes on, what is behind a head is worth an entry of its own to its author."""


@dataclass(frozen=True, slots=True)
class CommitHead:
    """What a commit says to neighbours: about edges and masks, and what was dealt."""

    acts_on: bytes
    edges: tuple[bytes, ...]
    self_mask: bytes
    coefficients: tuple[bytes, ...]
    shares: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ProveHead:
    """What a prove message says to neighbours: commitments to masks at a few points."""

    acts_on: bytes
    edges: tuple[bytes, ...]
    self_mask: bytes


_HASH = fixed(32)
_EDGES = vector(_HASH, 0, MOST_NEIGHBOURS)

COMMIT_HEAD: Codec[CommitHead] = record(
    CommitHead,
    acts_on=_HASH,
    edges=_EDGES,
    self_mask=_HASH,
    coefficients=_EDGES,
    shares=vector(fixed(64), 0, MOST_NEIGHBOURS),
)
PROVE_HEAD: Codec[ProveHead] = record(ProveHead, acts_on=_HASH, edges=_EDGES, self_mask=_HASH)

_HEADS: Final[Mapping[int, Codec[Any]]] = {Kind.COMMIT: COMMIT_HEAD, Kind.PROVE: PROVE_HEAD}


def head_end(kind: int, beginning: bytes) -> int:
    """Where the head ends in a body that begins like this; 0 if there is none, or not all of it."""
    codec = _HEADS.get(kind)
    if codec is None:
        return 0
    reader = ByteReader(beginning)
    try:
        codec.read(reader)
    except DecodeFault:
        return 0
    return reader.position


def is_head(entry: Entry) -> bool:
    """Whether the entry holds the head of a message, and nothing else."""
    begins = (entry.seq, entry.chunk) == (0, 0) and entry.chunks > 1
    return begins and 0 < head_end(entry.kind, entry.body) == len(entry.body)
