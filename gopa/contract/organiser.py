"""What the organiser posts after the manifest.

`specs/04-protocol.md`, sections 2, 4, 5 and 12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

import numpy as np

from gopa.contract.phases import CLOSED, Kind, Phase
from wire.codec import (
    Case,
    Codec,
    boolean,
    enumeration,
    fixed,
    i64,
    opaque,
    record,
    select,
    u8,
    u16,
    u32,
    u64,
    vector,
)
from wire.codec.sequences import LengthPrefix
from wire.errors import MalformedMessage, UsageError

MOST_ENROLLED = 2**20
LARGEST_CHECKPOINT = 65_535
LARGEST_SIGNATURE = 96
MOST_COORDINATES = 2**20


@dataclass(frozen=True, slots=True)
class Open:
    """The beginning of a round: which logical round it serves, and which attempt it is."""

    acts_on: bytes
    logical: int
    attempt: int


@dataclass(frozen=True, slots=True)
class RollEntry:
    """A party on the roll, by its Ed25519 key."""

    __spec_name__ = "Enrolled"

    author: bytes
    key: bytes
    nonce_hash: bytes


@dataclass(frozen=True, slots=True)
class Roll:
    """Everybody who joined, in increasing order of their Ed25519 keys."""

    parties: tuple[RollEntry, ...]
    beacon_round: int


@dataclass(frozen=True, slots=True)
class Coins:
    """The list of who revealed what, or the answer of the beacon."""

    members: bytes
    nonces: tuple[bytes, ...]
    signature: bytes
    previous: bytes


@dataclass(frozen=True, slots=True)
class Members:
    """The parties that are left, one bit for each position of the roll."""

    members: bytes
    final: bool


Content: TypeAlias = Roll | Coins | Members

_CONTENT_OF: dict[Phase, type[Content]] = {Phase.JOIN: Roll, Phase.COINS: Coins}


@dataclass(frozen=True, slots=True)
class Close:
    """The end of a phase with a list; `cut` names the entries that counted, `root` what they were.

    `content` is a roll after join, coins after coins, and members after later phases.
    """

    acts_on: bytes
    cut: int
    root: bytes
    phase: Phase
    checkpoint: bytes
    content: Content

    def __post_init__(self) -> None:
        if self.phase not in CLOSED:
            raise UsageError(f"{self.phase.name.lower()} is not closed", "phase")
        if type(self.content) is not _CONTENT_OF.get(self.phase, Members):
            raise UsageError("the content of a close of this phase", "content")


class RemovalCause(IntEnum):
    """Why a party of the roll is not in a list."""

    __spec_name__ = "Cause"

    ABSENT = 1
    INVALID = 2
    STRUCK = 3
    CONVICTED = 4
    LOST = 5


@dataclass(frozen=True, slots=True)
class Removal:
    """Which party left a round, in which phase and why."""

    position: int
    phase: Phase
    cause: RemovalCause


@dataclass(frozen=True, slots=True)
class ResultMessage:
    """The sums over everybody in the final list, on the grid."""

    __spec_name__ = "Result"

    acts_on: bytes
    cut: int
    sums: tuple[int, ...]
    removed: tuple[Removal, ...]
    attempt: int
    releases: int


class AbortReason(IntEnum):
    """Why a round was aborted."""

    __spec_name__ = "Why"

    TOO_FEW_JOINED = 1
    TOO_MANY_WITHHELD = 2
    TOO_FEW_LEFT = 3
    TOO_MANY_ROLLBACKS = 4
    NOT_CONFIRMED = 5
    NOT_UNMASKED = 6
    ORGANISER = 7


class Released(IntEnum):
    """What others saw of a round that was aborted."""

    NONE = 0
    MASKED = 1


@dataclass(frozen=True, slots=True)
class Abort:
    """The end of the round without a result."""

    acts_on: bytes
    cut: int
    reason: AbortReason
    released: Released
    culprits: tuple[int, ...]


OrganiserMessage: TypeAlias = Open | Close | ResultMessage | Abort


class ListKind(IntEnum):
    """What a close lists."""

    ROLL = 1
    COINS = 2
    MEMBERS = 3


_LEAF = fixed(32)
_PHASE = enumeration(Phase, u8)
_BITS = opaque(1, MOST_ENROLLED // 8)

OPEN: Codec[Open] = record(Open, acts_on=_LEAF, logical=u16, attempt=u16)

ENROLLED: Codec[RollEntry] = record(
    RollEntry, author=fixed(32), key=fixed(32), nonce_hash=opaque(0, 32)
)
REMOVAL: Codec[Removal] = record(
    Removal, position=u32, phase=_PHASE, cause=enumeration(RemovalCause, u8)
)

_CONTENT: Codec[Content] = select(
    "Content",
    enumeration(ListKind, u8),
    Case(
        ListKind.ROLL,
        record(
            Roll,
            parties=vector(ENROLLED, 1, MOST_ENROLLED),
            beacon_round=u64,
        ),
    ),
    Case(
        ListKind.COINS,
        record(
            Coins,
            members=_BITS,
            nonces=vector(fixed(32), 0, MOST_ENROLLED),
            signature=opaque(0, LARGEST_SIGNATURE),
            previous=opaque(0, LARGEST_SIGNATURE),
        ),
    ),
    Case(ListKind.MEMBERS, record(Members, members=_BITS, final=boolean)),
)

CUT: Final = slice(32, 40)
ROOT: Final = slice(40, 72)
"""Where the encoding of a close has its cut and its root."""

CLOSE: Codec[Close] = record(
    Close,
    acts_on=_LEAF,
    cut=u64,
    root=fixed(32),
    phase=_PHASE,
    checkpoint=opaque(0, LARGEST_CHECKPOINT),
    content=_CONTENT,
)
_SUMS = vector(i64, 1, MOST_COORDINATES)
SUM_SIZE: Final = i64.max_size
_SUMS_LENGTH = LengthPrefix(0, SUM_SIZE * MOST_COORDINATES).width
SUMS_BEGIN: Final = _LEAF.max_size + u64.max_size + _SUMS_LENGTH
"""Where the encoding of a result has its first sum."""

RESULT: Codec[ResultMessage] = record(
    ResultMessage,
    acts_on=_LEAF,
    cut=u64,
    sums=_SUMS,
    removed=vector(REMOVAL, 0, MOST_ENROLLED),
    attempt=u16,
    releases=u16,
)
ABORT: Codec[Abort] = record(
    Abort,
    acts_on=_LEAF,
    cut=u64,
    reason=enumeration(AbortReason, u8),
    released=enumeration(Released, u8),
    culprits=vector(u32, 0, MOST_ENROLLED),
)


def sums_end(beginning: bytes) -> int:
    """Where the sums end in the body of a result that begins like this."""
    return SUMS_BEGIN + int.from_bytes(beginning[SUMS_BEGIN - _SUMS_LENGTH : SUMS_BEGIN])


def read_control(kind: int, body: bytes) -> OrganiserMessage:
    """Decode strictly; `MalformedMessage` for what is no message of the organiser in a round."""
    if kind == Kind.OPEN:
        return OPEN.decode(body)
    if kind == Kind.CLOSE:
        return CLOSE.decode(body)
    if kind == Kind.RESULT:
        return RESULT.decode(body)
    if kind == Kind.ABORT:
        return ABORT.decode(body)
    raise MalformedMessage("no message of the organiser in a round", "kind")


def pack_members(positions: Iterable[int], parties: int) -> bytes:
    """Pack a list into one bit for each party, party i in bit i mod 8 of byte i / 8."""
    bits = np.zeros(parties, dtype=np.uint8)
    chosen = list(positions)
    if any(not 0 <= position < parties for position in chosen):
        raise UsageError(f"positions lie between 0 and {parties - 1}", "members")
    bits[chosen] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def unpack_members(data: bytes, parties: int) -> tuple[int, ...]:
    """Unpack the positions, increasing; `MalformedMessage` for a wrong length or padding."""
    if len(data) != -(-parties // 8):
        raise MalformedMessage(f"{parties} parties take {-(-parties // 8)} bytes", "members")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")
    if bits[parties:].any():
        raise MalformedMessage("bits after the last party are zero", "members")
    return tuple(np.flatnonzero(bits[:parties]).tolist())
