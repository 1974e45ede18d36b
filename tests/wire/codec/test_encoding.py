"""What formats may be written down, what cannot be encoded, and the printed text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass, replace
from enum import Enum, IntEnum, IntFlag
from typing import Any

import pytest

from tests.wire.codec.formats import (
    CHOICE,
    EDGE,
    HEADER,
    HEADER_VALUE,
    SAMPLE,
    SAMPLE_VALUE,
    SPAN,
    Colour,
    Edge,
    Empty,
    Span,
)
from wire.codec import (
    Case,
    Codec,
    array,
    boolean,
    describe,
    enumeration,
    fixed,
    i64,
    opaque,
    optional,
    record,
    select,
    u8,
    u16,
    u64,
    vector,
)
from wire.errors import UsageError


class Number(IntEnum):
    ONE = 1


class Bytes(bytes):
    pass


@pytest.mark.parametrize(
    ("codec", "good", "bad"),
    [
        (u8, 255, 256),
        (u8, 0, -1),
        (u8, 1, True),
        (u8, 1, 1.0),
        (u8, 1, "1"),
        (u8, 1, None),
        (u8, 1, Number.ONE),
        (u64, 2**64 - 1, 2**64),
        (i64, -(2**63), -(2**63) - 1),
        (i64, 2**63 - 1, 2**63),
        (boolean, True, 1),
        (boolean, False, None),
        (enumeration(Colour, u8), Colour.RED, 1),
        (enumeration(Number, u8), Number.ONE, 1),
        (fixed(2), b"ab", b"abc"),
        (fixed(2), b"ab", b"a"),
        (fixed(2), b"ab", "ab"),
        (fixed(2), b"ab", bytearray(b"ab")),
        (fixed(2), b"ab", memoryview(b"ab")),
        (fixed(2), b"ab", Bytes(b"ab")),
        (opaque(1, 2), b"a", b""),
        (opaque(1, 2), b"a", b"abc"),
        (opaque(1, 2), b"a", bytearray(b"a")),
        (array(u8, 2), (1, 2), (1,)),
        (array(u8, 2), (1, 2), (1, 2, 3)),
        (array(u8, 2), (1, 2), [1, 2]),
        (array(u8, 2), (1, 2), b"\x01\x02"),
        (vector(u8, 1, 2), (1,), ()),
        (vector(u8, 1, 2), (1,), (1, 2, 3)),
        (vector(u8, 1, 2), (1,), [1]),
        (EDGE, Edge(b"k", 1), (b"k", 1)),
        (EDGE, Edge(b"k", 1), Span(1, 2)),
        (EDGE, Edge(b"k", 1), None),
        (CHOICE, Edge(b"k", 1), None),
        (CHOICE, Edge(b"k", 1), HEADER_VALUE),
        (optional(u8), None, False),
    ],
    ids=lambda arg: type(arg).__name__,
)
def test_values_without_an_encoding(codec: Codec[Any], good: Any, bad: Any) -> None:
    codec.encode(good)
    with pytest.raises(UsageError):
        codec.encode(bad)


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("flag", replace(SAMPLE_VALUE, flag=1)),  # type: ignore[arg-type]
        ("balance", replace(SAMPLE_VALUE, balance=2**63)),
        ("edges", replace(SAMPLE_VALUE, edges=())),
        ("edges[1].key", replace(SAMPLE_VALUE, edges=(Edge(b"k", 1), Edge(b"", 1)))),
        ("edges[1]", replace(SAMPLE_VALUE, edges=(Edge(b"k", 1), 5))),  # type: ignore[arg-type]
        ("pair[0]", replace(SAMPLE_VALUE, pair=(-1, 0))),
        ("maybe.weight", replace(SAMPLE_VALUE, maybe=Edge(b"k", 65_536))),
        ("even", replace(SAMPLE_VALUE, even=7)),
        ("choice.weight", replace(SAMPLE_VALUE, choice=Edge(b"k", -1))),
    ],
)
def test_the_error_names_the_field(field: str, bad: Any) -> None:
    SAMPLE.encode(SAMPLE_VALUE)
    with pytest.raises(UsageError) as caught:
        SAMPLE.encode(bad)
    assert caught.value.field == field


def test_errors_do_not_repeat_the_value() -> None:
    with pytest.raises(UsageError) as caught:
        HEADER.encode(replace(HEADER_VALUE, session=b"SECRET", seq=-123_456))
    assert "SECRET" not in str(caught.value)
    with pytest.raises(UsageError) as caught:
        HEADER.encode(replace(HEADER_VALUE, seq=-123_456))
    assert caught.value.field == "seq"
    assert "123456" not in str(caught.value)


def test_a_failed_encoding_leaves_nothing_behind() -> None:
    pair = array(SPAN, 2)
    with pytest.raises(UsageError):
        pair.encode((Span(1, 2), Edge(b"k", 1)))  # type: ignore[arg-type]
    assert pair.encode((Span(1, 2), Span(3, 4))) == b"\x01\x02\x03\x04"


class Wide(Enum):
    BIG = 256


class Named(Enum):
    WORD = "word"


class Truth(Enum):
    YES = True


class Bits(IntFlag):
    ONE = 1


class Nobody(Enum):
    pass


@dataclass
class Thawed:
    a: int


@dataclass(frozen=True)
class Keyword:
    a: int = field(kw_only=True)


@dataclass(frozen=True)
class Computed:
    a: int = field(init=False, default=1)


class Plain:
    a: int


EMPTY = record(Empty)
TAG = enumeration(Colour, u8)

FORBIDDEN: dict[str, Callable[[], object]] = {
    "negative size": lambda: fixed(-1),
    "size that is not an integer": lambda: fixed(True),
    "bounds in the wrong order": lambda: opaque(2, 1),
    "negative bound": lambda: opaque(-1, 1),
    "length beyond four bytes": lambda: opaque(0, 2**32),
    "vector beyond four bytes": lambda: vector(u16, 0, 2**31),
    "array beyond four bytes": lambda: array(fixed(2**16), 2**16),
    "negative count": lambda: array(u8, -1),
    "array of empty items": lambda: array(EMPTY, 3),
    "vector of empty items": lambda: vector(fixed(0), 0, 3),
    "optional of optional": lambda: optional(optional(u8)),
    "enumeration too wide": lambda: enumeration(Wide, u8),
    "enumeration of words": lambda: enumeration(Named, u8),
    "enumeration of booleans": lambda: enumeration(Truth, u8),
    "enumeration of flags": lambda: enumeration(Bits, u8),
    "enumeration without members": lambda: enumeration(Nobody, u8),
    "record of a plain class": lambda: record(Plain, a=u8),
    "record of a mutable class": lambda: record(Thawed, a=u8),
    "record with a keyword field": lambda: record(Keyword, a=u8),
    "record with a computed field": lambda: record(Computed, a=u8),
    "record with a field too few": lambda: record(Edge, key=fixed(1)),
    "record with a field too many": lambda: record(Empty, a=u8),
    "record in another order": lambda: record(Span, high=u8, low=u8),
    "record beyond four bytes": lambda: record(Span, low=opaque(0, 2**31), high=opaque(0, 2**31)),
    "select without cases": lambda: select("Nothing", TAG),
    "select with one tag twice": lambda: select(
        "Twice", TAG, Case(Colour.RED, EDGE), Case(Colour.RED, SPAN)
    ),
    "select with one class twice": lambda: select(
        "Twice", TAG, Case(Colour.RED, EDGE), Case(Colour.BLUE, EDGE)
    ),
    "select with a foreign tag": lambda: select("Foreign", TAG, Case(Wide.BIG, EDGE)),  # type: ignore[misc]
}


@pytest.mark.parametrize("build", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_forbidden_formats(build: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        build()


def test_their_allowed_neighbours() -> None:
    allowed: list[Codec[Any]] = [
        fixed(0),
        opaque(1, 1),
        opaque(0, 2**32 - 5),
        vector(u16, 0, 2**31 - 3),
        array(u8, 0),
        optional(u8),
        enumeration(Wide, u16),
        EMPTY,
        record(Span, low=u8, high=u8),
        select("Two", TAG, Case(Colour.RED, EDGE), Case(Colour.BLUE, SPAN)),
    ]
    assert all(codec.min_size <= codec.max_size < 2**32 for codec in allowed)


@dataclass(frozen=True)
class Inner:
    a: int


def test_every_notation() -> None:
    cls = make_dataclass("Outer", ["a", "b", "c", "d"], frozen=True)
    outer: Codec[object] = record(
        cls,
        a=fixed(32),
        b=array(record(Inner, a=u16), 3),
        c=vector(opaque(0, 3), 1, 4),
        d=array(opaque(0, 3), 2),
    )
    assert describe(outer).splitlines() == [
        "struct {",
        "    uint16 a;",
        "} Inner;",
        "",
        "struct {",
        "    opaque a[32];",
        "    Inner b[6];  /* 3 items */",
        "    opaque<0..3> c<1..16>;  /* 1 to 4 items */",
        "    opaque<0..3> d[2..8];  /* 2 items */",
        "} Outer;",
    ]


def test_types_come_before_their_use_and_once() -> None:
    text = describe(SAMPLE)
    names = [line.split()[-1] for line in text.splitlines() if line.startswith("}")]
    assert names == ["Colour;", "Edge;", "Span;", "Empty;", "Choice;", "Sample;"]


def test_two_types_of_one_name_cannot_be_described_together() -> None:
    cls = make_dataclass("Outer", ["a", "b"], frozen=True)
    same = record(Inner, a=u16)
    assert describe(record(cls, a=same, b=record(Inner, a=u16))).count("} Inner;") == 1
    with pytest.raises(UsageError):
        describe(record(cls, a=same, b=record(Inner, a=u8)))
