"""What liars aim at with noise of a proved length: bounds hold for the shapes that reach them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gopa.planning import plan
from gopa.planning.row_noise import AimedNoise, choices_bits

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
