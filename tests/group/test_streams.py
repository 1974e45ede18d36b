"""Streams: the same bytes on every machine, at byte granularity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.values import FEW, ORDER, stream
from wire.errors import UsageError
from wire.secret import SecretBytes

SEED, DOMAIN = bytes(range(32)), b"\x09domain-1234"


def key_stream(n: int, seed: bytes = bytes([7]) * 32, domain: bytes = b"tests/stream") -> bytes:
    """The specification, told to another implementation."""
    return Cipher(ChaCha20(seed, bytes(4) + domain), mode=None).encryptor().update(bytes(n))


def test_the_published_block(group: Group) -> None:
    """RFC 8439, appendix A.1, test vector 1: all zeros."""
    block = group.stream(SecretBytes(bytes(32)), bytes(12)).bytes(64)
    assert block.hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )


def test_seed_and_domain_select_the_stream(group: Group) -> None:
    for seed, domain in ((SEED, DOMAIN), (SEED, DOMAIN[::-1]), (SEED[::-1], DOMAIN)):
        made = group.stream(SecretBytes(seed), domain).bytes(1000)
        assert made == key_stream(1000, seed, domain)


@FEW
@given(sizes=st.lists(st.integers(0, 200), max_size=12))
def test_calls_continue_at_the_next_byte(group: Group, sizes: list[int]) -> None:
    made = stream(group)
    assert b"".join(made.bytes(size) for size in sizes) == key_stream(sum(sizes))


def test_long_reads(group: Group) -> None:
    made = stream(group)
    sizes = [1, 1_000_000, 63, 64, 65, 300_001]
    assert b"".join(made.bytes(size) for size in sizes) == key_stream(sum(sizes))


@pytest.mark.parametrize("skip", [0, 1, 63])
@pytest.mark.parametrize("n", [0, 1, 2, 100, 3000])
def test_scalars(group: Group, skip: int, n: int) -> None:
    made = stream(group)
    made.bytes(skip)
    data = key_stream(skip + 64 * n + 1)[skip:]
    expected = [int.from_bytes(data[64 * i : 64 * i + 64], "little") % ORDER for i in range(n)]
    assert made.scalars(n).reveal().ints() == expected
    assert made.bytes(1) == data[64 * n :]


@pytest.mark.parametrize("width", range(1, 65))
def test_bits(group: Group, width: int) -> None:
    made, n, size = stream(group), 37, (width + 7) // 8
    data = key_stream(size * n + 1)
    whole = [int.from_bytes(data[size * i : size * i + size], "little") for i in range(n)]
    assert made.bits(width, n) == [value % (1 << width) for value in whole]
    assert made.bytes(1) == data[size * n :]


def test_many_bits(group: Group) -> None:
    """Enough for a backend to cut the work into pieces."""
    n = 100_000
    expected = np.frombuffer(key_stream(8 * n), dtype="<u8") & np.uint64((1 << 61) - 1)
    made = stream(group).bits(61, n)
    assert all(type(value) is int for value in made)
    assert made == expected.tolist()


@pytest.mark.parametrize("width", [0, -1, 65, 2**70, 8.0, "8", None])
def test_widths_out_of_range(group: Group, width: Any) -> None:
    made = stream(group)
    with pytest.raises(UsageError):
        made.bits(width, 1)
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("n", [-1, -(2**70), 1.0, "1", None])
def test_sizes_that_are_none(group: Group, n: Any) -> None:
    made = stream(group)
    for draw in (made.bytes, made.scalars, lambda n: made.bits(8, n)):
        with pytest.raises(UsageError):
            draw(n)
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("n", [(1 << 38) + 1, 1 << 40, 1 << 62])
def test_the_end_of_the_stream(group: Group, n: int) -> None:
    """Refused before anything is made, and nothing is taken."""
    made = stream(group)
    for draw in (made.bytes, made.scalars, lambda n: made.bits(8, n)):
        with pytest.raises((UsageError, MemoryError)):
            draw(n)
    assert made.bytes(10) == key_stream(10)


WORDS = ["i4", "u4", "i8", "u8"]
words = pytest.mark.parametrize("dtype", WORDS)
signs = pytest.mark.parametrize("sign", [1, -1])


def wrapped(values: np.ndarray[Any, Any], sign: int, masks: bytes) -> list[int]:
    """The definition, in unbounded integers."""
    size = values.dtype.itemsize
    modulus = 1 << 8 * size
    half = modulus // 2 if values.dtype.kind == "i" else 0
    added = [
        int(value) + sign * int.from_bytes(masks[size * i : size * i + size], "little")
        for i, value in enumerate(values)
    ]
    return [(total + half) % modulus - half for total in added]


@words
@signs
@pytest.mark.parametrize("n", [0, 1, 2, 17, 5000])
def test_add_to(group: Group, dtype: str, sign: int, n: int) -> None:
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.max, 0, 1]
    values = np.array([edges[i % 4] for i in range(n)], dtype=dtype)
    made = stream(group)
    array: Any = values.copy()
    made.bytes(3)
    made.add_to(array, sign)
    masks = key_stream(3 + n * array.itemsize + 1)[3:]
    assert array.tolist() == wrapped(values, sign, masks)
    assert made.bytes(1) == masks[-1:]


@pytest.mark.thirds
@words
def test_adding_and_subtracting_cancels(group: Group, dtype: str) -> None:
    array: Any = np.arange(2_000_003).astype(dtype)
    stream(group).add_to(array, 1)
    assert array.tolist() != list(range(len(array)))
    stream(group).add_to(array, -1)
    assert (array == np.arange(2_000_003).astype(dtype)).all()


def test_add_to_other_exporters(group: Group) -> None:
    expected: Any = np.zeros(8, dtype="u4")
    stream(group).add_to(expected, 1)
    view = memoryview(bytearray(32)).cast("I")
    stream(group).add_to(view, 1)
    assert view.tolist() == expected.tolist()
    larger: Any = np.zeros(12, dtype="u4")
    stream(group).add_to(larger[2:10], 1)
    assert larger.tolist() == [0, 0, *expected.tolist(), 0, 0]


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


BAD_BUFFERS: dict[str, Callable[[], Any]] = {
    "read-only": lambda: read_only(np.arange(6, dtype="i8")),
    "float": lambda: np.arange(6, dtype="f8"),
    "half": lambda: np.arange(6, dtype="i2"),
    "byte": lambda: np.arange(6, dtype="u1"),
    "bool": lambda: np.zeros(6, dtype="?"),
    "swapped": lambda: np.arange(6, dtype=">i8"),
    "two-dimensional": lambda: np.arange(6, dtype="i8").reshape(2, 3),
    "no dimension": lambda: np.array(6, dtype="i8"),
    "strided": lambda: np.arange(12, dtype="i8")[::2],
    "backwards": lambda: np.arange(6, dtype="i8")[::-1],
    "objects": lambda: np.array([1, 2, 3], dtype=object),
    "bytes": lambda: bytes(8),
    "bytearray": lambda: bytearray(8),
    "list": lambda: [1, 2, 3],
    "None": lambda: None,
}


@signs
@pytest.mark.parametrize("name", BAD_BUFFERS)
def test_bad_buffers(group: Group, name: str, sign: int) -> None:
    made, buffer, untouched = stream(group), BAD_BUFFERS[name](), BAD_BUFFERS[name]()
    with pytest.raises(UsageError):
        made.add_to(buffer, sign)
    assert np.array_equal(buffer, untouched)
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("sign", [0, 2, -2, 1.0, "1", None, 2**70])
def test_bad_signs(group: Group, sign: Any) -> None:
    made = stream(group)
    array: Any = np.arange(6)
    with pytest.raises(UsageError):
        made.add_to(array, sign)
    assert array.tolist() == list(range(6))
    assert made.bytes(10) == key_stream(10)
