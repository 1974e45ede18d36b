"""Bounds what liars can aim at with noise that keeps to its proved lengths and to nothing else.

Of noise in long vectors lengths are proved, and coins permute it and choose its signs. Liars
may give it any shape, leave when they have seen where it fell, and choose among coins. Honest
parties' noise has the planned law whatever they do. Specification 14, rules I2 to I4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa.contract.terms import Terms, subsets

Floats = npt.NDArray[np.float64]

_MOST_TILTED: Final = 60.0
_TILTS: Final = 400

_MOST_COMPUTED: Final = 80
"""Bits of work: nobody computes more coins than that to choose among them."""


@dataclass(frozen=True, slots=True)
class AimedNoise:
    """What is proved of the noise of `liars` parties: squares and eighth powers add up.

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
        """The noise of a plan's corrupt parties, with organiser and board on their side."""
        return cls(
            terms.dimension, terms.noise_square, terms.spike, terms.corrupt, choices_bits(terms)
        )

    @property
    def deviation(self) -> float:
        """The largest deviation of the sum of the liars' noise in a coordinate, in steps."""
        return math.sqrt(self.liars * self.noise_square / self.dimension)

    def chance_beyond(self, deviations: float) -> float:
        """That their noise is so many deviations out along a direction fixed before the coins."""
        eighth = self.spike**8 / self.dimension / (self.noise_square / self.dimension) ** 4
        return min(1.0, deviations**-2, 105 * eighth * deviations**-8)

    def coordinate_beyond(self, deviations: float) -> float:
        """The same of one coordinate, to one side, where single parties stay below the spike."""
        tilts, logs = self._moments()
        return math.exp(min(0.0, float((logs - tilts * deviations * self.deviation).min())))

    @property
    def best_choice(self) -> float:
        """How far the best of all choices moves one coordinate on average, in deviations at most.

        The largest of N numbers is on average no more than (ln N + ln E exp(L X)) / L for any L.
        """
        tilts, logs = self._moments()
        found = float(((self.choices_bits * math.log(2) + logs) / tilts).min())
        return min(found, self.liars * self._largest) / self.deviation

    @property
    def _largest(self) -> int:
        return min(self.spike, math.isqrt(self.noise_square))

    def _moments(self) -> tuple[Floats, Floats]:
        """Tilts L, and bounds on ln E exp(L X) for a coordinate X of the sum of their noise.

        Fourth and sixth moments lie between the second and the eighth, which are bounded; those
        above are at most the eighth, times powers of the largest number.
        """
        largest, second = float(self._largest), self.noise_square / self.dimension
        eighth = min(float(self.spike) ** 8 / self.dimension, second * largest**6)
        tilts = np.geomspace(1e-3, _MOST_TILTED, _TILTS) / largest
        reach = tilts * largest
        series = [reach ** (2 * power) / math.factorial(2 * power) for power in range(4)]
        small = tilts**2 * second / 2
        small += tilts**4 * (second**2 * eighth) ** (1 / 3) / 24
        small += tilts**6 * (second * eighth**2) ** (1 / 3) / 720
        # What is left of cosh in few terms loses digits where it is tiny: none of it is negative.
        rest = np.maximum(np.cosh(reach) - sum(series), 0.0) + 1e-15 * np.cosh(reach)
        return tilts, self.liars * np.log1p(small + eighth / largest**8 * rest)

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
