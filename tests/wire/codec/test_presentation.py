"""The printed text of a format."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass

import pytest

from tests.wire.codec.formats import SAMPLE
from wire.codec import Codec, array, describe, fixed, opaque, record, u8, u16, vector
from wire.errors import UsageError


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
