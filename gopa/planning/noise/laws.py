"""The laws of noise that plans choose from, and the choice of the smallest that meets a target.

Noise is evaluated with the very law that is drawn (`zkp.noise`). Each name that a plan may take
has a `Ladder`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gopa.accounting.gaussian import gaussian_mu, renyi_mu
from gopa.planning.noise.exposure import Exposure, delta_of
from gopa.planning.noise.grids import PlannedGrid
from gopa.planning.request import Request
from gopa.planning.target import TOLERANCE, NoiseName
from wire.errors import UsageError
from zkp.noise import (
    DEFAULT_BITS,
    LARGEST_TOTAL_WEIGHT,
    MOST_BITS,
    MOST_ROWS,
    MOST_WEIGHTED_BITS,
    GaussianTable,
    NoiseKind,
    NoiseLaw,
    binomial,
    irwin_hall,
)

SCALE_DIGITS: Final = 1000
"""Scales are multiples of a thousandth of a step."""

_ROOM: Final = 2 * float(TOLERANCE)
"""Twice the tolerance: who judges the terms finds the target met without doubt."""

_LARGE: Final = 50_000
"""Above this many parties one evaluation takes seconds: the first that passes is taken."""


@dataclass(frozen=True, slots=True)
class NoiseTarget:
    """The delta that the noise of these parties has to meet."""

    exposure: Exposure
    delta: float

    @property
    def variance(self) -> float:
        """The variance of one party's noise that a Gaussian would need."""
        exposure = self.exposure
        mu = allowed_mu(exposure.dimension, exposure.epsilon, self.delta)
        mu /= math.sqrt(exposure.releases)
        left = mu * mu - exposure.mask_mu**2
        return exposure.squared_sensitivity / (left * exposure.honest)

    def met_by(self, law: NoiseLaw) -> bool:
        """Whether noise of this law meets it, without doubt for whoever judges the terms."""
        return delta_of(self.exposure, law) <= self.delta * (1 - _ROOM)

    def on(self, grid: PlannedGrid) -> NoiseTarget:
        """The same target for inputs on another grid."""
        moved = replace(
            self.exposure,
            squared_sensitivity=grid.squared,
            largest_coordinate=grid.largest_coordinate,
        )
        return NoiseTarget(moved, self.delta)


def allowed_mu(dimension: int, epsilon: float, delta: float) -> float:
    """How far a Gaussian may move, in deviations; for vectors by Renyi divergences."""
    return gaussian_mu(epsilon, delta) if dimension == 1 else renyi_mu(epsilon, delta)


@dataclass(frozen=True, slots=True)
class Ladder:
    """The laws of one name in steps of growing variance: a law of the registry, as plans use it.

    `first` is the step whose variance is about the one that is needed, `law` that of a step;
    `UsageError` above the last step. `widest` is the largest deviation of all of them.
    """

    kind: NoiseKind
    widest: float
    first: Callable[[float], int]
    law: Callable[[int], NoiseLaw]


def laws_for(request: Request) -> tuple[NoiseName, ...]:
    """The kind that was asked for, or those to try in turn; tables are not for vectors of bits."""
    if request.noise is not None and not request.rows:
        return (request.noise,)
    if request.dimension > 1 and not request.rows:
        return ("irwin-hall",)
    return ("gaussian", "irwin-hall")


def widest_deviation(names: tuple[NoiseName, ...]) -> float:
    """The largest deviation of one party's noise that laws of these names have."""
    return max(LADDERS[name].widest for name in names)


def choose_noise(names: tuple[NoiseName, ...], need: NoiseTarget) -> NoiseLaw:
    """The law with the smallest variance found that meets the target, of the first kind that can.

    `UsageError` from the last kind where none can.
    """
    for name in names[:-1]:
        try:
            return _climb(need, LADDERS[name])
        except UsageError:
            continue
    return _climb(need, LADDERS[names[-1]])


def _climb(need: NoiseTarget, ladder: Ladder) -> NoiseLaw:
    """Up from the Gaussian guess in growing strides, then back by halves."""
    start = ladder.first(need.variance)
    stride, index, failed = 1, start, start - 1
    while not need.met_by(passed := ladder.law(index)):
        failed, index, stride = index, index + stride, 2 * stride
    if need.exposure.honest > _LARGE:
        return passed
    while index - failed > 1:
        middle = (index + failed) // 2
        law = ladder.law(middle)
        if need.met_by(law):
            index, passed = middle, law
        else:
            failed = middle
    return passed


_WIDEST: Final = 12

_UNIFORMS: Final = sorted(
    (terms * (4**width - 1), terms, width)
    for width in range(1, _WIDEST + 1)
    for terms in range(12, 32, 2)
    if terms * (2**width - 1) <= LARGEST_TOTAL_WEIGHT
)
"""Sums of 12 to 30 uniforms of up to 12 bits: twelve times the variance, how many, bits."""

_TABLE_DEVIATIONS: Final = 7
_NARROWEST: Final = 250
"""Scales below a quarter of a step have no table: noise is never smaller."""

_SMALLER_NOISE = (
    "raise epsilon or delta, enlist more parties, or take a coarser grid (fewer `steps`; "
    "vectors: a smaller `dimension`)"
)


def _first_table(variance: float) -> int:
    return max(math.ceil(math.sqrt(variance) * SCALE_DIGITS), _NARROWEST)


def gaussian_table(thousandths: int) -> GaussianTable:
    """A valid table of this scale: seven deviations to each side, as few bits as that allows."""
    scale = Fraction(thousandths, SCALE_DIGITS)
    rows = 2 * math.ceil(_TABLE_DEVIATIONS * scale) + 1
    if rows > MOST_ROWS:
        raise UsageError(
            f"one party's noise would need a table of more than {MOST_ROWS} rows: "
            f"{_SMALLER_NOISE}, or wider noise (noise='irwin-hall')",
            "noise",
        )
    for bits in (DEFAULT_BITS, 52, 56, 60, MOST_BITS):
        for narrower in (0, 2, 4, 6, 8):
            try:
                return GaussianTable.with_scale(scale, bits=bits, rows=max(3, rows - narrower))
            except UsageError:
                continue
    raise UsageError("no valid table of this scale was found: change the grid", "steps")


def _binomial(pairs: int) -> NoiseLaw:
    if 2 * pairs > MOST_WEIGHTED_BITS:
        raise UsageError(
            f"a binomial of at most {MOST_WEIGHTED_BITS} bits has too small a variance: "
            f"{_SMALLER_NOISE}, or noise='irwin-hall'",
            "noise",
        )
    return binomial(2 * pairs)


def _irwin_hall(index: int) -> NoiseLaw:
    if index >= len(_UNIFORMS):
        raise UsageError(f"no noise law is as wide as this needs: {_SMALLER_NOISE}", "noise")
    return irwin_hall(_UNIFORMS[index][1], _UNIFORMS[index][2])


LADDERS: Final[dict[NoiseName, Ladder]] = {
    "gaussian": Ladder(
        NoiseKind.GAUSSIAN_TABLE,
        widest=(MOST_ROWS - 1) / 2 / _TABLE_DEVIATIONS,
        first=_first_table,
        law=gaussian_table,
    ),
    "binomial": Ladder(
        NoiseKind.WEIGHTED_BITS,
        widest=math.sqrt(MOST_WEIGHTED_BITS) / 2,
        first=lambda variance: max(1, math.ceil(2 * variance)),
        law=_binomial,
    ),
    "irwin-hall": Ladder(
        NoiseKind.WEIGHTED_BITS,
        widest=math.sqrt(_UNIFORMS[-1][0] / 12),
        first=lambda variance: sum(1 for value, _, _ in _UNIFORMS if value / 12 < variance),
        law=_irwin_hall,
    ),
}
"""The laws that a plan may name, and those that it tries where nobody names one."""
