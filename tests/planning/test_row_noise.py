"""Bounds on sums of squares and eighth powers of noise: above what draws do, and not by much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gopa.planning import plan
from gopa.planning.row_noise import (
    AimedNoise,
    chance_beyond,
    choices_bits,
    exponential_sums,
    least_bound,
    noise_bounds,
)
from zkp.noise import GaussianTable

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


def added_up(weights: np.ndarray, angles: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    turns = np.multiply.outer(numbers.astype(np.longdouble), angles.astype(np.longdouble))
    parts = np.mod(turns, 2 * np.arccos(np.longdouble(-1)))
    return np.asarray((weights * np.exp(1j * parts.astype(np.float64))).sum(axis=1))


@pytest.mark.parametrize("exponent", [1, 2, 8])
@pytest.mark.parametrize(("first", "last"), [(0, 4000), (4000, 4007), (16_000, 64_000)])
def test_they_are_what_adding_up_gives(exponent: int, first: int, last: int) -> None:
    source = np.random.default_rng(exponent)
    weights, angles = source.random(500), 7.0 * source.random(500) ** exponent
    weights /= weights.sum()
    found = exponential_sums(weights, angles, first, last)
    assert len(found) == last - first
    numbers = np.unique(np.linspace(first, last - 1, 40).round().astype(np.int64))
    expected = added_up(weights, angles, numbers)
    # A double has 2^-53 of k times the angle.
    room = 2.0**-48 + 2.0**-53 * 7 * last
    assert np.abs(found[numbers - first] - expected).max() < room
    # And none of them is one of its neighbours.
    assert np.abs(found[numbers - first][1:] - expected[:-1]).max() > 1000 * room


def test_one_value_turns_around() -> None:
    found = exponential_sums(np.ones(1), np.array([np.pi / 2]), 0, 8)
    assert np.allclose(found, [1, 1j, -1, -1j, 1, 1j, -1, -1j], rtol=0, atol=1e-14)


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
