"""Bounds on lengths: rounding exceeds them as rarely as is claimed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from gopa.contract.lengths import (
    SPREAD,
    WeightedLength,
    boxed_norm,
    longest_input,
    squared_norm,
    word_width,
)

RARE = 2.0**-64


def chance_of_rounding_again(low: int, part: Fraction, dimension: int, bound: int) -> float:
    """Exactly, for coordinates that are all at `low` and this part of a step.

    So many as are rounded upwards are binomial, and the squared length follows from them.
    """
    room = bound - dimension * low**2
    most = math.floor(room / (2 * low + 1)) if room >= 0 else -1
    return float(binom.sf(most, dimension, float(part)))


@pytest.mark.parametrize("dimension", [2, 5, 40, 1000, 100_000])
@pytest.mark.parametrize("low", [0, 1, 4, 100])
@pytest.mark.parametrize("part", [Fraction(1, 2), Fraction(1, 5), Fraction(999, 1000)])
def test_equal_coordinates_are_hardly_ever_rounded_again(
    dimension: int, low: int, part: Fraction
) -> None:
    bound = squared_norm(dimension * (low + part) ** 2, dimension)
    assert chance_of_rounding_again(low, part, dimension, bound) <= RARE


def test_the_spread_is_needed() -> None:
    """Without it one vector in two would be rounded again; with half of it one in 10^6."""
    dimension, low, part = 100_000, 4, Fraction(1, 2)
    square = dimension * (low + part) ** 2
    bound = math.floor(square + Fraction(dimension, 4))
    assert chance_of_rounding_again(low, part, dimension, bound) > 0.4
    half = bound + math.floor((2 * math.sqrt(square) + math.sqrt(dimension)) * float(SPREAD) / 2)
    assert RARE < chance_of_rounding_again(low, part, dimension, half) < 2**-15


@pytest.mark.parametrize("seed", range(20))
def test_any_vector_of_few_coordinates(seed: int) -> None:
    """Exact: every way in which ten coordinates may be rounded, with its probability."""
    drawn = np.random.default_rng(seed)
    vector = [Fraction(int(each), 16) for each in drawn.integers(-200, 200, 10)]
    bound = squared_norm(sum((each**2 for each in vector), Fraction(0)), 10)
    sums = {0: Fraction(1)}
    for each in vector:
        low = math.floor(each)
        part = each - low
        grown: dict[int, Fraction] = {}
        for found, chance in sums.items():
            for point, of in ((low, 1 - part), (low + 1, part)):
                grown[found + point**2] = grown.get(found + point**2, Fraction(0)) + chance * of
        sums = grown
    assert sum(sums.values()) == 1
    assert sum(chance for found, chance in sums.items() if found > bound) <= Fraction(1, 2**64)


@pytest.mark.parametrize("dimension", [2, 7, 50, 3_000])
@pytest.mark.parametrize("length", [Fraction(1), Fraction(77, 3), Fraction(10_000)])
def test_the_longest_input_is_that_of_its_bound(dimension: int, length: Fraction) -> None:
    bound = squared_norm(length**2, dimension)
    found = longest_input(bound, dimension)
    assert found == pytest.approx(float(length), abs=1.5)
    assert squared_norm(Fraction(found) ** 2, dimension) <= bound
    assert squared_norm(Fraction(found + 1.5) ** 2, dimension) > bound


def test_what_is_not_rounded_does_not_grow() -> None:
    assert squared_norm(Fraction(10_000), 0) == 10_000
    assert longest_input(10_000, 0) ** 2 == pytest.approx(10_001)
    assert longest_input(3, 1000) == 0


def test_numbers_of_the_specification() -> None:
    """14-Y2: of 8 sqrt(d) steps rounding makes 8.03, where every vector counted 9."""
    bound = squared_norm(Fraction(64 * 100_000), 100_000)
    assert math.sqrt(bound / 100_000) == pytest.approx(8.031, abs=0.001)
    few = squared_norm(Fraction(25), 2)
    assert few == math.floor((5 + math.sqrt(2)) ** 2)  # never rounded again


@pytest.mark.parametrize("steps", [2, 8, 30])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_box_lies_in_its_ball(dimension: int, steps: int) -> None:
    corners = itertools.product((-steps // 2, steps // 2), repeat=dimension)
    assert max(sum(x * x for x in corner) for corner in corners) == boxed_norm(dimension, steps)


WEIGHTED = WeightedLength(1, 2, 400, 101)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 57.5, 399.9, 400.0])
def test_weighted_lengths_are_hardly_ever_rounded_again(weight: float) -> None:
    """The longest vectors that a weight allows, with equal coordinates at any part of a step.

    The weight is rounded downwards, which leaves the least room.
    """
    dimension = WEIGHTED.dimension - 1
    each = weight / 2 / math.sqrt(dimension)
    low, part = math.floor(each), Fraction(each) - math.floor(each)
    room = math.floor((math.floor(weight) + WEIGHTED.rounding) ** 2 / 4)
    assert chance_of_rounding_again(low, part, dimension, room) <= RARE
    both = WEIGHTED.squared_norm - math.ceil(weight) ** 2
    assert chance_of_rounding_again(low, part, dimension, both) <= RARE


def test_weighted_vectors_are_no_further_apart_than_is_claimed() -> None:
    drawn, made = np.random.default_rng(3), WEIGHTED
    weights = drawn.integers(0, made.steps + 1, (100_000, 2))
    weights[:9] = [[a, b] for a in (0, 200, 400) for b in (0, 200, 400)]
    reach = (made.numerator * weights + made.rounding) / made.denominator
    apart = reach.sum(axis=1) ** 2 + (weights[:, 0] - weights[:, 1]) ** 2
    assert apart.max() <= made.squared_sensitivity <= apart.max() + 1


def test_a_word_holds_the_sum_and_no_bit_more() -> None:
    for parties, bound, square, spike in ((20, 10**6, 10**9, 800), (1000, 10**9, 10**9, 10**6)):
        each = math.isqrt(bound) + min(spike, math.isqrt(square))
        width = word_width(parties, bound, square, spike)
        assert 2 ** (width - 2) <= parties * each < 2 ** (width - 1)
    assert word_width(3, 1, 1, 1) == 16
    assert word_width(2**21, 2**62 - 1, 2**62 - 1, 2**31 - 1) == 54
