"""Clopper and Pearson's bounds are what they say, and err no more often than they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gopa.adversary.privacy.bounds import TrialCounts, at_least, at_most

RISKS = (1e-6, 0.01, 0.2)


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(("hits", "draws"), [(1, 10), (7, 10), (3, 1000), (999, 1000), (10, 10)])
def test_bounds_are_where_the_tail_is_the_risk(hits: int, draws: int, risk: float) -> None:
    low = float(at_least(hits, draws, risk))
    assert stats.binom.sf(hits - 1, draws, low) == pytest.approx(risk, rel=1e-6)
    high = float(at_most(draws - hits, draws, risk))
    assert stats.binom.cdf(draws - hits, draws, high) == pytest.approx(risk, rel=1e-6)


def test_nothing_hit_bounds_nothing_from_below() -> None:
    assert float(at_least(0, 10, 0.01)) == 0.0
    assert float(at_most(10, 10, 0.01)) == 1.0


def test_the_bound_is_above_the_truth_no_more_often_than_the_risk() -> None:
    """The exact chance of an error, for every truth: summed over all counts."""
    draws, risk = 60, 0.05
    lows = at_least(np.arange(draws + 1), draws, risk)
    for truth in np.linspace(0.001, 0.999, 97):
        counts = stats.binom.pmf(np.arange(draws + 1), draws, truth)
        assert counts[lows > truth].sum() <= risk + 1e-12


def test_epsilon_and_delta_exceed_a_claim_together() -> None:
    """One set of counts is outside by the one exactly if it is by the other."""
    seen = set()
    for hits in range(100, 700, 5):
        counts = TrialCounts(hits, 100, 1000)
        outside = counts.delta(1.0, 0.001) > 0.05
        assert outside == (counts.epsilon(0.05, 0.001) > 1.0)
        seen.add(outside)
    assert seen == {True, False}


def test_certainty_has_a_large_epsilon_and_delta() -> None:
    counts = TrialCounts(10_000, 0, 10_000)
    assert counts.epsilon(0.05, 1e-4) > 6
    assert counts.delta(1.0, 1e-4) > 1 - 0.01


def test_blindness_has_none() -> None:
    counts = TrialCounts(500, 500, 1000)
    assert counts.epsilon(0.0, 0.4) == pytest.approx(0.0, abs=1e-9)
    assert counts.delta(math.log(2), 0.4) == 0.0
