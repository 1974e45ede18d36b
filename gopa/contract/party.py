"""What parties post. `specs/04-protocol.md`, sections 4 to 11.

Points, scalars and proofs stay bytes here: which sizes a field has depends on the
session, and what they say is for the rules to judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from wire.codec import Codec, enumeration, fixed, opaque, record, u8, u32, vector

MOST_NEIGHBOURS = 65_535
LARGEST_PROOF = 16_384
LARGEST_VALUE = 2**28


@dataclass(frozen=True, slots=True)
class Join:
    """A fresh key with proof of possession, and what is fixed before the coins."""

    acts_on: bytes
    key: bytes
    possession: bytes
    nonce_hash: bytes
    input: bytes
    seed: bytes


@dataclass(frozen=True, slots=True)
class Reveal:
    """The nonce behind the hash of the join."""

    acts_on: bytes
    nonce: bytes


@dataclass(frozen=True, slots=True)
class Commit:
    """Commitments to all masks and to the noisy input, with the proof about it."""

    acts_on: bytes
    edges: tuple[bytes, ...]
    self_mask: bytes
    coefficients: tuple[bytes, ...]
    shares: tuple[bytes, ...]
    output: bytes
    proof: bytes
    weighing: bytes


class About(IntEnum):
    """What an accusation is about."""

    EDGE = 1
    SHARE = 2


@dataclass(frozen=True, slots=True)
class Accusation:
    """The shared key of an edge, so that anybody sees who lied about it."""

    acts_on: bytes
    about: About
    accused: int
    shared: bytes
    proof: bytes


@dataclass(frozen=True, slots=True)
class Publish:
    """The masked value: d scalars, or d words packed; and the sum of blindings."""

    acts_on: bytes
    value: bytes
    blinding: bytes


@dataclass(frozen=True, slots=True)
class OpenedEdge:
    """The key of an edge to a party that is gone."""

    neighbour: int
    key: bytes


@dataclass(frozen=True, slots=True)
class EdgeOpenings:
    """The keys a party owes after others dropped out."""

    __spec_name__ = "Opening"

    acts_on: bytes
    edges: tuple[OpenedEdge, ...]


@dataclass(frozen=True, slots=True)
class Confirm:
    """The promise that from now on the author opens no edge of this round."""

    acts_on: bytes


@dataclass(frozen=True, slots=True)
class Unmask:
    """The seed of the author's self-mask."""

    acts_on: bytes
    seed: bytes


@dataclass(frozen=True, slots=True)
class RecoveredShare:
    """A share of the self-mask of a party whose seed is missing."""

    dealer: int
    share: bytes


@dataclass(frozen=True, slots=True)
class Recover:
    """The shares a party gives out of those that it received."""

    acts_on: bytes
    shares: tuple[RecoveredShare, ...]


_LEAF = fixed(32)
_KEY = fixed(32)
_OPTIONAL_POINT = opaque(0, 32)

JOIN: Codec[Join] = record(
    Join,
    acts_on=_LEAF,
    key=_KEY,
    possession=fixed(64),
    nonce_hash=opaque(0, 32),
    input=_OPTIONAL_POINT,
    seed=_OPTIONAL_POINT,
)
REVEAL: Codec[Reveal] = record(Reveal, acts_on=_LEAF, nonce=fixed(32))
COMMIT: Codec[Commit] = record(
    Commit,
    acts_on=_LEAF,
    edges=vector(fixed(32), 0, MOST_NEIGHBOURS),
    self_mask=fixed(32),
    coefficients=vector(fixed(32), 0, MOST_NEIGHBOURS),
    shares=vector(fixed(64), 0, MOST_NEIGHBOURS),
    output=_OPTIONAL_POINT,
    proof=opaque(0, LARGEST_PROOF),
    weighing=opaque(0, LARGEST_PROOF),
)
ACCUSATION: Codec[Accusation] = record(
    Accusation,
    acts_on=_LEAF,
    about=enumeration(About, u8),
    accused=u32,
    shared=_KEY,
    proof=opaque(0, 256),
)
PUBLISH: Codec[Publish] = record(
    Publish, acts_on=_LEAF, value=opaque(1, LARGEST_VALUE), blinding=opaque(0, 32)
)
OPENED_EDGE: Codec[OpenedEdge] = record(OpenedEdge, neighbour=u32, key=_KEY)
OPENING: Codec[EdgeOpenings] = record(
    EdgeOpenings, acts_on=_LEAF, edges=vector(OPENED_EDGE, 1, MOST_NEIGHBOURS)
)
CONFIRM: Codec[Confirm] = record(Confirm, acts_on=_LEAF)
UNMASK: Codec[Unmask] = record(Unmask, acts_on=_LEAF, seed=fixed(32))
RECOVERED_SHARE: Codec[RecoveredShare] = record(RecoveredShare, dealer=u32, share=fixed(64))
RECOVER: Codec[Recover] = record(
    Recover, acts_on=_LEAF, shares=vector(RECOVERED_SHARE, 1, MOST_NEIGHBOURS)
)
