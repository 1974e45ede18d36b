"""Tells which byte strings can be compressed points of BLS12-381: integers only, no curve.

`specs/09-beacon.md`, rule D7.
"""

from __future__ import annotations

from typing import Final

from wire.errors import MalformedMessage

FIELD_MODULUS: Final = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
    "1eabfffeb153ffffb9feffffffffaaab",
    16,
)

_COORDINATE: Final = 48
_COMPRESSED, _INFINITY = 0x80, 0x40
_BELOW_FLAGS = 0x1F


def require_canonical(data: bytes, size: int) -> None:
    """Return if `data` is the one encoding of some pair (x, sign), else `MalformedMessage`.

    Exactly `size` bytes (48 or 96), compressed, not infinity, every coordinate below the
    modulus. Whether x belongs to a point is for the curve to say.
    """
    if len(data) != size:
        raise MalformedMessage(f"a point of {size} bytes, not {len(data)}")
    # Libraries disagree about other encodings, so two honest auditors could disagree as well.
    if not data[0] & _COMPRESSED:
        raise MalformedMessage("a point in compressed form", offset=0)
    if data[0] & _INFINITY:
        raise MalformedMessage("a point other than infinity", offset=0)
    plain = bytes([data[0] & _BELOW_FLAGS]) + data[1:]
    for start in range(0, size, _COORDINATE):
        if int.from_bytes(plain[start : start + _COORDINATE]) >= FIELD_MODULUS:
            raise MalformedMessage("a coordinate below the modulus of the field", offset=start)
