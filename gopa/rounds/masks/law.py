"""What masks are drawn from: uniform words, or a rounded Gaussian.

The Gaussian is an exact public table: the same integers on every machine. Every bound is decided
by enclosures (`zkp.noise`), never by floats. Specification: `specs/08-masks.md`, section 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import factorial, isqrt, lcm
from typing import Final, TypeAlias

from commitments.group import Group, SecretScalarVec, Stream, WideTable, Words
from commitments.reference.bigint import mpz
from wire.codec import Case, Codec, enumeration, record, select, u8, u32
from wire.domains import MASK_TABLE
from wire.errors import UsageError
from zkp.noise import Enclosure, exp_of_minus

BITS: Final = 128
LARGEST_DEVIATION: Final = 2**16
_GUARD_BITS: Final = 64
_MOST_PRECISION: Final = 4096


@dataclass(frozen=True, slots=True)
class RoundedGaussian:
    """N(0, deviation^2) rounded to integers, with 128-bit cumulative weights.

    F_i is the integer nearest to 2^128 times the probability of a value below
    -radius + i, for i = 1 .. 2 radius; F_0 = 0 and the last F is 2^128. Values whose
    cumulative weight rounds to zero, and their mirror images, are left out. The total
    variation distance to the law that is rounded nowhere is below 2^-100.

    Raises:
        UsageError: the deviation is not an integer from 1 to 2^16.
    """

    deviation: int

    def __post_init__(self) -> None:
        if type(self.deviation) is not int or not 1 <= self.deviation <= LARGEST_DEVIATION:
            message = f"the deviation of masks is an integer from 1 to {LARGEST_DEVIATION} steps"
            raise UsageError(message, "deviation")

    @property
    def lower(self) -> tuple[int, ...]:
        """F_1 .. F_radius; the others follow from F_(2 radius + 1 - i) = 2^128 - F_i."""
        return _lower(self.deviation)

    @property
    def cumulative(self) -> tuple[int, ...]:
        """F_0 = 0 <= F_1 <= .. <= total: row i holds the draws F_i <= y < F_(i+1)."""
        lower, total = self.lower, self.total
        return (0, *lower, *(total - bound for bound in reversed(lower)), total)

    @property
    def radius(self) -> int:
        """Masks lie in [-radius, radius]."""
        return len(self.lower)

    @property
    def total(self) -> int:
        """The common denominator of all probabilities."""
        return 1 << BITS

    @property
    def bits(self) -> int:
        """Every mask lies in [-2^bits, 2^bits)."""
        return self.radius.bit_length()

    def table_hash(self) -> bytes:
        """32 bytes that name this law: SHA-256 over label, deviation and every F_i.

        The bounds are hashed besides the deviation, so that two programs that build
        different tables disagree at once.
        """
        digest = hashlib.sha256(MASK_TABLE + self.deviation.to_bytes(4))
        digest.update(b"".join(bound.to_bytes(BITS // 8) for bound in self.lower))
        return digest.digest()

    def table(self, group: Group) -> WideTable:
        """The table in the form in which streams of this group draw from it."""
        return _table(group, self.deviation)

    def scalars(self, group: Group, stream: Stream, count: int) -> SecretScalarVec:
        """So many masks as scalars."""
        return stream.wide_table_scalars(self.table(group), count)

    def add_words(self, group: Group, stream: Stream, array: Words, sign: int) -> None:
        """Add masks to words in place, or take them away: the same integers at every width."""
        stream.add_wide_draws_to(array, sign, self.table(group))


@lru_cache(maxsize=8)
def _table(group: Group, deviation: int) -> WideTable:
    return group.wide_table(_lower(deviation))


@lru_cache(maxsize=8)
def _lower(deviation: int) -> tuple[int, ...]:
    """The nearest integers; precision doubles until every one of them is decided."""
    precision = BITS + _GUARD_BITS + 2 * deviation.bit_length()
    while precision <= _MOST_PRECISION:
        bounds = _decided(deviation, precision)
        if bounds is not None:
            return tuple(reversed(bounds))
        precision *= 2
    raise UsageError("a bound of this table could not be decided: use another deviation")


def _decided(deviation: int, precision: int) -> list[int] | None:
    """F_radius, .., F_1: from the centre outwards; None where an enclosure leaves a choice."""
    shift = precision - BITS
    half = 1 << (shift - 1)
    masses = _masses(deviation, precision)
    centre = next(masses)
    # Cumulative weights from minus infinity: half of everything, less half of the centre.
    low = (1 << (precision - 1)) - (centre.high + 1 >> 1)
    high = (1 << (precision - 1)) - (centre.low >> 1)
    bounds: list[int] = []
    while True:
        bound = int((low + half) >> shift)
        if bound != (high + half) >> shift:
            return None
        if bound <= 0:
            return bounds
        bounds.append(bound)
        mass = next(masses)
        low -= mass.high
        high -= mass.low


def _masses(deviation: int, precision: int) -> Iterator[Enclosure]:
    """Probabilities of 0, 1, 2, .. in units of 2^-precision, without end.

    The probability of k is the density at k / deviation times the width of a row times a
    polynomial in k^2 (section 2 of the specification); what the polynomial leaves out is
    below one unit.
    """
    polynomial, denominator = _correction(deviation, precision)
    denominator *= deviation
    ratio = exp_of_minus(1, 2 * deviation**2, precision)
    step_low, step_high = mpz(ratio.low), mpz(ratio.high)
    twice_low = step_low * step_low >> precision
    twice_high = -(-step_high * step_high >> precision)
    low, high = map(mpz, _density_at_zero(precision))
    k = mpz(0)
    while True:
        square = k * k
        factor = mpz(0)
        for coefficient in polynomial:
            factor = factor * square + coefficient
        yield Enclosure(low * factor // denominator - 1, high * factor // denominator + 2)
        k += 1
        # The density falls by exp(-(2k - 1) / (2 deviation^2)) from k - 1 to k.
        low = low * step_low >> precision
        high = -(-high * step_high >> precision)
        step_low = step_low * twice_low >> precision
        step_high = -(-step_high * twice_high >> precision)


def _correction(deviation: int, precision: int) -> tuple[list[int], int]:
    """The mean of exp(-xu - u^2/2) over |u| <= 1/(2 deviation), x = k / deviation.

    As a polynomial in k^2, highest power first, over one denominator: the sum of
    He_2n(x) / ((2n + 1)! (2 deviation)^2n) over all n below N, which leaves out less
    than one unit of 2^-precision once multiplied by the density.
    """
    terms = 1
    while (2 * deviation) ** (2 * terms) * isqrt(factorial(2 * terms)) < 1 << precision:
        terms += 1
    coefficients = [
        sum(_hermite(n, power) * _weight(n, power, deviation) for n in range(power, terms))
        for power in reversed(range(terms))
    ]
    denominator = lcm(*(coefficient.denominator for coefficient in coefficients))
    return [mpz(int(value * denominator)) for value in coefficients], mpz(denominator)


def _hermite(n: int, power: int) -> Fraction:
    """The coefficient of x^(2 power) in the probabilists' Hermite polynomial He_2n."""
    rest = n - power
    size = factorial(2 * n) // (factorial(2 * power) * factorial(rest))
    return Fraction(-size if rest % 2 else size, 2**rest)


def _weight(n: int, power: int, deviation: int) -> Fraction:
    scale = (2 * deviation) ** (2 * n) * deviation ** (2 * power)
    return Fraction(1, factorial(2 * n + 1) * scale)


def _density_at_zero(precision: int) -> Enclosure:
    """1 / sqrt(2 pi). With 4 atan(1/5) - atan(1/239) = pi / 4 (Machin)."""
    scale = 2 * precision
    fifth, other = _arctangent(5, scale), _arctangent(239, scale)
    low = 32 * fifth.low - 8 * other.high
    high = 32 * fifth.high - 8 * other.low
    one = 1 << scale
    return Enclosure(one // (isqrt(high) + 1), -(-one // isqrt(low)))


def _arctangent(inverse: int, precision: int) -> Enclosure:
    """atan(1 / inverse) by its alternating series: each of the terms is off by less than 1."""
    power = (1 << precision) // inverse
    total = terms = 0
    while power:
        term = power // (2 * terms + 1)
        total += -term if terms % 2 else term
        power //= inverse**2
        terms += 1
    return Enclosure(total - 2 * terms - 2, total + 2 * terms + 2)


class MaskKind(Enum):
    """The numbers of the laws in encodings."""

    UNIFORM = 1
    ROUNDED_GAUSSIAN = 2


@dataclass(frozen=True, slots=True)
class UniformMask:
    """The uniform law on all scalars or words: a masked value alone tells nothing."""

    @property
    def bits(self) -> None:
        """Masks have no bound below that of scalars."""
        return None

    def scalars(self, group: Group, stream: Stream, count: int) -> SecretScalarVec:  # noqa: ARG002
        """So many masks as scalars."""
        return stream.scalars(count)

    def add_words(self, group: Group, stream: Stream, array: Words, sign: int) -> None:  # noqa: ARG002
        """Add masks to words in place, or take them away: words of the array's size."""
        stream.add_to(array, sign)


MaskLaw: TypeAlias = UniformMask | RoundedGaussian

MASK_LAW: Final[Codec[MaskLaw]] = select(
    "MaskLaw",
    enumeration(MaskKind, u8),
    Case(MaskKind.UNIFORM, record(UniformMask)),
    Case(MaskKind.ROUNDED_GAUSSIAN, record(RoundedGaussian, deviation=u32)),
)
"""The canonical encoding of a law."""


def require_law(law: MaskLaw) -> None:
    """Raises `UsageError` for anything but a law of masks."""
    if not isinstance(law, UniformMask | RoundedGaussian):
        raise UsageError(f"a law of masks is needed, not {type(law).__name__}", "law")
