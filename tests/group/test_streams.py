"""Streams: the same bytes on every machine, at byte granularity."""

from __future__ import annotations

import copy
import pickle
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.backends import installed_groups
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


def test_bits(group: Group) -> None:
    for width in range(1, 65):
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


TOTAL = 1 << 128


HALF = 1 << 127


SMALL = [1, 1 << 100, 1 << 126, (1 << 126) + 1, HALF - 1]


def uniform(n: int) -> list[int]:
    """The 128-bit integers under the first n draws."""
    data = key_stream(16 * n)
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, 16 * n, 16)]


def cumulative(lower: Sequence[int]) -> list[int]:
    return [0, *lower, *(TOTAL - bound for bound in reversed(lower)), TOTAL]


def value_of(lower: Sequence[int], draw: int) -> int:
    """The definition: the row i with F_i <= draw < F_{i+1}, less the radius."""
    return bisect_right(cumulative(lower), draw) - 1 - len(lower)


def mirrored(draw: int) -> int:
    return min(draw, TOTAL - 1 - draw)


def test_a_draw_is_the_row_less_the_radius(group: Group) -> None:
    table = group.wide_table(SMALL)
    assert table.radius == 5
    drawn = stream(group).wide_table_draws(table, 200)
    assert drawn == [value_of(SMALL, draw) for draw in uniform(200)]
    assert all(type(value) is int for value in drawn)
    assert {-5, 5} <= {value_of(SMALL, draw) for draw in (0, TOTAL - 1)}


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_boundaries_at_values_that_occur(group: Group, shift: int) -> None:
    """The bounds are put on the very values the stream gives, and beside them."""
    draws = uniform(40)
    lower = sorted({mirrored(draw) + shift for draw in draws})
    lower = [bound for bound in lower if 1 <= bound <= HALF]
    assert len(lower) == 40
    table = group.wide_table(lower)
    expected = [value_of(lower, draw) for draw in draws]
    assert stream(group).wide_table_draws(table, 40) == expected
    scalars = stream(group).wide_table_scalars(table, 40).reveal()
    assert scalars.ints() == [value % ORDER for value in expected]


@pytest.mark.parametrize("radius", [*range(1, 10), 15, 16, 17, 63, 64, 65, 300])
def test_every_size_of_a_table(group: Group, radius: int) -> None:
    """Equal steps: every row occurs, up to the search's padding and both ends."""
    lower = [HALF * i // (radius + 1) for i in range(1, radius + 1)]
    table, n = group.wide_table(lower), 40 * radius + 100
    drawn = stream(group).wide_table_draws(table, n)
    assert drawn == [value_of(lower, draw) for draw in uniform(n)]
    assert {0, radius, -radius} <= set(drawn)


@FEW
@given(data=st.data())
def test_any_table(group: Group, data: st.DataObject) -> None:
    close = st.sampled_from([mirrored(draw) for draw in uniform(12)])
    bound = st.one_of(st.integers(1, HALF), close, st.sampled_from([1, HALF, HALF - 1, 1 << 64]))
    lower = sorted(data.draw(st.lists(bound, min_size=1, max_size=30)))
    table = group.wide_table(lower)
    expected = [value_of(lower, draw) for draw in uniform(20)]
    assert stream(group).wide_table_draws(table, 20) == expected
    scalars = stream(group).wide_table_scalars(table, 20)
    assert scalars.reveal() == group.scalars(expected)


def test_bounds_that_differ_in_their_low_half_only(group: Group) -> None:
    """Both 64-bit halves decide."""
    draws = uniform(30)
    high = [mirrored(draw) >> 64 << 64 for draw in draws]
    lower = sorted(high + [bound + (1 << 64) - 1 for bound in high] + [mirrored(d) for d in draws])
    expected = [value_of(lower, draw) for draw in draws]
    assert stream(group).wide_table_draws(group.wide_table(lower), 30) == expected


def test_rows_between_equal_bounds_are_never_drawn(group: Group) -> None:
    lower = [1 << 120] * 3 + [1 << 126] * 2
    drawn = stream(group).wide_table_draws(group.wide_table(lower), 3000)
    assert drawn == [value_of(lower, draw) for draw in uniform(3000)]
    assert set(drawn) <= {-5, -2, 0, 2, 5}
    assert {-2, 0, 2} <= set(drawn)


def test_a_draw_and_its_mirror_image_are_opposite() -> None:
    for draw in uniform(50):
        assert value_of(SMALL, TOTAL - 1 - draw) == -value_of(SMALL, draw)


def test_draws_continue_at_the_next_byte(group: Group) -> None:
    table = group.wide_table(SMALL)
    array: Any = np.zeros(3, dtype="i4")
    made = stream(group)
    made.bytes(5)
    made.wide_table_draws(table, 2)
    made.wide_table_scalars(table, 1)
    made.add_wide_draws_to(array, 1, table)
    data = key_stream(5 + 16 * 6 + 8)
    assert made.bytes(8) == data[-8:]
    values = [int.from_bytes(data[i : i + 16], "little") for i in range(53, 101, 16)]
    assert array.tolist() == [value_of(SMALL, value) for value in values]
    assert made.wide_table_draws(table, 0) == []
    assert len(made.wide_table_scalars(table, 0)) == 0


@pytest.mark.parametrize("dtype", WORDS)
def test_adding_wraps(group: Group, dtype: str) -> None:
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.max, 0, 1]
    for sign, n in product((1, -1), (0, 1, 15, 16, 17, 255, 256, 257, 3000)):
        values = np.array([edges[i % 4] for i in range(n)], dtype=dtype)
        array: Any = values.copy()
        stream(group).add_wide_draws_to(array, sign, group.wide_table(SMALL))
        modulus, low = 1 << 8 * array.itemsize, int(limits.min)
        added = [
            int(value) + sign * value_of(SMALL, draw)
            for value, draw in zip(values, uniform(n), strict=True)
        ]
        assert array.tolist() == [(total - low) % modulus + low for total in added]


def test_large_arrays(group: Group) -> None:
    """Enough for a backend to cut the work into pieces and windows."""
    n = 700_001 if group.backend == "native" else 70_001
    table = group.wide_table([HALF * i // 1000 for i in range(1, 1000)])
    array: Any = np.zeros(n, dtype="i8")
    stream(group).add_wide_draws_to(array, 1, table)
    assert array[:300].tolist() == stream(group).wide_table_draws(table, 300)
    stream(group).add_wide_draws_to(array[: n // 2], -1, table)
    assert not array[: n // 2].any()
    assert stream(group).wide_table_draws(table, n)[n // 2 :] == array[n // 2 :].tolist()


def test_scalars_are_secret(group: Group) -> None:
    drawn = stream(group).wide_table_scalars(group.wide_table(SMALL), 3)
    assert type(drawn) is type(group.secret_scalars([1]))


def chi_square(drawn: Sequence[int], bounds: Sequence[int], radius: int) -> float:
    counts, total = Counter(drawn), len(drawn)
    expected = [total * (high - low) / TOTAL for low, high in pairwise(bounds)]
    return sum(
        (counts[row - radius] - mean) ** 2 / mean for row, mean in enumerate(expected) if mean
    )


@pytest.mark.parametrize("seed", range(4))
def test_frequencies(group: Group, seed: int) -> None:
    """Chi-square of 40,000 draws over 11 rows. 10 degrees of freedom: with a right
    sampler the statistic exceeds 41 once in 100,000 seeds."""
    lower = [(1 << 128) * k // 100 for k in (2, 5, 12, 25, 40)]
    drawn = stream(group, seed).wide_table_draws(group.wide_table(lower), 40_000)
    assert chi_square(drawn, cumulative(lower), 5) < 41


def test_the_chi_square_bound_rejects_a_sampler_that_is_slightly_off(group: Group) -> None:
    lower = [(1 << 128) * k // 100 for k in (2, 5, 12, 25, 40)]
    shifted = [*lower[:4], (1 << 128) * 42 // 100]
    drawn = stream(group).wide_table_draws(group.wide_table(shifted), 40_000)
    assert chi_square(drawn, cumulative(lower), 5) > 41


BAD_TABLES: dict[str, Any] = {
    "empty": [],
    "zero": [0],
    "zero first": [0, 5],
    "falling": [5, 4],
    "beyond the middle": [5, HALF + 1],
    "beyond 128 bits": [5, 1 << 128],
    "huge": [5, 1 << 200],
    "negative": [-1, 5],
    "float": [1.0, 5],
    "text": ["1"],
    "bool": [True, 5],
    "nothing": [None],
    "no sequence": 5,
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(group: Group, name: str) -> None:
    assert group.wide_table([1, HALF]).radius == 2
    with pytest.raises(UsageError):
        group.wide_table(BAD_TABLES[name])


@pytest.mark.parametrize("name", BAD_BUFFERS)
def test_bad_buffers_of_wide_draws(group: Group, name: str) -> None:
    made, buffer, untouched = stream(group), BAD_BUFFERS[name](), BAD_BUFFERS[name]()
    with pytest.raises(UsageError):
        made.add_wide_draws_to(buffer, 1, group.wide_table(SMALL))
    assert np.array_equal(buffer, untouched)
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("sign", [0, 2, -2, 1.0, "1", None, True])
def test_bad_signs_of_wide_draws(group: Group, sign: Any) -> None:
    made = stream(group)
    array: Any = np.arange(6)
    with pytest.raises(UsageError):
        made.add_wide_draws_to(array, sign, group.wide_table(SMALL))
    assert array.tolist() == list(range(6))
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("n", [-1, 1.0, "1", None, (1 << 34) + 1, 1 << 62])
def test_bad_counts(group: Group, n: Any) -> None:
    """The last two are more than a stream holds."""
    made, table = stream(group), group.wide_table(SMALL)
    for draw in (made.wide_table_draws, made.wide_table_scalars):
        with pytest.raises((UsageError, MemoryError)):
            draw(table, n)
    assert made.bytes(10) == key_stream(10)


def test_tables_of_no_kind_or_of_another_backend(group: Group) -> None:
    others = [other.wide_table(SMALL) for other in installed_groups() if other != group]
    made: Any = stream(group)
    array: Any = np.arange(6)
    attempts: list[Callable[[Any], Any]] = [
        lambda table: made.wide_table_draws(table, 1),
        lambda table: made.wide_table_scalars(table, 1),
        lambda table: made.add_wide_draws_to(array, 1, table),
    ]
    for table in [*others, SMALL, None, object()]:
        for attempt in attempts:
            with pytest.raises(UsageError):
                attempt(table)
    assert made.bytes(10) == key_stream(10)
    assert array.tolist() == list(range(6))


def test_a_table_is_public_and_short_to_print(group: Group) -> None:
    assert repr(group.wide_table(SMALL)) == "<WideTable: radius 5>"


def test_streams_still_do_not_travel(group: Group) -> None:
    for attempt in (pickle.dumps, copy.copy):
        with pytest.raises(UsageError):
            attempt(stream(group))
