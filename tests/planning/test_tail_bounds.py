"""Bounds on sums of squares and eighth powers of noise: above what draws do, and not by much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gopa.planning.row_noise import chance_beyond, least_bound, noise_bounds
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
