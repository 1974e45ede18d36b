"""The noise of long vectors: bounds on it, what its proofs give away, and what liars can aim.

Bounds must be wide enough that honest parties hardly ever draw anew, for one party in one round
with a chance of at most 2^-64, and no wider than that: what is above them is left to liars. Liars
may give their noise any shape, leave when they have seen where it fell, and choose among coins,
which permute it and choose its signs; honest parties' noise has the planned law whatever they do.
Specification 14, rules 14-M7, U2, Y1 and I2 to I4.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.contract.terms import Terms, subsets
from gopa.support.arrays import Floats
from zkp.noise import NoiseLaw
from zkp.rows.shape import PAD_BITS, TESTS, RowShape

Complexes: TypeAlias = npt.NDArray[np.complex128]

REDRAWN_BITS: Final = 64
"""A party draws its noise anew with a chance of two to the minus that."""

IDLE_BITS: Final = 80
"""A bound that noise reaches more rarely than that is there for liars only."""

_EIGHTH: Final = 8


def bounds_margin(terms: Terms) -> float:
    """How far logarithms of chances are on the right side of their limits, as parts of these.

    The least of three: noise is drawn anew rarely enough, its squares come up to their bound often
    enough, and its eighth powers would exceed that of the next smaller spike. Infinite where
    nothing is claimed about noise, and negative where a rule is broken.
    """
    if not terms.squared_norm:
        return math.inf
    if terms.exact:
        return math.inf if terms.noise_square == terms.spike == 1 else -math.inf
    return _margin(terms.noise, terms.dimension, terms.noise_square, terms.spike)


@lru_cache(maxsize=64)
def _margin(law: NoiseLaw, dimension: int, square: int, spike: int) -> float:
    def chance(exponent: int, threshold: int) -> float:
        return chance_beyond(float(threshold), dimension, *powers_of(law, exponent))

    redrawn = chance(2, square + 1) + chance(_EIGHTH, spike**_EIGHTH + 1)
    reached = chance(2, square), chance(_EIGHTH, (spike - 1) ** _EIGHTH + 1)
    rare = (_rarity(redrawn) - REDRAWN_BITS) / REDRAWN_BITS
    return min(rare, *((IDLE_BITS - _rarity(each)) / IDLE_BITS for each in reached))


def _rarity(chance: float) -> float:
    return -math.log2(chance) if chance > 0 else math.inf


def shown_by_proofs(terms: Terms) -> float:
    """What is charged to delta for proofs about long vectors, over all parties and attempts."""
    if not terms.squared_norm:
        return 0.0
    rounds = terms.attempts * terms.rounds
    epsilon = None if terms.epsilon is None else float(terms.epsilon)
    square = terms.noise_square
    return charged_for_proofs(
        terms.dimension, terms.parties, rounds, epsilon, terms.squared_norm, square
    )


def charged_for_proofs(  # noqa: PLR0913, PLR0917 - what a distance is computed from
    dimension: int,
    parties: int,
    rounds: int,
    epsilon: float | None,
    squared_norm: int,
    noise_square: int,
) -> float:
    """(1 + e^epsilon) times the distance of what pads hide and of noise that is never redrawn.

    Any party may be the neighbour of all others. Without noise nothing is redrawn.
    """
    entries = RowShape(dimension).entries
    sums = math.sqrt(entries * squared_norm) + math.sqrt(entries * noise_square)
    distance = TESTS * (sums + entries * parties) / 2.0**PAD_BITS
    distance += 0.0 if epsilon is None else 2.0**-REDRAWN_BITS
    return (1 + math.exp(epsilon or 0.0)) * parties * rounds * distance * (1 + 1e-12)


CHANCE: Final = 0.9 * 2.0**-65
"""Of each of the two sums to exceed its bound: no judge of 2^-64 for both is undecided about it."""

_TERMS: Final = (4000, 16_000, 64_000)
_SMOOTHINGS: Final = (2e-3, 2e-2)
"""Shares of the threshold; the second only where the first would need more terms."""

_PARTS: Final = 8
_STEPS: Final = 9
_STEEPEST: Final = 64.0
"""The largest product of tilt and smoothing: more of it makes every bound worse."""

_NEVER: Final = 2.0**-100
"""Chances below that need not be known better."""


@lru_cache(maxsize=64)
def noise_bounds(law: NoiseLaw, dimension: int, chance: float = CHANCE) -> tuple[int, int]:
    """The least S and K for a vector of draws: squares add up to S, eighth powers to K^8."""
    squares = least_bound(dimension, *powers_of(law, 2), chance)
    eighths = least_bound(dimension, *powers_of(law, 8), chance)
    return math.ceil(squares), math.ceil(eighths ** (1 / 8))


def powers_of(law: NoiseLaw, exponent: int) -> tuple[Floats, Floats]:
    """The values that a power of one draw takes, and their probabilities."""
    size = np.arange(law.radius + 1, dtype=np.float64)
    total = law.total
    masses = np.array([mass / total for mass in law.masses[law.radius :]])
    masses[1:] *= 2  # the law is symmetric
    return size**exponent, masses


def chance_beyond(threshold: float, dimension: int, values: Floats, probabilities: Floats) -> float:
    """A bound on the chance that so many draws add up to the threshold or more.

    The values are not negative. The sum is Fourier's, tilted so that the threshold becomes the
    mean. Smoothing makes it larger, and for what is cut off a bound is added.
    """
    scale = float(values.max())
    values, target = values / scale, threshold / scale
    if target > dimension * (1 + 1e-12):
        return 0.0
    if target <= dimension * float(probabilities @ values):
        return 1.0  # the tilt would be none or negative
    least = 1.0
    for smoothing in _SMOOTHINGS:
        found, left_out = _smoothed(target, dimension, values, probabilities, smoothing * target)
        least = min(least, found + left_out)
        if _is_enough(found, left_out):
            break
    return least


def _is_enough(found: float, left_out: float) -> bool:
    """Whether more terms would not change a bound by much."""
    return left_out < found / 100 or found + left_out < _NEVER


def _smoothed(
    target: float, dimension: int, values: Floats, probabilities: Floats, width: float
) -> tuple[float, float]:
    """The chance with the threshold smoothed over a width, and a bound on what is cut off."""
    tilt = min(_tilt(target / dimension, values, probabilities), _STEEPEST / width)
    step = tilt / _STEPS
    weights = probabilities * np.exp(tilt * (values - 1))
    # All exponents are those of the sum over its largest value, which is far below 2^1024.
    height = float(dimension * (math.log(weights.sum()) + tilt) - tilt * target)
    chernoff = math.exp(min(height, 700.0))
    found, left_out, done = 0.0, 1.0, 0
    for terms in _TERMS:
        points = tilt + 1j * step * np.arange(done, terms)
        smooth = ((np.exp(points * width / _PARTS) - 1) / (points * width / _PARTS)) ** _PARTS
        moments = exponential_sums(weights / weights.sum(), step * values, done, terms)
        with np.errstate(divide="ignore"):
            logs = dimension * np.log(moments) - 1j * points.imag * target
        parts = (np.exp(logs) * smooth / points).real * chernoff
        # Terms on both sides are conjugates of each other; there is one in the middle.
        found += (
            step / (2 * np.pi) * (2 * float(parts.sum()) - (float(parts[0]) if not done else 0))
        )
        done = terms
        factor = _PARTS * (math.exp(tilt * width / _PARTS) + 1) / (width * step * terms)
        left_out = chernoff * factor**_PARTS / (_PARTS * np.pi)
        if _is_enough(found, left_out):
            break
    return found, left_out


def least_bound(
    dimension: int, values: Floats, probabilities: Floats, chance: float = CHANCE
) -> float:
    """The least sum that so many draws reach with at most this chance, to one part in 10^5."""
    low = dimension * float(probabilities @ values)
    most = dimension * float(values.max())

    def excess(threshold: float) -> float:
        found = chance_beyond(threshold, dimension, values, probabilities)
        return math.log(max(found, sys.float_info.min) / chance)

    above, factor = math.log(1 / chance), 2.0
    high = min(factor * low, most)
    while (below := excess(high)) > 0:
        if high == most:
            return most  # no sum is larger
        low, above, factor = high, below, factor**1.5
        high = min(factor * low, most)
    # Secants, and a step to the middle where one end stays for too long.
    kept = 0
    while high > low * (1 + 1e-5):
        share = above / (above - below) if abs(kept) < 2 else 0.5
        share = min(max(share, 1e-4), 1 - 1e-4)
        middle = low * (high / low) ** share
        found = excess(middle)
        if found > 0:
            low, above, kept = middle, found, max(kept, 0) + 1
        else:
            high, below, kept = middle, found, min(kept, 0) - 1
    return high


def _tilt(mean: float, values: Floats, probabilities: Floats) -> float:
    """Where the law, tilted by exponentials, has this mean."""

    def tilted(by: float) -> float:
        weights = probabilities * np.exp(by * (values - values.max()))
        return float(weights @ values / weights.sum())

    low, high = 0.0, 1.0
    while tilted(high) < mean and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tilted(middle) < mean else (low, middle)
    return high


_FINER: Final = 2
"""The grid has so many points for each k."""

_WIDTH: Final = 16
"""So many points have a part of each weight."""

_STEEPNESS: Final = 2.3 * _WIDTH
"""Of the bell by which weights are spread, as Kaiser and Bessel have it: best for this grid."""


def exponential_sums(weights: Floats, angles: Floats, first: int, last: int) -> Complexes:
    """The sums for k from `first` to below `last`, by a fast Fourier transform on a grid of angles.

    Weights are spread over the grid by a bell whose own transform is known, and what comes out is
    divided by that. It is as close as adding up is, where rounding of k times an angle decides:
    some 2^-47 of all weights, or 2^-52 of k times the angle where that is more. Adding up took a
    hundred times as long.
    """
    count = last - first
    size = _FINER * count
    # From the middle k is as far to both sides, where the bell's transform is small.
    turned = weights * np.exp(1j * (first + count // 2) * angles)
    places = np.mod(angles, 2 * np.pi) * (size / (2 * np.pi))
    points = np.ceil(places - _WIDTH / 2).astype(np.int64)[:, None] + np.arange(_WIDTH)
    distances = (points - places[:, None]) * (2 / _WIDTH)
    bell = np.i0(_STEEPNESS * np.sqrt(np.maximum(1 - distances**2, 0.0)))
    spread = (bell * turned[:, None]).reshape(-1)
    at = np.mod(points, size).reshape(-1)
    grid = np.bincount(at, spread.real, size) + 1j * np.bincount(at, spread.imag, size)
    around = np.arange(count) - count // 2
    inner = np.sqrt(_STEEPNESS**2 - (np.pi * _WIDTH / size * around) ** 2)
    bells = _WIDTH * np.sinh(inner) / inner
    return np.asarray(np.fft.ifft(grid)[around] * size / bells, np.complex128)


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
