"""The grid of the inputs, and how far one input can move on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from gopa.planning.request import Request
from gopa.planning.terms import check_integer
from wire.errors import UsageError

FEWEST_STEPS: Final = 8
PREFERRED_SCALE: Final = 8.0
MOST_STEPS: Final = 2**30

_SPARE: Final = 0.97
"""Kinds of noise do not come in every width."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """`steps` span the range; inputs move by integer vectors of squared length `squared`."""

    steps: int
    squared: int


def choose_grid(request: Request, mu: float, widest: float) -> Sensitivity:
    """Enough steps that a party's noise has a deviation of about eight of them.

    `mu` is the allowed shift of the sum in deviations, `widest` the largest deviation that
    one party's noise can have. Vectors take their length *after*
    rounding: each coordinate moves by less than one step, the vector by less than the
    square root of the dimension, so that grid is also made fine against that, as far as
    noise can be wide. Integers are not rounded: their grid holds them, with at least eight
    steps.
    """
    if request.steps is not None:
        return Sensitivity(request.steps, _squared(request, request.steps))
    if request.integers:
        steps = request.integer_width * -(-FEWEST_STEPS // request.integer_width)
        check_integer(steps, 1, MOST_STEPS, "range")
        return Sensitivity(steps, _squared(request, steps))
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
    return Sensitivity(steps, _squared(request, steps))


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
