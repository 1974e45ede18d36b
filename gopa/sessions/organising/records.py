"""What an organiser keeps: its journal and its memory. `specs/12-sessions.md`, [O1] and [O2]."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from bulletin_board.entry import LARGEST_ENTRY
from gopa.messages.organiser import LARGEST_CHECKPOINT
from gopa.messages.phases import Kind
from wire.codec import Case, Codec, enumeration, fixed, opaque, record, select, u8, u16, u64, vector

MOST_CHUNKS: Final = 65_535


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A signed message: exactly these bytes are sent, again and again, until the log has them."""

    kind: Kind
    round: int
    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PhaseStart:
    """The phase that the message with this leaf opened began then, in milliseconds since 1970."""

    leaf: bytes
    since: int


@dataclass(frozen=True, slots=True)
class Covered:
    """The first cosigned checkpoint that covers the close of join.

    Later ones may state times at which the beacon's value was known already.
    """

    size: int
    checkpoint: bytes


Record: TypeAlias = StoredMessage | PhaseStart | Covered


@dataclass(frozen=True, slots=True)
class JournalStart:
    """How many rounds had ended when the journal began, and when that was."""

    ended: int
    since: int


class _Tag(IntEnum):
    SAID = 1
    OPENED = 2
    COVERED = 3


RECORD: Final[Codec[Record]] = select(
    "OrganiserRecord",
    enumeration(_Tag, u8),
    Case(
        _Tag.SAID,
        record(
            StoredMessage,
            kind=enumeration(Kind, u8),
            round=u16,
            entries=vector(opaque(1, LARGEST_ENTRY), 1, MOST_CHUNKS),
        ),
    ),
    Case(_Tag.OPENED, record(PhaseStart, leaf=fixed(32), since=u64)),
    Case(_Tag.COVERED, record(Covered, size=u64, checkpoint=opaque(1, LARGEST_CHECKPOINT))),
)
STANDING: Final[Codec[JournalStart]] = record(JournalStart, ended=u16, since=u64)
