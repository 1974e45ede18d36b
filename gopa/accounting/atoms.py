"""Two laws as atoms: masses under the first, logarithms of odds; and rows taken by chance.

What is done to a mechanism before it is composed is done to atoms; a grid is chosen afterwards.
Sampling starts from pairs of laws that dominate the mechanism on all rows of a sample: with a row
against without it, and the other way round. Proofs: `specs/16-accounting.md`, sections 2 and 3.
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

_SLACK: Final = 1e-10
"""Above the rounding of a running sum of masses, relative to it."""


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


def removed(present: Atoms, rate: float) -> Atoms:
    """The odds of the sampled mechanism with the row against that without it."""
    others = present.others
    masses = rate * present.masses + (1 - rate) * others
    absent = max(0.0, 1.0 - float(others.sum()))
    masses, losses = np.append(masses, (1 - rate) * absent), _mixed(rate, present.losses)
    losses = np.append(losses, math.log1p(-rate) if rate < 1 else 0.0)
    return Atoms(masses, losses, rate * present.infinite, present.error)


def added(absent: Atoms, rate: float) -> Atoms:
    """The odds of the sampled mechanism without the row against that with it."""
    if rate == 1:
        return absent
    masses = np.append(absent.masses, absent.infinite)
    losses = np.append(-_mixed(rate, -absent.losses), -math.log1p(-rate))
    return Atoms(masses, losses, 0.0, absent.error)


def replaced(present: Atoms, absent: Atoms, rate: float) -> Atoms:
    """The odds where a row is replaced by another, each within the bounds of the two pairs.

    Three laws are compared: with the first row, with none, with the second. The best test of the
    first against none and the best of none against the second are nested in one line of tests,
    along which `place` is the mass without any row.
    """
    present, absent = _falling(present), _falling(absent)
    ends = np.cumsum(present.others) * (1 + _SLACK)
    turns = (absent.infinite + np.cumsum(absent.masses)) * (1 + _SLACK)
    last = max(1.0, float(ends[-1]) if len(ends) else 0.0)
    places = np.concatenate((ends, turns, [absent.infinite, last]))
    places = np.unique(np.append(places[(places > 0) & (places < last)], last))
    starts = np.concatenate(([0.0], places[:-1]))
    width = places - starts
    first = _odds(starts, ends, present.losses, missing=0.0)
    turned = np.concatenate(([absent.infinite], turns))
    falls = np.concatenate(([np.inf], absent.losses))
    second = 1 / _odds(starts, turned, falls, missing=float(np.exp(falls[-1])))
    masses = width * ((1 - rate) + rate * first)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log((1 - rate) + rate * first) - np.log((1 - rate) + rate * second)
    held, endless = masses > 0, np.isinf(losses)
    infinite = rate * present.infinite + float(masses[held & endless].sum())
    kept = held & ~endless
    return Atoms(masses[kept], losses[kept], infinite, present.error + absent.error + 2 * _SLACK)


def _mixed(rate: float, losses: Floats) -> Floats:
    """ln(1 - rate + rate e^loss), precise for small and for large losses."""
    if rate == 1:
        return losses
    near = np.log1p(rate * np.expm1(np.minimum(losses, 1.0)))
    far = np.logaddexp(math.log1p(-rate), math.log(rate) + losses)
    return np.where(losses < 1.0, near, far)


def _falling(atoms: Atoms) -> Atoms:
    order = np.argsort(-atoms.losses)
    return Atoms(atoms.masses[order], atoms.losses[order], atoms.infinite, atoms.error)


def _odds(starts: Floats, ends: Floats, losses: Floats, *, missing: float) -> Floats:
    """e^loss of the atom that holds each place, end to end; `missing` behind the last."""
    at = np.searchsorted(ends, starts, side="right")
    found = np.append(np.exp(losses), missing)
    return found[np.minimum(at, len(losses))]
