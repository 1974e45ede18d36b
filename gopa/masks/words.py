"""Adds masks to long vectors of words, and packs them, for the modes in which nothing is proved.

Arrays are changed in place and wrap: mod 2^32 or 2^64, and so mod every smaller power of
two to which they are packed. Specification: `specs/08-masks.md`, section 5.

Packed, word i of w bits is bits w i .. w i + w - 1 of a little-endian integer.
"""

from __future__ import annotations

import hashlib
from math import gcd
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from commitments import ristretto255
from commitments.group import Group, Words
from gopa.masks.keys import EdgeContext, SelfContext, require_key
from gopa.masks.law import MaskLaw, RoundedGaussian, UniformMask, require_law
from gopa.masks.self_masks import self_key
from wire.domains import (
    EDGE_HASH,
    EDGE_WORDS,
    SEED_HASH,
    SELF_WORDS,
    stream_domain,
)
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes

PackedWords: TypeAlias = npt.NDArray[np.unsignedinteger]
Words64: TypeAlias = npt.NDArray[np.uint64]

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


def add_edge_words(
    array: Words,
    key: SecretBytes,
    sign: int,
    law: MaskLaw,
    *,
    group: Group | None = None,
) -> None:
    """Add (sign = 1) or subtract (sign = -1) the mask an edge key stands for, in place.

    Uniform masks are words of the array's size; Gaussian ones are the same integers for
    every size. `group` picks the backend whose streams are used, by default the active one.

    Raises:
        UsageError: the array is not writable, contiguous, one-dimensional and of 32- or
            64-bit integers; another sign, or a key that does not have 32 bytes.
    """
    require_key(key)
    require_law(law)
    group = ristretto255() if group is None else group
    stream = group.stream(key, stream_domain(EDGE_WORDS))
    if isinstance(law, RoundedGaussian):
        stream.add_wide_draws_to(array, sign, law.table(group))
    else:
        stream.add_to(array, sign)


def add_self_words(
    array: Words,
    seed: SecretBytes,
    context: SelfContext,
    sign: int = 1,
    *,
    group: Group | None = None,
) -> None:
    """Add the uniform mask of a party's own seed, or take it away with sign = -1, in place.

    Raises:
        UsageError: as for `add_edge_words`.
    """
    group = ristretto255() if group is None else group
    group.stream(self_key(seed, context), stream_domain(SELF_WORDS)).add_to(array, sign)


def edge_words(key: SecretBytes, count: int, width: int, *, group: Group | None = None) -> Words64:
    """The uniform mask of an edge key, as integers of `width` bits.

    Raises:
        UsageError: a key that does not have 32 bytes, or a width that no word has.
    """
    words: PackedWords = np.zeros(count, word_type(width))
    add_edge_words(words, key, 1, UniformMask(), group=group)
    return _low_bits(words, width)


def self_words(
    seed: SecretBytes, context: SelfContext, count: int, width: int, *, group: Group | None = None
) -> Words64:
    """The mask of a party's own seed, as integers of `width` bits.

    Raises:
        UsageError: as for `edge_words`.
    """
    words: PackedWords = np.zeros(count, word_type(width))
    add_self_words(words, seed, context, group=group)
    return _low_bits(words, width)


def _low_bits(words: PackedWords, width: int) -> Words64:
    return words.astype(np.uint64) & np.uint64((1 << width) - 1)


def edge_key_hash(key: SecretBytes, context: EdgeContext) -> bytes:
    """32 bytes that commit to an edge key; both ends publish the same.

    The context is hashed with it: the hash of another edge, round or session commits to
    nothing here.

    Raises:
        UsageError: the key does not have 32 bytes.
    """
    return _hash(EDGE_HASH, context.session + context.to_bytes(), key)


def seed_hash(seed: SecretBytes, context: SelfContext) -> bytes:
    """32 bytes that commit a party to its seed, bound to its id, the round and the session.

    Raises:
        UsageError: the seed does not have 32 bytes.
    """
    return _hash(SEED_HASH, context.session + context.to_bytes(), seed)


def _hash(label: bytes, context: bytes, secret: SecretBytes) -> bytes:
    require_key(secret)
    return hashlib.sha256(label + context + secret.reveal()).digest()
