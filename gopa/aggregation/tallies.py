"""Private histograms: every party adds one to one bin."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Unpack

import numpy as np

from gopa.aggregation.bins import OneHot, checked_edges
from gopa.aggregation.local import LocalAggregator
from gopa.aggregation.options import Asked, Options
from gopa.aggregation.report import numbers
from gopa.aggregation.result import Result
from gopa.aggregation.structure import Floats, count_of
from gopa.planning import Plan

_HALF_DISTANCE: Final = Decimal("0.70710678118654752441")
"""Half of sqrt(2), rounded up: the vectors of two parties are at most sqrt(2) apart."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Histogram(Result):
    """Noisy counts, one for each bin: bin i holds `edges[i]` <= value < `edges[i + 1]`.

    The last bin holds its upper edge too. Counts may be negative or have fractions: they
    are unbiased, and would not be if they were cut off. `mean` holds the frequencies.
    """

    edges: Floats

    @property
    def counts(self) -> Floats:
        """How many parties are in each bin, give or take `sum_stderr`."""
        return np.asarray(self.sum)

    def headlines(self) -> list[tuple[str, str]]:
        """The counts, in words."""
        return [("counts", numbers(self.sum, self.sum_stderr))]


def histogram(
    values: Sequence[float | None],
    bins: int | Sequence[float] = 10,
    plan: Plan | None = None,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002
    clip: bool = False,
    **options: Unpack[Options],
) -> Histogram:
    """How many parties have their value in which bin, privately.

    `bins` is a number of equal bins over `range`, or all edges, increasing. Another value
    of one party moves one count down and one up: an L2 sensitivity of sqrt(2), whatever
    the number of bins. A plan that is given has the range 0 to 1 and one dimension for
    each bin. Values outside are refused, or with `clip` counted in the outermost bins.
    Further keywords and errors are those of `average`.
    """
    asked = Asked.of(plan, options)
    edges = checked_edges(bins, range)
    made = asked.plan(
        n=count_of(values, "values"),
        range=(0, 1),
        dimension=len(edges) - 1,
        norm=_HALF_DISTANCE,
        integers=True,
    )
    encoding = OneHot(made.terms, tuple(edges.tolist()))
    with LocalAggregator(made, clip=clip, **asked.run) as aggregator:
        found = aggregator.aggregate(values, encoding)
    return Histogram(**vars(found), edges=edges)


async def histogram_async(
    values: Sequence[float | None],
    bins: int | Sequence[float] = 10,
    plan: Plan | None = None,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002
    clip: bool = False,
    **options: Unpack[Options],
) -> Histogram:
    """`histogram` in a thread of its own."""
    return await asyncio.to_thread(histogram, values, bins, plan, range=range, clip=clip, **options)
