"""Randomises results inside of a circuit, from coins that neither party knows.

All chances are exact fractions, rounded to what coins can give. Specification:
`specs/21-two-parties.md`, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil
from numbers import Real
from typing import Final, TypeAlias

from gopa.twoparty.arithmetic import add, below, choose, subtract
from gopa.twoparty.circuits import ONE, ZERO, Builder, Wire, Word
from wire.errors import UsageError

_EXACT: Final = Context(prec=80, Emin=-(10**6), Emax=10**6)
"""`exp` is rounded correctly to this many digits."""

_SLACK: Final = Fraction(1, 10**60)
_MOST_COINS: Final = 120


@dataclass(frozen=True)
class RandomisedAnswer:
    """One of `values` results: the true one most often, each other with chance `other`.

    `epsilon` bounds what a report tells; chances are rounded towards more noise, so nothing is
    charged to delta. Make one with `randomised_answer`.
    """

    values: int
    epsilon: Fraction
    coins: int

    @cached_property
    def numerator(self) -> int:
        """2^coins times the chance of each other value, rounded up."""
        return ceil((1 << self.coins) / (_exp(self.epsilon) * (1 - _SLACK) + self.values - 1))

    @property
    def other(self) -> Fraction:
        """The exact chance of each value that is not the true one."""
        return Fraction(self.numerator, 1 << self.coins)

    @property
    def keep(self) -> Fraction:
        """The exact chance of the true value."""
        return 1 - (self.values - 1) * self.other

    def apply(self, build: Builder, word: Word, low: int, values: int) -> tuple[Word, int]:
        """The report on a result that is one of `values` consecutive integers, and its lowest.

        Raises:
            UsageError: the results are not as many as this was made for.
        """
        if values != self.values:
            raise UsageError(f"must randomise {values} values, not {self.values}", "noise")
        coins = build.coins(self.coins)
        bounds = [below(build, coins, self.numerator * k) for k in range(1, values)]
        offset: Word = (ZERO,)
        for hit in bounds:  # the number of bounds that the coins are below
            offset = add(build, offset, (hit,))
        if values == 2:
            return (build.xor(word[0], bounds[0]),), low
        total = add(build, word, offset)
        *reduced, too_small = subtract(build, total, _constant(values))
        width = (values - 1).bit_length()
        return choose(build, too_small, total, tuple(reduced))[:width], low


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise of a scale in steps of the result, truncated and rounded.

    The magnitude has `magnitude` bits, each drawn with `coins` coins; noise lies in
    -2^magnitude .. 2^magnitude - 1. Make one with `laplace_noise`.
    """

    scale: Fraction
    magnitude: int
    coins: int

    @cached_property
    def numerators(self) -> tuple[int, ...]:
        """2^coins times the chance of a one: of the sign, then of each bit of the magnitude."""
        powers = [1, *(1 << place for place in range(self.magnitude))]
        chances = (1 / (1 + _exp(power / self.scale)) for power in powers)
        return tuple(round(chance * (1 << self.coins)) for chance in chances)

    @property
    def truncation(self) -> Fraction:
        """Bounds the total variation distance to the whole discrete Laplace law."""
        rounding = Fraction(self.magnitude + 1, 2 << self.coins)
        return rounding + _cut(self.scale, self.magnitude) + _SLACK

    def charged(self, epsilon: float, draws: int = 1) -> Fraction:
        """What so many draws in one release add to its delta at this epsilon."""
        if not (0 <= epsilon <= 1000 and draws >= 0):
            raise UsageError("epsilon lies between 0 and 1000, draws are 0 or more", "epsilon")
        factor = Fraction(1 + 3 ** ceil(epsilon))
        return min(Fraction(1), factor * draws * self.truncation)

    def probability(self, value: int) -> Fraction:
        """The exact chance with which this value is added."""
        bits = value if value >= 0 else ~value
        if bits >> self.magnitude:
            return Fraction(0)
        hits = [value < 0, *(bits >> place & 1 for place in range(self.magnitude))]
        chance = Fraction(1)
        for hit, numerator in zip(hits, self.numerators, strict=True):
            part = Fraction(numerator, 1 << self.coins)
            chance *= part if hit else 1 - part
        return chance

    def apply(self, build: Builder, word: Word, low: int, values: int) -> tuple[Word, int]:
        """The noisy result and the lowest integer that it can be."""
        negative, *bits = (self._drawn(build, numerator) for numerator in self.numerators)
        magnitude = tuple(build.xor(bit, negative) for bit in bits)
        span = 1 << self.magnitude
        width = (values - 1 + 2 * span - 1).bit_length()
        total = add(build, (*magnitude, build.not_(negative)), word)
        return (total + (ZERO,) * width)[:width], low - span

    def _drawn(self, build: Builder, numerator: int) -> Wire:
        return below(build, build.coins(self.coins), numerator)


Noise: TypeAlias = RandomisedAnswer | LaplaceNoise


def randomised_answer(
    values: int, epsilon: float | Fraction, *, coins: int = 20
) -> RandomisedAnswer:
    """Randomised response over this many values, from so many coins.

    Raises:
        UsageError: not from 2 to 64 values, an epsilon that is not from 10^-9 to 100, or one so
            large or so small that it takes more coins.
    """
    if type(values) is not int or not 2 <= values <= 64:
        raise UsageError("must be an integer from 2 to 64", "values")
    if type(coins) is not int or not 8 <= coins <= _MOST_COINS:
        raise UsageError(f"must be an integer from 8 to {_MOST_COINS}", "coins")
    exact = _number(epsilon, Fraction(1, 10**9), Fraction(100), "epsilon")
    noise = RandomisedAnswer(values, exact, coins)
    # Rounded below the others, the chance of the true answer would tell more than epsilon.
    if noise.numerator < 16 or noise.keep <= noise.other:
        raise UsageError("too few to give these values their chances: take more", "coins")
    return noise


def laplace_noise(
    scale: float | Fraction, *, truncation: float | Fraction = Fraction(1, 1 << 40)
) -> LaplaceNoise:
    """Discrete Laplace noise with weights exp(-|x| / scale), at most `truncation` from that law.

    scale = sensitivity / epsilon, in steps of the result.

    Raises:
        UsageError: a scale that is not from 1/32 to 2^32, or a truncation that is not from
            2^-100 to 1/2.
    """
    exact = _number(scale, Fraction(1, 32), Fraction(1 << 32), "scale")
    allowed = _number(truncation, Fraction(1, 1 << 100), Fraction(1, 2), "truncation")
    magnitude = 0
    while 2 * _cut(exact, magnitude) + 4 * _SLACK > allowed:
        magnitude += 1
    coins = ceil((magnitude + 1) / (allowed - 2 * _SLACK)).bit_length()
    return LaplaceNoise(exact, magnitude, coins)


def _cut(scale: Fraction, magnitude: int) -> Fraction:
    """The chance of a geometric draw from 2^magnitude on, from above."""
    return _exp(-Fraction(1 << magnitude) / scale) * (1 + _SLACK)


def _exp(rate: Fraction) -> Fraction:
    """e^rate with an error of less than 10^-70 of it; what is beyond 200 changes no coin."""
    clipped = max(Fraction(-200), min(rate, Fraction(200)))
    return Fraction(_EXACT.exp(_EXACT.divide(*map(Decimal, clipped.as_integer_ratio()))))


def _constant(value: int) -> Word:
    return tuple(ONE if value >> place & 1 else ZERO for place in range(value.bit_length()))


def _number(value: float | Fraction, low: Fraction, high: Fraction, field: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError("must be an integer, a float or a Fraction", field)
    if not low <= value <= high:
        raise UsageError(f"must lie between {low} and {high}", field)
    return Fraction(str(value))
