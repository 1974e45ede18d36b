"""Private histograms: every party adds one to one bin.

Its number is a 1 and zeros: a one for its own bin (10-Q9).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from commitments.group import Stream
from gopa.aggregation.aggregator import LocalAggregator
from gopa.aggregation.columns import require_columns
from gopa.aggregation.encoding import (
    Encoded,
    EncodedRow,
    NoisySum,
    Plain,
    ValueEstimate,
    checked_count,
    encode_rows,
)
from gopa.aggregation.options import AggregationRequest, PlanKeywords, ends_of
from gopa.aggregation.result import Result, numbers
from gopa.aggregation.showing import draw_bins
from gopa.aggregation.values import InvalidValue, OutOfRange, Structure, Value, Values, count_absent
from gopa.contract.terms import MOST_DIMENSION
from gopa.planning import Plan, Terms
from gopa.support.arrays import Floats
from wire.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class OneHot:
    """The encoding of a value as a one in its bin.

    Bin i holds `edges[i]` <= value < `edges[i + 1]`. The last bin holds its upper edge too. Behind
    the bins so many coordinates are `spare`, and 0 for everybody: the plan serves columns with more
    bins as well. `where` names such a column.

    Two vectors differ in at most two coordinates, each by all steps of the grid, so the
    squared sensitivity is 2 steps^2 whatever the number of bins.

    Raises:
        UsageError: the plan has another range than 0 to 1, another dimension than there are
            bins, or noise for a smaller sensitivity.
    """

    terms: Terms
    edges: tuple[float, ...]
    spare: int = 0
    where: str = ""

    @property
    def bins(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    def __post_init__(self) -> None:
        terms, wanted = self.terms, self.bins + self.spare
        if (terms.low, terms.high) != (Decimal(0), Decimal(1)) or terms.dimension != wanted:
            raise UsageError(f"the range 0 to 1 in {wanted} dimensions", "plan")
        short = terms.bounds_length and 0 < terms.squared_norm < terms.steps**2
        if short or terms.squared_sensitivity < 2 * terms.steps**2:
            least = "1, or integers=True" if short else "sqrt(1/2)"
            raise UsageError(f"must be a plan with a norm of at least {least}", "plan")

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """All steps at the bin of the value. Nothing is rounded, and `stream` is not used.

        Raises:
            InvalidValue: a value is no finite number.
            OutOfRange: a value is in no bin and `clip` is off.
            UsageError: there is not one value for each party.
        """
        del stream
        checked_count(values, self.terms.parties)

        def row(value: Value, party: int) -> EncodedRow:
            number, outside = self._admitted(value, party, clip=clip)
            bins = np.zeros(self.terms.dimension, dtype=np.int64)
            bins[self._bin(number)] = self.terms.steps
            return EncodedRow(bins, int(outside), scaled=False, exact=True)

        return encode_rows(values, Structure.of(np.zeros(self.bins)), row)

    def require(self, values: Sequence[Value | None], *, clip: bool) -> None:
        """Return if `encode` would refuse nothing, before anything is released.

        Raises:
            InvalidValue, OutOfRange: as there.
        """
        for party, value in enumerate(values):
            if value is not None:
                self._admitted(value, party, clip=clip)

    def _admitted(self, value: Value, party: int, *, clip: bool) -> tuple[float, bool]:
        """The number of a value, and whether it lies outside of the bins."""
        number = _number(value, party, self.where)
        outside = not self.edges[0] <= number <= self.edges[-1]
        if outside and not clip:
            message = f"outside of the bins from {self.edges[0]:g} to {self.edges[-1]:g}"
            raise OutOfRange(f"{message}: pass clip=True, or add bins", party, self.where)
        return number, outside

    def decode(self, total: NoisySum) -> ValueEstimate:
        """The frequency and count of each bin, from a noisy sum."""
        return Plain(self.terms).decode(replace(total, sums=total.sums[: self.bins]))

    def _bin(self, number: float) -> int:
        found = int(np.searchsorted(np.array(self.edges), number, side="right")) - 1
        return min(max(found, 0), self.bins - 1)


def checked_edges(bins: int | Sequence[float], span: tuple[float, float] | None) -> Floats:
    """The edges of all bins: those given, or equal bins over the range.

    Raises:
        UsageError: fewer than two bins, edges that do not increase, or a range where
            edges are given, or none where they are not.
    """
    if isinstance(bins, (int, np.integer)):
        if span is None:
            raise UsageError("say from where to where: range=(low, high)", "range")
        if not 0 < bins <= MOST_DIMENSION:
            raise UsageError(f"must be from 2 to {MOST_DIMENSION}", "bins")
        low, high = map(float, ends_of(span))
        edges = np.linspace(low, high, int(bins) + 1)
    else:
        if not isinstance(bins, (Sequence, np.ndarray)) or isinstance(bins, (str, bytes)):
            raise UsageError("must be a number of bins, or all their edges", "bins")
        if span is not None:
            raise UsageError("edges are given: leave out the range", "range")
        try:
            edges = np.array([float(edge) for edge in bins])
        except (TypeError, ValueError, OverflowError):
            raise UsageError("edges are numbers", "bins") from None
    if len(edges) < 3 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise UsageError("must be at least two bins with finite, increasing edges", "bins")
    return edges


def _number(value: Value, party: int, where: str) -> float:
    structure = Structure.of(value, party)
    if structure.size != 1:
        raise InvalidValue("a single number", party, where)
    return float(structure.flatten(value, party)[0])


_HALF_DISTANCE: Final = Decimal("0.70710678118654752441")
"""Half of sqrt(2), rounded up: the vectors of two parties are at most sqrt(2) apart."""

_COUNTS: Final[Mapping[str, Any]] = {"range": (0, 1), "norm": _HALF_DISTANCE, "integers": True}
"""What a plan is for in which everybody adds one to one bin."""


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

    @property
    def kind(self) -> str:
        return "histogram"

    @property
    def value(self) -> Floats:
        """The counts of the bins."""
        return self.counts

    @property
    def error(self) -> Floats:
        """The standard error of each count."""
        return np.asarray(self.sum_stderr)

    @property
    def labels(self) -> list[str]:
        """The bins, from edge to edge."""
        edges = [f"{edge:g}" for edge in self.edges]
        return [f"{low} to {high}" for low, high in pairwise(edges)]

    def _draw(self, axes: Axes) -> None:
        draw_bins(axes, self.edges, self.value, self.error)

    def headlines(self) -> list[tuple[str, str]]:
        """The counts, in words."""
        return [("counts", numbers(self.sum, self.sum_stderr))]


def histogram(
    values: Values,
    bins: int | Sequence[float] = 10,
    plan: Plan | None = None,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Histogram:
    """How many parties have their value in which bin, privately.

    `bins` is a number of equal bins over `range`, or all edges, increasing. Another value
    of one party moves one count down and one up: an L2 sensitivity of sqrt(2), whatever
    the number of bins. A plan that is given has the range 0 to 1 and one dimension for
    each bin. Values outside are refused, or with `clip` counted in the outermost bins.
    Further keywords and errors are those of `average`.

    >>> ages = [23, 35, 41, 38, 62, 29, 55, 47, 33, 71]
    >>> result = gopa.histogram(ages, range=(0, 100), bins=4, epsilon=8, delta=1e-6, corrupt=1)
    >>> len(result.counts), result.edges.tolist()
    (4, [0.0, 25.0, 50.0, 75.0, 100.0])
    """
    asked = AggregationRequest.of(plan, options)
    listed = asked.values(values)
    edges = checked_edges(bins, range)
    made = asked.plan(
        n=len(listed),
        absent=count_absent(listed),
        dimension=len(edges) - 1,
        **_COUNTS,
    )
    encoding = OneHot(made.terms, tuple(edges.tolist()))
    with LocalAggregator(made, clip=clip, **asked.run) as aggregator:
        found = aggregator.aggregate(listed, encoding)
    return Histogram(**vars(found), edges=edges)


def histograms(
    table: Values,
    bins: int | Mapping[Any, int | Sequence[float]] = 10,
    *,
    range: Mapping[Any, tuple[float, float]] | None = None,  # noqa: A002
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> dict[Any, Histogram]:
    """A private histogram of each column of a table, by its name, under one epsilon for all.

    `bins` says for each column how many equal bins there are over its `range`, or all edges; one
    number is for all columns. A column for which `bins` says nothing is left out. Each column takes
    a round of its own in one session, and its noise pays for all of them: the error of a count
    grows with the number of columns, at most with its square root. A plan is made for the call;
    further keywords and errors are those of `average`.

    >>> people = [{"age": 10 * (i % 8), "smokes": i % 2} for i in range(40)]
    >>> bins = {"age": [0, 18, 65, 100], "smokes": [0, 0.5, 1]}
    >>> found = gopa.histograms(people, bins, epsilon=8, delta=1e-6)
    >>> {name: len(each.counts) for name, each in found.items()}
    {'age': 3, 'smokes': 2}
    """
    asked = AggregationRequest.of(None, options)
    listed = asked.values(table)
    first = next((value for value in listed if value is not None), None)
    if not isinstance(first, Mapping):
        raise UsageError(
            "must be a table, or a list of dicts: for one column there is gopa.histogram", "table"
        )
    names = list(bins) if isinstance(bins, Mapping) else list(first)
    require_columns(bins, first, "bins")
    if not names or not isinstance(range, Mapping | None):
        message = (
            "say of every column how many there are, and over which range: {name: (low, high)}"
        )
        raise UsageError(message, "range" if names else "bins")
    require_columns(range, names, "range")
    edges = {
        name: checked_edges(
            bins[name] if isinstance(bins, Mapping) else bins, (range or {}).get(name)
        )
        for name in names
    }
    most = max(map(len, edges.values()))
    made = asked.plan(
        n=len(listed),
        absent=count_absent(listed),
        dimension=most - 1,
        rounds=len(names),
        **_COUNTS,
    )
    by_column = {}
    for name, own in edges.items():
        encoding = OneHot(made.terms, tuple(own.tolist()), most - len(own), f"[{name!r}]")
        by_column[name] = encoding, _column(listed, name)
    for encoding, column in by_column.values():
        encoding.require(column, clip=clip)
    found = {}
    with LocalAggregator(made, clip=clip, **asked.run) as aggregator:
        for name, (encoding, column) in by_column.items():
            result = aggregator.aggregate(column, encoding)
            found[name] = Histogram(**vars(result), edges=edges[name])
    return found


def _column(rows: Sequence[Value | None], name: Any) -> list[Value | None]:
    """The values of one column, a value for each row.

    Raises:
        InvalidValue: a row has nothing by that name.
    """
    for party, row in enumerate(rows):
        if row is not None and not (isinstance(row, Mapping) and name in row):
            raise InvalidValue(f"lacks [{name!r}], which the first value has", party)
    return [row[name] if isinstance(row, Mapping) else None for row in rows]


async def histogram_async(
    values: Values,
    bins: int | Sequence[float] = 10,
    plan: Plan | None = None,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Histogram:
    """`histogram` in a thread of its own."""
    return await asyncio.to_thread(histogram, values, bins, plan, range=range, clip=clip, **options)
