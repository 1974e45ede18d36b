"""What cannot be encoded, and how the caller is told."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
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
    Span,
)
from wire.codec import (
    Codec,
    array,
    boolean,
    enumeration,
    fixed,
    i64,
    opaque,
    optional,
    u8,
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
