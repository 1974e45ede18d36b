"""One value, one encoding: both ways, for every combinator and random nestings of them."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.codec.formats import (
    HEADER,
    HEADER_VALUE,
    SAMPLE,
    SAMPLE_VALUE,
    Colour,
    parse_even,
    unparse_even,
)
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
from wire.errors import MalformedMessage


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


HEADER_HEX = (
    "0001"  # version
    f"{bytes(range(32)).hex()}"  # session
    "02030004"  # phase, kind, round
    "00000001"  # chunk, chunks
    f"{'61' * 32}"  # author
    "00000009"  # sequence number
    f"{'70' * 32}"  # previous leaf
    "0000010000000000"  # seen_size
    f"{'72' * 32}"  # seen_root
    "0004626f6479"  # body
)

SAMPLE_HEX = (
    "01"  # flag
    "0007"  # colour
    "fffffffffffffffb"  # balance
    "00026e6e"  # name, whose maximum of 300 needs a length of two bytes
    "0b016b0001046b6b6b6b0002"  # edges: 11 bytes, two edges
    "00000003ffffffff"  # pair
    "0400026162"  # notes: 4 bytes, the empty one and "ab"
    "01016dffff"  # maybe
    "03c8"  # span
    "08"  # even
    "00070000"  # choice: blue, then a span
)

KNOWN: list[tuple[Codec[Any], Any, str]] = [
    (u8, 255, "ff"),
    (u16, 1, "0001"),
    (u32, 2**31, "80000000"),
    (u64, 258, "0000000000000102"),
    (i64, -1, "ffffffffffffffff"),
    (i64, -(2**63), "8000000000000000"),
    (boolean, False, "00"),
    (boolean, True, "01"),
    (enumeration(Colour, u16), Colour.BLUE, "0007"),
    (fixed(0), b"", ""),
    (fixed(3), b"abc", "616263"),
    (opaque(0, 0), b"", "00"),
    (opaque(0, 255), b"ab", "026162"),
    (opaque(0, 256), b"ab", "00026162"),
    (opaque(0, 65_535), b"ab", "00026162"),
    (opaque(0, 65_536), b"ab", "0000026162"),
    (opaque(0, 2**24 - 1), b"ab", "0000026162"),
    (opaque(0, 2**24), b"ab", "000000026162"),
    (opaque(0, 2**32 - 1), b"ab", "000000026162"),
    (array(u16, 0), (), ""),
    (array(u16, 2), (1, 2), "00010002"),
    (vector(u16, 0, 127), (1, 2), "0400010002"),
    (vector(u16, 0, 128), (1, 2), "000400010002"),
    (vector(fixed(2), 0, 127), (b"ab", b"cd"), "0461626364"),
    (vector(opaque(0, 2), 0, 9), (b"", b"a"), "03000161"),
    (optional(u8), None, "00"),
    (optional(u8), 0, "0100"),
    (HEADER, HEADER_VALUE, HEADER_HEX),
    (SAMPLE, SAMPLE_VALUE, SAMPLE_HEX),
]


@pytest.mark.parametrize(("codec", "value", "encoding"), KNOWN, ids=lambda arg: type(arg).__name__)
def test_known_encodings(codec: Codec[Any], value: Any, encoding: str) -> None:
    assert codec.encode(value).hex() == encoding
    decoded = codec.decode(bytes.fromhex(encoding))
    assert decoded == value
    assert type(decoded) is type(value)


def check_round_trip(sample: tuple[Codec[Any], Any]) -> None:
    codec, value = sample
    encoding = codec.encode(value)
    assert codec.min_size <= len(encoding) <= codec.max_size
    assert codec.decode(encoding) == value
    assert codec.encode(codec.decode(encoding)) == encoding


def check_canonical(codec: Codec[Any], data: bytes) -> None:
    """Either nobody sent this, or it is the one encoding of what it decodes to."""
    try:
        value = codec.decode(data)
    except MalformedMessage as error:
        offset = error.offset
    else:
        assert codec.encode(value) == data
        return
    assert offset is not None
    assert 0 <= offset <= len(data)


def check_mutations(sample: tuple[Codec[Any], Any], data: st.DataObject) -> None:
    codec, value = sample
    encoding = codec.encode(value)
    mutated = bytearray(encoding)
    if encoding:
        cut = data.draw(st.integers(0, len(encoding) - 1))
        bit = data.draw(st.integers(0, 8 * len(encoding) - 1))
        mutated[bit // 8] ^= 1 << bit % 8
        check_canonical(codec, encoding[:cut])
        check_canonical(codec, encoding[:cut] + encoding[cut + 1 :])
    check_canonical(codec, bytes(mutated))
    check_canonical(codec, encoding + data.draw(st.binary(min_size=1, max_size=4)))


@given(samples())
@settings(deadline=None)
def test_random_formats_round_trip(sample: tuple[Codec[Any], Any]) -> None:
    check_round_trip(sample)


@given(samples(), st.data())
@settings(deadline=None)
def test_mutated_encodings_are_canonical_or_malformed(
    sample: tuple[Codec[Any], Any], data: st.DataObject
) -> None:
    check_mutations(sample, data)


@given(samples(), st.binary(max_size=40))
@settings(deadline=None)
def test_random_bytes_are_canonical_or_malformed(
    sample: tuple[Codec[Any], Any], data: bytes
) -> None:
    check_canonical(sample[0], data)


@pytest.mark.soak
@given(samples(), st.data(), st.binary(max_size=60))
@settings(deadline=None, max_examples=20_000)
def test_soak_of_the_three_above(
    sample: tuple[Codec[Any], Any], data: st.DataObject, noise: bytes
) -> None:
    check_round_trip(sample)
    check_mutations(sample, data)
    check_canonical(sample[0], noise)


@pytest.mark.parametrize(
    ("codec", "value"), [(HEADER, HEADER_VALUE), (SAMPLE, SAMPLE_VALUE)], ids=["header", "all"]
)
def test_every_small_mutation_is_canonical_or_malformed(codec: Codec[Any], value: Any) -> None:
    encoding = codec.encode(value)
    assert codec.decode(encoding) == value
    for position in range(len(encoding)):
        for bit in range(8):
            flipped = bytearray(encoding)
            flipped[position] ^= 1 << bit
            check_canonical(codec, bytes(flipped))
        check_canonical(codec, encoding[:position] + b"\0" + encoding[position:])
        check_canonical(codec, encoding[:position] + encoding[position + 1 :])
        with pytest.raises(MalformedMessage):
            codec.decode(encoding[:position])
    for byte in range(256):
        with pytest.raises(MalformedMessage):
            codec.decode(encoding + bytes([byte]))


def test_moving_a_byte_between_neighbours_changes_the_encoding() -> None:
    """The splice ("a", "bc") for ("ab", "c"), in every way two strings can be neighbours."""
    strings = vector(opaque(0, 9), 0, 9)
    encodings = {
        strings.encode(parts)
        for parts in [(b"a", b"bc"), (b"ab", b"c"), (b"abc",), (b"abc", b""), (b"", b"abc")]
    }
    assert len(encodings) == 5
