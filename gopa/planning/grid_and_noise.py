"""Chooses the grid of the inputs, and the smallest noise that meets the target on it.

Noise is evaluated with the very law that is drawn. The grid comes first, from a guess at that
noise: as many steps that one party's noise spans several of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gopa.accounting.gaussian import gaussian_mu, renyi_mu
from gopa.contract.terms import MOST_SENSITIVITY, MOST_SQUARE, check_integer
from gopa.planning.defaults import EXACT_STEPS, EXACT_VECTOR_STEPS
from gopa.planning.exposure import Exposure, delta_of
from gopa.planning.request import Request
from gopa.planning.result import LawName
from gopa.planning.worth import TOLERANCE
from wire.errors import UsageError
from zkp.noise import (
    DEFAULT_BITS,
    LARGEST_TOTAL_WEIGHT,
    MOST_BITS,
    MOST_ROWS,
    MOST_WEIGHTED_BITS,
    GaussianTable,
    NoiseLaw,
    binomial,
    irwin_hall,
)

FEWEST_STEPS: Final = 8
PREFERRED_SCALE: Final = 8.0
MOST_STEPS: Final = 2**30
MOST_EXACT: Final = 2**32 - 1
"""The squared range of a number has to fit into 64 bits."""

_SPARE: Final = 0.97
"""Kinds of noise do not come in every width."""


@dataclass(frozen=True, slots=True)
class PlannedGrid:
    """Holds a grid: `steps` span the range, and inputs move by a squared length of `squared`.

    Where lengths are proved, squared ones are at most `norm` and an input moves a coordinate by
    `largest` steps at most; with weights the largest one allows a length of `ratio` ranges.
    """

    steps: int
    squared: int
    norm: int = 0
    largest: int = 0
    ratio: Fraction = Fraction(0)

    @property
    def largest_coordinate(self) -> int:
        """How many steps an input moves a coordinate: all of them unless something else is said."""
        return self.largest or self.steps


def choose_grid(request: Request, mu: float, widest: float) -> PlannedGrid:
    """Enough steps that a party's noise has a deviation of about eight of them.

    `mu` is the allowed shift of the sum in deviations, `widest` the largest deviation that
    one party's noise can have. Vectors take their length *after*
    rounding: each coordinate moves by less than one step, the vector by less than the
    square root of the dimension, so that grid is also made fine against that, as far as
    noise can be wide. Integers are not rounded: their grid holds them, with at least eight
    steps.
    """
    if request.steps is not None:
        return named_grid(request.steps, lambda steps: PlannedGrid(steps, _squared(request, steps)))
    if request.integers:
        steps = request.integer_width * -(-FEWEST_STEPS // request.integer_width)
        check_integer(steps, 1, MOST_STEPS, "range")
        return PlannedGrid(steps, _squared(request, steps))
    allowed = mu * math.sqrt(request.honest)
    wanted = min(PREFERRED_SCALE, widest * _SPARE) * allowed
    if request.dimension == 1:
        steps = max(FEWEST_STEPS, round(wanted))
    else:
        width = float(request.high - request.low)
        finest = max(wanted, 8 * math.sqrt(request.dimension))
        steps = max(FEWEST_STEPS, round(finest * width / request.range_sensitivity))
        steps = _within(request, steps, widest * _SPARE * allowed)
    if steps > MOST_STEPS:
        message = (
            "the grid would need more than 2^30 steps: lower epsilon, "
            "or narrow the range of vectors to their length"
        )
        raise UsageError(message, "epsilon")
    return PlannedGrid(steps, _squared(request, steps))


def choose_exact_grid(request: Request) -> PlannedGrid:
    """The grid of an exact sum: rounding is all that blurs it, so it is as fine as bits are cheap.

    Integers are not rounded: a power of two steps apart they stay what they are in floats too.
    Audits do not know that, and find little rounding on a fine grid.
    """
    steps = EXACT_STEPS if request.dimension == 1 else EXACT_VECTOR_STEPS
    if request.steps is not None:
        return named_grid(request.steps, lambda steps: PlannedGrid(steps, _squared(request, steps)))
    if request.integers:
        width = _integer_width(request)
        steps = width << max(0, (steps // width).bit_length() - 1)
    return PlannedGrid(steps, _squared(request, steps))


def named_grid(steps: int, of: Callable[[int], PlannedGrid], unit: int = 1) -> PlannedGrid:
    """The grid with the steps that the caller named, which are a multiple of `unit`.

    Raises:
        UsageError: a manifest cannot hold how far inputs move on it; the most steps are named.
    """
    grid = of(steps)
    if _is_held(grid):
        return grid
    low, high = 1, steps // unit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_held(of(unit * middle)) else (low, middle)
    raise UsageError(f"at most {unit * low} for inputs of this dimension and length", "steps")


def _is_held(grid: PlannedGrid) -> bool:
    return grid.squared < MOST_SENSITIVITY and grid.norm < MOST_SQUARE


def _integer_width(request: Request) -> int:
    """How many steps integers are apart at least; `UsageError` if no grid is so wide."""
    check_integer(request.integer_width, 1, MOST_EXACT, "range")
    return request.integer_width


def _within(request: Request, steps: int, length: float) -> int:
    """The most steps, up to `steps`, with which no input moves farther; not below the fewest."""
    low, high = FEWEST_STEPS, steps + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = _squared(request, middle) <= length * length
        low, high = (middle, high) if fits else (low, middle)
    return low


def _squared(request: Request, steps: int) -> int:
    """The largest squared distance between two rounded inputs, rounded upwards."""
    box = request.dimension * steps * steps
    if request.norm is None:
        return box
    width = float(request.high - request.low)
    rounding = 0.0 if request.integers else math.sqrt(request.dimension)
    length = float(request.norm) / width * steps * (1 + 1e-12) + rounding
    return min(box, math.ceil(4 * length * length * (1 + 1e-12)))


SCALE_DIGITS: Final = 1000
"""Scales are multiples of a thousandth of a step."""

_ROOM: Final = 2 * float(TOLERANCE)
"""Twice the tolerance: who judges the terms finds the target met without doubt."""

_LARGE: Final = 50_000
"""Above this many parties one evaluation takes seconds: the first that passes is taken."""

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


@dataclass(frozen=True, slots=True)
class NoiseTarget:
    """Holds the delta that the noise of these parties has to meet."""

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


def laws_for(request: Request) -> tuple[LawName, ...]:
    """The kind that was asked for, or those to try in turn; tables are not for vectors of bits."""
    if request.noise is not None and not request.rows:
        return (request.noise,)
    if request.dimension > 1 and not request.rows:
        return ("irwin-hall",)
    return ("gaussian", "irwin-hall")


def widest_deviation(names: tuple[LawName, ...]) -> float:
    """The largest deviation of one party's noise that laws of these kinds have."""
    widest: dict[LawName, float] = {
        "gaussian": (MOST_ROWS - 1) / 2 / _TABLE_DEVIATIONS,
        "binomial": math.sqrt(MOST_WEIGHTED_BITS) / 2,
        "irwin-hall": math.sqrt(_UNIFORMS[-1][0] / 12),
    }
    return max(widest[name] for name in names)


def choose_noise(names: tuple[LawName, ...], need: NoiseTarget) -> NoiseLaw:
    """The law with the smallest variance found that meets the target, of the first kind that can.

    `UsageError` from the last kind where none can.
    """
    for name in names[:-1]:
        try:
            return _of_kind(name, need)
        except UsageError:
            continue
    return _of_kind(names[-1], need)


def _of_kind(name: LawName, need: NoiseTarget) -> NoiseLaw:
    ladder = {"gaussian": _gaussian, "binomial": _binomial, "irwin-hall": _irwin_hall}[name]
    start, make = ladder(need.variance)
    return _climb(need, start, make)


def _climb(need: NoiseTarget, start: int, make: Callable[[int], NoiseLaw]) -> NoiseLaw:
    """Up from the Gaussian guess in growing strides, then back by halves."""
    stride, index, failed = 1, start, start - 1
    while (passed := _tried(need, make(index))) is None:
        failed, index, stride = index, index + stride, 2 * stride
    if need.exposure.honest > _LARGE:
        return passed
    while index - failed > 1:
        middle = (index + failed) // 2
        better = _tried(need, make(middle))
        if better is None:
            failed = middle
        else:
            index, passed = middle, better
    return passed


def _tried(need: NoiseTarget, law: NoiseLaw) -> NoiseLaw | None:
    return law if need.met_by(law) else None


def _gaussian(variance: float) -> tuple[int, Callable[[int], NoiseLaw]]:
    start = math.ceil(math.sqrt(variance) * SCALE_DIGITS)
    return max(start, _NARROWEST), gaussian_table


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
    """Sums of uniforms in increasing order of variance."""

    def make(index: int) -> NoiseLaw:
        if index >= len(_UNIFORMS):
            raise UsageError(f"no noise law is as wide as this needs: {_SMALLER_NOISE}", "noise")
        return irwin_hall(_UNIFORMS[index][1], _UNIFORMS[index][2])

    below = sum(1 for value, _, _ in _UNIFORMS if value / 12 < variance)
    return below, make
