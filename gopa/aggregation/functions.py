"""Averages and sums in one call: a plan, one round, a result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from gopa.aggregation.aggregator import LocalAggregator
from gopa.aggregation.columns import UNIT, ByColumn, Columns, Norms, Ranges, Span, StretchedTable
from gopa.aggregation.encoding import Bounds, checked_count
from gopa.aggregation.grid import Grid
from gopa.aggregation.options import AggregationRequest, PlanKeywords, ends_of
from gopa.aggregation.result import Result
from gopa.aggregation.values import (
    Structure,
    Value,
    Values,
    count_absent,
    require_integers,
    weights_of,
)
from gopa.aggregation.weighting import WeightedRows, Weights, largest_weight
from gopa.planning import Plan
from gopa.planning.target import Number, python_number
from wire.errors import UsageError


def average(  # noqa: PLR0913 - every part of the question has a name
    values: Values,
    plan: Plan | None = None,
    *,
    range: Ranges = (0, 1),  # noqa: A002
    norm: Norms = None,
    integers: bool = False,
    weights: Values | None = None,
    max_weight: Number | None = None,
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Result:
    """The private average of one value for each party, all of them in this process.

    Values are numbers, numpy arrays, or dicts, lists or tuples of values, all of one
    structure; None stands for a party that does not take part, and with `absent="nan"` NaN
    does, too. A column (`pandas.Series`) holds one number for each party, a table
    (`pandas.DataFrame`) one row, and then the mean is a dict by the names of the columns. The
    plan is given, or made for `epsilon` and `delta`, values in `range` and, for vectors, of at
    most the L2 `norm`. A dict as `range` has a pair for each column, and as `norm` a length for
    columns that hold vectors. `integers` promises that all values are integers. With `weights`,
    which stay private and are at most `max_weight`, the average is weighted. Further keywords are
    those of `gopa.plan` and `gopa.LocalAggregator`. What comes out is a simulation.

    >>> hours = [6.5, 7.0, 8.25, 5.5, 7.75, 6.0, 9.0, 7.25, None, 8.0]
    >>> result = gopa.average(hours, range=(0, 12), epsilon=4, delta=1e-6, corrupt=1)
    >>> result.count, result.mode, result.simulation
    (9, 'full', True)
    >>> abs(float(result) - 7.25) < 6 * result.stderr
    True

    Raises:
        OutOfRange: a value lies outside the range or is too long, and `clip` is off.
        UsageError: anything else about the arguments; `field` names it.
        RoundAborted: too many parties were lost.
        WeightTooSmall: the noisy sum of the weights cannot be told from zero.
    """
    asked = AggregationRequest.of(plan, options)
    listed = asked.values(values)
    table, span, reach = _bounded(listed, range, norm, integers=integers, clip=clip)
    if integers:
        require_integers(listed)
    most = None if max_weight is None else largest_weight(max_weight)
    dimension = _dimension(listed) + (most is not None)
    if plan is None:
        if table is None:
            # A vector that is too long is refused for that, which takes a plan to know.
            beyond = reach is not None or python_number(clip) is True
            _require_values(listed, span, clip=beyond)
        if most is not None and weights is not None:
            Weights.checked(weights_of(weights, listed), most, len(listed))
    target = {"n": len(listed), "absent": count_absent(listed), "dimension": dimension}
    weighted = {} if most is None else {"weighted": True}
    integral = integers and most is None  # a weight times an integer is none
    made = asked.plan(range=span, norm=reach, integers=integral, **weighted, **target)
    if table is not None:
        table.columns.require_plan(made.terms)
    with LocalAggregator(made, max_weight=most, clip=clip, **asked.run) as aggregator:
        encoding = aggregator.encoding(listed, weights)
        if plan is None and isinstance(encoding, WeightedRows):
            # The plan's range is that of lengths: what the caller said of values is held to here.
            encoding = replace(encoding, span=Bounds(Grid(*ends_of(span), 1), None))
        if table is not None:
            return aggregator.aggregate(table.rows, ByColumn(table, encoding))
        return aggregator.aggregate(listed, encoding)


def sum(  # noqa: A001, PLR0913 - the name under which users look for it
    values: Values,
    plan: Plan | None = None,
    *,
    range: Ranges = (0, 1),  # noqa: A002
    norm: Norms = None,
    integers: bool = False,
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Result:
    """The private sum, in `Result.sum`; arguments and errors are those of `average`.

    >>> votes = [True, False, True, True, False, True, True, True, False, True]
    >>> result = gopa.sum(votes, integers=True, epsilon=4, delta=1e-6, corrupt=1)
    >>> str(result).startswith("sum"), abs(float(result) - 7) < 6 * result.sum_stderr
    (True, True)
    """
    found = average(values, plan, range=range, norm=norm, integers=integers, clip=clip, **options)
    return replace(found, asked="sum")


async def average_async(  # noqa: PLR0913 - as `average`
    values: Values,
    plan: Plan | None = None,
    *,
    range: Ranges = (0, 1),  # noqa: A002
    norm: Norms = None,
    integers: bool = False,
    weights: Values | None = None,
    max_weight: Number | None = None,
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Result:
    """`average` in a thread of its own."""
    return await asyncio.to_thread(
        average,
        values,
        plan,
        range=range,
        norm=norm,
        integers=integers,
        weights=weights,
        max_weight=max_weight,
        clip=clip,
        **options,
    )


async def sum_async(  # noqa: PLR0913 - as `sum`
    values: Values,
    plan: Plan | None = None,
    *,
    range: Ranges = (0, 1),  # noqa: A002
    norm: Norms = None,
    integers: bool = False,
    clip: bool = False,
    **options: Unpack[PlanKeywords],
) -> Result:
    """`sum` in a thread of its own."""
    return await asyncio.to_thread(
        sum, values, plan, range=range, norm=norm, integers=integers, clip=clip, **options
    )


def _bounded(
    values: Sequence[Value | None], span: Ranges, norm: Norms, *, integers: bool, clip: bool
) -> tuple[StretchedTable | None, Span, Number | None]:
    """What the plan's range and norm are, after the table for which columns say their own."""
    if not isinstance(span, Mapping) and not isinstance(norm, Mapping):
        return None, span, norm
    if integers:
        message = "columns with ranges of their own are rounded: leave it out, or give one range"
        raise UsageError(message, "integers")
    checked_count(values, len(values))
    columns = Columns.of(next(value for value in values if value is not None), span, norm)
    table = StretchedTable.of(columns, values, clip=python_number(clip) is True)
    return table, UNIT, columns.norm


def _require_values(values: Sequence[Value | None], span: Span, *, clip: bool) -> None:
    """What encoding refuses of single numbers, before a plan is made for them.

    Raises:
        InvalidValue: a value without the structure of the first one, or no number.
        OutOfRange: a number outside the range, with `clip` off.
    """
    bounds = Bounds(Grid(*ends_of(span), 1), None)
    structure = None
    for party, value in enumerate(values):
        if value is not None:
            structure = structure or Structure.of(value, party)
            bounds.admit(structure.flatten(value, party), structure, party, clip=clip)


def _dimension(values: Sequence[Value | None]) -> int:
    """How many numbers the first value holds; 1 where there is none, which is refused later."""
    for party, value in enumerate(values):
        if value is not None:
            return Structure.of(value, party).size
    return 1
