"""Two laws as atoms, each with a mass under the first and the logarithm of its odds.

What is done to a mechanism before it is composed, such as sampling its rows, is done to atoms. A
grid is chosen afterwards. Specification: `specs/16-accounting.md`, sections 2 and 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.accounting.distribution import LossDistribution, on_grid
from gopa.support.arrays import Floats

PER_DEVIATION: Final = 200
"""Grid points in a deviation of the loss: a split adds at most 1/160,000 to its variance."""

_MOST_POINTS: Final = 2**19
_NEGLIGIBLE: Final = 1e-27
"""Mass at the upper end that is counted as infinite loss, so that grids do not become long."""

_LEAST_MASS: Final = 1e-290
_ROUNDING: Final = 4e-15
"""So much of itself plus one is added to a logarithm of odds: more than the error of it."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """Outcomes: mass under the first law and ln of the odds of each; `infinite` the rest."""

    masses: Floats
    losses: Floats
    infinite: float
    error: float = 0.0

    @property
    def others(self) -> Floats:
        """The masses under the second law."""
        return self.masses * np.exp(np.minimum(-self.losses, 700.0))


def atoms_of(side: LossDistribution) -> Atoms:
    """Takes a distribution apart; whatever may be anywhere counts as infinite."""
    values, losses = side.masses.values * (1 + side.masses.error), side.losses
    with np.errstate(under="ignore"):
        held = (values > 0) & (losses < 650.0) & (values * np.exp(-losses.clip(0)) > _LEAST_MASS)
    infinite = float(values[~held & (losses > 0)].sum()) + side.infinite + side.masses.lost
    return Atoms(values[held], losses[held], infinite)


def gridded(atoms: Atoms, step: float | None = None) -> LossDistribution:
    """Puts atoms on a grid as fine as their spread asks for, or on that of `step`."""
    held = atoms.masses > 0
    order = np.argsort(atoms.losses[held])
    masses, losses = atoms.masses[held][order], atoms.losses[held][order]
    above = np.cumsum(masses[::-1])
    cut = int(np.searchsorted(above, _NEGLIGIBLE, side="right"))
    infinite = atoms.infinite + (float(above[cut - 1]) if cut else 0.0)
    masses, losses = masses[: len(masses) - cut], losses[: len(losses) - cut]
    if not len(masses):
        return on_grid(masses, losses, step or 1.0, atoms.error, infinite)
    # A loss may be raised: at the lower end there is nothing worth being looked at.
    low = int(np.searchsorted(np.cumsum(masses), _NEGLIGIBLE, side="right"))
    losses = np.maximum(losses, losses[min(low, len(losses) - 1)])
    losses = losses + _ROUNDING * (1 + np.abs(losses))
    span = float(losses[-1] - losses[0])
    chosen = step or _step(masses, losses)
    chosen = max(chosen, span / _MOST_POINTS)
    return on_grid(masses, losses, chosen, atoms.error, infinite, most=_MOST_POINTS + 2)


def _step(masses: Floats, losses: Floats) -> float:
    """The largest loss is on the grid: laws with a hard limit keep it."""
    wanted = max(_deviation(masses, losses) / PER_DEVIATION, 1e-12)
    wanted = max(wanted, float(losses[-1] - losses[0]) / (_MOST_POINTS - 2))
    largest = float(losses[-1])
    return largest / math.ceil(largest / wanted) * (1 + 1e-15) if largest > wanted else wanted


def regridded(side: LossDistribution, step: float) -> LossDistribution:
    """The same distribution on another grid."""
    if step == side.step:
        return side
    found = gridded(Atoms(side.masses.values, side.losses, 0.0, side.masses.error), step)
    infinite = side.infinite + side.masses.lost + found.infinite
    return LossDistribution(found.step, found.masses, infinite)


def deviation(side: LossDistribution) -> float:
    """The standard deviation of the finite losses; an ordinary float, not a bound."""
    return _deviation(side.masses.values, side.losses)


def _deviation(masses: Floats, losses: Floats) -> float:
    total = float(masses.sum())
    if not total:
        return 0.0
    mean = float((masses * losses).sum()) / total
    return math.sqrt(float((masses * (losses - mean) ** 2).sum()) / total)
