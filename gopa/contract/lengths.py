"""Bounds the squared lengths of vectors whose coordinates were rounded at random.

Where full mode proves vectors row by row it proves their length, so a party rounds its vector
again while that made it too long. Everybody has to find the same numbers, so they are computed
with 60 digits. Rules 14-L5, 14-Y2, 14-Y4, 14-W1 and 14-W3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

_EXACT: Final = Context(prec=60)

ENDS: Final = Context(prec=200)
"""More digits than sums of two ends of ranges have, whose digits were checked."""
_SAFE: Final = 1 - 1e-14

SPREAD: Final = _EXACT.sqrt(_EXACT.multiply(Decimal(32), _EXACT.ln(Decimal(2))))
"""So many half ranges, as the root of their squares, a sum exceeds once in 2^64 times."""

FEWEST_BITS: Final = 16


def squared_norm(length_squared: Fraction, rounded: int) -> int:
    """B for inputs of this squared length in steps, of which so many coordinates are rounded.

    Rounding again is needed once in 2^64 times, or never where that costs no more.
    """
    square = _decimal(length_squared)
    length, root = square.sqrt(_EXACT), Decimal(rounded).sqrt(_EXACT)
    hardly = _sum(square, Decimal(rounded) / 4, _EXACT.multiply(2 * length + root, SPREAD))
    never = _EXACT.power(_sum(length, root), 2)
    return int(min(hardly, never).to_integral_value(ROUND_FLOOR))


def longest_input(bound: int, rounded: int) -> float:
    """The longest vector in steps that `squared_norm` gives no more than this bound for.

    Squares are integers: one that is not above the bound is below the next integer.
    """
    limit, root = Decimal(bound + 1), Decimal(rounded).sqrt(_EXACT)
    never = _sum(limit.sqrt(_EXACT), -root)
    left = _sum(limit, -Decimal(rounded) / 4, -_EXACT.multiply(root, SPREAD))
    inner = _sum(_EXACT.power(SPREAD, 2), left)
    hardly = _sum(inner.sqrt(_EXACT), -SPREAD) if left > 0 else Decimal(0)
    return max(0.0, float(max(never, hardly)) * _SAFE)


def boxed_norm(dimension: int, steps: int) -> int:
    """B for vectors in a box of so many steps, measured from its middle."""
    return -(-dimension * steps * steps // 4)


@dataclass(frozen=True, slots=True)
class WeightedLength:
    """The length of v `numerator` / `denominator` steps that a weight of v steps allows.

    The largest weight is `steps`; the vector has `dimension` coordinates with its weight.
    """

    numerator: int
    denominator: int
    steps: int
    dimension: int

    @property
    def rounding(self) -> int:
        """What rounding may add to a length, times the denominator: sigma of 14-W1."""
        root = Decimal(self.dimension).sqrt(_EXACT)
        added = _EXACT.multiply(Decimal(self.denominator), _sum(root / 2, SPREAD))
        return self.numerator + int(added.to_integral_value(ROUND_CEILING))

    @property
    def squared_norm(self) -> int:
        """B: that of the longest vector beside the largest weight."""
        full = Fraction(self.numerator * self.steps, self.denominator)
        return squared_norm(full**2 + self.steps**2, self.dimension)

    @property
    def squared_sensitivity(self) -> int:
        """M^2: how far apart two vectors are that are as long as their weights allow (14-W3)."""
        full, rounding = self.numerator * self.steps, 2 * self.rounding
        both = (2 * full + rounding) ** 2
        one = (full + rounding) ** 2 + (self.denominator * self.steps) ** 2
        return -(-max(both, one) // self.denominator**2)


def word_width(parties: int, squared_norm: int, noise_square: int, spike: int) -> int:
    """The fewest bits of a word that every sum of a coordinate fits into (14-L5).

    Lengths that fit into 62 bits leave words of at most 54.
    """
    each = math.isqrt(squared_norm) + min(spike, math.isqrt(noise_square))
    return max(FEWEST_BITS, (parties * each).bit_length() + 1)


def _decimal(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _sum(*terms: Decimal) -> Decimal:
    total = Decimal(0)
    for term in terms:
        total = _EXACT.add(total, term)
    return total
