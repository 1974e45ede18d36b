"""What is left to liars where vectors are proved row by row, measured against what is claimed.

Sections 7 and 8 of `specs/14-long-vectors.md`: who proves may be chosen behind the points (14-K2),
and noise may have any shape within its bounds (14-I2 to 14-I4).
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import combinations
from math import isqrt

import numpy as np
import pytest
from scipy import stats

import gopa
from commitments import ristretto255
from gopa.contract.row_terms import equation_points
from gopa.protocol.simulation import Simulation
from gopa.rounds.context import RoundContext
from gopa.rounds.rows.challenges import shape_of as shape_of_noise
from gopa.rounds.rows.challenges import signed_permutation
from gopa.rounds.rows.inputs import draw_noise
from tests.randomness import seeded
from wire.domains import SIGNED_PERMUTATION, stream_domain
from wire.secret import SecretBytes
from zkp.rows.masking import SignedPermutation
from zkp.rows.shape import Integers

FIELD = 8191
"""Small enough that what has a chance of 2^-124 in the group of the protocol is seen here."""

GROUP = ristretto255()
DIMENSION = 256
DEVIATION = 10
SQUARES = DIMENSION * DEVIATION**2
SPIKE = 67
LIARS = 3


def equality(points: Integers) -> Integers:
    """eq(z, j) mod the field for all j, of many points z."""
    found = np.ones((len(points), 1), np.int64)
    for column in points.T:
        with_bit = found * column[:, None] % FIELD
        found = np.stack([(found - with_bit) % FIELD, with_bit], 2).reshape(len(points), -1)
    return found


def fitting(source: np.random.Generator, liars: int, count: int, draws: int) -> float:
    """How often some of the liars, and not none, make equations hold at so many points.

    Each has added errors of its own to four words; who proves is chosen when points are known.
    """
    errors = source.integers(0, FIELD, (draws, liars, 4))
    fits = np.ones((draws, 1 << liars), bool)
    fits[:, 0] = False
    for _ in range(count):
        at = equality(source.integers(0, FIELD, (draws, 2)))
        values = (errors * at[:, None, :]).sum(2) % FIELD
        sums = np.zeros((draws, 1), np.int64)
        for liar in range(liars):
            sums = np.concatenate([sums, (sums + values[:, liar, None]) % FIELD], 1)
        fits &= sums == 0
    return float(fits.any(1).mean())


def test_the_extension_of_a_vector_at_a_corner_is_its_entry() -> None:
    corners = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    assert (equality(corners) == np.eye(4, dtype=np.int64)).all()
    assert (equality(np.array([[5, 7]])).sum(1) % FIELD == 1).all()


def test_one_point_is_beaten_as_often_as_there_are_choices_and_two_are_not() -> None:
    source = np.random.default_rng(14)
    bound = 255 * 2 / FIELD
    assert bound / 3 < fitting(source, 8, 1, 3000) < bound
    assert fitting(source, 8, 2, 3000) < 255 * 4 / FIELD**2 + 0.001


def test_with_more_liars_than_bits_one_point_says_nothing() -> None:
    source = np.random.default_rng(15)
    assert fitting(source, 16, 1, 20) > 0.95
    assert fitting(source, 16, 2, 20) < 0.1


def test_points_are_as_many_as_the_choices_take() -> None:
    """366 liars steer a sum at one point; no plan of so many has one point."""
    bits = 17
    assert equation_points(406, 366, bits) > 1
    for listed, losses in ((20, 10), (250, 50), (1000, 100)):
        count = equation_points(listed, losses, bits)
        choices, term = 1, 1
        for i in range(1, losses + 1):
            term = term * (listed - i + 1) // i
            choices += term
        assert GROUP.order**count >= 2**128 * bits**count * choices
        assert GROUP.order ** (count - 1) < 2**128 * bits ** (count - 1) * choices


def moved(noise: Integers, draws: int) -> Integers:
    """What so many coins make of a vector of noise: a row for each."""
    rows = []
    for draw in range(draws):
        stream = GROUP.stream(SecretBytes(draw.to_bytes(32)), stream_domain(SIGNED_PERMUTATION))
        places = np.frombuffer(stream.permutation(DIMENSION), np.uint32)
        rows.append(SignedPermutation(places, stream.bytes(DIMENSION // 8)).applied(noise))
    return np.array(rows)


SHAPES: dict[str, list[int]] = {
    "equal": [DEVIATION] * DIMENSION,
    "ten spikes": [50] * 10,
    "one spike": [SPIKE],
    "nothing": [],
}


def shape_of(name: str) -> Integers:
    """Noise of a liar, that a proof of lengths accepts."""
    found = np.zeros(DIMENSION, np.int64)
    found[: len(SHAPES[name])] = SHAPES[name]
    assert int((found**2).sum()) <= SQUARES
    assert sum(value**8 for value in found.tolist()) <= SPIKE**8
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_noise_of_any_shape_has_the_variance_and_the_tails_that_are_claimed(name: str) -> None:
    """14-I2, 14-I3: three liars aim at a coordinate, at a block and at the sum of all."""
    rows = moved(shape_of(name), 3 * 600).reshape(600, LIARS, DIMENSION).sum(1)
    for size in (1, 16, DIMENSION):
        along = rows[:, :size].sum(1) / np.sqrt(size)
        assert abs(along.mean()) < 4 * np.sqrt(LIARS * SQUARES / DIMENSION / len(rows))
        assert along.var() < 1.25 * LIARS * SQUARES / DIMENSION
        for times in (2, 3, 5):
            beyond = float((abs(along) >= times * DEVIATION * np.sqrt(LIARS)).mean())
            assert beyond <= 1 / times**2
    assert abs(rows).max() <= LIARS * min(SPIKE, isqrt(SQUARES))


def test_who_stays_moves_a_coordinate_by_half_a_deviation_for_each_liar_and_no_more() -> None:
    """14-I4: reached by entries that are equal, and by no other of these shapes."""
    liars, found = 20, {}
    for name in SHAPES:
        values = moved(shape_of(name), 40 * liars)[:, :8].reshape(40, liars, 8)
        found[name] = float(np.maximum(values, 0).sum(1).mean())
    assert max(found.values()) == found["equal"]
    assert found["equal"] == pytest.approx(liars * DEVIATION / 2, rel=0.05)
    assert found["one spike"] < liars * DEVIATION / 8


def test_two_liars_have_noise_without_correlation() -> None:
    rows = moved(shape_of("ten spikes"), 1600)
    first, second = rows[::2, :6], rows[1::2, :6]
    for one, other in combinations(range(6), 2):
        assert abs((first[:, one] * first[:, other]).mean()) < 0.3 * DEVIATION**2
        assert abs((first[:, one] * second[:, other]).mean()) < 0.3 * DEVIATION**2


DIMENSION_NOISE = 8
DRAWS = 100_000
BINS = 40
NEVER = 1e-6
"""The draws are the same in every run; a chance below that is no accident."""


@lru_cache
def context() -> RoundContext:
    """A round of a real plan."""
    made = gopa.plan(
        n=20, epsilon=8, delta="1e-6", dimension=DIMENSION_NOISE, norm=1, range=(-1, 1), path="rows"
    )
    simulation = Simulation(made, rng=seeded("noise"))
    return RoundContext(simulation.manifest, simulation.session, 1, ristretto255())


def moved_noise(drawn: Integers, number: int) -> Integers:
    """What the coins of a round with this number make of it."""
    coins = hashlib.sha256(number.to_bytes(8)).digest()
    return signed_permutation(context(), coins, bytes(32)).applied(drawn)[:DIMENSION_NOISE]


def padded(values: list[int]) -> Integers:
    return shape_of_noise(context()).padded(np.array(values, np.int64))


def honest(draws: int) -> Integers:
    """Vectors of the plan's law, each moved by coins of its own."""
    rng = seeded("honest noise")
    shape = shape_of_noise(context())
    found = [moved_noise(shape.padded(draw_noise(context(), rng=rng)[1]), i) for i in range(draws)]
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
    for i in range(DIMENSION_NOISE):
        for j in range(i):
            both = scaled[:, i] * scaled[:, j]
            for power, mean in ((both, 0.0), (both**2, 1.0)):
                assert abs(power.mean() - mean) < 5.5 * power.std() / np.sqrt(draws)


def require_isotropic(noise: list[int], draws: int) -> None:
    """Mean 0 and covariance |a|^2/d in every pair of coordinates."""
    drawn = padded(noise)
    found = np.array([moved_noise(drawn, i) for i in range(draws)])
    square = sum(value**2 for value in noise) / DIMENSION_NOISE
    # Entries of 0 and 1 scale alike; a spread of none leaves nothing to compare with.
    for i in range(DIMENSION_NOISE):
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
        require_law(np.repeat(found[:, :1], DIMENSION_NOISE, axis=1))


@pytest.mark.soak
def test_honest_noise_keeps_its_law() -> None:
    require_law(honest(DRAWS))


@pytest.mark.soak
@pytest.mark.parametrize("noise", SPIKED, ids=str)
def test_aimed_noise_has_no_aim(noise: list[int]) -> None:
    require_isotropic(noise, DRAWS)
