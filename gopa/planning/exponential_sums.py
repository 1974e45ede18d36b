"""Sums of weights times exp(i k angle), for many k in a row: characteristic functions of draws."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]

_FINER: Final = 2
"""The grid has so many points for each k."""

_WIDTH: Final = 16
"""So many points have a part of each weight."""

_STEEPNESS: Final = 2.3 * _WIDTH
"""Of the bell by which weights are spread, as Kaiser and Bessel have it: best for this grid."""


def exponential_sums(weights: Floats, angles: Floats, first: int, last: int) -> Complexes:
    """The sums for k from `first` to below `last`, by a fast Fourier transform on a grid of angles.

    Weights are spread over the grid by a bell whose own transform is known, and what comes out is
    divided by that. It is as close as adding up is, where rounding of k times an angle decides:
    some 2^-47 of all weights, or 2^-52 of k times the angle where that is more. Adding up took a
    hundred times as long.
    """
    count = last - first
    size = _FINER * count
    # From the middle k is as far to both sides, where the bell's transform is small.
    turned = weights * np.exp(1j * (first + count // 2) * angles)
    places = np.mod(angles, 2 * np.pi) * (size / (2 * np.pi))
    points = np.ceil(places - _WIDTH / 2).astype(np.int64)[:, None] + np.arange(_WIDTH)
    distances = (points - places[:, None]) * (2 / _WIDTH)
    bell = np.i0(_STEEPNESS * np.sqrt(np.maximum(1 - distances**2, 0.0)))
    spread = (bell * turned[:, None]).reshape(-1)
    at = np.mod(points, size).reshape(-1)
    grid = np.bincount(at, spread.real, size) + 1j * np.bincount(at, spread.imag, size)
    around = np.arange(count) - count // 2
    inner = np.sqrt(_STEEPNESS**2 - (np.pi * _WIDTH / size * around) ** 2)
    bells = _WIDTH * np.sinh(inner) / inner
    return np.asarray(np.fft.ifft(grid)[around] * size / bells, np.complex128)
