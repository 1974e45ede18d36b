"""Convolves non-negative sequences with a bound on the error of every value.

Sums of products of non-negative numbers lose nothing to cancellation: whatever the
order of the additions, an inner product of n terms comes out within a factor
1 +- (n + 1) u of the truth, u = 2^-53. A fast Fourier transform has no such bound in the
tails, and the tails decide about privacy. Specification: `specs/03-privacy.md`, section 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.support.arrays import Floats
from wire.errors import UsageError

UNIT_ROUNDOFF: Final = 2.0**-53
_DIRECT = 512
_FEW = 64
_MANY = 256
_LONG = 1024
"""Shorter sequences are multiplied in smaller blocks, of which rounding is less."""
_PIECES = 16


def convolve(left: Floats, right: Floats) -> Floats:
    """Computes the full convolution by direct positive products, never by a Fourier transform."""
    if len(left) < len(right):
        left, right = right, left
    if not len(right):
        return np.zeros(0)  # all of it was negligible
    if len(right) < _DIRECT:
        return _in_pieces(left, right)
    total, once = len(left) + len(right) - 1, left is right
    if not (_is_symmetric(left) and (once or _is_symmetric(right))):
        return _blocked(left, right, total, square=once)
    # Of a symmetric result half is computed.
    half = total // 2 + 1
    first = _blocked(left, right, half, square=once)
    return np.concatenate([first, first[: total - half][::-1]])


def _in_pieces(left: Floats, right: Floats) -> Floats:
    """The convolution in pieces: few additions in a row, so little rounding."""
    result, size = np.zeros(len(left) + len(right) - 1), _piece(len(right))
    for start in range(0, len(right), size):
        part = np.convolve(left, right[start : start + size])
        result[start : start + len(part)] += part
    return result


def _piece(length: int) -> int:
    return math.isqrt(length - 1) + 1


def _block(shorter: int) -> int:
    """How many products are summed up in a row."""
    return _MANY if shorter >= _LONG else _FEW


def _is_symmetric(values: Floats) -> bool:
    return bool(np.array_equal(values, values[::-1]))


def error_of_convolution(left: Floats, right: Floats) -> float:
    """Bounds the relative error one `convolve` adds: in a piece, and where pieces are summed."""
    shorter = min(len(left), len(right))
    if not shorter:
        return 0.0
    size = _block(shorter) if shorter >= _DIRECT else _piece(shorter)
    return (size + shorter // size + 5) * UNIT_ROUNDOFF


def _blocked(left: Floats, right: Floats, wanted: int, *, square: bool = False) -> Floats:
    """The first values of a convolution, as products with wide Toeplitz matrices.

    Some thirty times faster than one by one. Of a `square`, where both are the same, each piece
    meets those behind it for both of them, and itself once: doubling is exact.
    """
    block = _block(len(right))
    blocks = -(-len(left) // block)
    rows = np.zeros((blocks, block))
    rows.reshape(-1)[: len(left)] = left
    length = min(_PIECES * block, -(-len(right) // block) * block)
    pieces = length // block
    result = np.zeros(len(left) + len(right) + 2 * block + _PIECES * block)
    for start in range(0, len(right), length):
        # Rows whose products all lie behind what is wanted are left out.
        skipped = start // block if square else 0
        needed = min(blocks, max(0, -(-(wanted - start) // block))) - skipped
        if needed <= 0:
            break
        spread = rows[skipped : skipped + needed] @ _toeplitz(
            right[start : start + length], length, block
        )
        if square:
            spread[pieces:] *= 2
        for piece in range(pieces + 1):
            first = start + (skipped + piece) * block
            window = result[first : first + needed * block].reshape(-1, block)
            window += spread[:, piece * block : (piece + 1) * block]
    return result[:wanted]


def _toeplitz(piece: Floats, length: int, block: int) -> Floats:
    """Row i holds the piece shifted right by i, in length + block columns."""
    padded = np.zeros(length + 2 * block)
    padded[block : block + len(piece)] = piece
    shifted = np.lib.stride_tricks.sliding_window_view(padded, length + block)
    return np.ascontiguousarray(shifted[block:0:-1])


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

    def times(self, count: int, *, cut: float, work: int | None = None) -> Masses:
        """The law of the sum of `count` independent draws: doubling, plus one where needed.

        Raises:
            UsageError: all convolutions together take more than `work` products.
        """
        result, left = self, math.inf if work is None else work
        for bit in bin(count)[3:]:
            for other in (None, self) if bit == "1" else (None,):
                partner = result if other is None else other
                left -= len(result.values) * len(partner.values)
                if left < 0:
                    raise UsageError("these releases take too long to account for", "rounds")
                result = result.plus(partner, cut=cut)
        return result


def _negligible_tails(values: Floats, cut: float) -> tuple[int, int, float]:
    """Where to cut so that each tail holds at most `cut`, and the mass cut away.

    At least one value stays.
    """
    below = np.cumsum(values)
    above = np.cumsum(values[::-1])
    low = int(np.searchsorted(below, cut, side="right"))
    high = len(values) - int(np.searchsorted(above, cut, side="right"))
    if low >= high:  # nearly everything is lost already: the law must not become empty
        return 0, len(values), 0.0
    dropped = (below[low - 1] if low else 0.0) + (
        above[len(values) - high - 1] if high < len(values) else 0.0
    )
    return low, high, float(dropped)
