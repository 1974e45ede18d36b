"""The smallest noise that meets the target, evaluated with the very law that is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from gopa.planning.accountant import delta_of_rounds, delta_of_vectors
from gopa.planning.gaussian import gaussian_mu
from gopa.planning.noise_sum import noise_sum
from gopa.planning.result import NoiseName
from wire.errors import UsageError
from zkp.noise_table import (
    DEFAULT_BITS,
    MOST_BITS,
    MOST_ROWS,
    MOST_WEIGHTED_BITS,
    GaussianTable,
    NoiseLaw,
    binomial,
    irwin_hall,
)

SCALE_DIGITS: Final = 1000
"""Scales are multiples of a thousandth of a step."""

_LARGE: Final = 50_000
"""Above this many parties one evaluation takes seconds: the first that passes is taken."""

_WIDEST: Final = 12
_NARROWEST: Final = 250
"""Scales below a quarter of a step have no table: noise is never smaller."""

_SMALLER_NOISE = (
    "raise epsilon or delta, enlist more parties, or take a coarser grid (fewer `steps`)"
)


@dataclass(frozen=True, slots=True)
class Need:
    """The target that the noise of `honest` parties has to meet."""

    honest: int
    squared_sensitivity: int
    largest_coordinate: int
    dimension: int
    epsilon: float
    delta: float
    mask_mu: float
    releases: int

    def delta_with(self, law: NoiseLaw) -> float:
        """The delta this law gives."""
        total = noise_sum(law, self.honest, self.delta * 1e-8 / self.honest)
        if self.dimension == 1:
            shift = math.isqrt(self.squared_sensitivity)
            return delta_of_rounds(
                total, shift, self.epsilon, mask_mu=self.mask_mu, releases=self.releases
            )
        return delta_of_vectors(
            total,
            self.squared_sensitivity,
            self.largest_coordinate,
            self.epsilon,
            dimension=self.dimension,
            mask_mu=self.mask_mu,
            releases=self.releases,
        )

    @property
    def variance(self) -> float:
        """The variance of one party's noise that a Gaussian would need."""
        mu = gaussian_mu(self.epsilon, self.delta) / math.sqrt(self.releases)
        left = mu * mu - self.mask_mu**2
        return self.squared_sensitivity / (left * self.honest)


@dataclass(frozen=True, slots=True)
class ChosenNoise:
    """A law and the delta it was shown to give."""

    law: NoiseLaw
    delta: float


def choose_noise(name: NoiseName, need: Need) -> ChosenNoise:
    """The law of this kind with the smallest variance found that meets the target."""
    ladder = {"gaussian": _gaussian, "binomial": _binomial, "irwin-hall": _irwin_hall}[name]
    start, make = ladder(need.variance)
    return _climb(need, start, make)


def _climb(need: Need, start: int, make: Callable[[int], NoiseLaw]) -> ChosenNoise:
    """Up from the Gaussian guess in growing strides, then back by halves."""
    stride, index, failed = 1, start, start - 1
    while (passed := _tried(need, make(index))) is None:
        failed, index, stride = index, index + stride, 2 * stride
    if need.honest > _LARGE:
        return passed
    while index - failed > 1:
        middle = (index + failed) // 2
        better = _tried(need, make(middle))
        if better is None:
            failed = middle
        else:
            index, passed = middle, better
    return passed


def _tried(need: Need, law: NoiseLaw) -> ChosenNoise | None:
    delta = need.delta_with(law)
    return ChosenNoise(law, delta) if delta <= need.delta else None


def _gaussian(variance: float) -> tuple[int, Callable[[int], NoiseLaw]]:
    start = math.ceil(math.sqrt(variance) * SCALE_DIGITS)
    return max(start, _NARROWEST), gaussian_table


def gaussian_table(thousandths: int) -> GaussianTable:
    """A valid table of this scale: seven deviations wide, as few bits as that allows."""
    scale = Fraction(thousandths, SCALE_DIGITS)
    rows = 2 * math.ceil(7 * scale) + 1
    if rows > MOST_ROWS:
        raise UsageError(
            f"one party's noise would need a table of more than {MOST_ROWS} rows: "
            f"{_SMALLER_NOISE}, or weighted bits (noise='irwin-hall')",
            "steps",
        )
    for bits in (DEFAULT_BITS, 52, 56, 60, MOST_BITS):
        for narrower in (0, 2, 4, 6, 8):
            try:
                return GaussianTable.with_scale(scale, bits=bits, rows=max(3, rows - narrower))
            except UsageError:
                continue
    raise UsageError("no valid table of this scale was found: change the grid", "steps")


def _binomial(variance: float) -> tuple[int, Callable[[int], NoiseLaw]]:
    def make(pairs: int) -> NoiseLaw:
        if 2 * pairs > MOST_WEIGHTED_BITS:
            raise UsageError(
                f"a binomial of at most {MOST_WEIGHTED_BITS} bits has too small a variance: "
                f"{_SMALLER_NOISE}, or noise='irwin-hall'",
                "noise",
            )
        return binomial(2 * pairs)

    return max(1, math.ceil(2 * variance)), make


def _irwin_hall(variance: float) -> tuple[int, Callable[[int], NoiseLaw]]:
    """All sums of 12 to 30 uniforms of up to 12 bits, in increasing order of variance."""
    laws = sorted(
        (terms * (4**width - 1), terms, width)
        for width in range(1, _WIDEST + 1)
        for terms in range(12, 32, 2)
        if terms * (2**width - 1) <= 8192
    )

    def make(index: int) -> NoiseLaw:
        if index >= len(laws):
            raise UsageError(
                f"no sum of uniforms has so large a variance: {_SMALLER_NOISE}", "noise"
            )
        return irwin_hall(laws[index][1], laws[index][2])

    below = sum(1 for value, _, _ in laws if value / 12 < variance)
    return below, make
