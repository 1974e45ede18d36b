"""Strict encoding and decoding, in the style of the TLS presentation language.

Message formats are values: small codecs combine into the codec of a whole message, which encodes,
decodes and describes it. Read `base`, `scalars`, `sequences`.

    >>> from wire.codec import fixed, record, u16, vector
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, slots=True)
    ... class Edge:
    ...     peer: bytes
    ...     weight: int
    >>> edges = vector(record(Edge, peer=fixed(2), weight=u16), 0, 200)
    >>> edges.encode((Edge(b"ab", 7),)).hex()
    '000461620007'
    >>> edges.decode(bytes.fromhex("000461620007"))
    (Edge(peer=b'ab', weight=7),)

Specification: `specs/00-wire.md`, sections 1 to 4.
"""

from wire.codec.base import Codec, describe
from wire.codec.scalars import Case, boolean, enumeration, i64, optional, select, u8, u16, u32, u64
from wire.codec.sequences import RecordCodec, array, converted, fixed, opaque, record, vector

__all__ = [
    "Case",
    "Codec",
    "RecordCodec",
    "array",
    "boolean",
    "converted",
    "describe",
    "enumeration",
    "fixed",
    "i64",
    "opaque",
    "optional",
    "record",
    "select",
    "u8",
    "u16",
    "u32",
    "u64",
    "vector",
]
