"""Hand-made message formats that between them use every combinator."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from wire.codec import (
    Case,
    Codec,
    array,
    boolean,
    converted,
    enumeration,
    fixed,
    i64,
    opaque,
    optional,
    record,
    select,
    u8,
    u16,
    u32,
    u64,
    vector,
)
from wire.errors import MalformedMessage, UsageError


class Colour(Enum):
    RED = 1
    GREEN = 2
    BLUE = 7


@dataclass(frozen=True, slots=True)
class Edge:
    key: bytes
    weight: int


@dataclass(frozen=True, slots=True)
class Header:
    version: int
    session: bytes
    phase: int
    kind: int
    round: int
    chunk: int
    chunks: int
    author: bytes
    seq: int
    previous: bytes
    seen_size: int
    seen_root: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Span:
    """A class with an invariant of its own."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise UsageError("low must not exceed high", "low")


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Sample:
    flag: bool
    colour: Colour
    balance: int
    name: bytes
    edges: tuple[Edge, ...]
    pair: tuple[int, ...]
    notes: tuple[bytes, ...]
    maybe: Edge | None
    span: Span
    even: int
    choice: Edge | Span | Empty


def parse_even(value: int) -> int:
    if value % 2:
        raise MalformedMessage("odd")
    return value


def unparse_even(value: int) -> int:
    if value % 2:
        raise UsageError("odd")
    return value


COLOUR = enumeration(Colour, u16)
EDGE = record(Edge, key=opaque(1, 8), weight=u16)
SPAN = record(Span, low=u8, high=u8)
CHOICE: Codec[Edge | Span | Empty] = select(
    "Choice",
    COLOUR,
    Case(Colour.RED, EDGE),
    Case(Colour.BLUE, SPAN),
    Case(Colour.GREEN, record(Empty)),
)
HEADER = record(
    Header,
    version=u16,
    session=fixed(32),
    phase=u8,
    kind=u8,
    round=u16,
    chunk=u16,
    chunks=u16,
    author=fixed(32),
    seq=u32,
    previous=fixed(32),
    seen_size=u64,
    seen_root=fixed(32),
    body=opaque(0, 60_000),
)
SAMPLE = record(
    Sample,
    flag=boolean,
    colour=COLOUR,
    balance=i64,
    name=opaque(0, 300),
    edges=vector(EDGE, 1, 4),
    pair=array(u32, 2),
    notes=vector(opaque(0, 2), 0, 3),
    maybe=optional(EDGE),
    span=SPAN,
    even=converted(u8, parse_even, unparse_even),
    choice=CHOICE,
)

HEADER_VALUE = Header(
    1, bytes(range(32)), 2, 3, 4, 0, 1, b"a" * 32, 9, b"p" * 32, 2**40, b"r" * 32, b"body"
)
SAMPLE_VALUE = Sample(
    flag=True,
    colour=Colour.BLUE,
    balance=-5,
    name=b"nn",
    edges=(Edge(b"k", 1), Edge(b"kkkk", 2)),
    pair=(3, 2**32 - 1),
    notes=(b"", b"ab"),
    maybe=Edge(b"m", 65_535),
    span=Span(3, 200),
    even=8,
    choice=Span(0, 0),
)
