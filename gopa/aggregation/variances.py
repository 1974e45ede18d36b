"""Private variances: a number and its square in one round.

With the range moved to c in [-1, 1], a party contributes u = (c + 1) / 2 and c^2, both
between 0 and 1. For two parties the squared distance is (c - c')^2 (1/4 + (c + c')^2). For
a given c + c' it is largest with one of them at an end; there its derivative vanishes at
c' = (sqrt(2) - 2) / 4, where it is 1.28615.. This is the squared sensitivity, less than
the 2 of two unrelated numbers. Specification: 10-Q10.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Unpack

import numpy as np

from commitments.group import Stream
from gopa.aggregation.aggregator import LocalAggregator
from gopa.aggregation.encoding import (
    Bounds,
    Encoded,
    EncodedRow,
    NoisySum,
    ValueEstimate,
    encode_rows,
    structure_of,
)
from gopa.aggregation.grid import Grid, round_exactly
from gopa.aggregation.options import AggregationRequest, PlanKeywords, ends_of
from gopa.aggregation.result import Result, numbers
from gopa.aggregation.values import Structure, Value, Values, count_absent
from gopa.planning import Plan, Terms
from gopa.planning.target import Number
from gopa.planning.usefulness import NoisyNumber, numbers_warning
from gopa.support.arrays import Integers
from wire.errors import UsageError

HALF_DISTANCE: Final = Fraction("0.567044")
"""Half the distance, in widths of the range, rounded up."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The encoding of a value as itself and its squared distance from the middle of the range.

    Raises:
        UsageError: the plan has another dimension than 2, or noise for a smaller
            sensitivity than that of the two numbers after rounding.
    """

    terms: Terms

    def __post_init__(self) -> None:
        if self.terms.dimension != 2:
            raise UsageError("must be a plan with dimension 2", "plan")
        if self.terms.squared_norm and self.terms.bounds_length:
            # Lengths are proved from zero, and the two numbers lie around the middle of a box.
            raise UsageError("a plan without a norm, where lengths are proved", "plan")
        moved = 2 * (float(HALF_DISTANCE) * self.terms.steps + math.sqrt(2))
        if self.terms.squared_sensitivity < min(moved**2, 2 * self.terms.steps**2):
            message = f"a plan with a norm of at least {float(HALF_DISTANCE)} widths of the range"
            raise UsageError(message, "plan")

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """Both numbers on the grid, computed exactly and rounded without bias.

        Raises:
            InvalidValue, OutOfRange, UsageError: as for plain values; one number each.
        """
        structure = structure_of(values, self.terms.parties, 1)
        bounds = Bounds(Grid.of(self.terms), None)

        def row(value: Value, party: int) -> EncodedRow:
            given = bounds.admit(structure.flatten(value, party), structure, party, clip=clip)
            both = self._both(bounds.grid.position(float(given.values[0])), stream)
            return EncodedRow(both, given.clipped, scaled=False, exact=False)

        return encode_rows(values, Structure.of((0.0, 0.0)), row)

    def _both(self, position: Fraction, stream: Stream) -> Integers:
        centred = 2 * position / self.terms.steps - 1
        positions = (position, centred**2 * self.terms.steps)
        words = stream.bits(64, 2)
        pairs = zip(positions, words, strict=True)
        return np.array([round_exactly(exact, word, stream) for exact, word in pairs])

    def decode(self, total: NoisySum) -> ValueEstimate:
        """Both means, in the units of the values and their squares."""
        grid = Grid.of(self.terms)
        scales = np.array([grid.step, float(grid.width) ** 2 / 4 / self.terms.steps])
        offsets = np.array([float(grid.low), 0.0])
        sums = total.sums.astype(np.float64)
        deviations = scales * math.sqrt(total.noise + total.count / 4)
        return ValueEstimate(
            mean=offsets + scales * sums / total.count,
            mean_deviation=deviations / total.count,
            total=total.count * offsets + scales * sums,
            total_deviation=deviations,
            rounding=grid.step**2 / total.count / 4,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Variance(Result):
    """The variance of the included parties' values, dividing by their number, and the mean.

    `estimate` is unbiased but for rounding: the variance that noise adds to the square of
    the mean was taken off. Where the noise exceeds the variance it may be negative; then
    `variance` is 0 and `floored` is True. `variance_stderr` is the standard error of the
    estimate, to second order.
    """

    variance: float
    variance_stderr: float
    estimate: float
    floored: bool

    @property
    def kind(self) -> str:
        return "variance"

    @property
    def value(self) -> float:
        """The variance, as the value of this result."""
        return self.variance

    @property
    def error(self) -> float:
        """The standard error of the variance."""
        return self.variance_stderr

    def headlines(self) -> list[tuple[str, str]]:
        """Variance and mean, in words."""
        text = numbers(self.variance, self.variance_stderr)
        if self.floored:
            text += " (the estimate is negative: too much noise to tell)"
        return [("variance", text), *Result.headlines(self)]


def variance(
    values: Values,
    plan: Plan | None = None,
    *,
    range: tuple[Number, Number] = (0, 1),  # noqa: A002
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Variance:
    """The private variance and mean of one number for each party, in one round.

    Each party contributes its number and the square of its distance from the middle of
    the range, and the noise is made for both together; with `path="rows"` as for two
    numbers that have nothing to do with each other, which is a quarter more. A plan that is given
    has dimension 2 and the range of the values. Further keywords and errors are those of
    `average`.

    >>> result = gopa.variance([0.1, 0.9] * 5, epsilon=8, delta=1e-6, corrupt=1)
    >>> abs(result.variance - 0.16) < 6 * result.variance_stderr
    True
    """
    asked = AggregationRequest.of(plan, options)
    listed = asked.values(values)
    made = asked.plan(
        n=len(listed),
        absent=count_absent(listed),
        range=range,
        dimension=2,
        **_bounds(range, in_rows=asked.rows_named),
    )
    with LocalAggregator(made, clip=clip, **asked.run) as aggregator:
        found = aggregator.aggregate(listed, Moments(made.terms))
    result = variance_of(found, float(made.terms.low + made.terms.high) / 2)
    return replace(result, warnings=(*result.warnings, *_warnings(made.terms, result)))


async def variance_async(
    values: Values,
    plan: Plan | None = None,
    *,
    range: tuple[Number, Number] = (0, 1),  # noqa: A002
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Variance:
    """`variance` in a thread of its own."""
    return await asyncio.to_thread(variance, values, plan, range=range, clip=clip, **options)


def _bounds(span: tuple[Number, Number], *, in_rows: bool) -> dict[str, Any]:
    """The bounds that a plan gets: a range, or in rows a length, which is measured from zero."""
    if in_rows:
        return {"norm": None}
    low, high = ends_of(span)
    return {"norm": (high - low) * Decimal(str(float(HALF_DISTANCE))), "path": "bits"}


def _warnings(terms: Terms, found: Variance) -> list[str]:
    """What to know of the variance itself, which lies between 0 and a quarter of the width^2."""
    most = float(terms.high - terms.low) ** 2 / 4
    number = NoisyNumber(found.variance, found.variance_stderr, 0.0, most, "the variance")
    return list(filter(None, [numbers_warning(terms, [number])]))


def variance_of(found: Result, middle: float) -> Variance:
    """The variance from the means of `Moments`; `middle` is that of the range."""
    (mean, square), (mean_error, square_error) = found.mean, found.stderr
    apart = mean - middle
    estimate = square - apart**2 + (mean_error**2 - found.rounding)
    blur = square_error**2 + (2 * apart * mean_error) ** 2 + 2 * mean_error**4
    first = {name: getattr(found, name)[0] for name in ("mean", "sum", "stderr", "sum_stderr")}
    return Variance(
        **{**vars(found), **first},
        variance=max(estimate, 0.0),
        variance_stderr=math.sqrt(blur),
        estimate=estimate,
        floored=estimate < 0,
    )
