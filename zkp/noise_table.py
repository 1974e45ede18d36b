"""Defines the laws of the independent noise: exact, public, the same integers everywhere.

A law is a symmetric log-concave distribution on the integers from -radius to radius
whose probabilities are `masses[i] / total`. Provers, verifiers and the privacy
accountant all use these integers, so there is no approximation to argue about. Laws
are valid by construction: parameters that give anything else raise `UsageError`
(`MalformedMessage` when decoded). Specification: `specs/03-privacy.md`, section 2.

Real numbers are computed as intervals of integers that no machine may round differently. An
enclosure `(low, high)` at precision P says low <= value * 2^P <= high. Every operation rounds the
lower end down and the upper end up. There are no floats: two machines compute the same integers,
and a decision taken from an enclosure is a proof.
"""

from __future__ import annotations

import bisect
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import gcd
from typing import Final, NamedTuple, TypeAlias

from wire.codec import Case, Codec, enumeration, record, select, u8, u16, u64, vector
from wire.domains import NOISE_TABLE
from wire.errors import UsageError


class Enclosure(NamedTuple):
    """A non-negative real number, bounded from both sides in units of 2^-precision."""

    low: int
    high: int


def product(left: Enclosure, right: Enclosure, precision: int) -> Enclosure:
    """An enclosure of the product of two enclosed numbers."""
    return Enclosure(
        left.low * right.low >> precision,
        -(-left.high * right.high >> precision),
    )


def exp_of_minus(numerator: int, denominator: int, precision: int) -> Enclosure:
    """An enclosure of exp(-numerator / denominator), for 0 < numerator, denominator.

    The argument is halved until it is below 1/2, where the series of exp converges
    at least as fast as a geometric one; the inverse is squared back.
    """
    halvings = 0
    while numerator * 2 > denominator << halvings:
        halvings += 1
    result = _inverse(_exp_series(numerator, denominator << halvings, precision), precision)
    for _ in range(halvings):
        result = product(result, result, precision)
    return result


def _exp_series(numerator: int, denominator: int, precision: int) -> Enclosure:
    """exp(x) for 0 < x <= 1/2: after the term t the rest of the series is below t."""
    low = high = 1 << precision
    term = Enclosure(low, high)
    index = 1
    while term.high > 1:
        divisor = denominator * index
        term = Enclosure(term.low * numerator // divisor, -(-term.high * numerator // divisor))
        low += term.low
        high += term.high
        index += 1
    return Enclosure(low, high + term.high)


def _inverse(value: Enclosure, precision: int) -> Enclosure:
    one = 1 << 2 * precision
    return Enclosure(one // value.high, -(-one // value.low))


DEFAULT_BITS: Final = 48
DEFAULT_ROWS: Final = 113
MOST_BITS: Final = 62
MOST_ROWS: Final = 1023
MOST_WEIGHTED_BITS: Final = 1024
LARGEST_TOTAL_WEIGHT: Final = 8192

_LARGEST_TERM = 2**63 - 1
_SMALLEST_SQUARE, _LARGEST_SQUARE = Fraction(1, 16), Fraction(2**20)


class NoiseKind(Enum):
    """How a law is drawn and proved."""

    GAUSSIAN_TABLE = 1
    WEIGHTED_BITS = 2
    NONE = 3


class _Law(ABC):
    """What follows from the masses alone."""

    __slots__ = ()

    @property
    @abstractmethod
    def masses(self) -> tuple[int, ...]:
        """Probabilities of -radius, .., radius as integers; they sum to `total`."""

    @property
    def total(self) -> int:
        """The common denominator of all probabilities, a power of two."""
        return sum(self.masses)

    @property
    def radius(self) -> int:
        """The noise lies in [-radius, radius] and can take both ends."""
        return len(self.masses) // 2

    @property
    def cumulative(self) -> tuple[int, ...]:
        """F_0 = 0 < F_1 < .. < F_J = total: row i holds the draws F_i <= y < F_(i+1)."""
        return (0, *accumulate(self.masses))

    @property
    def variance(self) -> Fraction:
        """The exact variance; the mean is zero."""
        radius = self.radius
        squares = sum(mass * (row - radius) ** 2 for row, mass in enumerate(self.masses))
        return Fraction(squares, self.total)

    def noise_at(self, uniform: int) -> int:
        """The noise for a draw in [0, total): the inverse of the cumulative table.

        What the law says of one draw, for tests of whoever proves or computes it otherwise.
        Takes a time that depends on the draw. Anything but such an integer raises
        `UsageError`.
        """
        if type(uniform) is not int or not 0 <= uniform < self.total:
            raise UsageError("the draw must be an integer from 0 to the table's total minus 1")
        return bisect.bisect_right(self.cumulative, uniform) - 1 - self.radius

    def to_bytes(self) -> bytes:
        """The parameters; `decode_noise_law` rebuilds the law from them."""
        return NOISE_LAW.encode(self)  # type: ignore[arg-type]

    def table_hash(self) -> bytes:
        """32 bytes that name this law: SHA-256 over label, parameters and every F_i.

        The table is hashed besides its parameters, so that two programs that build
        different tables from equal parameters disagree at once.
        """
        width = self.total.bit_length() // 8 + 1
        rows = b"".join(value.to_bytes(width) for value in self.cumulative[1:])
        return hashlib.sha256(NOISE_TABLE + self.to_bytes() + rows).digest()


@dataclass(frozen=True, slots=True)
class GaussianTable(_Law):
    """The table of the truncated discrete Gaussian exp(-i^2 / (2 s^2)), in multiples of 2^-bits.

    s^2 = `square_numerator` / `square_denominator` in lowest terms; `rows` is odd.
    Every row but the centre is the integer nearest to 2^bits w_i / W, where W sums w_i
    over the rows; the centre takes the rest. A table that is not positive everywhere and
    log-concave raises `UsageError`.
    """

    square_numerator: int
    square_denominator: int
    bits: int = DEFAULT_BITS
    rows: int = DEFAULT_ROWS

    def __post_init__(self) -> None:
        _check_square(self.square_numerator, self.square_denominator)
        if type(self.bits) is not int or not 2 <= self.bits <= MOST_BITS:
            raise UsageError(f"a table has 2 to {MOST_BITS} bits", "bits")
        if type(self.rows) is not int or not 3 <= self.rows <= MOST_ROWS or self.rows % 2 == 0:
            raise UsageError(f"a table has an odd number of rows, 3 to {MOST_ROWS}", "rows")
        check_law(self.masses)

    @classmethod
    def with_scale(
        cls, scale: Fraction | int | str, *, bits: int = DEFAULT_BITS, rows: int = DEFAULT_ROWS
    ) -> GaussianTable:
        """The table of deviation parameter `scale`, exact: a fraction or a decimal string."""
        if type(scale) not in {Fraction, int, str}:
            raise UsageError("a scale is a Fraction, an int or a decimal string, never a float")
        try:
            square = Fraction(scale) ** 2
        except (ValueError, ZeroDivisionError):
            raise UsageError("a scale is a fraction or a decimal number", "scale") from None
        return cls(square.numerator, square.denominator, bits, rows)

    @property
    def square(self) -> Fraction:
        """s^2, exactly. The variance of the table is close to it, not equal."""
        return Fraction(self.square_numerator, self.square_denominator)

    @property
    def masses(self) -> tuple[int, ...]:
        """The probabilities in units of 1 / total, computed once for all equal tables."""
        return _gaussian_masses(
            self.square_numerator, self.square_denominator, self.bits, self.rows
        )


@dataclass(frozen=True, slots=True)
class WeightRun:
    """`count` independent fair bits of the same weight."""

    weight: int
    count: int

    def __post_init__(self) -> None:
        if type(self.weight) is not int or not 1 <= self.weight <= LARGEST_TOTAL_WEIGHT:
            raise UsageError(f"a weight is an integer from 1 to {LARGEST_TOTAL_WEIGHT}", "weight")
        if type(self.count) is not int or not 1 <= self.count <= MOST_WEIGHTED_BITS:
            raise UsageError(f"a run has 1 to {MOST_WEIGHTED_BITS} bits", "count")


@dataclass(frozen=True, slots=True)
class WeightedBits(_Law):
    """The sum of weighted fair bits, minus its mean.

    Runs are in increasing order of weight, so that a law has one description. Weights
    whose sums leave gaps, and so form a lattice coarser than the grid of the inputs,
    are refused by the check of log-concavity: the total modulo the step would leak.
    """

    runs: tuple[WeightRun, ...]

    def __post_init__(self) -> None:
        if type(self.runs) is not tuple or any(type(run) is not WeightRun for run in self.runs):
            raise UsageError("runs are a tuple of WeightRun", "runs")
        if any(first.weight >= second.weight for first, second in pairwise(self.runs)):
            raise UsageError("runs are in increasing order of weight, one for each weight", "runs")
        total = sum(run.weight * run.count for run in self.runs)
        if not 2 <= total <= LARGEST_TOTAL_WEIGHT or total % 2:
            message = f"the weights sum to an even number from 2 to {LARGEST_TOTAL_WEIGHT}"
            raise UsageError(message, "runs")
        if sum(run.count for run in self.runs) > MOST_WEIGHTED_BITS:
            raise UsageError(f"a law uses at most {MOST_WEIGHTED_BITS} bits", "runs")
        check_law(self.masses)

    @property
    def weights(self) -> tuple[int, ...]:
        """One weight for each bit, in the order in which a proof commits them."""
        return tuple(run.weight for run in self.runs for _ in range(run.count))

    @property
    def masses(self) -> tuple[int, ...]:
        """The probabilities in units of 1 / total, computed once for all equal laws."""
        return _weighted_masses(tuple((run.weight, run.count) for run in self.runs))


@dataclass(frozen=True, slots=True)
class NoNoise(_Law):
    """The law of a session whose exact sum is released: nothing is added.

    It is none of the laws that hide anything, and no theorem about noise holds for it.
    """

    @property
    def masses(self) -> tuple[int, ...]:
        """All of it at 0."""
        return (1,)


NoiseLaw: TypeAlias = GaussianTable | WeightedBits | NoNoise


def binomial(count: int) -> WeightedBits:
    """The centred binomial of an even number of fair bits; its variance is count / 4."""
    return WeightedBits((WeightRun(1, count),))


def irwin_hall(terms: int, width: int) -> WeightedBits:
    """The centred sum of an even number of uniforms on [0, 2^width).

    Its variance is terms (4^width - 1) / 12, from terms * width bits.
    """
    if type(width) is not int or not 1 <= width <= LARGEST_TOTAL_WEIGHT.bit_length():
        raise UsageError("each uniform has at least one bit and few", "width")
    return WeightedBits(tuple(WeightRun(1 << bit, terms) for bit in range(width)))


def check_law(masses: Sequence[int]) -> None:
    """Raise `UsageError` unless the masses are those of a law the theorems accept.

    In integers: an odd number of rows, at least three, all positive (the cumulative
    table increases strictly), symmetric, log-concave, total a power of two.
    """
    if len(masses) < 3 or len(masses) % 2 == 0:
        raise UsageError("a noise law has an odd number of rows, at least 3")
    if min(masses) < 1:
        raise UsageError("a row of the noise table is empty: use fewer rows or more bits")
    if any(left != right for left, right in zip(masses, reversed(masses), strict=True)):
        raise UsageError("the noise law is not symmetric")
    inner = zip(masses, masses[1:], masses[2:], strict=False)
    if any(here * here < before * after for before, here, after in inner):
        raise UsageError(
            "the noise law is not log-concave: use fewer rows or more bits for a table, "
            "weights without gaps for bits"
        )
    total = sum(masses)
    if total & (total - 1):
        raise UsageError("the masses of a noise law sum to a power of two")


def decode_noise_law(data: bytes) -> NoiseLaw:
    """The law whose `to_bytes` is exactly `data`; else `MalformedMessage`."""
    return NOISE_LAW.decode(data)


def _check_square(numerator: int, denominator: int) -> None:
    if any(
        type(term) is not int or not 1 <= term <= _LARGEST_TERM for term in (numerator, denominator)
    ):
        raise UsageError("the square of the scale is a ratio of integers below 2^63", "square")
    if gcd(numerator, denominator) != 1:
        raise UsageError("the square of the scale is in lowest terms", "square")
    if not _SMALLEST_SQUARE <= Fraction(numerator, denominator) <= _LARGEST_SQUARE:
        raise UsageError("the scale lies between 1/4 and 1024 grid steps", "square")


@lru_cache(maxsize=64)
def _gaussian_masses(numerator: int, denominator: int, bits: int, rows: int) -> tuple[int, ...]:
    """The nearest integers; precision doubles until every one of them is decided.

    It ends because no 2^bits w_i / W lies halfway between integers: that would be a
    linear relation with rational coefficients, not all zero, between the values of exp
    at distinct rational points, which the theorem of Lindemann and Weierstrass forbids.
    """
    precision = bits + 64
    while (half := _decided_half(numerator, denominator, bits, rows, precision)) is None:
        precision *= 2
    centre = (1 << bits) - 2 * sum(half)
    return (*reversed(half), centre, *half)


def _decided_half(
    numerator: int, denominator: int, bits: int, rows: int, precision: int
) -> list[int] | None:
    """Rows 1, 2, .. right of the centre, or None where an enclosure leaves a choice."""
    weights = _gaussian_weights(numerator, denominator, rows // 2, precision)
    one = 1 << precision
    total = Enclosure(
        one + 2 * sum(weight.low for weight in weights),
        one + 2 * sum(weight.high for weight in weights),
    )
    half: list[int] = []
    for weight in weights:
        low = _nearest(weight.low << bits, total.high)
        high = _nearest(weight.high << bits, total.low)
        if low != high:
            return None
        half.append(low)
    return half


def _gaussian_weights(
    numerator: int, denominator: int, count: int, precision: int
) -> list[Enclosure]:
    """w_1, .., w_count, each from the one before: w_i = w_(i-1) r^(2i-1), r = w_1."""
    factor = exp_of_minus(denominator, 2 * numerator, precision)
    squared = product(factor, factor, precision)
    weight = Enclosure(1 << precision, 1 << precision)
    weights: list[Enclosure] = []
    for _ in range(count):
        weight = product(weight, factor, precision)
        factor = product(factor, squared, precision)
        weights.append(weight)
    return weights


def _nearest(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


@lru_cache(maxsize=64)
def _weighted_masses(runs: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Exact counts: how many settings of the bits give each sum."""
    counts = [1]
    for weight, repeats in runs:
        gap = [0] * weight
        for _ in range(repeats):
            counts = [a + b for a, b in zip(counts + gap, gap + counts, strict=True)]
    return tuple(counts)


NOISE_LAW: Final[Codec[NoiseLaw]] = select(
    "NoiseLaw",
    enumeration(NoiseKind, u8),
    Case(
        NoiseKind.GAUSSIAN_TABLE,
        record(GaussianTable, square_numerator=u64, square_denominator=u64, bits=u8, rows=u16),
    ),
    Case(
        NoiseKind.WEIGHTED_BITS,
        record(
            WeightedBits,
            runs=vector(record(WeightRun, weight=u16, count=u16), 1, MOST_WEIGHTED_BITS),
        ),
    ),
    Case(NoiseKind.NONE, record(NoNoise)),
)
"""The canonical encoding of a law's parameters."""
