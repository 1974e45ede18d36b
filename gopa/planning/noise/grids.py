"""The grids on which inputs are rounded: fine enough for the noise, of numbers and of vectors.

The grid comes before the noise, from a guess at it: as many steps that one party's noise spans
several of them. Of long vectors whose length is proved, zero is a point of the grid, and only the
length counts, so there is no finest grid but by the noise: rounding makes fine vectors less longer
than coarse ones, and what is finer needs noise that is wider in steps. Specification 14, rules
14-M6, Y3, Y4, U3, W1 and W3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from gopa.contract.lengths import WeightedLength, boxed_norm, squared_norm
from gopa.contract.terms import MOST_SENSITIVITY, MOST_SQUARE, check_integer
from gopa.planning.request import Request
from gopa.planning.target import EXACT_STEPS, EXACT_VECTOR_STEPS
from wire.errors import UsageError

FEWEST_STEPS: Final = 8
PREFERRED_SCALE: Final = 8.0
MOST_STEPS: Final = 2**30
MOST_EXACT: Final = 2**32 - 1
"""The squared range of a number has to fit into 64 bits."""

_SPARE: Final = 0.97
"""Kinds of noise do not come in every width."""


_TOO_FINE: Final = (
    "the grid would need more than 2^30 steps: lower epsilon, "
    "or narrow the range of vectors to their length"
)


@dataclass(frozen=True, slots=True)
class PlannedGrid:
    """A grid: `steps` span the range, and inputs move by a squared length of `squared`.

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
        return named_grid(request.steps, lambda steps: PlannedGrid(steps, _moved(request, steps)))
    if request.integers:
        steps = request.integer_width * -(-FEWEST_STEPS // request.integer_width)
        check_integer(steps, 1, MOST_STEPS, "range")
        return PlannedGrid(steps, _moved(request, steps))
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
        raise UsageError(_TOO_FINE, "epsilon")
    return PlannedGrid(steps, _moved(request, steps))


def choose_exact_grid(request: Request) -> PlannedGrid:
    """The grid of an exact sum: rounding is all that blurs it, so it is as fine as bits are cheap.

    Integers are not rounded: a power of two steps apart they stay what they are in floats too.
    Audits do not know that, and find little rounding on a fine grid.
    """
    steps = EXACT_STEPS if request.dimension == 1 else EXACT_VECTOR_STEPS
    if request.steps is not None:
        return named_grid(request.steps, lambda steps: PlannedGrid(steps, _moved(request, steps)))
    if request.integers:
        width = _integer_width(request)
        steps = width << max(0, (steps // width).bit_length() - 1)
    return PlannedGrid(steps, _moved(request, steps))


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
        fits = _moved(request, middle) <= length * length
        low, high = (middle, high) if fits else (low, middle)
    return low


def _moved(request: Request, steps: int) -> int:
    """The largest squared distance between two rounded inputs, rounded upwards."""
    box = request.dimension * steps * steps
    if request.norm is None:
        return box
    width = float(request.high - request.low)
    rounding = 0.0 if request.integers else math.sqrt(request.dimension)
    length = float(request.norm) / width * steps * (1 + 1e-12) + rounding
    return min(box, math.ceil(4 * length * length * (1 + 1e-12)))


LENGTH_PER_ROOT: Final = 4.0
"""A length of so many roots of the dimension, which rounding makes a hundredth longer."""

LEAST_LENGTH: Final = 400.0
"""Shorter ones would grow by more than a hundredth, so that few vectors are rounded again."""

LEAST_DEVIATION: Final = 4.0
"""One party's noise has a deviation of so many steps, where that is not far too fine."""

EXACT_LENGTH_PER_ROOT: Final = 64.0
EXACT_ROW_STEPS: Final = 2**16
"""Exact sums: nothing but rounding blurs them, and a bit more is a bit of each word."""

WEIGHT_RATIO: Final = Fraction(1, 2)
"""With weights the range is that of lengths: half of it is what the largest weight allows."""

_NORM_OF_FLOATS: Final = 1 + Fraction(1, 10**12)
"""Planned for: the length of a vector of floats, scaled to the norm, may be off by less."""

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
    return _chosen(request, wanted, EXACT_ROW_STEPS, math.inf)


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
