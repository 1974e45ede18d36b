"""Computes the tables of discrete Laplace laws, and of their digits, in exact integers.

Every bound is decided by enclosures (`zkp.noise`), never by floats. Specification:
`specs/15-noise.md`, section 3.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Final

from gopa.rounds.masks.law import BITS
from zkp.noise import Enclosure, exp_of_minus, product

TOTAL: Final = 1 << BITS
BASE: Final = 256
MOST_TOP_SCALE: Final = 8
_MOST_ROWS: Final = BITS * MOST_TOP_SCALE


def laplace_bounds(scale: Fraction, base: int | None = None) -> tuple[int, ...]:
    """F_1, F_2, .. of the whole law, which has a scale of at most 8, or of its digit below `base`.

    Each is the nearest integer. Precision doubles until all are decided, which happens: halfway
    between two integers lies no such value (15-N9).
    """
    precision = 2 * BITS + 2 * ceil(scale).bit_length()
    while (bounds := _decided(scale, base, precision)) is None:
        precision *= 2
    return bounds


def _decided(scale: Fraction, base: int | None, precision: int) -> tuple[int, ...] | None:
    """The same, or None where an enclosure leaves a choice.

    With r = exp(-1/scale) the chance of m or more is t = r^m / (1 + r), and for a digit
    t (1 - r^(base-m)) (1 - r^(base-m+1)) / (1 - r^base)^2.
    """
    one = 1 << precision
    ratio = exp_of_minus(scale.denominator, scale.numerator, precision)
    powers = [Enclosure(one, one)]
    for _ in range(base or _MOST_ROWS):
        powers.append(product(powers[-1], ratio, precision))
    missing = [Enclosure(one - power.high, one - power.low) for power in powers]
    divisor = Enclosure(one + ratio.low, one + ratio.high)
    if base is not None:
        divisor = product(divisor, product(missing[base], missing[base], precision), precision)
    bounds: list[int] = []
    for m in range(1, len(powers) - 1):
        tail = powers[m]
        if base is not None:
            cut = product(missing[base - m], missing[base - m + 1], precision)
            tail = product(tail, cut, precision)
        low, high = _nearest(tail.low, divisor.high), _nearest(tail.high, divisor.low)
        if low != high:
            return None
        if low == 0:
            break
        bounds.append(low)
    return tuple(reversed(bounds))


def _nearest(numerator: int, denominator: int) -> int:
    """The integer nearest to 2^128 times the quotient."""
    return ((numerator << BITS + 1) + denominator) // (2 * denominator)
