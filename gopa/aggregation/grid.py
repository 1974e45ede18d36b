"""Real numbers rounded to the public grid without bias, and back.

A number x in [low, high] has the position t = steps (x - low) / (high - low) on the grid.
It is rounded to floor(t + V) with V uniform on [0, 1): up with exactly the probability of
its fractional part, so the mean of the rounded position is t. Both t and V are exact:
floats are fractions, and as many bits of V are drawn as the decision takes. Floating
point only sorts out the many cases in which its error cannot matter. Specification:
`specs/10-values.md`, section 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import Stream
from gopa.planning import Terms
from gopa.support.arrays import Floats, Integers

Words: TypeAlias = npt.NDArray[np.uint64]

_WORD: Final = 64
_UNIT: Final = 2.0**-53


@dataclass(frozen=True)
class Grid:
    """The range from `low` to `high`, both exact decimals, in `steps` equal steps.

    The ends mean the decimals; as floats they are the nearest ones, and a float equal to
    one of those counts as the end itself.
    """

    low: Decimal
    high: Decimal
    steps: int

    @classmethod
    def of(cls, terms: Terms) -> Grid:
        """The grid of a plan."""
        return cls(terms.low, terms.high, terms.steps)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The nearest floats to both ends: what inputs are compared with."""
        return float(self.low), float(self.high)

    @cached_property
    def width(self) -> Fraction:
        """From the lower end to the upper end, exactly."""
        return Fraction(self.high) - Fraction(self.low)

    @cached_property
    def step(self) -> float:
        """The size of a step, in the units of the inputs."""
        return float(self.width / self.steps)

    def round(self, values: Floats, stream: Stream) -> Integers:
        """Every value at floor(t + V), a V of its own for each; values lie within `ends`."""
        words = _words(stream, len(values))
        low, _ = self.ends
        scale = float(self.steps / self.width)
        moved = (values - low) * scale + (words >> np.uint64(11)).astype(np.float64) * _UNIT
        floors = np.floor(moved)
        beyond = moved - floors
        error = self._error
        rounded = floors.astype(np.int64)
        for position in np.flatnonzero((beyond < error) | (beyond > 1 - error)):
            exact = self.position(float(values[position]))
            rounded[position] = round_exactly(exact, int(words[position]), stream)
        return rounded

    def position(self, value: float) -> Fraction:
        """The exact position of a value in steps; a float at or beyond an end is at that end."""
        exact = (Fraction(value) - Fraction(self.low)) * self.steps / self.width
        return min(max(exact, Fraction(0)), Fraction(self.steps))

    def count_rounded(self, values: Floats) -> int:
        """How many of the values may move when they are rounded.

        None that is an integer where all integers of the range are on the grid.
        """
        per_unit = self.steps / self.width
        if self.low != self.low.to_integral_value() or per_unit.denominator != 1:
            return len(values)
        return int(np.count_nonzero(values != np.floor(values)))

    def values(self, positions: Floats) -> Floats:
        """The numbers at these positions."""
        return float(self.low) + positions * self.step

    @cached_property
    def _error(self) -> float:
        """Twice what the floating sum in `round` may be off, at most 1.

        With u = 2^-53: low is off by u |low|, the difference by u times itself, factor
        and product by u each, which makes u steps (|low| / width + 6) with all higher
        terms; the cut of V and the addition make u (steps + 3).
        """
        relative = abs(float(self.low)) / float(self.width)
        return min(1.0, 2 * _UNIT * (self.steps * (relative + 7) + 4))


def squared_length(positions: Integers, origin: int) -> int:
    """The square of the distance of grid points from one that all coordinates have, in steps."""
    return sum(each * each for each in (positions - origin).tolist())


def round_exactly(position: Fraction, word: int, stream: Stream) -> int:
    """floor(position + V), `word` being the first 64 bits of V and the stream the rest.

    Further bits are drawn while the bits known leave a choice: V lies in [v, v + 1) 2^-b.
    """
    bits = _WORD
    while True:
        lowest = math.floor(position + Fraction(word, 1 << bits))
        highest = math.ceil(position + Fraction(word + 1, 1 << bits)) - 1
        if lowest == highest:
            return lowest
        word = word << _WORD | int.from_bytes(stream.bytes(_WORD // 8), "little")
        bits += _WORD


def _words(stream: Stream, count: int) -> Words:
    words = np.zeros(count, dtype=np.uint64)
    if count:
        stream.add_to(words, 1)
    return words
