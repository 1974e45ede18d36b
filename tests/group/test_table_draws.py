"""Draws from exact integer tables: right at every boundary, distributed as the table."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.values import FEW, stream
from wire.errors import UsageError

TABLE = [0, 1, 3, 40, 41, 200, 254, 255, 256]


def row_of(table: Sequence[int], value: int) -> int:
    """The row i with F_i <= value < F_{i+1}, by search instead of a scan."""
    return bisect_right(table, value) - 1


def draws_of(group: Group, table: Sequence[int], width: int, n: int) -> list[tuple[int, int]]:
    """The uniform values under the draws, and the draws."""
    values = stream(group).bits(width, n)
    return list(zip(values, stream(group).table_draws(table, width, n), strict=True))


def test_every_value_of_a_small_table(group: Group) -> None:
    """All 256 values occur, so every boundary is hit from both sides."""
    drawn = draws_of(group, TABLE, 8, 5000)
    assert {value for value, _ in drawn} == set(range(256))
    for value, row in drawn:
        assert TABLE[row] <= value < TABLE[row + 1]


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 48, 62, 63])
def test_boundaries_at_values_that_occur(group: Group, width: int) -> None:
    """The table's bounds are put on the very values the stream gives, and around them."""
    values = stream(group).bits(width, 40)
    near = {value + shift for value in values for shift in (-1, 0, 1)}
    table = sorted({0, 1 << width} | {bound for bound in near if 0 < bound < 1 << width})
    drawn = stream(group).table_draws(table, width, 40)
    assert drawn == [row_of(table, value) for value in values]
    assert all(type(row) is int for row in drawn)


@FEW
@given(data=st.data(), width=st.integers(1, 63))
def test_any_table(group: Group, data: st.DataObject, width: int) -> None:
    inner = data.draw(st.sets(st.integers(1, (1 << width) - 1), max_size=40))
    table = [0, *sorted(inner), 1 << width]
    for value, row in draws_of(group, table, width, 20):
        assert row == row_of(table, value)


@pytest.mark.parametrize("width", [1, 30, 63])
def test_a_table_of_one_row(group: Group, width: int) -> None:
    assert stream(group).table_draws([0, 1 << width], width, 5) == [0] * 5


def test_draws_use_the_bytes_of_bits(group: Group) -> None:
    for width in (1, 8, 9, 48, 63):
        one, other = stream(group), stream(group)
        one.table_draws([0, 1, 1 << width], width, 7)
        other.bits(width, 7)
        assert one.bytes(16) == other.bytes(16)
    assert stream(group).table_draws(TABLE, 8, 0) == []


def test_large_batches_equal_single_draws(group: Group) -> None:
    table = [0, *(k * (1 << 48) // 113 for k in range(1, 113)), 1 << 48]
    one, other = stream(group), stream(group)
    batch = one.table_draws(table, 48, 20_000)
    assert batch[:300] == [other.table_draws(table, 48, 1)[0] for _ in range(300)]
    assert batch == [row_of(table, value) for value in stream(group).bits(48, 20_000)]


def binomial_table(rows: int) -> list[int]:
    """The law of fair coins thrown rows - 1 times; the tails are rare."""
    table = [0]
    for k in range(rows):
        table.append(table[-1] + math.comb(rows - 1, k))
    return table


@pytest.mark.parametrize("seed", range(4))
def test_frequencies(group: Group, seed: int) -> None:
    """Chi-square of 40,000 draws over 13 rows, seeded. 12 degrees of freedom: with
    a right sampler the statistic exceeds 45 once in 100,000 seeds."""
    table, n = binomial_table(13), 40_000
    assert table[-1] == 1 << 12
    counts = Counter(stream(group, seed).table_draws(table, 12, n))
    statistic = 0.0
    for row, (low, high) in enumerate(pairwise(table)):
        expected = n * (high - low) / (1 << 12)
        statistic += (counts[row] - expected) ** 2 / expected
    assert sum(counts.values()) == n
    assert statistic < 45


def test_the_chi_square_bound_rejects_a_sampler_that_is_slightly_off(group: Group) -> None:
    table, n = binomial_table(13), 40_000
    shifted = [*table]
    shifted[6] += 60
    counts = Counter(stream(group).table_draws(shifted, 12, n))
    statistic = 0.0
    for row, (low, high) in enumerate(pairwise(table)):
        expected = n * (high - low) / (1 << 12)
        statistic += (counts[row] - expected) ** 2 / expected
    assert statistic > 45


BAD_TABLES = {
    "empty": ([], 8),
    "zero alone": ([0], 8),
    "no zero": ([1, 256], 8),
    "no end": ([0, 255], 8),
    "beyond": ([0, 257], 8),
    "flat": ([0, 5, 5, 256], 8),
    "flat at zero": ([0, 0, 256], 8),
    "flat at the end": ([0, 256, 256], 8),
    "falling": ([0, 6, 5, 256], 8),
    "negative": ([0, -1, 256], 8),
    "negative start": ([-1, 5, 256], 8),
    "beyond in the middle": ([0, 300, 256], 8),
    "huge": ([0, 2**70, 256], 8),
    "float": ([0, 5.0, 256], 8),
    "text": ([0, "5", 256], 8),
    "nothing": ([0, None, 256], 8),
    "no sequence": (5, 8),
    "width 0": ([0, 1], 0),
    "width 64": ([0, 1 << 64], 64),
    "negative width": ([0, 1], -1),
    "float width": ([0, 256], 8.0),
    "width None": ([0, 256], None),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(group: Group, name: str) -> None:
    bad: tuple[Any, Any] = BAD_TABLES[name]
    made = stream(group)
    with pytest.raises(UsageError):
        made.table_draws(*bad, 3)
    assert made.table_draws([0, 5, 256], 8, 50) == stream(group).table_draws([0, 5, 256], 8, 50)
