"""Sums by transforms: above the truth value by value, and all that is left out is counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from gopa.accounting import Loss
from gopa.accounting.atoms import Atoms, gridded, regridded
from gopa.accounting.convolution import Masses
from gopa.accounting.distribution import LossDistribution
from gopa.accounting.fourier import LONGEST, Repeated, sum_of, window
from tests.planning.laws import exact_sum
from wire.errors import UsageError


@pytest.mark.parametrize("law", [[1, 2, 3, 4, 5], [10**6, 0, 1], [1, 0, 0, 0, 0, 999_999]])
@pytest.mark.parametrize("count", [1, 9, 60])
def test_every_value_is_above_the_exact_one(law: list[int], count: int) -> None:
    """Down to 1e-26 of the whole, where a plain transform has lost everything below 1e-16."""
    part = Repeated(Masses(-2, np.array(law) / sum(law)), count)
    found, exact = sum_of([part], 1e-26), exact_sum(law, count)
    total, missing = Fraction(sum(law)) ** count, Fraction(0)
    for place, mass in enumerate(exact, -2 * count):
        share = Fraction(mass) / total
        if not found.first <= place <= found.last:
            missing += share if place > found.last else 0
            continue
        bound = Fraction(float(found.values[place - found.first])) * (1 + Fraction(found.error))
        assert share <= bound
    assert missing <= Fraction(found.lost)
    top = [float(Fraction(mass) / total) for mass in exact][-3:]
    if found.last == len(exact) - 1 - 2 * count and top[-1] > 1e-24:
        assert found.values[-1] == pytest.approx(top[-1], rel=0.05)


def test_what_parts_lost_is_lost() -> None:
    part = Masses(0, np.array([0.5, 0.49]), error=1e-3, lost=0.01)
    found = sum_of([Repeated(part, 3), Repeated(part, 2)], 1e-26)
    assert 0.05 <= found.lost <= 0.0501
    assert found.error >= 5e-3
    assert sum_of([Repeated(Masses(0, np.zeros(1), lost=0.2), 2)], 1e-26).lost >= 0.4


def test_what_lies_above_the_window_is_lost() -> None:
    part = Repeated(Masses(0, np.full(2, 0.5)), 10_000)
    first, last = window([part], 1e-20)
    assert 4000 < first < last < 6000
    assert sum_of([part], 1e-20).lost >= 1e-20


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> int:
    """Sums may have 256 times fewer values than outside of tests, which saves time."""
    for module in ("fourier", "loss"):
        monkeypatch.setattr(f"gopa.accounting.{module}.LONGEST", LONGEST >> 8)
    return LONGEST >> 8


def test_sums_that_are_too_long_are_refused(longest: int) -> None:
    wide = np.zeros(longest // 4)
    wide[[0, -1]] = 0.5
    assert len(sum_of([Repeated(Masses(0, wide), 2)], 1e-26).values) < longest
    with pytest.raises(UsageError):
        sum_of([Repeated(Masses(0, wide), 9)], 1e-26)


def test_a_loss_that_would_be_too_long_gets_a_coarser_grid(longest: int) -> None:
    values = np.zeros(2**10 + 1)
    values[[0, -1]] = 0.5
    step = 2.0**-12
    found = Loss((LossDistribution(step, Masses(-(2**9), values)),)).repeated(15).repeated(15)
    assert len(found.sides[0].masses.values) < longest
    assert found.sides[0].step > step
    sums = (2 * np.arange(226) - 225) * 2**9 * step
    for epsilon in (0.5, 2.0, 5.0):
        gained = np.maximum(-np.expm1(epsilon - sums), 0)
        exact = float((binom.pmf(np.arange(226), 225, 0.5) * gained).sum())
        assert exact * (1 - 1e-9) <= found.delta(epsilon) <= exact * 1.01


def test_other_grids_keep_what_is_infinite_or_lost() -> None:
    side = LossDistribution(0.1, Masses(0, np.full(4, 0.2), lost=0.05), infinite=0.1)
    other = regridded(side, 0.07)
    assert other.infinite == pytest.approx(0.15)
    assert other.delta(0.15) >= side.delta(0.15)
    assert gridded(Atoms(np.array([1e-30, 0.5]), np.array([9.0, 1.0]), 0.3)).infinite >= 0.3
    nothing = gridded(Atoms(np.zeros(2), np.zeros(2), 0.3))
    assert Loss((nothing,)).repeated(20).delta(1.0) == pytest.approx(1 - 0.7**20)
