"""Rounding to the grid is exact and unbiased."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments import ristretto255
from commitments.group import Stream
from gopa.aggregation.grid import Grid, round_exactly
from gopa.support.arrays import Floats
from tests.randomness import seeded
from wire.domains import ROUNDING, stream_domain
from wire.secret import SecretBytes

GROUP = ristretto255()
DECIMALS = st.decimals(-1000, 1000, places=3)
WORDS = 2**64


def stream(seed: int | str) -> Stream:
    return GROUP.stream(SecretBytes(seeded(seed)(32)), stream_domain(ROUNDING))


def rounded_slowly(grid: Grid, values: Floats, words: Stream) -> list[int]:
    """The definition: floor(t + V) with V from 64 bits, which decide nearly always."""
    found = []
    drawn = words.bits(64, len(values))
    for value, word in zip(values, drawn, strict=True):
        position = grid.position(float(value))
        low = math.floor(position + Fraction(word, WORDS))
        assert low == math.ceil(position + Fraction(word + 1, WORDS)) - 1
        found.append(low)
    return found


@given(
    st.tuples(DECIMALS, DECIMALS).filter(lambda ends: ends[0] < ends[1]),
    st.integers(1, 2**40),
    st.integers(0, 2**32),
)
def test_the_fast_way_decides_as_the_definition(
    ends: tuple[Decimal, Decimal], steps: int, seed: int
) -> None:
    grid = Grid(*ends, steps)
    low, high = grid.ends
    values = np.clip(np.random.default_rng(seed).uniform(low, high, 20), low, high)
    values[:2] = low, high
    found = grid.round(values, stream(seed)).tolist()
    assert found == rounded_slowly(grid, values, stream(seed))
    assert found[0] == 0
    assert found[1] == steps


@given(st.decimals(1, 10**12, places=2), st.integers(0, 2**32))
def test_ranges_far_from_zero_are_decided_exactly(offset: Decimal, seed: int) -> None:
    grid = Grid(offset, offset + Decimal("0.01"), 1000)
    low, high = grid.ends
    values = np.clip(np.random.default_rng(seed).uniform(low, high, 10), low, high)
    assert grid.round(values, stream(seed)).tolist() == rounded_slowly(grid, values, stream(seed))


def test_floats_equal_to_an_end_are_that_end() -> None:
    """0.1 as a float is above one tenth, 0.3 is below three tenths."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert Fraction(0.3) < Fraction(3, 10)
    grid = Grid(Decimal("-0.1"), Decimal("0.1"), 7)
    ends = np.array([-0.1, 0.1] * 500)
    assert set(grid.round(ends, stream(1)).tolist()) == {0, 7}
    assert grid.position(0.1) == 7
    assert grid.position(-0.1) == 0
    assert 6 < Grid(Decimal("-0.3"), Decimal("0.3"), 7).position(0.3) <= 7


class Chosen:
    """A stream that says what it is told."""

    def __init__(self, *data: bytes) -> None:
        self._data = list(data)

    def bytes(self, n: int) -> bytes:
        assert n == 8
        return self._data.pop(0)


def test_bits_are_drawn_until_the_decision_is_made() -> None:
    third = Fraction(1, 3)
    undecided = (2 * WORDS) // 3  # the first 64 bits of 2/3: 1/3 + V is 1 within 2^-64
    up = Chosen((WORDS - 1).to_bytes(8, "little"))
    down = Chosen((0).to_bytes(8, "little"))
    assert round_exactly(third, undecided, up) == 1  # type: ignore[arg-type]
    assert round_exactly(third, undecided, down) == 0  # type: ignore[arg-type]
    again = (2 * WORDS // 3).to_bytes(8, "little")
    longer = Chosen(again, again, (0).to_bytes(8, "little"))
    assert round_exactly(third, undecided, longer) == 0  # type: ignore[arg-type]
    assert round_exactly(third, undecided - 1, Chosen()) == 0  # type: ignore[arg-type]
    assert round_exactly(third, undecided + 1, Chosen()) == 1  # type: ignore[arg-type]


def test_positions_on_the_grid_never_move() -> None:
    values = np.arange(-3.0, 4.0)
    grid = Grid(Decimal(-3), Decimal(3), 60)
    for seed in range(200):
        assert grid.round(values, stream(seed)).tolist() == [10 * i for i in range(7)]


def test_rounding_is_unbiased() -> None:
    """Each count of upward moves is binomial; one false alarm in about 3,000 runs (z < 4 of 8)."""
    grid = Grid(Decimal(0), Decimal(1), 10)
    draws = 40_000
    for seed, value in enumerate([0.01, 0.049, 0.1, 0.25, 0.333, 0.5, 0.97, 0.999]):
        position = grid.position(value)
        up = position - math.floor(position)
        moved = grid.round(np.full(draws, value), stream(seed)) - math.floor(position)
        assert set(moved.tolist()) <= {0, 1}
        expected = float(draws * up)
        deviation = math.sqrt(expected * (1 - float(up)))
        assert abs(int(moved.sum()) - expected) <= 4 * deviation


@pytest.mark.parametrize(
    ("ends", "steps", "rounded"),
    [((0, 1), 8, 1), ((0, 2), 8, 1), ((0, 3), 8, 5), (("0.5", 2), 6, 5), ((-2, 2), 4, 1)],
    ids=str,
)
def test_integers_are_counted_as_exact_only_where_the_grid_holds_them(
    ends: tuple[object, object], steps: int, rounded: int
) -> None:
    grid = Grid(Decimal(str(ends[0])), Decimal(str(ends[1])), steps)
    values = np.array([1.0, 1.0, 1.0, 1.0, 0.75])
    assert grid.count_rounded(values) == rounded
