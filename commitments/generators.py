"""Bases nobody knows a relation between: hashed to the group from public labels.

A base is named by a family, a dimension and an index. The name is framed before
it is hashed, so no two different names ever share a preimage. Families that must
not be confused across dimensions put the dimension in; prefix families leave it 0.
"""

from __future__ import annotations

from functools import lru_cache

from commitments.group import Group, PointVec
from commitments.hash_to_group import hash_to_points
from wire.domains import GENERATORS
from wire.errors import UsageError

MAX_BASES = 1 << 24


def generator_name(family: bytes, dimension: int, index: int) -> bytes:
    """The framed name: u8 length, family, u32 dimension, u32 index, big-endian."""
    return bytes([len(family)]) + family + dimension.to_bytes(4, "big") + index.to_bytes(4, "big")


def derive_generators(group: Group, family: bytes, count: int, *, dimension: int = 0) -> PointVec:
    """The first `count` bases of a family; asked again, the same objects come back.

    Raises:
        UsageError: the family name or the count is out of range.
    """
    if not 1 <= len(family) <= 255:
        raise UsageError(f"a family name has 1 to 255 bytes, not {len(family)}")
    if not 0 <= count <= MAX_BASES or not 0 <= dimension <= MAX_BASES:
        raise UsageError(f"at most {MAX_BASES} bases: asked for {count}, dimension {dimension}")
    return _derive(group, family, dimension, count)


@lru_cache(maxsize=64)
def _derive(group: Group, family: bytes, dimension: int, count: int) -> PointVec:
    names = [generator_name(family, dimension, index) for index in range(count)]
    return hash_to_points(group, names, GENERATORS)
