"""Says what of a commit and of a prove message neighbours need: its head.

What follows the head is for whoever checks proofs. Where it is long it stands in entries of its
own, which nobody has to be shown for the head's sake. `specs/04-protocol.md`, [E1] and [C5].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bulletin_board import Entry
from gopa.messages.party import MOST_NEIGHBOURS
from gopa.messages.phases import Kind
from wire.codec import Codec, fixed, record, vector
from wire.codec.base import ByteReader, DecodeFault

LEAST_TAIL: Final = 4_096
"""From so many bytes on, what is behind a head is worth an entry of its own to its author."""


@dataclass(frozen=True, slots=True)
class CommitHead:
    """Carries what a commit says to neighbours: about edges and masks, and what was dealt."""

    acts_on: bytes
    edges: tuple[bytes, ...]
    self_mask: bytes
    coefficients: tuple[bytes, ...]
    shares: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ProveHead:
    """Carries what a prove message says to neighbours: commitments to masks at a few points."""

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
