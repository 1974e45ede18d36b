"""Bounds the privacy loss of one round from the exact law of its noise, and composes losses.

The privacy of one round, from the exact law of the noise (theorem D). The pair (P x N(0, 1), P
shifted by m x N(mu, 1)) dominates what the adversary sees, for all changes of one input by at
most m steps at once: P is the law of the honest parties' noise in one connected component, mu the
price of Gaussian masks (0 for uniform masks). Proof and conditions: `specs/03-privacy.md`,
sections 4 to 6.

A loss distribution stands for a pair of laws that dominates a mechanism: masses under
the first law on the losses i * step, and mass of infinite loss. Composition adds losses,
so it convolves masses. A loss between two grid points is split between them so that
both its probabilities are kept; that only helps the adversary, and far less than
rounding up would. Specification: `specs/03-privacy.md`, section 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from gopa.planning.convolution import UNIT_ROUNDOFF, Floats, Masses
from gopa.planning.gaussian import delta_of_shift
from wire.errors import UsageError

_FEWEST = 1e-300


def theorem_d(noise: Masses, shift: int, epsilon: float, *, mask_mu: float = 0.0) -> float:
    """An upper bound on delta at `epsilon`, for inputs that move by at most `shift` steps.

    `noise` is symmetric or not: both directions are evaluated and the worse is returned
    (they agree for symmetric laws). Everything is rounded upwards: each mass by the
    error of `noise`, each log-ratio by twice that error, and the mass that `noise` leaves
    out is added.
    """
    _check(shift, epsilon, mask_mu)
    if shift == 0:
        return 0.0
    up = _one_direction(noise.values, noise.error, shift, epsilon, mask_mu)
    down = _one_direction(noise.values[::-1], noise.error, shift, epsilon, mask_mu)
    return min(1.0, max(up, down) * (1 + 1e-12) + noise.lost)


def log_ratios(values: Floats, shift: int, error: float) -> tuple[Floats, Floats]:
    """Masses p(k) and upper bounds on ln(p(k) / p(k - shift)); infinite where p(k - shift) = 0.

    Rows too small for a float to hold with full precision count as impossible
    denominators: that only raises the loss.
    """
    shifted = np.zeros(len(values))
    shifted[shift:] = values[: max(0, len(values) - shift)]
    with np.errstate(divide="ignore"):
        safe = np.where(shifted > _FEWEST, shifted, 0.0)
        losses = np.log(values) - np.log(safe) + 2 * error + 1e-13
    return values, np.where(values > 0, losses, -np.inf)


def _one_direction(
    values: Floats, error: float, shift: int, epsilon: float, mask_mu: float
) -> float:
    masses, losses = log_ratios(values, shift, error)
    terms = masses * delta_of_shift(epsilon - losses, mask_mu)
    return math.fsum(terms) * (1 + error)


def _check(shift: int, epsilon: float, mask_mu: float) -> None:
    if type(shift) is not int or shift < 0:
        raise UsageError("a shift is a number of grid steps", "shift")
    if not math.isfinite(epsilon):
        raise UsageError("epsilon is finite", "epsilon")
    if not (math.isfinite(mask_mu) and mask_mu >= 0):
        raise UsageError("mask_mu is a finite number, at least 0", "mask_mu")


CUT: Final = 1e-26
_MOST_BUCKETS = 2**16
_MOST_PRODUCTS = 2**36
"""More take too long, and who receives terms has to compose releases: no grid leads to so many."""


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Holds losses on the grid of `step`; `infinite` is the mass no finite epsilon covers."""

    step: float
    masses: Masses
    infinite: float = 0.0

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at `epsilon`."""
        index = np.arange(self.masses.first, self.masses.last + 1)
        exceeding = -np.expm1(np.minimum(epsilon - index * self.step, 0.0))
        finite = math.fsum(self.masses.values * exceeding)
        return min(1.0, finite * (1 + self.masses.error + 1e-12) + self.infinite + self.masses.lost)

    def epsilon(self, delta: float) -> float:
        """An epsilon, close to the smallest, at which `self.delta` is at most `delta`."""
        if self.infinite + self.masses.lost > delta:
            return math.inf
        low, high = 0.0, max(0.0, self.masses.last * self.step)
        if self.delta(low) <= delta:
            return low
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    def then(self, other: LossDistribution) -> LossDistribution:
        """Both mechanisms on the same data, the second chosen after seeing the first."""
        if self.step != other.step:
            raise UsageError("loss distributions compose on one grid: build both with one step")
        masses = self.masses.plus(other.masses, cut=CUT)
        infinite = self.infinite + other.infinite * (1 - self.infinite)
        return LossDistribution(self.step, masses, min(1.0, infinite * (1 + 1e-12)))

    def repeated(self, count: int) -> LossDistribution:
        """The mechanism `count` times on the same data."""
        if type(count) is not int or count < 1:
            raise UsageError("a mechanism is repeated at least once", "count")
        masses = self.masses.times(count, cut=CUT, work=_MOST_PRODUCTS)
        infinite = -math.expm1(count * math.log1p(-min(self.infinite, 1 - UNIT_ROUNDOFF)))
        return LossDistribution(self.step, masses, min(1.0, infinite * (1 + 1e-12)))


def loss_of_shift(noise: Masses, shift: int, step: float) -> LossDistribution:
    """Losses of a symmetric noise law against itself shifted by `shift` steps."""
    masses, losses = log_ratios(noise.values, shift, noise.error)
    finite = np.isfinite(losses) & (masses > 0)
    infinite = math.fsum(masses[~finite]) * (1 + noise.error) + noise.lost
    return _on_grid(masses[finite], losses[finite], step, noise.error, infinite)


def loss_of_gaussian(mu: float, step: float) -> LossDistribution:
    """Losses of N(mu, 1) against N(0, 1): what Gaussian masks, or any Gaussian mechanism, give."""
    if not 0 < mu < math.inf:
        raise UsageError("mu is positive and finite", "mu")
    reach = 11.0
    first = math.floor((mu * mu / 2 - reach * mu) / step)
    last = math.ceil((mu * mu / 2 + reach * mu) / step)
    if last - first > _MOST_BUCKETS:
        raise UsageError("this step is too fine for this mechanism", "step")
    edges = np.arange(first, last + 1, dtype=np.float64) * step
    under_first = _interval_masses((edges - mu * mu / 2) / mu)
    under_second = _interval_masses((edges + mu * mu / 2) / mu)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        upper = -np.expm1(np.log(under_second / under_first) + edges[:-1]) / -math.expm1(-step)
    share = np.where(under_first > 1e-22, np.clip(upper + 1e-3, 0.0, 1.0), 1.0)
    values = np.zeros(last - first + 1)
    values[:-1] += under_first * (1 - share)
    values[1:] += under_first * share
    beyond = 2 * float(ndtr(-reach + 0.01))
    return LossDistribution(step, Masses(first, values, 1e-10, 0.0), beyond)


def _interval_masses(edges: Floats) -> Floats:
    """Normal masses between consecutive edges, each from the side where it does not cancel."""
    low, high = edges[:-1], edges[1:]
    left = ndtr(high) - ndtr(low)
    right = ndtr(-low) - ndtr(-high)
    return np.asarray(np.maximum(np.where(low + high < 0, left, right), 0.0), dtype=np.float64)


def _on_grid(
    masses: Floats, losses: Floats, step: float, error: float, infinite: float
) -> LossDistribution:
    """Split each atom between its neighbours on the grid, keeping both probabilities."""
    if not len(losses):
        return LossDistribution(step, Masses(0, np.zeros(1), error, 0.0), min(1.0, infinite))
    below = np.floor(losses / step)
    first, last = int(below.min()), int(below.max()) + 1
    if last - first > _MOST_BUCKETS:
        raise UsageError("this step is too fine for this mechanism", "step")
    distance = np.clip(losses - below * step, 0.0, step)
    share = np.minimum(np.expm1(-distance) / math.expm1(-step) + 1e-9, 1.0)
    index = (below - first).astype(np.int64)
    size = last - first + 1
    values: Floats = np.bincount(index, masses * (1 - share), size).astype(np.float64)
    values += np.bincount(index + 1, masses * share, size)
    rounding = error + (len(masses) + 4) * UNIT_ROUNDOFF
    return LossDistribution(step, Masses(first, values, rounding, 0.0), infinite)
