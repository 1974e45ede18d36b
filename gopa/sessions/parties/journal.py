"""Encodes the records of a party's journal: an event, and what it posted then (12-H3, 12-R3).

Items stand behind their size in bytes, in any number: a journal is bounded by its size alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

from bulletin_board.entry import ENTRY, LARGEST_ENTRY
from gopa.contract.framing import Posted
from gopa.contract.phases import Phase
from gopa.protocol.party import (
    Dated,
    Event,
    Fetched,
    Post,
    PostedClose,
    Supplied,
    TimedOut,
    Witnessed,
)
from wire.codec import (
    Case,
    Codec,
    enumeration,
    fixed,
    opaque,
    record,
    select,
    u8,
    u16,
    u64,
    vector,
)
from wire.codec.base import ByteReader, DecodeFault, Notation
from wire.codec.sequences import LengthPrefix
from wire.secret import Guarded

T = TypeVar("T")


class Run(Codec[tuple[T, ...]]):
    """The codec of a tuple in at most `most` bytes. Each item has at least one byte."""

    def __init__(self, item: Codec[T], most: int) -> None:
        self._item = item
        self._most = most
        self._prefix = LengthPrefix(0, most)
        self.min_size = self._prefix.width
        self.max_size = self._prefix.width + most

    def prefix(self, size: int) -> bytes:
        """What stands in front of so many bytes."""
        return size.to_bytes(self._prefix.width)

    @property
    def notation(self) -> Notation:
        return Notation(self._item.notation.type_name, f"<0..{self._most}>")

    def definitions(self) -> Iterator[tuple[str, str]]:
        return self._item.definitions()

    def read(self, reader: ByteReader) -> tuple[T, ...]:
        outer = reader.limit
        reader.limit = stop = self._prefix.read(reader)
        items: list[T] = []
        try:
            while reader.position < stop:
                items.append(self._item.read(reader))
        except DecodeFault as fault:
            fault.enter(f"[{len(items)}]")
            raise
        reader.limit = outer
        return tuple(items)

    def write(self, value: tuple[T, ...], out: bytearray) -> None:
        if type(value) is not tuple:
            raise DecodeFault(f"needs a tuple, not {type(value).__name__}")
        content = bytearray()
        for number, item in enumerate(value):
            try:
                self._item.write(item, content)
            except DecodeFault as fault:
                fault.enter(f"[{number}]")
                raise
        if len(content) > self._most:
            raise DecodeFault(f"needs at most {self._most} bytes, not {len(content)}")
        out += self.prefix(len(content))
        out += content


MOST_COORDINATES: Final = 2**20
_LEAF: Final = fixed(32)
_PHASE: Final = enumeration(Phase, u8)

POSTED: Final[Codec[Posted]] = record(Posted, index=u64, leaf=_LEAF, entry=ENTRY)
VALUES: Final = vector(u64, 1, MOST_COORDINATES)


class _Tag(IntEnum):
    POSTED = 1
    SUPPLIED = 2
    FETCHED = 3
    TIMED_OUT = 4
    WITNESSED = 5
    DATED = 6
    CLOSED = 7


_FETCHED: Final = Run(POSTED, 2**31)
EVENT: Final[Codec[Event]] = select(
    "Event",
    enumeration(_Tag, u8),
    Case(_Tag.POSTED, record(Posted, index=u64, leaf=_LEAF, entry=ENTRY)),
    Case(_Tag.SUPPLIED, record(Supplied, logical=u16, values=VALUES)),
    Case(_Tag.FETCHED, record(Fetched, phase=_PHASE, entries=_FETCHED)),
    Case(_Tag.TIMED_OUT, record(TimedOut, round=u16)),
    Case(_Tag.WITNESSED, record(Witnessed, size=u64, root=_LEAF)),
    Case(_Tag.DATED, record(Dated, time=u64)),
    Case(_Tag.CLOSED, record(PostedClose, posted=POSTED, root=_LEAF)),
)

_RAW: Final = opaque(1, LARGEST_ENTRY)
_ENTRIES: Final = Run(_RAW, 2**29)
_POST: Final[Codec[Post]] = record(Post, phase=_PHASE, round=u16, entries=_ENTRIES)
_POSTS: Final = Run(_POST, 2**30)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JournalRecord(Guarded):
    """What a party heard, and what it posted because of it."""

    event: Event
    posts: tuple[Post, ...]


RECORD: Final[Codec[JournalRecord]] = record(JournalRecord, event=EVENT, posts=_POSTS)

_KEPT_BYTES: Final = 2**25


class _Encodings:
    """Encodings of entries that many parties of one process are shown, each made once.

    An entry is found by its leaf and used if it is the very same object: so nothing
    depends on who made it.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[Posted, bytes]] = {}
        self._size = 0

    def of(self, posted: Posted) -> bytes:
        found = self._kept.get(posted.leaf)
        if found is not None and found[0] is posted:
            return found[1]
        data = POSTED.encode(posted)
        if self._size > _KEPT_BYTES:
            self._kept, self._size = {}, 0
        self._kept[posted.leaf] = posted, data
        self._size += len(data)
        return data


_encodings: Final = _Encodings()


def event_parts(event: Event) -> tuple[bytes, ...]:
    """`EVENT.encode(event)` in parts, of which those of entries are shared.

    Raises `UsageError` for an event that has no encoding.
    """
    if isinstance(event, Posted):
        return bytes([_Tag.POSTED]), _encodings.of(event)
    if isinstance(event, PostedClose) and len(event.root) == _LEAF.min_size:
        return bytes([_Tag.CLOSED]), _encodings.of(event.posted), event.root
    if isinstance(event, Fetched) and type(event.entries) is tuple:
        parts = [_encodings.of(posted) for posted in event.entries]
        head = bytes([_Tag.FETCHED, event.phase]) + _FETCHED.prefix(sum(map(len, parts)))
        return head, *parts
    return (EVENT.encode(event),)


def posts_parts(posts: Sequence[Post]) -> tuple[bytes, ...]:
    """What follows the event in a record, in parts; entries are not copied."""
    parts: list[bytes] = []
    for post in posts:
        width = _RAW.min_size - 1
        sized = [part for raw in post.entries for part in (len(raw).to_bytes(width), raw)]
        place = bytes([post.phase]) + post.round.to_bytes(2)
        parts += [place + _ENTRIES.prefix(sum(map(len, sized))), *sized]
    return _POSTS.prefix(sum(map(len, parts))), *parts
