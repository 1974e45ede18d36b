"""Columns of a table, each with a range of its own, or a greatest length.

A plan has one range for all numbers. Here that range is from -1 to 1, and each column is moved and
stretched to it, so that its noise is in proportion to its own range. Specification:
10-Q15.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Final, TypeAlias

import numpy as np

from commitments.group import Stream
from gopa.aggregation.encoding import (
    Encoded,
    Encoding,
    NoisySum,
    ValueEstimate,
    length,
)
from gopa.aggregation.options import ends_of, exact
from gopa.aggregation.values import OutOfRange, Structure, Value, keys_of
from gopa.aggregation.weighting import WeightedRange
from gopa.planning import Terms
from gopa.planning.target import Number
from gopa.support.arrays import Floats
from gopa.support.wording import meant
from wire.errors import UsageError

Span: TypeAlias = tuple[Number, Number]

Ranges: TypeAlias = Span | Mapping[Any, Span]
"""The range of all numbers, or of each column by its name."""

Norms: TypeAlias = Number | Mapping[Any, Number] | None
"""The greatest length of a vector, or of each column that holds one."""

UNIT: Final = (Decimal(-1), Decimal(1))
"""The range of the plan, to which every column is stretched."""

_ROUNDED_UP: Final = Context(prec=30, rounding=ROUND_CEILING)
_NORM_OF_FLOATS: Final = 1 + 1e-12
"""More than the length of a vector of floats, scaled to the norm, is off by."""


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """One column of a table: its name, where its numbers stand, and what they are held to.

    `norm` is None where single numbers are held to the range alone.
    """

    name: Any
    place: slice
    low: Decimal
    high: Decimal
    norm: float | None

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return int(self.place.stop) - int(self.place.start)

    @property
    def ends(self) -> tuple[float, float]:
        """The nearest floats to both ends of its range."""
        return float(self.low), float(self.high)


@dataclass(frozen=True, slots=True)
class Stretched:
    """A row in the range of the plan; how many numbers were clipped, whether it was shortened."""

    vector: Floats
    clipped: int
    scaled: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """All columns of a table, in the order of their numbers."""

    columns: tuple[ColumnBounds, ...]

    @classmethod
    def of(cls, value: Value, span: object, norm: object) -> Columns:
        """The columns of a row, of which `span` and `norm` say something by their names.

        A pair as `span` is the range of each column without a norm.

        Raises:
            UsageError: the value has no columns; one has no range, or a range and a norm; or there
                is no such column.
        """
        if not isinstance(value, Mapping):
            message = "ranges by name are for dicts and tables: give one, as (low, high)"
            raise UsageError(message, "range" if isinstance(span, Mapping) else "norm")
        norms = norm if isinstance(norm, Mapping) else {}
        if norm is not None and not isinstance(norm, Mapping):
            message = "where ranges have names, so has a norm: norm={column: its greatest length}"
            raise UsageError(message, "norm")
        names = keys_of(value)
        for field, given in (("range", span), ("norm", norms)):
            require_columns(given, names, field)
        found, start = list[ColumnBounds](), 0
        for name in names:
            size = Structure.of(value[name]).size
            place = slice(start, start + size)
            found.append(_column(name, place, span, norms))
            start += size
        return cls(tuple(found))

    @property
    def norm(self) -> Decimal | None:
        """How long a stretched row is at most; None where ranges say that already."""
        if all(column.norm is None for column in self.columns):
            return None
        square = sum(column.size if column.norm is None else 1 for column in self.columns)
        return _ROUNDED_UP.sqrt(Decimal(square))

    @property
    def centres(self) -> Floats:
        """The middle of each number's range."""
        return self._spread([sum(column.ends) / 2 for column in self.columns])

    @property
    def halves(self) -> Floats:
        """Half the width of each number's range."""
        return self._spread([float(column.high - column.low) / 2 for column in self.columns])

    def stretched(self, value: Value, structure: Structure, party: int, *, clip: bool) -> Stretched:
        """A row in the range of the plan.

        Raises:
            InvalidValue, OutOfRange: the row does not fit, as with one range.
        """
        vector = structure.flatten(value, party)
        clipped, scaled = 0, False
        for column in self.columns:
            part = vector[column.place]
            if column.norm is not None:
                part, shortened = _shortened(column, part, party, clip=clip)
                scaled = scaled or shortened
            low, high = column.ends
            outside = (part < low) | (part > high)
            if outside.any() and not clip:
                where = column.place.start + int(np.flatnonzero(outside)[0])
                raise _outside(column, party, structure.coordinate(where))
            clipped += int(np.count_nonzero(outside))
            vector[column.place] = np.clip(part, low, high)
        # A float at an end may be moved a little beyond it: it is that end.
        return Stretched(np.clip((vector - self.centres) / self.halves, -1.0, 1.0), clipped, scaled)

    def require_plan(self, terms: Terms) -> None:
        """`UsageError` for a plan of another range than that to which columns are stretched.

        With weights whose lengths are proved the range is wider: that of lengths.
        """
        wider = terms.low <= UNIT[0] and UNIT[1] <= terms.high
        if not wider or (not terms.weight_length and (terms.low, terms.high) != UNIT):
            raise self.another_plan()

    def another_plan(self) -> UsageError:
        """The error of a plan that is not for these columns."""
        norm = "" if self.norm is None else f" and norm={self.norm:.6g}"
        return UsageError(f"columns like these need one with range=(-1, 1){norm}", "plan")

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """Both ends of each number's range."""
        return tuple(column.ends for column in self.columns for _ in range(column.size))

    def _spread(self, each: Sequence[float]) -> Floats:
        return np.repeat(np.array(each), [column.size for column in self.columns])


def require_columns(given: object, names: Collection[Any], field: str) -> None:
    """`UsageError` for a name that no column has: its range would be forgotten without a word."""
    for name in given if isinstance(given, Mapping) else ():
        if name not in names:
            hint = meant(str(name), map(str, names), "there are")
            raise UsageError(f"no column is called {name!r}: {hint}", field)


def _column(name: Any, place: slice, span: object, norms: Mapping[Any, object]) -> ColumnBounds:
    spans = span if isinstance(span, Mapping) else None
    if name in norms:
        if spans is not None and name in spans:
            message = f"column {name!r} has a range and a norm: give one of both"
            raise UsageError(message, "norm")
        reach = exact(norms[name], "norm")
        if not reach.is_finite() or reach <= 0:
            raise UsageError(f"the greatest length of column {name!r} is above 0", "norm")
        return _in_floats(ColumnBounds(name, place, -reach, reach, float(reach)), "norm")
    if spans is not None and name not in spans:
        raise UsageError(f"name one for column {name!r}, too", "range")
    low, high = ends_of(span if spans is None else spans[name])
    if high <= low:
        message = f"the upper end must lie above the lower end, in column {name!r}"
        raise UsageError(message, "range")
    return _in_floats(ColumnBounds(name, place, low, high, None), "range")


def _in_floats(column: ColumnBounds, field: str) -> ColumnBounds:
    """The same column; `UsageError` if floats cannot tell its ends apart, or have no such width."""
    low, high = column.ends
    if not sys.float_info.min < (high - low) / 2 < math.inf:
        message = f"floats cannot stretch column {column.name!r} to one from -1 to 1: take another"
        raise UsageError(message, field)
    return column


def _shortened(
    column: ColumnBounds, part: Floats, party: int, *, clip: bool
) -> tuple[Floats, bool]:
    """The numbers of a column that has a norm, scaled towards zero where `clip` allows it."""
    found, most = length(part), column.norm or 0.0
    if found <= most:
        return part, False
    within = found <= most * _NORM_OF_FLOATS
    if not (within or clip):
        message = (
            f"is longer than {most:g}, the norm of its column: scale it, pass clip=True, or plan "
            "with a larger norm"
        )
        raise OutOfRange(message, party, f"[{column.name!r}]")
    return part * (most / found), not within


def _outside(column: ColumnBounds, party: int, where: str) -> OutOfRange:
    message = (
        f"is outside of the range from {column.low} to {column.high}: pass clip=True, or plan with "
        "a larger range"
    )
    return OutOfRange(message, party, where)


@dataclass(frozen=True, slots=True)
class StretchedTable:
    """The rows of a table in the range of the plan; what was clipped, and how many shortened."""

    columns: Columns
    rows: Sequence[Value | None]
    clipped: int
    scaled: int

    @classmethod
    def of(cls, columns: Columns, values: Sequence[Value | None], *, clip: bool) -> StretchedTable:
        """Every row moved and stretched.

        Raises:
            InvalidValue, OutOfRange: a row without the columns of the first, or outside of what
                they are held to, with `clip` off.
        """
        first = next(party for party, value in enumerate(values) if value is not None)
        structure = Structure.of(values[first], first)
        moved = [
            None if value is None else columns.stretched(value, structure, party, clip=clip)
            for party, value in enumerate(values)
        ]
        present = [each for each in moved if each is not None]
        return cls(
            columns,
            [None if each is None else structure.restore(each.vector) for each in moved],
            sum(each.clipped for each in present),
            sum(each.scaled for each in present),
        )


@dataclass(frozen=True, slots=True)
class ByColumn:
    """An encoding of stretched rows, on top of one for one range; sums have their own units."""

    table: StretchedTable
    inner: Encoding

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """The rows of the table, as the other encoding has them."""
        del clip
        # Each row was held to its columns: here it is longer by the blur of floats at most.
        found = self.inner.encode(values, stream, clip=True)
        if found.clipped or found.scaled:
            raise self.table.columns.another_plan()
        return replace(found, clipped=self.table.clipped, scaled=self.table.scaled)

    def decode(self, total: NoisySum) -> ValueEstimate:
        """Mean and sum of each number in its own units."""
        found = self.inner.decode(total)
        columns = self.table.columns
        centres, halves = columns.centres, columns.halves
        weight = total.count if found.weight is None else found.weight
        deviation = np.hypot(
            halves * found.total_deviation, centres * (found.weight_deviation or 0.0)
        )
        if isinstance(self.inner, WeightedRange):
            # Its sums have noise of the weight in them, which adds up with that of the centres.
            deviation = self.inner.deviation(total, centres - halves, 2 * halves)
        return replace(
            found,
            mean=centres + halves * found.mean,
            mean_deviation=halves * found.mean_deviation,
            total=centres * weight + halves * found.total,
            total_deviation=deviation,
            rounding=found.rounding * float(halves.max()) ** 2,
            spans=columns.spans,
        )
