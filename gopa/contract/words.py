"""Vectors of words of few bits, as messages carry them. `specs/08-masks.md`, section 5.

Word i of w bits is bits w i .. w i + w - 1 of a little-endian integer.
"""

from __future__ import annotations

from math import gcd
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from wire.errors import MalformedMessage, UsageError

PackedWords: TypeAlias = npt.NDArray[np.unsignedinteger]

_LIMB: Final = 64
_BYTE: Final = 8
MOST_WORDS: Final = 2**28


def word_type(width: int) -> np.dtype[np.unsignedinteger]:
    """The words in which w-bit values are kept and masked: 32 bits where they suffice.

    Raises:
        UsageError: the width is not an integer from 1 to 64.
    """
    if type(width) is not int or not 1 <= width <= _LIMB:
        raise UsageError("a width is an integer from 1 to 64 bits", "width")
    return np.dtype(np.uint32 if width <= 32 else np.uint64)


def packed_size(count: int, width: int) -> int:
    """Bytes that `count` words of `width` bits take.

    Raises:
        UsageError: the width is out of range, or the count not from 0 to 2^28.
    """
    word_type(width)
    if type(count) is not int or not 0 <= count <= MOST_WORDS:
        raise UsageError(f"a count of words is an integer from 0 to {MOST_WORDS}", "count")
    return (count * width + 7) // 8


def pack_words(array: npt.NDArray[np.integer], width: int) -> bytes:
    """The low `width` bits of every element; the unused bits of the last byte are zero.

    `array` has one dimension and 32- or 64-bit integers; higher bits and signs are cut
    off, which is reduction mod 2^width.

    Raises:
        UsageError: another array, or elements narrower than the width.
    """
    size = packed_size(len(_checked(array, width)), width)
    unsigned = array.astype(f"<u{array.itemsize}", copy=False)
    if width in {32, 64}:
        return unsigned.astype(f"<u{width // 8}", copy=False).tobytes()
    words = unsigned.astype(np.uint64) & np.uint64((1 << width) - 1)
    return _packed(words, width).tobytes()[:size]


def unpack_words(data: bytes, count: int, width: int) -> PackedWords:
    """The `count` words whose packing is exactly `data`, as new 32- or 64-bit words.

    Raises:
        MalformedMessage: another length, or unused bits that are not zero.
    """
    check_words(data, count, width)
    target = word_type(width)
    if width in {32, 64}:
        return np.frombuffer(data, dtype=f"<u{width // 8}").astype(target)
    return _unpacked(data, count, width).astype(target)


def check_words(data: bytes, count: int, width: int) -> None:
    """Raises as `unpack_words`, and makes no words."""
    size = packed_size(count, width)
    if type(data) is not bytes:
        raise UsageError(f"only bytes can be unpacked, not {type(data).__name__}")
    if len(data) != size:
        message = f"{count} words of {width} bits take {size} bytes, not {len(data)}"
        raise MalformedMessage(message, "", min(size, len(data)))
    # One vector has one encoding: nobody signs two messages that say the same.
    if size and data[-1] >> (8 - (8 * size - count * width)):
        raise MalformedMessage("the unused bits of the last byte are not zero", "", size - 1)


def _packed(words: npt.NDArray[np.uint64], width: int) -> npt.NDArray[np.uint64]:
    """Limbs of 64 bits: a group of words fills a whole number of them, column by column."""
    group, limbs = _grouping(width)
    rows = -(-len(words) // group)
    padded = np.zeros(rows * group, dtype=np.uint64)
    padded[: len(words)] = words
    columns = np.ascontiguousarray(padded.reshape(rows, group).T)
    out = np.zeros((limbs, rows), dtype="<u8")
    for index in range(group):
        limb, offset = divmod(index * width, _LIMB)
        out[limb] |= columns[index] << np.uint64(offset)
        if offset + width > _LIMB:
            out[limb + 1] |= columns[index] >> np.uint64(_LIMB - offset)
    return np.ascontiguousarray(out.T)


def _unpacked(data: bytes, count: int, width: int) -> npt.NDArray[np.uint64]:
    """Words begin at the same bits of their bytes once in a group, which fills whole bytes."""
    common = gcd(width, _BYTE)
    group, size = _BYTE // common, width // common
    rows = count // group + 1
    padded = np.zeros(rows * size + _LIMB // _BYTE, dtype=np.uint8)
    padded[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    out = np.empty((rows, group), dtype=np.uint64)
    for index in range(group):
        byte, offset = divmod(index * width, _BYTE)
        begun = np.ndarray(rows, "<u8", padded, byte, size)
        np.right_shift(begun, np.uint64(offset), out=out[:, index])
        if offset + width > _LIMB:
            last = np.ndarray(rows, np.uint8, padded, byte + _LIMB // _BYTE, size)
            out[:, index] |= last.astype(np.uint64) << np.uint64(_LIMB - offset)
    out &= np.uint64((1 << width) - 1)
    return out.reshape(-1)[:count]


def _grouping(width: int) -> tuple[int, int]:
    """How many words fill how many limbs exactly."""
    common = gcd(width, _LIMB)
    return _LIMB // common, width // common


def _checked(array: npt.NDArray[np.integer], width: int) -> npt.NDArray[np.integer]:
    word_type(width)
    plain = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"
    if not plain or array.itemsize not in {4, 8}:
        raise UsageError("words come as a one-dimensional array of 32- or 64-bit integers")
    if width > 8 * array.itemsize:
        raise UsageError(f"elements of {8 * array.itemsize} bits do not hold {width}", "width")
    return array
