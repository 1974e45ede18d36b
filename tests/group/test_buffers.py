"""Buffers of integers: both backends take and refuse the same ones, the empty ones too."""

from __future__ import annotations

import array
import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from commitments.group import Group
from tests.group.values import stream
from wire.errors import UsageError

CODES = "iIlLqQ"
OTHER_CODES = "bBhHfd"


def from_array(code: str, n: int) -> Any:
    return array.array(code, [1] * n)


def from_numpy(code: str, n: int) -> Any:
    return np.ones(n, dtype=code)


def from_memory(code: str, n: int) -> Any:
    return memoryview(array.array(code, [1] * n))


def from_bytes(code: Any, n: int) -> Any:
    return memoryview(bytearray(np.ones(n, dtype=code).tobytes())).cast(code)


def from_sliced(code: str, n: int) -> Any:
    """The end of a longer buffer: an empty one begins where that ends."""
    return memoryview(array.array(code, [1] * (n + 3)))[3:]


def from_ctypes(code: Any, n: int) -> Any:
    kinds = {"i": ctypes.c_int, "I": ctypes.c_uint, "q": ctypes.c_longlong}
    kinds |= {"Q": ctypes.c_ulonglong, "l": ctypes.c_long, "L": ctypes.c_ulong}
    return memoryview((kinds[code] * n)(*[1] * n)).cast("B").cast(code)


MAKERS: list[Callable[[str, int], Any]] = [
    from_array,
    from_numpy,
    from_memory,
    from_bytes,
    from_sliced,
    from_ctypes,
]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("make", MAKERS)
def test_buffers_of_integers(
    group: Group, make: Callable[[str, int], Any], code: str, n: int
) -> None:
    assert group.scalars(make(code, n)).ints() == [1] * n
    assert group.secret_scalars(make(code, n)).reveal().ints() == [1] * n
    target, same = make(code, n), make(code, n)
    stream(group).add_to(target, 1)
    assert len(target) == n
    stream(group).add_to(target, -1)
    assert list(target) == list(same)
    table = group.wide_table([1, 1 << 127])
    stream(group).add_wide_draws_to(target, 1, table)
    assert len(target) == n


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("make", [from_array, from_numpy, from_memory])
@pytest.mark.parametrize("code", OTHER_CODES)
def test_buffers_of_other_things(
    group: Group, make: Callable[[str, int], Any], code: str, n: int
) -> None:
    assert group.scalars(make("q", n)).ints() == [1] * n
    with pytest.raises(UsageError):
        group.scalars(make(code, n))
    with pytest.raises(UsageError):
        stream(group).add_to(make(code, n), 1)


ODD: dict[str, Callable[[], Any]] = {
    "big-endian": lambda: np.ones(0, dtype=">i8"),
    "two dimensions": lambda: np.ones((0, 2), dtype="i8"),
    "no dimension": lambda: np.array(1, dtype="i8"),
    "bytes": lambda: b"",
    "bytearray": bytearray,
    "map": lambda: mmap.mmap(-1, 8),
    "structures": lambda: np.zeros(0, dtype=[("a", "i8")]),
    "truth values": lambda: np.zeros(0, dtype=bool),
    "complex": lambda: np.zeros(0, dtype=complex),
    "misaligned": lambda: memoryview(bytearray(17))[1:].cast("q"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_buffers(group: Group, name: str) -> None:
    stream(group).add_to(np.ones(0, dtype="i8"), 1)
    with pytest.raises(UsageError):
        stream(group).add_to(ODD[name](), 1)
    if name in {"bytes", "bytearray", "map"}:
        return  # as iterables these are integers of one byte each, or not: see test_usage
    assert group.scalars(np.ones(0, dtype="i8")).ints() == []
    with pytest.raises(UsageError):
        group.scalars(ODD[name]())


def test_buffers_that_may_not_be_written_to(group: Group) -> None:
    for n in (0, 3):
        words = np.ones(n, dtype="i8")
        stream(group).add_to(words, 1)
        words.flags.writeable = False
        with pytest.raises(UsageError):
            stream(group).add_to(words, 1)
        if n:
            stream(group).add_to(np.ones(2 * n, dtype="i8"), 1)
            with pytest.raises(UsageError):
                stream(group).add_to(np.ones(2 * n, dtype="i8")[::2], 1)
