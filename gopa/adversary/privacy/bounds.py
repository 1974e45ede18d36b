"""Computes exact confidence bounds on chances, and what they say about epsilon and delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from gopa.support.arrays import Floats


def at_least(hits: npt.ArrayLike, draws: float, risk: float) -> Floats:
    """A bound below the chance of a hit, wrong with probability `risk` (Clopper and Pearson 1934).

    The chance for which `hits` or more out of `draws` have probability `risk`: a quantile of
    the beta law with parameters hits, draws - hits + 1. 0 where nothing was hit. Counts need
    not be whole, for forecasts.
    """
    found = np.asarray(hits, dtype=np.float64)
    return np.where(found > 0, betaincinv(np.maximum(found, 1e-9), draws - found + 1, risk), 0.0)


def at_most(hits: npt.ArrayLike, draws: float, risk: float) -> Floats:
    """A bound above the chance of a hit, wrong with probability `risk`."""
    missed = draws - np.asarray(hits, dtype=np.float64)
    return 1.0 - at_least(missed, draws, risk)


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """How often a test said "moved": among views in which it was so, and among the others.

    Each was counted over `draws` views. The test was chosen before they were drawn.
    """

    hits: int
    alarms: int
    draws: int

    def delta(self, epsilon: float, risk: float) -> float:
        """A bound below delta at `epsilon`, wrong with probability 2 `risk`.

        Whatever is (epsilon, delta)-private has P(hit) <= e^epsilon P(alarm) + delta.
        """
        return float(delta_below(self.hits, self.alarms, self.draws, epsilon, risk))

    def epsilon(self, delta: float, risk: float) -> float:
        """A bound below epsilon at `delta`, wrong with probability 2 `risk`; at least 0."""
        return float(epsilon_below(self.hits, self.alarms, self.draws, delta, risk))


def delta_below(
    hits: npt.ArrayLike, alarms: npt.ArrayLike, draws: float, epsilon: float, risk: float
) -> Floats:
    """`TrialCounts.delta` for many tests at once."""
    found = at_least(hits, draws, risk) - math.exp(epsilon) * at_most(alarms, draws, risk)
    return np.asarray(np.maximum(found, 0.0), dtype=np.float64)


def epsilon_below(
    hits: npt.ArrayLike, alarms: npt.ArrayLike, draws: float, delta: float, risk: float
) -> Floats:
    """`TrialCounts.epsilon` for many tests at once."""
    gain = np.maximum(at_least(hits, draws, risk) - delta, 1e-300)
    found = np.log(gain) - np.log(at_most(alarms, draws, risk))
    return np.asarray(np.maximum(found, 0.0), dtype=np.float64)
