"""Bounds what liars can aim at with noise that keeps to its proved lengths and to nothing else.

Of noise in long vectors lengths are proved, and coins permute it and choose its signs. Liars
may give it any shape, leave when they have seen where it fell, and choose among coins. Honest
parties' noise has the planned law whatever they do. Specification 14, rules I2 to I4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from gopa.planning.terms import Terms, subsets

_MOST_COMPUTED: Final = 80
"""Bits of work: nobody computes more coins than that to choose among them."""


@dataclass(frozen=True, slots=True)
class AimedNoise:
    """Holds what is proved of the noise of `liars` parties: squares and eighth powers add up.

    Deviations are those of the liars' noise at its largest, in one coordinate: the root of
    `liars` times the mean square that a coordinate may have. `choices_bits` is the logarithm
    of the coins and of the liars who stay that they can choose among (N_A).
    """

    dimension: int
    noise_square: int
    spike: int
    liars: int
    choices_bits: float

    @classmethod
    def of(cls, terms: Terms) -> AimedNoise:
        """Of the corrupt parties of a plan, with the organiser and the board on their side."""
        return cls(
            terms.dimension, terms.noise_square, terms.spike, terms.corrupt, choices_bits(terms)
        )

    @property
    def deviation(self) -> float:
        """Of the sum of the liars' noise in a coordinate, in steps, at most."""
        return math.sqrt(self.liars * self.noise_square / self.dimension)

    def chance_beyond(self, deviations: float) -> float:
        """That their noise is so many deviations out along a direction fixed before the coins."""
        eighth = self.spike**8 / self.dimension / (self.noise_square / self.dimension) ** 4
        return min(1.0, deviations**-2, 105 * eighth * deviations**-8)

    def coordinate_beyond(self, deviations: float) -> float:
        """The same of one coordinate, to one side, where single parties stay below the spike."""
        reach = min(self.spike, math.isqrt(self.noise_square)) / self.deviation
        return math.exp(-(deviations**2) / (2 * (1 + reach * deviations / 3)))

    @property
    def best_choice(self) -> float:
        """How far the best of all choices moves one coordinate on average, in deviations."""
        nats = self.choices_bits * math.log(2)
        reach = min(self.spike, math.isqrt(self.noise_square)) / self.deviation
        return math.sqrt(2 * nats) + reach * nats / 3

    @property
    def best_stay(self) -> float:
        """How far who stays moves it on average once the coins are fixed, in deviations."""
        return math.sqrt(self.liars) / 2


def choices_bits(terms: Terms) -> float:
    """log2 of N_A: attempts, branches, withheld nonces that can be tried, and who stays."""
    coins = 0.0
    if terms.beacon == "commit-reveal":
        coins = min(_bits(terms.parties, terms.loss), _MOST_COMPUTED)
    gone = min(terms.corrupt, terms.parties - terms.survivors)
    return math.log2(terms.attempts * terms.branches) + coins + _bits(terms.corrupt, gone)


def _bits(size: int, most: int) -> float:
    """log2 of how many subsets of so many elements have at most `most` of them."""
    found = subsets(size, most)
    return float(found.log10()) / math.log10(2)
