"""Formats that would be ambiguous or unbounded cannot be written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from typing import Any

import pytest

from tests.wire.codec.formats import EDGE, SPAN, Colour, Edge, Empty, Span
from wire.codec import (
    Case,
    Codec,
    array,
    enumeration,
    fixed,
    opaque,
    optional,
    record,
    select,
    u8,
    u16,
    vector,
)
from wire.errors import UsageError


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
