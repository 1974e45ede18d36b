"""Laws of integers as exact public tables, and draws from them; nothing here is a float.

A law is a sum of digits: independent draws from symmetric tables, each counted with a weight;
discrete Laplace laws have bounds on each digit in exact integers.
Specification: `specs/15-noise.md`, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from commitments import ristretto255
from commitments.group import Group, Stream, WideTable
from gopa.noise.seeds import exact, require_real, stream_of, whole
from gopa.rounds.masks import RoundedGaussian
from gopa.rounds.masks.law import BITS
from wire.errors import UsageError
from zkp.noise import Enclosure, exp_of_minus, product

Integers: TypeAlias = npt.NDArray[np.int64]

_SCALES: Final = (Fraction(1, 32), Fraction(2**32))
_TRIVIAL_EPSILON: Final = 200
_MOST_DRAWS: Final = 2**34


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Digit:
    """The table of a symmetric law in units of 2^-128; each step of a draw counts `weight`.

    `lower` are F_1 .. F_radius: 2^128 times the probability of less than -radius + i.
    """

    weight: int
    lower: tuple[int, ...]

    @property
    def radius(self) -> int:
        """Draws lie in [-radius, radius]."""
        return len(self.lower)

    def mass(self, draw: int) -> int:
        """How many of the 2^128 equally likely bytes give this draw."""
        rest = self.radius - abs(draw)
        if rest < 0:
            return 0
        if draw == 0:
            return TOTAL - 2 * self.lower[-1]
        return self.lower[rest] - (self.lower[rest - 1] if rest else 0)

    def second_moment(self) -> int:
        """The mean square of draws, times 2^128: every row of a tail counts all that is below."""
        tails = reversed(self.lower)
        return 2 * sum((2 * distance + 1) * tail for distance, tail in enumerate(tails))

    def table(self, group: Group) -> WideTable:
        """The table as streams of this group take it, made once for as long as the digit lives."""
        made = _TABLES.setdefault(self, {})
        if group not in made:
            made[group] = group.wide_table(self.lower)
        return made[group]


_TABLES: Final[WeakKeyDictionary[Digit, dict[Group, WideTable]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableLaw:
    """One symmetric law on integers: the sum of independent digits, the coarsest first.

    `truncation` bounds the total variation distance of one draw to the law that the name
    speaks of, which is neither cut off nor rounded.
    """

    name: str
    digits: tuple[Digit, ...]
    truncation: Fraction

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def largest(self) -> int:
        """Draws lie in [-largest, largest]."""
        return sum(digit.weight * digit.radius for digit in self.digits)

    @property
    def variance(self) -> Fraction:
        """The exact variance of the tables; the mean is zero."""
        squares = sum(digit.weight**2 * digit.second_moment() for digit in self.digits)
        return Fraction(squares, TOTAL)

    def probability(self, value: int) -> Fraction:
        """The exact probability that the tables give to this value."""
        return Fraction(_mass(self.digits, value), TOTAL ** len(self.digits))

    def charged(self, draws: int, epsilon: float) -> Fraction:
        """What so many draws in one release add to its delta at this epsilon (15-N6).

        Raises:
            UsageError: draws are no integer from 0 on, or epsilon is no number from 0 on.
        """
        require_real(epsilon, "epsilon")
        if not epsilon >= 0:
            raise UsageError("must be 0 or more", "epsilon")
        # 3 is more than e. Where epsilon is cut off the bound is far above 1.
        factor = Fraction(1 + 3 ** ceil(min(epsilon, _TRIVIAL_EPSILON)))
        return min(Fraction(1), factor * whole(draws, 0, "draws") * self.truncation)

    def draw(
        self, seed: bytes, shape: int | tuple[int, ...], *, group: Group | None = None
    ) -> Integers:
        """Independent draws in an array of this shape; equal seeds give equal arrays.

        A seed serves one call: two arrays from one seed begin alike, and their difference
        has no noise. `subseed` makes as many seeds as are needed. `group` picks the backend,
        by default the active one; all give the same integers.

        Raises:
            UsageError: a seed without 32 bytes, or a shape that no array has.
        """
        group = ristretto255() if group is None else group
        lengths = shape if isinstance(shape, tuple) else (shape,)
        sizes = [whole(length, 0, "shape") for length in lengths]
        drawn = self.draw_from(group, stream_of(group, seed, self.name), prod(sizes))
        return drawn.reshape(sizes)

    def draw_from(self, group: Group, stream: Stream, count: int) -> Integers:
        """Draws from a stream: all of the coarsest digit first, then of the next one (15-N5)."""
        if count * len(self.digits) > _MOST_DRAWS:
            raise UsageError("a seed gives 2^34 draws at most: take several seeds", "shape")
        drawn: Integers = np.zeros(count, dtype=np.int64)
        weight = self.digits[0].weight
        for digit in self.digits:
            drawn *= weight // digit.weight
            weight = digit.weight
            stream.add_wide_draws_to(drawn, 1, digit.table(group))
        return drawn


def rounded_gaussian(deviation: int) -> TableLaw:
    """N(0, deviation^2) rounded to integers: the law of Gaussian masks, from its one table.

    Raises:
        UsageError: the deviation is not an integer from 1 to 2^16.
    """
    return _rounded_gaussian(whole(deviation, 1, "deviation"))


@lru_cache(maxsize=8)
def _rounded_gaussian(deviation: int) -> TableLaw:
    digits = (Digit(1, RoundedGaussian(deviation).lower),)
    return TableLaw(f"rounded-gaussian {deviation}", digits, _rounding(digits))


def discrete_laplace(scale: float | Fraction) -> TableLaw:
    """The law with weights exp(-|x| / scale): scale = sensitivity / epsilon, in steps.

    Raises:
        UsageError: the scale is no number from 1/32 to 2^32.
    """
    return _discrete_laplace(exact(scale, *_SCALES, "scale"))


@lru_cache(maxsize=64)
def _discrete_laplace(scale: Fraction) -> TableLaw:
    digits: list[Digit] = []
    top, weight = scale, 1
    while top > MOST_TOP_SCALE:
        digits.append(Digit(weight, laplace_bounds(top, BASE)))
        top /= BASE
        weight *= BASE
    digits.append(Digit(weight, laplace_bounds(top, None)))
    ordered = tuple(reversed(digits))
    return TableLaw(f"discrete-laplace {scale}", ordered, _rounding(ordered))


def _rounding(digits: Sequence[Digit]) -> Fraction:
    """Every bound is the nearest integer, and what is cut off rounds to zero (15-N4)."""
    return Fraction(sum(digit.radius + 1 for digit in digits), TOTAL)


def _mass(digits: Sequence[Digit], value: int) -> int:
    """The probability of a value times 2^128 for each digit."""
    *coarser, finest = digits
    if not coarser:
        steps, rest = divmod(value, finest.weight)
        return 0 if rest else finest.mass(steps)
    residue = value // finest.weight % BASE
    return sum(
        finest.mass(draw) * _mass(coarser, value - draw * finest.weight)
        for draw in (residue, residue - BASE)
    )


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
