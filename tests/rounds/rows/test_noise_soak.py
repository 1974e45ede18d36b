"""Noise of long vectors as coins move it: honest noise keeps its law, aimed noise has no aim."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

import gopa
from commitments import ristretto255
from gopa.protocol.simulation import Simulation
from gopa.rounds.context import RoundContext
from gopa.rounds.rows.challenges import shape_of, signed_permutation
from gopa.rounds.rows.inputs import draw_noise
from tests.randomness import seeded
from zkp.rows.shape import Integers

DIMENSION = 8
DRAWS = 100_000
BINS = 40
NEVER = 1e-6
"""The draws are the same in every run; a chance below that is no accident."""


@lru_cache
def context() -> RoundContext:
    """A round of a real plan."""
    made = gopa.plan(
        n=20,
        epsilon=8,
        delta="1e-6",
        dimension=DIMENSION,
        norm=1,
        range=(-1, 1),
        path="rows",
    )
    simulation = Simulation(made, rng=seeded("noise"))
    return RoundContext(simulation.manifest, simulation.session, 1, ristretto255())


def moved(drawn: Integers, number: int) -> Integers:
    """What the coins of a round with this number make of it."""
    coins = hashlib.sha256(number.to_bytes(8)).digest()
    return signed_permutation(context(), coins, bytes(32)).applied(drawn)[:DIMENSION]


def padded(values: list[int]) -> Integers:
    return shape_of(context()).padded(np.array(values, np.int64))


def honest(draws: int) -> Integers:
    """Vectors of the plan's law, each moved by coins of its own."""
    rng = seeded("honest noise")
    shape = shape_of(context())
    found = [moved(shape.padded(draw_noise(context(), rng=rng)[1]), i) for i in range(draws)]
    return np.array(found)


def require_law(found: Integers) -> None:
    """Chi-square of each coordinate; means of products of two, and of their squares."""
    law, draws = context().manifest.terms.noise, len(found)
    masses = np.array([mass / law.total for mass in law.masses])
    values = np.arange(-law.radius, law.radius + 1)
    cells = np.minimum((np.cumsum(masses) - masses / 2) * BINS, BINS - 1).astype(int)
    expected = np.bincount(cells, masses, BINS)
    for column in found.T:
        seen = np.bincount(cells[column - values[0]], minlength=BINS)
        kept = expected > 0
        assert stats.chisquare(seen[kept], draws * expected[kept]).pvalue > NEVER
    variance = float(law.variance)
    scaled = found / np.sqrt(variance)
    for i in range(DIMENSION):
        for j in range(i):
            both = scaled[:, i] * scaled[:, j]
            for power, mean in ((both, 0.0), (both**2, 1.0)):
                assert abs(power.mean() - mean) < 5.5 * power.std() / np.sqrt(draws)


def require_isotropic(noise: list[int], draws: int) -> None:
    """Mean 0 and covariance |a|^2/d in every pair of coordinates."""
    drawn = padded(noise)
    found = np.array([moved(drawn, i) for i in range(draws)])
    square = sum(value**2 for value in noise) / DIMENSION
    # Entries of 0 and 1 scale alike; a spread of none leaves nothing to compare with.
    for i in range(DIMENSION):
        for j in range(i + 1):
            products = found[:, i] * found[:, j]
            wanted = square if i == j else 0.0
            spread = max(float(products.std()), 1e-9)
            assert abs(products.mean() - wanted) < 5.5 * spread / np.sqrt(draws)
        spread = float(found[:, i].std())
        assert abs(found[:, i].mean()) < 5.5 * spread / np.sqrt(draws)


SPIKED = ([900, 0, 0, 0, 0, 0, 0, 0], [300] * 8, [700, -700, 1, 0, 0, 0, 0, 5])


@pytest.mark.slow
def test_some_draws_keep_their_law() -> None:
    require_law(honest(500))
    for noise in SPIKED:
        require_isotropic(noise, 500)


@pytest.mark.slow
def test_noise_of_another_law_is_seen() -> None:
    """What the tests above would not accept: half the deviation, or coordinates that follow."""
    found = honest(500)
    with pytest.raises(AssertionError):
        require_law(found // 2)
    with pytest.raises(AssertionError):
        require_law(np.repeat(found[:, :1], DIMENSION, axis=1))


@pytest.mark.soak
def test_honest_noise_keeps_its_law() -> None:
    require_law(honest(DRAWS))


@pytest.mark.soak
@pytest.mark.parametrize("noise", SPIKED, ids=str)
def test_aimed_noise_has_no_aim(noise: list[int]) -> None:
    require_isotropic(noise, DRAWS)
