"""Private variances."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Unpack

from gopa.aggregation.local import LocalAggregator
from gopa.aggregation.moments import HALF_DISTANCE, Moments
from gopa.aggregation.options import Asked, Number, Options, ends_of
from gopa.aggregation.report import numbers
from gopa.aggregation.result import Result
from gopa.aggregation.structure import count_of
from gopa.planning import Plan


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Variance(Result):
    """The variance of the included parties' values (dividing by their number), and their mean.

    `estimate` is unbiased but for rounding: the variance that noise adds to the square of
    the mean was taken off. Where the noise exceeds the variance it may be negative; then
    `variance` is 0 and `floored` is True. `variance_stderr` is the standard error of the
    estimate, to second order.
    """

    variance: float
    variance_stderr: float
    estimate: float
    floored: bool

    def headlines(self) -> list[tuple[str, str]]:
        """Variance and mean, in words."""
        text = numbers(self.variance, self.variance_stderr)
        if self.floored:
            text += f" (the estimate {self.estimate:.3g} is negative: too much noise to tell)"
        return [("variance", text), *Result.headlines(self)]


def variance(
    values: Sequence[float | None],
    plan: Plan | None = None,
    *,
    range: tuple[Number, Number] = (0, 1),  # noqa: A002
    clip: bool = False,
    **options: Unpack[Options],
) -> Variance:
    """The private variance and mean of one number for each party, in one round.

    Each party contributes its number and the square of its distance from the middle of
    the range, and the noise is made for both together. A plan that is given has
    dimension 2 and the range of the values. Further keywords and errors are those of
    `average`.
    """
    asked = Asked.of(plan, options)
    made = asked.plan(n=count_of(values, "values"), range=range, dimension=2, norm=_norm(range))
    with LocalAggregator(made, clip=clip, **asked.run) as aggregator:
        found = aggregator.aggregate(values, Moments(made.terms))
    return variance_of(found, float(made.terms.low + made.terms.high) / 2)


async def variance_async(
    values: Sequence[float | None],
    plan: Plan | None = None,
    *,
    range: tuple[Number, Number] = (0, 1),  # noqa: A002
    clip: bool = False,
    **options: Unpack[Options],
) -> Variance:
    """`variance` in a thread of its own."""
    return await asyncio.to_thread(variance, values, plan, range=range, clip=clip, **options)


def _norm(span: tuple[Number, Number]) -> Decimal:
    low, high = ends_of(span)
    return (high - low) * Decimal(str(float(HALF_DISTANCE)))


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
