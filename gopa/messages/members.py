"""Packs lists of parties into bit strings over the positions of a roll.

`specs/04-protocol.md`, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wire.errors import MalformedMessage, UsageError


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
