"""What a malformed message is told: where it is wrong, at bounded cost."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass
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
    converted,
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
from wire.errors import MalformedMessage, UsageError

EDGES = vector(EDGE, 1, 3)


def refusal(codec: Codec[Any], data: bytes) -> tuple[str, int | None]:
    with pytest.raises(MalformedMessage) as caught:
        codec.decode(data)
    return caught.value.field, caught.value.offset


def spliced(data: bytes, offset: int, replacement: bytes) -> bytes:
    return data[:offset] + replacement + data[offset + len(replacement) :]


@pytest.mark.parametrize(
    ("codec", "good", "bad", "field", "offset"),
    [
        (u16, "0102", "01", "", 0),
        (u16, "0102", "010203", "", 2),
        (u16, "0102", "", "", 0),
        (boolean, "01", "02", "", 0),
        (enumeration(Colour, u16), "0007", "0008", "", 0),
        (fixed(2), "aabb", "aa", "", 0),
        (opaque(1, 3), "01aa", "00", "", 0),
        (opaque(1, 3), "01aa", "04aaaaaa", "", 0),
        (opaque(1, 3), "01aa", "02aa", "", 0),
        (opaque(1, 3), "01aa", "01aabb", "", 2),
        (opaque(0, 300), "0001aa", "00", "", 0),
        (array(opaque(1, 3), 2), "01aa01bb", "04aaaaaaaa01bb", "[0]", 0),
        (array(opaque(1, 3), 2), "01aa01bb", "01aa00", "[1]", 2),
        (array(EDGE, 2), "01aa000101bb0002", "01aa000101bb00", "[1].weight", 6),
        (array(EDGE, 2), "01aa000101bb0002", "01aa000109bb0002", "[1].key", 4),
        (vector(u16, 1, 3), "020001", "00", "", 0),
        (vector(u16, 1, 3), "020001", "03000102", "[1]", 3),
        (vector(u16, 1, 3), "020001", "080001000200030004", "", 7),
        (vector(u16, 1, 3), "020001", "040001", "", 0),
        (vector(fixed(2), 1, 3), "02aabb", "03aabbcc", "[1]", 3),
        (vector(fixed(2), 1, 3), "02aabb", "00", "", 0),
        (vector(fixed(2), 1, 3), "02aabb", "040001", "", 0),
        (vector(opaque(0, 4), 2, 3), "020000", "0400000000", "[3]", 4),
        (vector(opaque(0, 4), 2, 3), "020000", "0403aabbcc", "", 0),
        (optional(EDGE), "0101aa0001", "0201aa0001", "", 0),
        (optional(EDGE), "0101aa0001", "0100", "key", 1),
        (optional(EDGE), "0101aa0001", "000000", "", 1),
        (SPAN, "0102", "0201", "low", 0),
        (CHOICE, "00070102", "00080102", "tag", 0),
        (CHOICE, "00070102", "00070201", "low", 2),
        (CHOICE, "00070102", "000701", "high", 3),
    ],
)
def test_field_and_offset(codec: Codec[Any], good: str, bad: str, field: str, offset: int) -> None:
    codec.decode(bytes.fromhex(good))
    assert refusal(codec, bytes.fromhex(bad)) == (field, offset)


def test_the_path_goes_through_every_kind_of_nesting() -> None:
    encoding = SAMPLE.encode(SAMPLE_VALUE)
    assert SAMPLE.decode(encoding) == SAMPLE_VALUE
    places = {
        0: ("flag", b"\x02"),
        1: ("colour", b"\x00\x03"),
        15: ("edges", b"\x00"),
        20: ("edges[1].key", b"\x00"),
        35: ("notes", b"\xff"),
        37: ("notes[1]", b"\x03"),
        40: ("maybe", b"\x02"),
        41: ("maybe.key", b"\x00"),
        45: ("span.low", b"\xff"),
        47: ("even", b"\x09"),
        48: ("choice.tag", b"\x01\x00"),
        50: ("choice.low", b"\x01"),
    }
    for offset, (field, replacement) in places.items():
        assert refusal(SAMPLE, spliced(encoding, offset, replacement)) == (field, offset)


def test_a_member_without_a_case_is_malformed() -> None:
    narrow: Codec[Span] = select("Narrow", enumeration(Colour, u16), Case(Colour.BLUE, SPAN))
    assert CHOICE.decode(bytes.fromhex("0002")) == Empty()
    assert narrow.decode(bytes.fromhex("00070102")) == Span(1, 2)
    assert refusal(narrow, bytes.fromhex("00020102")) == ("tag", 0)


def test_offsets_inside_converted_bytes_count_from_the_start_of_the_message() -> None:
    def parse(data: bytes) -> bytes:
        if b"\xff" in data:
            raise MalformedMessage("no 255 here", "digit", data.index(b"\xff"))
        return data

    digits = converted(opaque(0, 300), parse, lambda data: data)
    pair = array(digits, 2)
    assert pair.decode(bytes.fromhex("0001aa0002aabb")) == (b"\xaa", b"\xaa\xbb")
    assert refusal(pair, bytes.fromhex("0001aa0002aaff")) == ("[1].digit", 6)


def test_a_converted_item_that_yields_none_cannot_fake_an_absent_optional() -> None:
    nothing: Codec[int | None] = converted(u8, lambda v: v or None, lambda v: v or 0)
    maybe = optional(nothing)
    assert maybe.decode(b"\x01\x05") == 5
    assert maybe.decode(b"\x00") is None
    assert refusal(maybe, b"\x01\x00") == ("", 0)


def test_invariants_of_a_class_are_errors_of_the_sender_only_while_decoding() -> None:
    assert SPAN.decode(b"\x01\x02") == Span(1, 2)
    assert refusal(vector(SPAN, 0, 4), b"\x04\x01\x02\x02\x01") == ("[1].low", 3)
    with pytest.raises(UsageError):
        Span(2, 1)


def test_a_malformed_part_found_by_a_class_is_placed_at_its_record() -> None:
    @dataclass(frozen=True)
    class Key:
        data: bytes

        def __post_init__(self) -> None:
            if self.data == b"\0\0":
                raise MalformedMessage("not a key", "data")

    keys = vector(record(Key, data=fixed(2)), 0, 4)
    assert keys.decode(b"\x04\1\2\3\4") == (Key(b"\1\2"), Key(b"\3\4"))
    assert refusal(keys, b"\x04\1\2\0\0") == ("[1].data", 3)


HUGE: list[tuple[str, Codec[Any]]] = [
    ("opaque", opaque(0, 2**32 - 1 - 4)),
    ("vector", vector(fixed(32), 0, 2**27 - 1)),
    ("bytes", vector(u8, 0, 2**32 - 5)),
    ("nested", vector(opaque(0, 2**31), 0, 1)),
    ("record", record(Edge, key=opaque(0, 2**31), weight=u16)),
]


@pytest.mark.parametrize(("name", "codec"), HUGE, ids=[name for name, _ in HUGE])
@pytest.mark.parametrize("announced", [2**32 - 1, 2**31, 2**20])
def test_absurd_lengths_cost_nothing(name: str, codec: Codec[Any], announced: int) -> None:
    data = announced.to_bytes(4) + bytes(64)
    refusal(codec, data)  # once before measuring, for whatever is made on first use
    tracemalloc.start()
    try:
        started = time.thread_time()
        refusal(codec, data)
        seconds = time.thread_time() - started
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16_384, name
    assert seconds < 0.1


def test_input_over_the_size_limit_is_refused_before_any_of_it_is_read() -> None:
    assert HEADER.decode(HEADER.encode(HEADER_VALUE)) == HEADER_VALUE
    oversized = bytes([0xFF]) * (HEADER.max_size + 1)
    assert refusal(HEADER, oversized) == ("", HEADER.max_size)


@pytest.mark.parametrize("data", ["0102", bytearray(2), memoryview(bytes(2)), None, 7])
def test_only_bytes_are_decoded(data: Any) -> None:
    assert u16.decode(bytes(2)) == 0
    with pytest.raises(UsageError):
        u16.decode(data)


def test_messages_do_not_repeat_the_received_bytes() -> None:
    marker = b"INJECTED"
    for codec in (fixed(4), opaque(0, 4), EDGE, EDGES, HEADER, CHOICE):
        with pytest.raises(MalformedMessage) as caught:
            codec.decode(marker)
        assert "INJECTED" not in str(caught.value)
        assert "INJECTED" not in repr(caught.value)
