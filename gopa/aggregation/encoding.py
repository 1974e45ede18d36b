"""Values within what a plan allows, as integers on the grid; and means out of noisy sums.

An *encoding* says what the integer vectors mean. This module has the plain one, one
coordinate for each number; `weighting` has those with a private weight. Specification:
`specs/10-values.md`; of lengths also 14-Y2. A plan with a norm counts on any two inputs being at
most sqrt(squared_sensitivity) steps apart on the grid, after rounding. They are if each is within
half of that of the origin: rounding moves a vector by less than the square root of the number of
its coordinates that were not on the grid. Where lengths are proved longer vectors are admitted,
and rounded again while that made them too long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from commitments.group import Stream
from gopa.aggregation.grid import Grid, squared_length
from gopa.aggregation.values import OutOfRange, Structure, Value, count_of
from gopa.contract.lengths import longest_input
from gopa.contract.row_terms import of_single_counts, origin
from gopa.planning import Terms
from gopa.support.arrays import Floats, Integers
from gopa.support.wording import counted
from wire.errors import UsageError
from wire.secret import Guarded

_SAFE: Final = 1 - 1e-13
"""More than a length is off by; the planner leaves more room than that."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Admitted(Guarded):
    """An input that the plan allows, and what was changed to make it so."""

    values: Floats
    clipped: int
    scaled: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range of every coordinate and, if the plan relies on it, the longest vector.

    `reach` is the greatest distance from the origin on the grid, in steps. Where that is what
    is proved, `proved` is its square, and `origin` the point from which it is measured.
    """

    grid: Grid
    reach: float | None
    proved: int | None = None
    origin: int = 0

    @classmethod
    def of(cls, terms: Terms) -> Bounds:
        """The bounds a plan's noise was made for."""
        if not terms.bounds_length:
            return cls(Grid.of(terms), None)
        # The ball of a single count is larger than what two parties may be apart.
        if terms.squared_norm and not of_single_counts(terms):
            reach = math.sqrt(terms.squared_norm)
            return cls(Grid.of(terms), reach, terms.squared_norm, origin(terms))
        return cls(Grid.of(terms), math.sqrt(terms.squared_sensitivity) / 2)

    def longest(self, rounded: int) -> float:
        """The greatest length of a vector with so many coordinates that get rounded."""
        if self.reach is None:
            return math.inf
        if self.proved is not None:
            return longest_input(self.proved, rounded) * self.grid.step * _SAFE
        return (self.reach - math.sqrt(rounded)) * self.grid.step * _SAFE

    def round(self, values: Floats, stream: Stream) -> Integers:
        """Admitted values on the grid, rounded again while that made them too long to prove."""
        while True:
            rounded = self.grid.round(values, stream)
            if self.proved is None or squared_length(rounded, self.origin) <= self.proved:
                return rounded

    def admit(
        self,
        values: Floats,
        structure: Structure,
        party: int,
        *,
        clip: bool,
        beside: float | None = None,
    ) -> Admitted:
        """The values as they are, or with `clip` the nearest that the plan allows.

        Clipping scales a vector that is too long first, which keeps its direction, and then
        moves single coordinates into the range. `beside` is the length of a further
        coordinate, in the units of the values, that is rounded too.

        Raises:
            OutOfRange: `clip` is off and the vector is too long, or the first coordinate
                outside the range is named.
        """
        scaled = self.reach is not None and self._is_too_long(values, beside)
        if scaled:
            values = self._shortened(values, party, beside, clip=clip)
        low, high = self.grid.ends
        outside = (values < low) | (values > high)
        clipped = int(np.count_nonzero(outside))
        if clipped and not clip:
            message = (
                f"is outside of the range from {self.grid.low} to {self.grid.high}: "
                "pass clip=True, or plan with a larger range"
            )
            where = structure.coordinate(int(np.flatnonzero(outside)[0]))
            raise OutOfRange(message, party, where)
        return Admitted(np.clip(values, low, high) if clipped else values, clipped, scaled)

    def _is_too_long(self, values: Floats, beside: float | None) -> bool:
        rounded = self.grid.count_rounded(values) + (beside is not None)
        return math.hypot(length(values), beside or 0.0) > self.longest(rounded)

    def _shortened(self, values: Floats, party: int, beside: float | None, *, clip: bool) -> Floats:
        longest = self.longest(len(values) + (beside is not None))
        if not clip:
            message = (
                f"is a vector longer than the plan allows ({longest:.6g}): scale it, "
                "pass clip=True, or plan with a larger norm"
            )
            raise OutOfRange(message, party)
        low, high = self.grid.ends
        if not low <= 0 <= high:
            message = "vectors are shortened towards zero, which the range does not contain"
            raise OutOfRange(message, party)
        room = longest * abs(longest) - (beside or 0.0) ** 2
        if room <= 0:
            raise OutOfRange("the plan leaves no room for vectors: plan with a larger norm", party)
        return values * (math.sqrt(room) * _SAFE / length(values))


def length(values: Floats) -> float:
    """The L2 norm of a vector."""
    return math.sqrt(float(np.sum(values * values)))


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row of integers for each party, None for those that do not take part.

    `clipped` counts coordinates that were moved into the range, `scaled` vectors that
    were shortened, `exact` says that nothing was rounded.
    """

    structure: Structure
    rows: tuple[Integers | None, ...]
    clipped: int
    scaled: int
    exact: bool


@dataclass(frozen=True, slots=True)
class EncodedRow:
    """One party's integers, and what was done to its value to get them."""

    integers: Integers
    clipped: int
    scaled: bool
    exact: bool


def encode_rows(
    values: Sequence[Value | None], structure: Structure, row: Callable[[Value, int], EncodedRow]
) -> Encoded:
    """The rows of those that take part, encoded one by one; `row` gets value and party."""
    rows = [None if value is None else row(value, party) for party, value in enumerate(values)]
    present = [each for each in rows if each is not None]
    return Encoded(
        structure,
        tuple(None if each is None else each.integers for each in rows),
        clipped=sum(each.clipped for each in present),
        scaled=sum(each.scaled for each in present),
        exact=all(each.exact for each in present),
    )


@dataclass(frozen=True, slots=True)
class NoisySum:
    """The sum over the included parties, on the grid, and what it was blurred with.

    `noise` is the variance of the noise in each coordinate, in squared steps; `exact`
    says that nothing was rounded.
    """

    sums: Integers
    count: int
    noise: float
    exact: bool


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    """What the sum tells about the values. Deviations are standard errors.

    `rounding` is the part of the variance of the mean that rounding has at most; `weight`
    and its deviation are None without weights. `defined` is False where the weights are
    too small to divide by. `spans` holds both ends of the range of each number, where they have
    ranges of their own.
    """

    mean: Floats
    mean_deviation: Floats
    total: Floats
    total_deviation: Floats
    rounding: float
    weight: float | None = None
    weight_deviation: float | None = None
    defined: bool = True
    spans: tuple[tuple[float, float], ...] | None = None


class Encoding(Protocol):
    """What integer vectors mean: values become such vectors, and their sum a value again."""

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded: ...

    def decode(self, total: NoisySum) -> ValueEstimate: ...


VOUCHED: Final = (
    "this is about any two vectors of a party that are no farther apart than twice the planned "
    "norm; longer vectors are allowed"
)


@dataclass(frozen=True, slots=True)
class Plain:
    """The encoding of every number as one coordinate of the plan's grid.

    With `vouched` vectors keep to the range alone: the caller answers for how far apart any two
    are that are not to be told apart.

    Raises:
        UsageError: vectors are vouched for, and the session proves how long they are.
    """

    terms: Terms
    vouched: bool = False

    def __post_init__(self) -> None:
        if self.vouched and self.terms.squared_norm and self.terms.bounds_length:
            message = (
                "no vector is longer than planned where lengths are proved: leave it out, or plan "
                'with path="bits"'
            )
            raise UsageError(message, "vouched")

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """Every value on the grid, rounded without bias.

        Raises:
            InvalidValue: a value without the structure of the first one, or no number.
            OutOfRange: a value that the plan does not allow, with `clip` off.
            UsageError: not one value for each party of the plan, or of another dimension.
        """
        structure = structure_of(values, self.terms.parties, self.terms.dimension)
        bounds = Bounds(Grid.of(self.terms), None) if self.vouched else Bounds.of(self.terms)

        def row(value: Value, party: int) -> EncodedRow:
            given = bounds.admit(structure.flatten(value, party), structure, party, clip=clip)
            exact = not bounds.grid.count_rounded(given.values)
            integers = bounds.round(given.values, stream)
            return EncodedRow(integers, given.clipped, given.scaled, exact)

        return encode_rows(values, structure, row)

    def decode(self, total: NoisySum) -> ValueEstimate:
        """Mean and sum in the units of the values."""
        grid = Bounds.of(self.terms).grid
        rounding = 0.0 if total.exact else total.count / 4
        deviation = grid.step * (total.noise + rounding) ** 0.5
        sums = total.sums.astype(np.float64)
        blurred = np.full(len(sums), deviation)
        return ValueEstimate(
            mean=grid.values(sums / total.count),
            mean_deviation=blurred / total.count,
            total=total.count * float(grid.low) + grid.step * sums,
            total_deviation=blurred,
            rounding=grid.step**2 * rounding / total.count**2,
        )


def structure_of(values: Sequence[Value | None], parties: int, dimension: int) -> Structure:
    """The structure of the first value that is there, held against the plan.

    Raises:
        InvalidValue: it is no nested value of numbers.
        UsageError: not one value for each party of the plan, or of another dimension.
    """
    checked_count(values, parties)
    first = next(party for party, value in enumerate(values) if value is not None)
    structure = Structure.of(values[first], first)
    if structure.size != dimension:
        message = (
            f"each value holds {counted(structure.size, 'number')} and the plan is for "
            f"{dimension}: plan with this dimension (one more with weights)"
        )
        raise UsageError(message, "values")
    return structure


def checked_count(values: Sequence[Value | None], parties: int) -> None:
    """`UsageError` unless there is one value, or None, for each party, and one value at all."""
    count = count_of(values, "values")
    if count != parties:
        message = f"the plan is for {parties} parties and {count} values are given"
        raise UsageError(f"{message}: None stands for a party that does not take part", "values")
    if all(value is None for value in values):
        raise UsageError("at least one party must have a value", "values")
