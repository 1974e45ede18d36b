"""Packs requests and replies, and unpacks them within bounds. `specs/12-sessions.md`, [N10].

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
_WORTH_IT: Final = 2**17
"""What is larger has vectors or a whole log in it: packing costs more time than bytes."""


@dataclass(frozen=True, slots=True)
class PackedMessage:
    """Holds a request or a reply of `size` bytes, compressed."""

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


def pack(message: bytes, dictionary: bytes) -> bytes:
    """A message for somebody who has this dictionary."""
    if len(message) > _WORTH_IT:
        return message
    made = zlib.compressobj(_LEVEL, zdict=dictionary)
    packed = made.compress(message) + made.flush()
    if len(message) > GROWTH * len(packed) + ROOM:
        return message
    return PACKED.encode(PackedMessage(PACKED_VERSION, len(message), packed))


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
