"""Unproved noise has exactly the law of proved noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from commitments import ristretto255
from gopa.rounds.masks.law import BITS
from gopa.rounds.unproved_noise import add_noise
from tests.randomness import seeded
from wire.errors import UsageError
from zkp.noise import GaussianTable, NoiseLaw, WeightedBits, WeightRun, binomial, irwin_hall
from zkp.noise.weighted_bits import even_groups

GROUP = ristretto255()
LAWS: dict[str, NoiseLaw] = {
    "table": GaussianTable.with_scale("2.5", rows=31),
    "narrow table": GaussianTable.with_scale("0.75", bits=20, rows=7),
    "few bits": binomial(20),
    "many bits": binomial(300),
    "uniforms": irwin_hall(14, 5),
    "odd weights": WeightedBits((WeightRun(1, 130), WeightRun(2, 3), WeightRun(3, 130))),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_have_the_law(law: NoiseLaw) -> None:
    """Chi-square over rows of at least 20 expected draws; alarms once in 10,000 runs each."""
    draws = np.zeros(200_000, dtype=np.int64)
    add_noise(draws, law, GROUP, seeded("draws"))
    assert np.abs(draws).max() <= law.radius
    expected = np.array([float(Fraction(mass, law.total)) for mass in law.masses]) * len(draws)
    observed = np.bincount(draws + law.radius, minlength=len(expected))
    usual = expected >= 20
    rare = float(expected[~usual].sum())
    assert observed[~usual].sum() <= stats.poisson.isf(1e-5, rare) if rare else True
    columns = np.append(observed[usual], observed[~usual].sum())
    means = np.append(expected[usual], rare)
    if not rare:
        columns, means = columns[:-1], means[:-1]
    assert stats.chisquare(columns, means * columns.sum() / means.sum()).pvalue > 1e-4


@given(st.lists(st.integers(1, 40), min_size=2, max_size=400).filter(lambda w: sum(w) % 2 == 0))
def test_groups_hold_every_weight_once_and_have_a_middle(weights: list[int]) -> None:
    groups = even_groups(tuple(weights))
    assert sorted(weight for group in groups for weight in group) == sorted(weights)
    assert all(1 <= len(group) <= BITS and sum(group) % 2 == 0 for group in groups)


def test_noise_is_added_in_place_and_wraps() -> None:
    law = LAWS["table"]
    signed, words = np.zeros(1000, dtype=np.int64), np.zeros(1000, dtype=np.uint32)
    for array in (signed, words):
        add_noise(array, law, GROUP, seeded("wrap"))
    assert signed.min() < 0 < signed.max()
    assert (words.view(np.int32) == signed).all()
    with pytest.raises(UsageError):
        add_noise(np.zeros(3), law, GROUP, seeded("wrap"))
