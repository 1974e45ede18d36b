"""Noise that nobody checks follows the plan's law exactly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from gopa.party.drawing import local_noise
from tests.randomness import seeded
from zkp.noise_table import GaussianTable, NoiseLaw, binomial, irwin_hall

DRAWS = 40_000
LAWS = {
    "table": GaussianTable.with_scale("2", bits=20, rows=15),
    "binomial": binomial(20),
    "binomial, bytes not full": binomial(10),
    "irwin-hall": irwin_hall(2, 3),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_frequencies_fit_the_masses(law: NoiseLaw) -> None:
    drawn = Counter(local_noise(law, DRAWS, seeded("noise")).tolist())
    assert set(drawn) <= set(range(-law.radius, law.radius + 1))
    expected = [mass * DRAWS / law.total for mass in law.masses]
    rows = [i for i, count in enumerate(expected) if count >= 5]
    observed = [drawn[i - law.radius] for i in rows]
    scale = sum(observed) / sum(expected[i] for i in rows)
    test = stats.chisquare(observed, [expected[i] * scale for i in rows])
    assert test.pvalue > 1e-4


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_depend_on_the_source_alone(law: NoiseLaw) -> None:
    first, again = (local_noise(law, 100, seeded(1)) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, local_noise(law, 100, seeded(2)))
