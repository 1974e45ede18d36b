"""Bases of specification 01, section 2, from the text: `expand_message_xmd` and the map."""

from __future__ import annotations

from functools import cache
from hashlib import sha512

from commitments.group import Group, Point

_DST = b"gopa/v1/commitments/generators"


def _expand(message: bytes) -> bytes:
    """RFC 9380, section 5.3.1, with SHA-512, for the 64 bytes of a single block."""
    suffix = _DST + bytes([len(_DST)])
    first = sha512(bytes(128) + message + (64).to_bytes(2, "big") + b"\x00" + suffix).digest()
    return sha512(first + b"\x01" + suffix).digest()


@cache
def base(group: Group, family: bytes, dimension: int, index: int) -> Point:
    """The base of [B2] with this name."""
    name = bytes([len(family)]) + family + dimension.to_bytes(4, "big") + index.to_bytes(4, "big")
    return group.map_to_points(_expand(name))[0]


def value_base(group: Group) -> Point:
    return base(group, b"pedersen/value", 0, 0)


def blinding_base(group: Group) -> Point:
    return base(group, b"pedersen/blinding", 0, 0)


def vector_base(group: Group, dimension: int, index: int) -> Point:
    return base(group, b"vector-pedersen/value", dimension, index)


def left_base(group: Group, index: int) -> Point:
    return base(group, b"bits/left", 0, index)


def right_base(group: Group, index: int) -> Point:
    return base(group, b"bits/right", 0, index)


def inner_base(group: Group) -> Point:
    return base(group, b"bits/inner", 0, 0)
