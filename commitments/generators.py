"""Derives bases nobody knows a relation between: hashed to the group from public labels.

A base is named by a family, a dimension and an index. The name is framed before
it is hashed, so no two different names ever share a preimage. Families that must
not be confused across dimensions put the dimension in; prefix families leave it 0.

Hashing to the group is the suite ristretto255_XMD:SHA-512_R255MAP_RO_ of RFC 9380. Nobody knows a
discrete logarithm between two points made here from different messages. That is what the binding
of every commitment rests on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from commitments.group import Group, PointVec
from wire.domains import GENERATORS
from wire.errors import UsageError

_MAX_OUTPUT: Final = 65_535
_MAX_BLOCKS: Final = 255
_MAX_TAG: Final = 255
_OVERSIZE_PREFIX: Final = b"H2C-OVERSIZE-DST-"
_UNIFORM_SIZE: Final = 64


def expand_message_xmd(msg: bytes, dst: bytes, n: int, /, *, hash_name: str = "sha512") -> bytes:
    """Uniform bytes from a message under a domain separation tag (RFC 9380, 5.3.1).

    A tag longer than 255 bytes is hashed first (5.3.3).

    Raises:
        UsageError: the tag is empty, n is not in 1..min(65535, 255 * digest size),
            or `hash_name` names no hash with a fixed digest size of at least 32 bytes.
    """
    if not (isinstance(msg, bytes) and isinstance(dst, bytes) and dst):
        raise UsageError("hash bytes under a non-empty domain separation tag of bytes")
    digest_size, block_size = _hash_sizes(hash_name)
    if type(n) is not int or not 1 <= n <= min(_MAX_OUTPUT, _MAX_BLOCKS * digest_size):
        raise UsageError(f"expand to an output of 1 to {_MAX_BLOCKS} digests, at most 65535 bytes")
    if len(dst) > _MAX_TAG:
        dst = hashlib.new(hash_name, _OVERSIZE_PREFIX + dst).digest()
    tag = dst + len(dst).to_bytes(1)
    seed = hashlib.new(hash_name, bytes(block_size) + msg + n.to_bytes(2) + b"\0" + tag).digest()
    block = bytes(digest_size)
    output = b""
    for index in range(1, -(-n // digest_size) + 1):
        mixed = bytes(a ^ b for a, b in zip(seed, block, strict=True))
        block = hashlib.new(hash_name, mixed + index.to_bytes(1) + tag).digest()
        output += block
    return output[:n]


def _hash_sizes(hash_name: str) -> tuple[int, int]:
    """Digest and block size; the RFC asks for at least 2 * 128 bits of digest."""
    try:
        state = hashlib.new(hash_name)
    except (TypeError, ValueError):
        raise UsageError("hash_name must name a hash of hashlib, for example sha512") from None
    if state.digest_size < 32:
        raise UsageError(f"{state.name} has no fixed digest of at least 32 bytes")
    return state.digest_size, state.block_size


def hash_to_points(group: Group, messages: Sequence[bytes], dst: bytes, /) -> PointVec:
    """One point for each message, uniform and of unknown discrete logarithm.

    The caller gives each use its own `dst`; equal messages under one tag give
    equal points.

    Raises:
        UsageError: as `expand_message_xmd`, or the group has no one-way map.
    """
    uniform = [expand_message_xmd(message, dst, _UNIFORM_SIZE) for message in messages]
    return group.map_to_points(b"".join(uniform))


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
