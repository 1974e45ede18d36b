"""Random message formats, each with a strategy for its values."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.wire.codec.formats import Colour, parse_even, unparse_even
from wire.codec import (
    Case,
    Codec,
    RecordCodec,
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


class Schema(NamedTuple):
    codec: Codec[Any]
    values: st.SearchStrategy[Any]


def _unsigned(codec: Codec[int], bits: int) -> Schema:
    return Schema(codec, st.integers(0, 2**bits - 1))


PLAIN = [
    _unsigned(u8, 8),
    _unsigned(u16, 16),
    _unsigned(u32, 32),
    _unsigned(u64, 64),
    Schema(i64, st.integers(-(2**63), 2**63 - 1)),
    Schema(boolean, st.booleans()),
    Schema(enumeration(Colour, u8), st.sampled_from(Colour)),
    Schema(
        converted(u16, parse_even, unparse_even), st.integers(0, 2**15 - 1).map(lambda v: 2 * v)
    ),
]


@st.composite
def fixed_schemas(draw: st.DrawFn) -> Schema:
    size = draw(st.integers(1, 5))
    return Schema(fixed(size), st.binary(min_size=size, max_size=size))


@st.composite
def opaque_schemas(draw: st.DrawFn) -> Schema:
    low = draw(st.integers(0, 4))
    high = draw(st.sampled_from([4, 255, 256, 70_000, 2**24, 2**32 - 1]))
    return Schema(
        opaque(low, high),
        st.binary(min_size=low, max_size=low + 6).filter(lambda b: len(b) <= high),
    )


LEAVES = st.one_of(st.sampled_from(PLAIN), fixed_schemas(), opaque_schemas())


def _small(schema: Schema) -> bool:
    return schema.codec.max_size < 2**20


@st.composite
def sequence_schemas(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    item = draw(inner.filter(lambda schema: _small(schema) and schema.codec.min_size > 0))
    low = draw(st.integers(0, 2))
    if draw(st.booleans()):
        codec: Codec[Any] = array(item.codec, low)
        high = low
    else:
        high = draw(st.sampled_from([low, low + 1, low + 3, 100]))
        codec = vector(item.codec, low, high)
    items = st.lists(item.values, min_size=low, max_size=min(high, low + 3))
    return Schema(codec, items.map(tuple))


@st.composite
def optional_schemas(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    not_optional = inner.filter(
        lambda schema: not schema.codec.notation.head.startswith("optional")
    )
    item = draw(not_optional)
    return Schema(optional(item.codec), st.none() | item.values)


def _draw_record(
    draw: st.DrawFn, inner: st.SearchStrategy[Schema]
) -> tuple[RecordCodec[Any], st.SearchStrategy[Any]]:
    bounded = inner.filter(lambda schema: schema.codec.max_size < 2**30)
    members = draw(st.lists(bounded, min_size=1, max_size=3))
    names = [f"f{index}" for index in range(len(members))]
    cls = make_dataclass("Random", names, frozen=True, slots=True)
    codecs = {name: member.codec for name, member in zip(names, members, strict=True)}
    values = st.tuples(*(member.values for member in members)).map(lambda fields: cls(*fields))
    return record(cls, **codecs), values


@st.composite
def record_schemas(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    return Schema(*_draw_record(draw, inner))


@st.composite
def select_schemas(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    first, first_values = _draw_record(draw, inner)
    second, second_values = _draw_record(draw, inner)
    codec: Codec[Any] = select(
        "Random", enumeration(Colour, u8), Case(Colour.GREEN, first), Case(Colour.RED, second)
    )
    return Schema(codec, first_values | second_values)


def _larger(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.one_of(
        sequence_schemas(inner),
        optional_schemas(inner),
        record_schemas(inner),
        select_schemas(inner),
    )


SCHEMAS = st.recursive(LEAVES, _larger, max_leaves=6)


@st.composite
def samples(draw: st.DrawFn) -> tuple[Codec[Any], Any]:
    """A random format and one of its values."""
    schema = draw(SCHEMAS)
    return schema.codec, draw(schema.values)
