"""Privacy losses on a grid, in one direction, and their composition.

A loss distribution stands for a pair of laws that dominates a mechanism: masses under
the first law on the losses i * step, and mass of infinite loss. Composition adds losses,
so it convolves masses. A loss between two grid points is split between them so that
both its probabilities are kept; that only helps the adversary, and far less than
rounding up would. Specification: `specs/03-privacy.md`, section 9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from gopa.accounting.convolution import UNIT_ROUNDOFF, Masses
from gopa.support.arrays import Floats
from wire.errors import UsageError

CUT: Final = 1e-26
MOST_BUCKETS: Final = 2**16
_MOST_PRODUCTS = 2**36
"""More take too long, and who receives terms has to compose releases: no grid leads to so many."""


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Losses on the grid of `step`; `infinite` is the mass no finite epsilon covers."""

    step: float
    masses: Masses
    infinite: float = 0.0

    @property
    def losses(self) -> Floats:
        """The losses that carry mass, from the smallest to the largest."""
        return np.arange(self.masses.first, self.masses.last + 1, dtype=np.float64) * self.step

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at `epsilon`."""
        losses = self.losses
        above = int(np.searchsorted(losses, epsilon, side="right"))
        exceeding = -np.expm1(epsilon - losses[above:])
        finite = float((self.masses.values[above:] * exceeding).sum())
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
            if high - low <= 1e-12 * high:
                break
        return high

    def then(self, other: LossDistribution) -> LossDistribution:
        """Both mechanisms on the same data, the second chosen after seeing the first."""
        if self.step != other.step:
            raise UsageError("loss distributions compose on one grid: build both with one step")
        masses = self.masses.plus(other.masses, cut=CUT)
        return LossDistribution(self.step, masses, any_infinite([(self, 1), (other, 1)]))

    def repeated(self, count: int) -> LossDistribution:
        """The mechanism `count` times on the same data."""
        if type(count) is not int or count < 1:
            raise UsageError("a mechanism is repeated at least once", "count")
        masses = self.masses.times(count, cut=CUT, work=_MOST_PRODUCTS)
        return LossDistribution(self.step, masses, any_infinite([(self, count)]))


def any_infinite(parts: Sequence[tuple[LossDistribution, int]]) -> float:
    """The chance that one of several independent losses is infinite."""
    finite = (count * math.log1p(-min(loss.infinite, 1 - UNIT_ROUNDOFF)) for loss, count in parts)
    return min(1.0, -math.expm1(math.fsum(finite)) * (1 + 1e-12))


def loss_of_gaussian(mu: float, step: float) -> LossDistribution:
    """Losses of N(mu, 1) against N(0, 1): what Gaussian masks, or any Gaussian mechanism, give."""
    if not 0 < mu < math.inf:
        raise UsageError("mu is positive and finite", "mu")
    reach = 11.0
    first = math.floor((mu * mu / 2 - reach * mu) / step)
    last = math.ceil((mu * mu / 2 + reach * mu) / step)
    if last - first > MOST_BUCKETS:
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


def on_grid(  # noqa: PLR0913 - atoms, and where they go
    masses: Floats,
    losses: Floats,
    step: float,
    error: float,
    infinite: float,
    *,
    most: int = MOST_BUCKETS,
) -> LossDistribution:
    """Split each atom between its neighbours on the grid, keeping both probabilities."""
    if not len(losses):
        return LossDistribution(step, Masses(0, np.zeros(1), error, 0.0), min(1.0, infinite))
    below = np.floor(losses / step)
    first, last = int(below.min()), int(below.max()) + 1
    if last - first > most:
        raise UsageError("this step is too fine for this mechanism", "step")
    distance = np.clip(losses - below * step, 0.0, step)
    share = np.minimum(np.expm1(-distance) / math.expm1(-step) + 1e-9, 1.0)
    index = (below - first).astype(np.int64)
    size = last - first + 1
    values: Floats = np.bincount(index, masses * (1 - share), size).astype(np.float64)
    values += np.bincount(index + 1, masses * share, size)
    rounding = error + (len(masses) + 4) * UNIT_ROUNDOFF
    return LossDistribution(step, Masses(first, values, rounding, 0.0), infinite)
