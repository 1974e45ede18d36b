"""Bounds how far the squares or eighth powers of a noise vector add up, for the law of the plan.

A party draws its noise anew where they add up to more than the manifest's bound, which has to
happen hardly ever: for one honest party in one round with a chance of at most 2^-64. Specification
14, rules M7 and Y1.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa.planning.exponential_sums import exponential_sums
from zkp.noise import NoiseLaw

Floats = npt.NDArray[np.float64]

CHANCE: Final = 0.9 * 2.0**-65
"""Of each of the two sums to exceed its bound: no judge of 2^-64 for both is undecided about it."""

_TERMS: Final = (4000, 16_000, 64_000)
_SMOOTHINGS: Final = (2e-3, 2e-2)
"""Shares of the threshold; the second only where the first would need more terms."""

_PARTS: Final = 8
_STEPS: Final = 9
_STEEPEST: Final = 64.0
"""The largest product of tilt and smoothing: more of it makes every bound worse."""

_NEVER: Final = 2.0**-100
"""Chances below that need not be known better."""


@lru_cache(maxsize=64)
def noise_bounds(law: NoiseLaw, dimension: int, chance: float = CHANCE) -> tuple[int, int]:
    """The least S and K for a vector of draws: squares add up to S, eighth powers to K^8."""
    squares = least_bound(dimension, *powers_of(law, 2), chance)
    eighths = least_bound(dimension, *powers_of(law, 8), chance)
    return math.ceil(squares), math.ceil(eighths ** (1 / 8))


def powers_of(law: NoiseLaw, exponent: int) -> tuple[Floats, Floats]:
    """The values that a power of one draw takes, and their probabilities."""
    size = np.arange(law.radius + 1, dtype=np.float64)
    total = law.total
    masses = np.array([mass / total for mass in law.masses[law.radius :]])
    masses[1:] *= 2  # the law is symmetric
    return size**exponent, masses


def chance_beyond(threshold: float, dimension: int, values: Floats, probabilities: Floats) -> float:
    """At least the chance that so many draws add up to the threshold or more.

    The values are not negative. The sum is Fourier's, tilted so that the threshold becomes the
    mean. Smoothing makes it larger, and for what is cut off a bound is added.
    """
    scale = float(values.max())
    values, target = values / scale, threshold / scale
    if target > dimension * (1 + 1e-12):
        return 0.0
    if target <= dimension * float(probabilities @ values):
        return 1.0  # the tilt would be none or negative
    least = 1.0
    for smoothing in _SMOOTHINGS:
        found, left_out = _smoothed(target, dimension, values, probabilities, smoothing * target)
        least = min(least, found + left_out)
        if _is_enough(found, left_out):
            break
    return least


def _is_enough(found: float, left_out: float) -> bool:
    """Whether more terms would not change a bound by much."""
    return left_out < found / 100 or found + left_out < _NEVER


def _smoothed(
    target: float, dimension: int, values: Floats, probabilities: Floats, width: float
) -> tuple[float, float]:
    """The chance with the threshold smoothed over a width, and a bound on what is cut off."""
    tilt = min(_tilt(target / dimension, values, probabilities), _STEEPEST / width)
    step = tilt / _STEPS
    weights = probabilities * np.exp(tilt * (values - 1))
    # All exponents are those of the sum over its largest value, which is far below 2^1024.
    height = float(dimension * (math.log(weights.sum()) + tilt) - tilt * target)
    chernoff = math.exp(min(height, 700.0))
    found, left_out, done = 0.0, 1.0, 0
    for terms in _TERMS:
        points = tilt + 1j * step * np.arange(done, terms)
        smooth = ((np.exp(points * width / _PARTS) - 1) / (points * width / _PARTS)) ** _PARTS
        moments = exponential_sums(weights / weights.sum(), step * values, done, terms)
        with np.errstate(divide="ignore"):
            logs = dimension * np.log(moments) - 1j * points.imag * target
        parts = (np.exp(logs) * smooth / points).real * chernoff
        # Terms on both sides are conjugates of each other; there is one in the middle.
        found += (
            step / (2 * np.pi) * (2 * float(parts.sum()) - (float(parts[0]) if not done else 0))
        )
        done = terms
        factor = _PARTS * (math.exp(tilt * width / _PARTS) + 1) / (width * step * terms)
        left_out = chernoff * factor**_PARTS / (_PARTS * np.pi)
        if _is_enough(found, left_out):
            break
    return found, left_out


def least_bound(
    dimension: int, values: Floats, probabilities: Floats, chance: float = CHANCE
) -> float:
    """The least sum that so many draws reach with at most this chance, to one part in 10^5."""
    low = dimension * float(probabilities @ values)
    most = dimension * float(values.max())

    def excess(threshold: float) -> float:
        found = chance_beyond(threshold, dimension, values, probabilities)
        return math.log(max(found, sys.float_info.min) / chance)

    above, factor = math.log(1 / chance), 2.0
    high = min(factor * low, most)
    while (below := excess(high)) > 0:
        if high == most:
            return most  # no sum is larger
        low, above, factor = high, below, factor**1.5
        high = min(factor * low, most)
    # Secants, and a step to the middle where one end stays for too long.
    kept = 0
    while high > low * (1 + 1e-5):
        share = above / (above - below) if abs(kept) < 2 else 0.5
        share = min(max(share, 1e-4), 1 - 1e-4)
        middle = low * (high / low) ** share
        found = excess(middle)
        if found > 0:
            low, above, kept = middle, found, max(kept, 0) + 1
        else:
            high, below, kept = middle, found, min(kept, 0) - 1
    return high


def _tilt(mean: float, values: Floats, probabilities: Floats) -> float:
    """Where the law, tilted by exponentials, has this mean."""

    def tilted(by: float) -> float:
        weights = probabilities * np.exp(by * (values - values.max()))
        return float(weights @ values / weights.sum())

    low, high = 0.0, 1.0
    while tilted(high) < mean and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tilted(middle) < mean else (low, middle)
    return high
