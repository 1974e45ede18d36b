"""Words of any width as bytes: one encoding for each vector, and nothing else decodes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.contract.words import (
    MOST_WORDS,
    check_words,
    pack_words,
    packed_size,
    unpack_words,
    word_type,
)
from tests.group.values import MANY
from wire.errors import MalformedMessage, UsageError

EVERY_WIDTH = pytest.mark.parametrize("width", range(1, 65))


def words(n: int, width: int) -> Any:
    data = hashlib.shake_128(b"words").digest(8 * n)
    values = np.frombuffer(data, dtype="<u8") & np.uint64((1 << width) - 1)
    return values.astype(word_type(width))


def as_integer(values: list[int], width: int) -> int:
    """The definition: word i at the bits width * i and up."""
    return sum(value << width * i for i, value in enumerate(values))


@pytest.mark.thirds(9)
@EVERY_WIDTH
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 63, 64, 65, 300])
def test_packing_is_the_definition(width: int, n: int) -> None:
    values = words(n, width)
    packed = pack_words(values, width)
    assert len(packed) == packed_size(n, width) == (n * width + 7) // 8
    assert int.from_bytes(packed, "little") == as_integer(values.tolist(), width)
    back = unpack_words(packed, n, width)
    assert back.dtype == word_type(width) == (np.uint32 if width <= 32 else np.uint64)
    assert back.tolist() == values.tolist()


@MANY
@given(data=st.data(), width=st.integers(1, 64))
def test_round_trips(data: st.DataObject, width: int) -> None:
    values = data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=80))
    packed = pack_words(np.array(values, dtype=np.uint64), width)
    assert unpack_words(packed, len(values), width).tolist() == values


@EVERY_WIDTH
def test_higher_bits_and_signs_are_cut_off(width: int) -> None:
    for dtype in ("i8", "u8", "i4", "u4"):
        array: Any = np.array([-1, -2, 1 << 31, -(1 << 31), 5]).astype(dtype)
        if width > 8 * array.itemsize:
            continue
        expected = [int(value) % (1 << width) for value in array]
        assert unpack_words(pack_words(array, width), 5, width).tolist() == expected


def test_arrays_of_any_layout() -> None:
    whole = words(40, 20)
    for view in (whole[::2], whole[::-1], whole.astype(">u4")):
        assert unpack_words(pack_words(view, 20), len(view), 20).tolist() == view.tolist()
        assert unpack_words(pack_words(view, 32), len(view), 32).tolist() == view.tolist()


def test_whole_words_are_their_bytes() -> None:
    small, large = words(9, 32), words(9, 64)
    assert pack_words(small, 32) == small.astype("<u4").tobytes()
    assert pack_words(large, 64) == large.astype("<u8").tobytes()
    back = unpack_words(pack_words(small, 32), 9, 32)
    back += 1  # a copy of its own, which masks may be added to


@EVERY_WIDTH
def test_another_length_is_refused(width: int) -> None:
    packed = pack_words(words(11, width), width)
    assert len(unpack_words(packed, 11, width)) == 11
    for bad in (packed[:-1], packed + b"\0", b""):
        with pytest.raises(MalformedMessage) as caught:
            unpack_words(bad, 11, width)
        assert caught.value.offset == min(len(bad), len(packed))
        with pytest.raises(MalformedMessage):
            check_words(bad, 11, width)


@EVERY_WIDTH
def test_unused_bits_must_be_zero(width: int) -> None:
    n = 11
    packed, used = pack_words(words(n, width), width), n * width
    assert len(unpack_words(packed, n, width)) == n
    check_words(packed, n, width)
    for bit in range(used, 8 * len(packed)):
        changed = (int.from_bytes(packed, "little") | 1 << bit).to_bytes(len(packed), "little")
        with pytest.raises(MalformedMessage) as caught:
            unpack_words(changed, n, width)
        assert caught.value.offset == len(packed) - 1
        with pytest.raises(MalformedMessage):
            check_words(changed, n, width)


@pytest.mark.parametrize("width", [0, -1, 65, 2**70, 8.0, "8", None, True])
def test_widths_are_checked(width: Any) -> None:
    for attempt in (
        lambda: pack_words(words(3, 8), width),
        lambda: unpack_words(bytes(3), 3, width),
        lambda: packed_size(3, width),
        lambda: word_type(width),
    ):
        with pytest.raises(UsageError):
            attempt()


@pytest.mark.parametrize("count", [-1, MOST_WORDS + 1, 1.0, None, True])
def test_counts_are_checked(count: Any) -> None:
    assert packed_size(MOST_WORDS, 1) == MOST_WORDS // 8
    with pytest.raises(UsageError):
        unpack_words(bytes(3), count, 8)


BAD_ARRAYS: dict[str, Any] = {
    "float": np.arange(3.0),
    "bytes": np.arange(3, dtype="u1"),
    "half": np.arange(3, dtype="i2"),
    "bool": np.zeros(3, dtype="?"),
    "two-dimensional": np.zeros((2, 2), dtype="u4"),
    "list": [1, 2, 3],
    "None": None,
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_are_checked(name: str) -> None:
    assert pack_words(np.arange(3, dtype="u4"), 8) == b"\0\1\2"
    with pytest.raises(UsageError):
        pack_words(BAD_ARRAYS[name], 8)


def test_words_narrower_than_the_width_are_refused() -> None:
    narrow: Any = np.arange(3, dtype="u4")
    assert len(pack_words(narrow, 32)) == 12
    with pytest.raises(UsageError):
        pack_words(narrow, 33)


@pytest.mark.parametrize("data", [bytearray(3), memoryview(bytes(3)), "abc", None])
def test_only_bytes_are_unpacked(data: Any) -> None:
    assert unpack_words(bytes(3), 3, 8).tolist() == [0, 0, 0]
    with pytest.raises(UsageError):
        unpack_words(data, 3, 8)
