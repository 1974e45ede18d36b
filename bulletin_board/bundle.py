"""Entry bundles: 1 to 256 entries, each behind its length (C2SP tlog-tiles)."""

from __future__ import annotations

from collections.abc import Iterable

from bulletin_board.tree import HASH_SIZE, TILE_WIDTH
from wire.errors import MalformedMessage, UsageError

LARGEST_LEAF = 65_535
LARGEST_BUNDLE = TILE_WIDTH * (2 + LARGEST_LEAF)


def encode_bundle(entries: Iterable[bytes]) -> bytes:
    """Each entry behind its length in two bytes, big-endian."""
    parts = []
    for entry in entries:
        if len(entry) > LARGEST_LEAF:
            raise UsageError(f"an entry of the log has at most {LARGEST_LEAF} bytes")
        parts += [len(entry).to_bytes(2), entry]
    return b"".join(parts)


def decode_bundle(data: bytes, width: int) -> list[bytes]:
    """Exactly `width` entries that fill `data` exactly, or `MalformedMessage`.

    The width comes from the checkpoint: a bundle that carries more entries than
    its place holds would show some readers entries that the log does not commit to.
    """
    entries = []
    position = 0
    for number in range(width):
        start = position + 2
        stop = start + int.from_bytes(data[position:start])
        if start > len(data) or stop > len(data):
            raise MalformedMessage("the bundle ends inside an entry", f"[{number}]", position)
        entries.append(data[start:stop])
        position = stop
    if position != len(data):
        raise MalformedMessage(f"bytes after the last of {width} entries", "", position)
    return entries


def truncate_bundle(data: bytes, width: int) -> bytes:
    """The first `width` entries of a bundle that holds more."""
    position = 0
    for number in range(width):
        position += 2 + int.from_bytes(data[position : position + 2])
        if position > len(data):
            raise MalformedMessage("the bundle ends inside an entry", f"[{number}]")
    return data[:position]


def decode_tile(data: bytes, width: int) -> tuple[bytes, ...]:
    """Exactly `width` hashes, or `MalformedMessage`."""
    if len(data) != width * HASH_SIZE:
        raise MalformedMessage(f"a tile of {width} hashes, not {len(data)} bytes", "tile")
    return tuple(data[i : i + HASH_SIZE] for i in range(0, len(data), HASH_SIZE))
