"""Bounds how far the squares or eighth powers of a noise vector add up, for the law of the plan.

A party draws its noise anew where they add up to more than the manifest's bound, which has to
happen hardly ever: for one honest party in one round with a chance of at most 2^-64. Specification
14, rules M7 and Y1.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from zkp.noise_table import NoiseLaw

Floats = npt.NDArray[np.float64]

CHANCE: Final = 2.0**-65
"""Of each of the two sums to exceed its bound."""

_TERMS: Final = (4000, 16_000, 64_000)
_SMOOTHING: Final = 2e-3
_PARTS: Final = 8
_STEPS: Final = 9
_BLOCK: Final = 2048


def noise_bounds(law: NoiseLaw, dimension: int, chance: float = CHANCE) -> tuple[int, int]:
    """The least S and K for a vector of draws: squares add up to S, eighth powers to K^8."""
    size = np.arange(law.radius + 1, dtype=np.float64)
    total = law.total
    masses = np.array([mass / total for mass in law.masses[law.radius :]])
    masses[1:] *= 2  # the law is symmetric
    squares = least_bound(dimension, size**2, masses, chance)
    eighths = least_bound(dimension, size**8, masses, chance)
    return math.ceil(squares), math.ceil(eighths ** (1 / 8))


def chance_beyond(threshold: float, dimension: int, values: Floats, probabilities: Floats) -> float:
    """At least the chance that so many draws add up to the threshold or more.

    The values are not negative. The sum is Fourier's, tilted so that the threshold becomes the
    mean. Smoothing makes it larger, and for what is cut off a bound is added.
    """
    scale = float(values.max())
    values, target = values / scale, threshold / scale
    tilt = _tilt(target / dimension, values, probabilities)
    width, step = _SMOOTHING * target, tilt / _STEPS
    chernoff = math.exp(
        float((dimension * _log_moments(np.array([tilt + 0j]), values, probabilities))[0].real)
        - tilt * target
    )
    found, left_out, done = 0.0, 1.0, 0
    for terms in _TERMS:
        points = tilt + 1j * step * np.arange(done, terms)
        smooth = ((np.exp(points * width / _PARTS) - 1) / (points * width / _PARTS)) ** _PARTS
        logs = dimension * _log_moments(points, values, probabilities) - points * target
        parts = (np.exp(logs) * smooth / points).real
        # Terms on both sides are conjugates of each other; there is one in the middle.
        found += (
            step / (2 * np.pi) * (2 * float(parts.sum()) - (float(parts[0]) if not done else 0))
        )
        done = terms
        factor = _PARTS * (math.exp(tilt * width / _PARTS) + 1) / (width * step * terms)
        left_out = chernoff * factor**_PARTS / (_PARTS * np.pi)
        if left_out < found / 100:
            break
    return found + left_out


def least_bound(
    dimension: int, values: Floats, probabilities: Floats, chance: float = CHANCE
) -> float:
    """The least sum that so many draws reach with at most this chance, to one part in 10^5."""
    low = dimension * float(probabilities @ values)
    high = 2 * low
    while chance_beyond(high, dimension, values, probabilities) > chance:
        high *= 2
    while high > low * (1 + 1e-5):
        middle = (low + high) / 2
        if chance_beyond(middle, dimension, values, probabilities) > chance:
            low = middle
        else:
            high = middle
    return high


def _tilt(mean: float, values: Floats, probabilities: Floats) -> float:
    """Where the law, tilted by exponentials, has this mean."""

    def tilted(by: float) -> float:
        weights = probabilities * np.exp(by * (values - values.max()))
        return float(weights @ values / weights.sum())

    low, high = 0.0, 1.0
    while tilted(high) < mean and high < 1e9:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tilted(middle) < mean else (low, middle)
    return high


def _log_moments(
    points: npt.NDArray[np.complexfloating[Any, Any]], values: Floats, probabilities: Floats
) -> npt.NDArray[np.complex128]:
    """The logarithm of the mean of exp(z value) at each point z."""
    found = np.empty(len(points), np.complex128)
    for start in range(0, len(points), _BLOCK):
        exponents = np.multiply.outer(points[start : start + _BLOCK], values)
        largest = exponents.real.max(axis=1)
        sums = np.exp(exponents - largest[:, None]) @ probabilities
        found[start : start + _BLOCK] = largest + np.log(sums)
    return found
