"""Proved lengths: rounding, bounds on sums of powers, and what liars aim at within them."""

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
from gopa.planning import plan
from gopa.planning.noise.rows import (
    AimedNoise,
    chance_beyond,
    choices_bits,
    least_bound,
    noise_bounds,
)
from zkp.noise import GaussianTable

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


LAW = GaussianTable.with_scale(8, bits=48, rows=113)


def masses() -> tuple[np.ndarray, np.ndarray]:
    sizes = np.arange(57.0)
    found = np.array([mass / LAW.total for mass in LAW.masses[56:]])
    found[1:] *= 2
    return sizes, found


def sums(dimension: int, draws: int, exponent: int) -> np.ndarray:
    sizes, probabilities = masses()
    edges, drawn = np.cumsum(probabilities), np.random.default_rng(5)
    parts = [
        (sizes**exponent)[np.searchsorted(edges, drawn.random((1000, dimension)))].sum(axis=1)
        for _ in range(draws // 1000)
    ]
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [2, 8])
def test_the_chance_of_one_draw_is_met(exponent: int) -> None:
    """With one draw the exact chance is a sum of the table."""
    sizes, probabilities = masses()
    for row in (20, 30, 40):
        exact = float(probabilities[row:].sum())
        found = chance_beyond(float(row) ** exponent, 1, sizes**exponent, probabilities)
        assert exact <= found


@pytest.mark.slow
def test_draws_go_beyond_as_often_as_is_claimed() -> None:
    """At most as often, and at least a quarter of it."""
    sizes, probabilities = masses()
    bound = least_bound(200, sizes**2, probabilities, 2**-8)
    observed = float((sums(200, 20_000, 2) >= bound).mean())
    error = math.sqrt(2**-8 / 20_000)
    assert 2**-8 / 4 - error < observed < 2**-8 + 3 * error


@pytest.mark.soak
@pytest.mark.parametrize("exponent", [2, 8])
@pytest.mark.parametrize("chance", [2**-8, 2**-12])
def test_a_million_draws(exponent: int, chance: float) -> None:
    sizes, probabilities = masses()
    bound = least_bound(200, sizes**exponent, probabilities, chance)
    observed = float((sums(200, 1_000_000, exponent) >= bound).mean())
    error = math.sqrt(chance / 1e6)
    assert chance / 4 < observed < chance + 3 * error


@pytest.mark.slow
def test_bounds_of_a_plan() -> None:
    """14, appendix A4."""
    square, spike = noise_bounds(LAW, 1_000, 2**-65)
    assert square / (1_000 * float(LAW.variance)) == pytest.approx(1.467, abs=0.001)
    assert spike / math.sqrt(LAW.variance) == pytest.approx(7.7, abs=0.13)


D, C = 200, 3


SQUARE, SPIKE = 292 * 64, 80


BOUNDS = AimedNoise(D, SQUARE, SPIKE, C, 0.0)


def shapes() -> dict[str, np.ndarray]:
    """Vectors at both bounds: as many spikes as fit, one of them, all entries equal."""
    spiked, one, equal = np.zeros(D), np.zeros(D), np.full(D, math.sqrt(SQUARE / D))
    many = SQUARE // SPIKE**2
    spiked[:many] = SPIKE * (1 / many) ** (1 / 8)
    spiked[many:] = 0
    one[0] = SPIKE
    for each in (spiked, one, equal):
        assert (each**2).sum() <= SQUARE * (1 + 1e-9)
        assert (each**8).sum() <= SPIKE**8 * (1 + 1e-9)
    return {"spiked": spiked, "one": one, "equal": equal}


@pytest.mark.parametrize("shape", ["spiked", "one", "equal"])
@pytest.mark.parametrize("deviations", [3.0, 5.0, 8.0])
def test_chances_hold_along_a_coordinate_and_a_block(shape: str, deviations: float) -> None:
    vector, drawn = shapes()[shape], np.random.default_rng(11)
    draws = 20_000
    signs = drawn.choice([-1.0, 1.0], (draws, C))
    coordinate = (vector[drawn.integers(0, D, (draws, C))] * signs).sum(axis=1)
    far = deviations * BOUNDS.deviation
    error = 3 / math.sqrt(draws)
    assert (np.abs(coordinate) >= far).mean() <= BOUNDS.chance_beyond(deviations) + error
    assert (coordinate >= far).mean() <= BOUNDS.coordinate_beyond(deviations) + error
    block = [
        sum((drawn.permutation(vector)[:50] * drawn.choice([-1, 1], 50)).sum() for _ in range(C))
        for _ in range(1000)
    ]
    chance = float((np.abs(block) >= far * math.sqrt(50)).mean())
    assert chance <= BOUNDS.chance_beyond(deviations) + 3 / math.sqrt(1000)


def test_who_stays_moves_as_much_as_is_claimed() -> None:
    """Entries of equal size reach it, along a coordinate: half of the liars stay."""
    drawn = np.random.default_rng(2)
    made = AimedNoise(D, SQUARE, SPIKE, 20, 0.0)
    size = math.sqrt(SQUARE / D)
    best = np.clip(drawn.choice([-size, size], (4000, 20)), 0, None).sum(axis=1)
    assert best.mean() / made.deviation == pytest.approx(made.best_stay, rel=0.02)
    assert made.best_stay == pytest.approx(2.236, abs=0.001)


def test_the_best_of_many_choices_stays_below() -> None:
    drawn, vector = np.random.default_rng(7), shapes()["equal"]
    choices = 2**12
    signs = drawn.choice([-1.0, 1.0], (40, choices, C))
    best = (signs * vector[0]).sum(axis=2).max(axis=1).mean()
    assert best / BOUNDS.deviation <= AimedNoise(D, SQUARE, SPIKE, C, 12.0).best_choice


@pytest.mark.slow
def test_choices_are_all_that_is_left_to_liars() -> None:
    terms = plan(n=100, epsilon=1, delta="1e-6", dimension=10).terms
    gone = min(terms.corrupt, terms.parties - terms.survivors)
    coins = sum(math.comb(100, i) for i in range(terms.loss + 1))
    stay = sum(math.comb(terms.corrupt, i) for i in range(gone + 1))
    expected = math.log2(terms.attempts * terms.branches * coins * stay)
    assert choices_bits(terms) == pytest.approx(expected)
    drand = plan(n=100, epsilon=1, delta="1e-6", dimension=10, beacon="drand").terms
    assert choices_bits(drand) < 15
    many = plan(n=2000, epsilon=1, delta="1e-6", beacon="commit-reveal").terms
    assert choices_bits(many) <= 80 + many.corrupt + 4  # more coins are never computed
