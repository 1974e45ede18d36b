"""Received bytes: one encoding for each value, exact lengths, no early allocation."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from commitments.group import Group
from tests.group.values import ORDER, random_points, random_scalars
from wire.errors import MalformedMessage, UsageError

UNREDUCED = [ORDER, ORDER + 1, ORDER + 2**200, 2**253, 2**255 - 1, 2**255, 2**256 - 1]
HUGE = [2**20, 2**31, 2**32 - 1, 2**40, 2**58, 2**59, 2**62]
Decode = Callable[[bytes, Any], Any]


def little(value: int) -> bytes:
    return value.to_bytes(32, "little")


@pytest.mark.parametrize("value", UNREDUCED)
@pytest.mark.parametrize("position", [0, 2, 4])
def test_unreduced_scalars(group: Group, value: int, position: int) -> None:
    valid = [little(ORDER - 1 - k) for k in range(5)]
    assert group.decode_scalars(b"".join(valid), 5).ints() == [ORDER - 1 - k for k in range(5)]
    valid[position] = little(value)
    with pytest.raises(MalformedMessage) as caught:
        group.decode_scalars(b"".join(valid), 5)
    assert caught.value.offset == 32 * position


def test_unreduced_scalars_in_a_large_batch(group: Group) -> None:
    batch = [little(1)] * 20_000
    assert len(group.decode_scalars(b"".join(batch), 20_000)) == 20_000
    batch[15_000] = batch[19_999] = little(ORDER)
    with pytest.raises(MalformedMessage) as caught:
        group.decode_scalars(b"".join(batch), 20_000)
    assert caught.value.offset == 32 * 15_000


@pytest.mark.parametrize("position", [0, 2, 4])
def test_identity_only_where_it_is_allowed(group: Group, position: int) -> None:
    points = [*random_points(group, 5)]
    points[position] = group.identity
    data = group.points(points).to_bytes()
    assert group.decode_points(data, 5, allow_identity=True).find_identity() == position
    with pytest.raises(MalformedMessage) as caught:
        group.decode_points(data, 5)
    assert caught.value.offset == 32 * position


def test_identity_alone(group: Group) -> None:
    assert group.decode_point(bytes(32), allow_identity=True).is_identity()
    with pytest.raises(MalformedMessage) as caught:
        group.decode_point(bytes(32))
    assert caught.value.offset == 0


def decoders(group: Group) -> list[tuple[Decode, bytes]]:
    """Each batch decoder with three valid encodings."""
    return [
        (group.decode_scalars, random_scalars(group, 3).to_bytes()),
        (group.decode_points, random_points(group, 3).to_bytes()),
    ]


def test_wrong_lengths(group: Group) -> None:
    for decode, data in decoders(group):
        assert decode(data, 3).to_bytes() == data
        for bad in (data[:-1], data + b"\0", b"\0" + data, data[1:], data[:64], data * 2, b""):
            with pytest.raises(MalformedMessage) as caught:
                decode(bad, 3)
            assert caught.value.offset == min(len(bad), 96)


@pytest.mark.parametrize("count", [0, 1, 2, 4, *HUGE])
def test_counts_that_do_not_match(group: Group, count: int) -> None:
    for decode, data in decoders(group):
        decode(data, 3)
        tracemalloc.start()
        with pytest.raises(MalformedMessage) as caught:
            decode(data, count)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert caught.value.offset == min(96, 32 * count)
        assert peak < 1 << 20


@pytest.mark.parametrize("count", [-1, -3, -(2**70), 1.0, 3.0, "3", None])
def test_counts_that_are_none(group: Group, count: Any) -> None:
    for decode, data in decoders(group):
        decode(data, 3)
        with pytest.raises(UsageError):
            decode(data, count)


def test_count_zero(group: Group) -> None:
    for decode, data in decoders(group):
        assert len(decode(b"", 0)) == 0
        with pytest.raises(MalformedMessage):
            decode(data[:1], 0)


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_a_single_point_has_its_size(group: Group, size: int) -> None:
    data = (group.generator.to_bytes() * 2)[:size]
    with pytest.raises(MalformedMessage) as caught:
        group.decode_point(data)
    assert caught.value.offset == min(size, 32)


@pytest.mark.parametrize("convert", [bytearray, memoryview, list, bytes.hex])
def test_only_bytes_are_decoded(group: Group, convert: Callable[[bytes], Any]) -> None:
    for decode, data in decoders(group):
        decode(data, 3)
        with pytest.raises(UsageError):
            decode(convert(data), 3)
    with pytest.raises(UsageError):
        group.decode_point(convert(group.generator.to_bytes()))


def test_other_representatives_of_a_valid_encoding(group: Group) -> None:
    """-s, s + p, 2p - s and s + 2p all lead to the point of s if they are not refused."""
    p = 2**255 - 19
    for point in (group.identity, group.generator, *random_points(group, 20)):
        s = int.from_bytes(point.to_bytes(), "little")
        assert group.decode_point(little(s), allow_identity=True) == point
        for other in (p - s, p + s, 2 * p - s, 2 * p + s, s + 2**255):
            if other < 2**256:
                with pytest.raises(MalformedMessage) as caught:
                    group.decode_point(little(other), allow_identity=True)
                assert caught.value.offset == 0


def test_every_flipped_bit_of_a_point_changes_or_breaks_it(group: Group) -> None:
    data = int.from_bytes(group.generator.to_bytes(), "little")
    for bit in range(256):
        flipped = little(data ^ 1 << bit)
        try:
            point = group.decode_point(flipped)
        except MalformedMessage:
            continue
        assert point.to_bytes() == flipped
        assert point != group.generator


@pytest.mark.parametrize("size", [1, 63, 65, 127])
def test_maps_take_whole_strings(group: Group, size: int) -> None:
    assert len(group.map_to_points(bytes(128))) == 2
    assert len(group.map_to_points(b"")) == 0
    with pytest.raises(UsageError):
        group.map_to_points(bytes(size))


@pytest.mark.parametrize(("size", "width"), [(1, 2), (63, 64), (65, 64), (5, 3)])
def test_reductions_take_whole_integers(group: Group, size: int, width: int) -> None:
    assert len(group.reduce_scalars(bytes(2 * width), width)) == 2
    assert len(group.reduce_scalars(b"", width)) == 0
    with pytest.raises(UsageError):
        group.reduce_scalars(bytes(size), width)


@pytest.mark.parametrize("width", [0, -1, 65, 2**70, 1.0, "8", None])
def test_reductions_take_widths_in_range(group: Group, width: Any) -> None:
    assert group.reduce_scalars(b"\x01" * 8, 8).ints() == [0x0101010101010101]
    with pytest.raises(UsageError):
        group.reduce_scalars(b"\x01" * 8, width)
