"""Computes what a Gaussian with a shifted mean gives away, and what noise a target takes.

Upper bounds are rounded upwards by more than the error of the library functions they
use; deviations and parameters are rounded in the direction that costs privacy nothing.
Specification: `specs/03-privacy.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.special import log_ndtr

from gopa.accounting import checks
from gopa.support.arrays import Floats
from wire.errors import UsageError

SLACK: Final = 1e-12
"""Relative room for the error of exp and log_ndtr, whose documented error is below 1e-14."""


def delta_of_shift(losses: Floats, mu: float) -> Floats:
    """An upper bound on the hockey-stick divergence of N(mu, 1) and N(0, 1), in [0, 1].

    One value for each threshold x in `losses`: Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu),
    and max(0, 1 - e^x) where mu is 0. Infinite thresholds give 0 and 1.
    """
    if mu == 0:
        return np.clip(-np.expm1(losses), 0.0, 1.0)
    ordinary = np.clip(losses, -700.0, 700.0)
    first = log_ndtr(mu / 2 - ordinary / mu)
    second = ordinary + log_ndtr(-mu / 2 - ordinary / mu)
    larger = np.exp(first)
    gap = larger * -np.expm1(np.minimum(second - first, 0.0))
    bound = gap + SLACK * larger * (1 + np.abs(first) + np.abs(second))
    bound = np.where(losses > 700.0, np.exp(log_ndtr(mu / 2 - 700.0 / mu)), bound)
    return np.where(losses < -700.0, 1.0, np.clip(bound, 0.0, 1.0))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """An upper bound on delta of the Gaussian mechanism with sensitivity / deviation = mu."""
    return float(delta_of_shift(np.array([epsilon]), mu)[0])


def gaussian_mu(epsilon: float, delta: float) -> float:
    """A mu, close to the largest, whose Gaussian mechanism is (epsilon, delta)-private."""
    check_target(epsilon, delta)
    return _largest(lambda mu: gaussian_delta(epsilon, mu) <= delta, 1e-12, 1e6)


def renyi_mu(epsilon: float, delta: float) -> float:
    """A mu, close to the largest, for which Renyi divergences show (epsilon, delta)."""
    check_target(epsilon, delta)
    return _largest(lambda mu: zcdp_delta(epsilon, mu * mu / 2) <= delta, 1e-12, 1e6)


def central_deviation(epsilon: float, delta: float) -> float:
    """The noise, in units of the sensitivity, that a trusted curator needs."""
    return 1.0 / gaussian_mu(epsilon, delta)


def zcdp_delta(epsilon: float, rho: float) -> float:
    """An upper bound on delta of any rho-zCDP mechanism, by the best order on a fine grid.

    min over a > 1 of exp((a-1)(a rho - epsilon)) (1 - 1/a)^(a-1) / a. Every order gives a
    valid bound, so a grid never gives a wrong one.
    """
    if rho < 0 or epsilon < 0:
        raise UsageError("rho and epsilon are not negative")
    if rho == 0:
        return 0.0
    centre = max((epsilon + rho) / (2 * rho), 1.0 + 1e-9)
    orders = 1 + (centre - 1) * np.geomspace(1e-3, 1e3, 4001)
    return float(min(1.0, rdp_delta(epsilon, orders, orders * rho)))


def rdp_delta(epsilon: float, orders: Floats, divergences: Floats) -> float:
    """An upper bound on delta from Renyi divergences at several orders above 1."""
    exponent = (orders - 1) * (divergences - epsilon)
    tail = (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
    with np.errstate(over="ignore"):
        bound = np.exp(np.min(exponent + tail)) * (1 + SLACK)
    return float(min(1.0, bound))


def check_target(epsilon: float, delta: float) -> None:
    """Refuse targets outside 0 < epsilon <= 100, 0 < delta < 1."""
    if not (isinstance(epsilon, (int, float)) and 0 < epsilon <= 100):
        raise UsageError("must be a number above 0 and at most 100", "epsilon")
    if not (isinstance(delta, (int, float)) and 1e-30 <= delta < 1):
        raise UsageError("must be a number from 1e-30 to below 1", "delta")


def _largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Bisection on a logarithmic scale; the answer is a point where `holds` was true."""
    if not holds(low):
        raise UsageError("no finite amount of noise reaches this target: raise epsilon or delta")
    for _ in range(200):
        middle = math.sqrt(low * high)
        if middle in {low, high}:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gaussian_sigma(
    epsilon: float, delta: float, sensitivity: float = 1.0, *, classical: bool = False
) -> float:
    """Calibrates normal noise to a vector that moves by `sensitivity`: its deviation.

    The least that is enough, by the exact curve (Balle and Wang); or, if `classical`,
    sqrt(2 ln(1.25/delta))/epsilon, which is refused where it is not enough.
    """
    moved = checks.positive(sensitivity, "sensitivity")
    checks.positive(epsilon, "epsilon")
    if checks.probability(delta, "delta") == 0:
        raise UsageError("normal noise has no delta of 0: raise it", "delta")
    least = moved / gaussian_mu(epsilon, delta) * (1 + SLACK)
    if not classical:
        return least
    found = moved * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    if found < least:
        raise UsageError("the classical noise is too little here: take the analytic one", "epsilon")
    return found
