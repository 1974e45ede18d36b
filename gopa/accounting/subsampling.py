"""Computes what a mechanism tells of a row that takes part by chance, each row for itself.

From pairs of laws that dominate the mechanism on all rows of a sample: with a row against without
it, and the other way round. Proofs: `specs/16-accounting.md`, section 3.
"""

from __future__ import annotations

import math

import numpy as np

from gopa.accounting.atoms import Atoms
from gopa.support.arrays import Floats

_SLACK = 1e-10
"""Above the rounding of a running sum of masses, relative to it."""


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
