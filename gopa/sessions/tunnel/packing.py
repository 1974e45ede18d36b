"""Requests and replies as bytes, packed and unpacked within bounds (12-N10).

Much of both is what host and party know: the session and the keys of its roster in each entry. So
they are compressed (zlib, RFC 1950) with a preset dictionary: the manifest, once the party has it,
and the session. What is inside is believed no more than without packing.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from wire.codec import Codec, opaque, record, u16, u32
from wire.errors import MalformedMessage, UsageError

PACKED_VERSION: Final = 2
ROOM: Final = 2**16
GROWTH: Final = 8
_LEVEL: Final = 6
_QUICK: Final = 1
_HEAD: Final = 6
"""Two bytes of a stream's head, and the checksum of its dictionary."""
_RAW: Final = -15
"""The window of a stream without head and checksum (RFC 1951)."""
_SHRINKS: Final = 0.75
_WORTH_IT: Final = 2**17
"""More than that, besides parts, has vectors or a whole log in it: time costs more than bytes."""


@dataclass(frozen=True, slots=True)
class PackedMessage:
    """A request or a reply of `size` bytes, compressed."""

    version: int
    size: int
    packed: bytes

    def __post_init__(self) -> None:
        if self.version != PACKED_VERSION:
            raise UsageError(f"version {PACKED_VERSION} is packed", "version")
        # A few bytes must not fill the memory of a party.
        if self.size > GROWTH * len(self.packed) + ROOM:
            raise UsageError(f"at most {GROWTH} times what is packed, and {ROOM}", "size")


PACKED: Final[Codec[PackedMessage]] = record(
    PackedMessage, version=u16, size=u32, packed=opaque(1, 2**29)
)


@dataclass(frozen=True, slots=True)
class Deflated:
    """A part of many messages as it stands in the stream of each: packed once for all."""

    plain: bytes
    packed: bytes


def deflated(plain: bytes) -> Deflated | None:
    """A part that is packed quickly; None if it hardly shrinks, as masked values do not."""
    packed = _blocks(plain, zlib.Z_DEFAULT_STRATEGY)
    if len(plain) > GROWTH * len(packed):  # a receiver would refuse it; so a byte takes a bit
        packed = _blocks(plain, zlib.Z_HUFFMAN_ONLY)
    return Deflated(plain, packed) if len(packed) < _SHRINKS * len(plain) else None


def _blocks(plain: bytes, strategy: int) -> bytes:
    made = zlib.compressobj(_QUICK, wbits=_RAW, strategy=strategy)
    return made.compress(plain) + made.flush(zlib.Z_FULL_FLUSH)


def pack(message: bytes, dictionary: bytes, parts: Sequence[Deflated] = ()) -> bytes:
    """A message for somebody who has this dictionary; it holds these parts in their order."""
    if len(message) - sum(len(part.plain) for part in parts) > _WORTH_IT:
        return message
    packed = _stream(message, dictionary, parts)
    if len(message) > GROWTH * len(packed) + ROOM:
        return message
    return PACKED.encode(PackedMessage(PACKED_VERSION, len(message), packed))


def _stream(message: bytes, dictionary: bytes, parts: Sequence[Deflated]) -> bytes:
    if not parts:
        made = zlib.compressobj(_LEVEL, zdict=dictionary)
        return made.compress(message) + made.flush()
    head = zlib.compressobj(_LEVEL, zdict=dictionary).flush()[:_HEAD]
    made = zlib.compressobj(_LEVEL, wbits=_RAW, zdict=dictionary)
    found, start = [head], 0
    for part in parts:  # nothing refers across a full flush
        end = _place(message, part.plain, start)
        found += [made.compress(message[start:end]), made.flush(zlib.Z_FULL_FLUSH), part.packed]
        start = end + len(part.plain)
    found += [made.compress(message[start:]), made.flush(), zlib.adler32(message).to_bytes(4)]
    return b"".join(found)


def _place(message: bytes, part: bytes, start: int) -> int:
    """Where a part stands: a search for all of a long one would take as long as packing it."""
    begins = part[:64]
    found = message.index(begins, start)
    while not message.startswith(part, found):
        found = message.index(begins, found + 1)
    return found


def is_packed(data: bytes) -> bool:
    """Whether this is a packed message, if it is a message."""
    return data[:2] == PACKED_VERSION.to_bytes(2)


def unpack(data: bytes, dictionaries: Sequence[bytes]) -> bytes:
    """The message in these bytes, which were packed or not, with one of these dictionaries.

    Raises `MalformedMessage` if it cannot be unpacked.
    """
    if not isinstance(data, bytes) or not is_packed(data):
        return data  # its codec says what is wrong with it
    given = PACKED.decode(data)
    for dictionary in dictionaries:
        with suppress(zlib.error):
            return _inflated(given, dictionary)
    raise MalformedMessage("compressed with what the receiver knows", "packed")


def _inflated(given: PackedMessage, dictionary: bytes) -> bytes:
    opened = zlib.decompressobj(zdict=dictionary)
    found = opened.decompress(given.packed, given.size + 1)
    if len(found) != given.size or not opened.eof or opened.unused_data:
        raise MalformedMessage(f"{given.size} bytes, and nothing behind them", "packed")
    return found
