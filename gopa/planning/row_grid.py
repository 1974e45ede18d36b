"""Chooses the grid of long vectors whose length is proved, and says what that makes of inputs.

Zero is a point of the grid, and only the length counts, so there is no finest grid but by the
noise: rounding makes fine vectors less longer than coarse ones, and what is finer needs noise that
is wider in steps. Specification 14, rules M6, Y3, Y4, U3, W1 and W3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from gopa.contract.lengths import WeightedLength, boxed_norm, squared_norm
from gopa.planning.grid_and_noise import FEWEST_STEPS, MOST_STEPS, PlannedGrid, named_grid
from gopa.planning.request import Request
from wire.errors import UsageError

LENGTH_PER_ROOT: Final = 4.0
"""A length of so many roots of the dimension, which rounding makes a hundredth longer."""

LEAST_LENGTH: Final = 400.0
"""Shorter ones would grow by more than a hundredth, so that few vectors are rounded again."""

LEAST_DEVIATION: Final = 4.0
"""One party's noise has a deviation of so many steps, where that is not far too fine."""

EXACT_LENGTH_PER_ROOT: Final = 64.0
EXACT_STEPS: Final = 2**16
"""Exact sums: nothing but rounding blurs them, and a bit more is a bit of each word."""

_TOO_FINE: Final = (
    "the grid would need more than 2^30 steps: lower epsilon, "
    "or narrow the range of vectors to their length"
)

WEIGHT_RATIO: Final = Fraction(1, 2)
"""With weights the range is that of lengths: half of it is what the largest weight allows."""

_NORM_OF_FLOATS: Final = 1 + Fraction(1, 10**12)
"""Planned for: the length of a vector of floats, scaled to the norm, may be off by less."""

_SPARE: Final = 0.97
_MOST_FITTED: Final = 1.5
_FITTED: Final = 500
"""Steps are fitted to one part in so many."""


def choose_row_grid(request: Request, mu: float, widest: float) -> PlannedGrid:
    """The grid of vectors whose noise moves by `mu` deviations at most, of laws up to `widest`."""
    allowed = mu * math.sqrt(request.honest)
    wanted = max(
        LENGTH_PER_ROOT * math.sqrt(request.dimension), LEAST_LENGTH, LEAST_DEVIATION * allowed / 2
    )
    limit = (widest * _SPARE * allowed) ** 2
    return _chosen(request, wanted, FEWEST_STEPS, limit)


def choose_exact_row_grid(request: Request) -> PlannedGrid:
    """The grid of an exact sum, as fine as a few more bits for each coordinate make it."""
    wanted = EXACT_LENGTH_PER_ROOT * math.sqrt(request.dimension)
    return _chosen(request, wanted, EXACT_STEPS, math.inf)


def fitted_grid(
    request: Request, grid: PlannedGrid, keeps: Callable[[PlannedGrid], bool]
) -> PlannedGrid:
    """The finest grid on which noise that was found for this one still keeps the target.

    Laws do not come in every width, and steps nearly do: the same noise, in finer steps, is less.
    """
    if request.steps is not None or request.integers:
        return grid
    unit = _unit(request)
    low, high = grid.steps // unit, math.ceil(grid.steps * _MOST_FITTED / unit)
    while high - low > max(1, low // _FITTED):
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(_grid(request, unit * middle)) else (low, middle)
    return _grid(request, unit * low)


def _chosen(request: Request, length: float, fewest: int, limit: float) -> PlannedGrid:
    """The grid with inputs of this length in steps, or as long as the limit of M^2 allows."""
    unit = _unit(request)
    if request.steps is not None:
        if request.steps % unit:
            point = "the middle" if request.norm is None or request.weighted else "zero"
            raise UsageError(f"a multiple of {unit}, so that {point} is on the grid", "steps")
        if request.steps > MOST_STEPS:
            raise UsageError(f"at most {MOST_STEPS // unit * unit} in rows", "steps")
        return named_grid(request.steps, lambda steps: _grid(request, steps), unit)
    if request.integers:
        # Nothing is rounded, so nothing gets longer.
        width = request.integer_width
        return _grid(request, math.lcm(unit, width) * -(-fewest // math.lcm(unit, width)))
    reach = request.range_sensitivity / 2 / float(request.high - request.low)
    most = max(fewest, math.ceil(length / reach))
    low, high = -(-fewest // unit), -(-most // unit) + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = _grid(request, unit * middle).squared <= limit
        low, high = (middle, high) if fits else (low, middle)
    return _grid(request, unit * low)


def _unit(request: Request) -> int:
    """Steps are a multiple of this, so that zero, or the middle of a box, is on the grid."""
    width = Fraction(request.high) - Fraction(request.low)
    if request.norm is None or request.weighted:
        return 2
    origin = -Fraction(request.low) / width
    if not 0 <= origin <= 1:
        message = "lengths are measured from zero, which the range does not contain"
        raise UsageError(message, "range")
    if origin.denominator > MOST_STEPS:
        raise UsageError("zero is on no grid: choose ends with fewer digits", "range")
    return math.lcm(2, origin.denominator)


def _too_coarse(request: Request) -> UsageError:
    """The error of a grid so coarse that rounding makes vectors longer than the range."""
    if request.steps is None:
        return UsageError("rounding to so coarse a grid hides no weight: raise epsilon", "epsilon")
    least = 2
    while (
        _weighted_length(least, request.dimension).squared_sensitivity
        > request.dimension * least**2
    ):
        least += 2
    message = (
        f"at least {least} with weights: rounding moves vectors farther than the range is wide"
    )
    return UsageError(message, "steps")


def _weighted_length(steps: int, dimension: int) -> WeightedLength:
    return WeightedLength(WEIGHT_RATIO.numerator, WEIGHT_RATIO.denominator, steps, dimension)


def _grid(request: Request, steps: int) -> PlannedGrid:
    if steps > MOST_STEPS:
        raise UsageError(_TOO_FINE, "epsilon")
    dimension, box = request.dimension, request.dimension * steps**2
    if request.counts:
        return PlannedGrid(steps, 2 * steps**2, steps**2, steps)
    if request.weighted:
        made = _weighted_length(steps, dimension)
        norm, squared = made.squared_norm, made.squared_sensitivity
        if squared > box:
            raise _too_coarse(request)
        return PlannedGrid(steps, squared, norm, 2 * math.isqrt(norm), WEIGHT_RATIO)
    if request.norm is not None:
        length = Fraction(request.norm) * steps / (Fraction(request.high) - Fraction(request.low))
        length *= 1 if request.integers else _NORM_OF_FLOATS
        norm = squared_norm(length**2, 0 if request.integers else dimension)
        if 4 * norm < box:
            return PlannedGrid(steps, 4 * norm, norm, 2 * math.isqrt(norm))
    return PlannedGrid(steps, box, boxed_norm(dimension, steps), steps)
