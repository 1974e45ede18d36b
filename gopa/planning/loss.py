"""Bounds the privacy loss of one round from the exact law of its noise.

The privacy of one round, from the exact law of the noise (theorem D). The pair (P x N(0, 1), P
shifted by m x N(mu, 1)) dominates what the adversary sees, for all changes of one input by at
most m steps at once: P is the law of the honest parties' noise in one connected component, mu the
price of Gaussian masks (0 for uniform masks). Proof and conditions: `specs/03-privacy.md`,
sections 4 to 6. Losses of several rounds compose in `gopa.accounting`.
"""

from __future__ import annotations

import math

import numpy as np

from gopa.accounting.convolution import Floats, Masses
from gopa.accounting.distribution import LossDistribution, on_grid
from gopa.accounting.gaussian import delta_of_shift
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


def loss_of_shift(noise: Masses, shift: int, step: float) -> LossDistribution:
    """Losses of a symmetric noise law against itself shifted by `shift` steps."""
    masses, losses = log_ratios(noise.values, shift, noise.error)
    finite = np.isfinite(losses) & (masses > 0)
    infinite = math.fsum(masses[~finite]) * (1 + noise.error) + noise.lost
    return on_grid(masses[finite], losses[finite], step, noise.error, infinite)
