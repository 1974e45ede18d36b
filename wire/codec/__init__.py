"""Encodes and decodes strictly, in the style of the TLS presentation language.

Message formats are values: small codecs combine into the codec of a whole
message, which then encodes, decodes and describes it. Normative rules:
`specs/00-wire.md`, sections 1 to 4.

    @dataclass(frozen=True, slots=True)
    class Edge:
        peer: bytes
        weight: int

    EDGE = record(Edge, peer=fixed(32), weight=u16)
    EDGES = vector(EDGE, 0, 200)
    EDGES.decode(EDGES.encode((Edge(bytes(32), 7),)))
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
