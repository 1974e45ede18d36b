"""Convolution of non-negative sequences with a bound on the relative error.

Sums of products of non-negative numbers lose nothing to cancellation: whatever the
order of the additions, an inner product of n terms comes out within a factor
1 +- (n + 1) u of the truth, u = 2^-53. A fast Fourier transform has no such bound in the
tails, and the tails decide about privacy. Specification: `specs/03-privacy.md`, section 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

UNIT_ROUNDOFF: Final = 2.0**-53
_DIRECT = 1024
_BLOCK = 256
_PIECE = 16 * _BLOCK


def convolve(left: Floats, right: Floats) -> Floats:
    """The full convolution by direct positive products, never by a Fourier transform."""
    if len(left) < len(right):
        left, right = right, left
    if len(right) < _DIRECT:
        return np.convolve(left, right)
    return _blocked(left, right)


def error_of_convolution(left: Floats, right: Floats) -> float:
    """The relative error one `convolve` adds; blocks are summed once more."""
    shorter = min(len(left), len(right))
    return (shorter + shorter // _BLOCK + 4) * UNIT_ROUNDOFF


def _blocked(left: Floats, right: Floats) -> Floats:
    """Direct convolution as products with wide Toeplitz matrices; some thirty times faster."""
    blocks = -(-len(left) // _BLOCK)
    rows = np.zeros((blocks, _BLOCK))
    rows.reshape(-1)[: len(left)] = left
    pieces = _PIECE // _BLOCK
    result = np.zeros(len(left) + len(right) + 2 * _BLOCK + _PIECE)
    for start in range(0, len(right), _PIECE):
        spread = rows @ _toeplitz(right[start : start + _PIECE])
        for piece in range(pieces + 1):
            first = start + piece * _BLOCK
            window = result[first : first + blocks * _BLOCK].reshape(-1, _BLOCK)
            window += spread[:, piece * _BLOCK : (piece + 1) * _BLOCK]
    return result[: len(left) + len(right) - 1]


def _toeplitz(piece: Floats) -> Floats:
    """Row i holds the piece shifted right by i, in _PIECE + _BLOCK columns."""
    padded = np.zeros(_PIECE + 2 * _BLOCK)
    padded[_BLOCK : _BLOCK + len(piece)] = piece
    shifted = np.lib.stride_tricks.sliding_window_view(padded, _PIECE + _BLOCK)
    return np.ascontiguousarray(shifted[_BLOCK:0:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Masses:
    """A truncated measure on consecutive integers, enclosed.

    The true measure T (the law with some tail outcomes left out) satisfies
    `values * (1 - error) <= T <= values * (1 + error)` on `first, first + 1, ..`;
    what was left out has a mass of at most `lost`.
    """

    first: int
    values: Floats
    error: float = 0.0
    lost: float = 0.0

    @property
    def last(self) -> int:
        """The largest integer that carries mass."""
        return self.first + len(self.values) - 1

    @property
    def variance(self) -> float:
        """The mean square, for laws around 0; an ordinary float, not a bound."""
        index = np.arange(self.first, self.last + 1, dtype=float)
        return float((self.values * index * index).sum() / self.values.sum())

    def plus(self, other: Masses, *, cut: float) -> Masses:
        """The law of the sum of two independent draws, tails below `cut` left out."""
        values = convolve(self.values, other.values)
        added = error_of_convolution(self.values, other.values)
        error = (self.error + other.error + added) * (1 + 1e-6)
        low, high, dropped = _negligible_tails(values, cut)
        lost = self.lost + other.lost + dropped * (1 + 1e-6)
        return Masses(self.first + other.first + low, values[low:high].copy(), error, lost)

    def times(self, count: int, *, cut: float) -> Masses:
        """The law of the sum of `count` independent draws: doubling, plus one where needed."""
        result = self
        for bit in bin(count)[3:]:
            result = result.plus(result, cut=cut)
            if bit == "1":
                result = result.plus(self, cut=cut)
        return result


def _negligible_tails(values: Floats, cut: float) -> tuple[int, int, float]:
    """Where to cut so that each tail holds at most `cut`, and the mass cut away."""
    below = np.cumsum(values)
    above = np.cumsum(values[::-1])
    low = int(np.searchsorted(below, cut, side="right"))
    high = len(values) - int(np.searchsorted(above, cut, side="right"))
    dropped = (below[low - 1] if low else 0.0) + (
        above[len(values) - high - 1] if high < len(values) else 0.0
    )
    return low, high, float(dropped)
