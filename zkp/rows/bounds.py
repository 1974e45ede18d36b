"""Bounds long vectors: their lengths, and where there is a private weight each by its own weight.

A party with a weight has it as the last coordinate, and the longer its other numbers are the
larger it has to be. Rules 14-L5, 14-W1 and 14-W2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group, ScalarVec
from wire.errors import UsageError
from zkp.range import Interval
from zkp.rows.sumcheck import vector_of

_POWER: Final = 8
_MOST: Final = 1 << 31
_RATIO: Final = 1 << 32
_SLACK: Final = 1 << 64
# Of the five sums the first four are in a range themselves, and three make up the last one.
_RANGED: Final = 4
_PLACES: Final = (0, 3, 4)


@dataclass(frozen=True, slots=True)
class LengthBounds:
    """Bounds of squared lengths of an input and of noise; eighth powers of noise by spike^8."""

    squared_norm: int
    noise_square: int
    spike: int

    def __post_init__(self) -> None:
        squares = 1 <= self.squared_norm < 1 << 62 and 1 <= self.noise_square < 1 << 62
        if not squares or not 1 <= self.spike < 1 << 31:
            raise UsageError("squared lengths lie between 1 and 2^62, a spike between 1 and 2^31")

    @property
    def intervals(self) -> tuple[Interval, Interval, Interval]:
        """Where the three sums lie."""
        largest = (self.squared_norm, self.noise_square, self.spike**_POWER)
        first, second, third = (Interval(0, each) for each in largest)
        return first, second, third


@dataclass(frozen=True, slots=True)
class WeightBound:
    """Bounds of the last coordinate v, by `most`, and of the length of the others, by v.

    The others' length, times `denominator`, is at most `numerator` v + `slack`.
    """

    most: int
    numerator: int
    denominator: int
    slack: int

    def __post_init__(self) -> None:
        ratio = 1 <= self.numerator < _RATIO and 1 <= self.denominator < _RATIO
        if not 1 <= self.most < _MOST or not ratio or not 0 <= self.slack < _SLACK:
            raise UsageError(
                "the largest weight lies between 1 and 2^31, numerator and denominator of a "
                "length for each unit of it between 1 and 2^32, and the slack below 2^64"
            )

    @property
    def terms(self) -> tuple[int, int, int, int]:
        """What a transcript absorbs."""
        return self.most, self.numerator, self.denominator, self.slack

    @property
    def intervals(self) -> tuple[Interval, Interval]:
        """Where the weight and what it leaves over lie."""
        longest = self.numerator * self.most + self.slack
        return Interval(0, self.most), Interval(0, longest * longest)

    def ranged(self, sums: Commitment) -> Commitment:
        """The commitments that lie in the intervals, from S_x, S_a, S_8, V and V_2."""
        group, points = sums.key.group, sums.points
        base = group.points([Pedersen(group).value_base])
        chosen = points.gather(_PLACES).concat(base)
        factors = self._factors(group).concat(group.scalars([self.slack * self.slack]))
        left_over = group.points([chosen.vartime_msm(factors)])
        return Commitment(sums.key, points[:_RANGED].concat(left_over))

    def opened(self, sums: Opening) -> Opening:
        """What those commitments hide."""
        group, factors = sums.key.group, self._factors(sums.key.group)
        constant = group.scalar(self.slack * self.slack).secret()
        value = sums.values.gather(_PLACES).inner(factors) + constant
        blinding = sums.blindings.gather(_PLACES).inner(factors)
        return Opening(
            sums.key,
            sums.values[:_RANGED].concat(vector_of(group, value)),
            sums.blindings[:_RANGED].concat(vector_of(group, blinding)),
        )

    def _factors(self, group: Group) -> ScalarVec:
        """The factors of S_x, V and V_2 in (k v + slack)^2 - D^2 (|x|^2 - v^2)."""
        k, square = self.numerator, self.denominator * self.denominator
        return group.scalars([-square % group.order, 2 * k * self.slack, k * k + square])
