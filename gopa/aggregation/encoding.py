"""Encodes the parties' values as integers on the grid, and decodes the noisy sum to a mean.

An *encoding* says what the integer vectors mean. This module has the plain one, one
coordinate for each number; `weighting` has those with a private weight. Specification:
`specs/10-values.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from commitments.group import Stream
from gopa.aggregation.bounds import Bounds
from gopa.aggregation.grid import Grid, Integers
from gopa.aggregation.structure import Floats, Structure, Value, count_of
from gopa.planning import Terms
from gopa.support.wording import counted
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class Encoded:
    """Holds one row of integers for each party, None for those that do not take part.

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
    """Holds one party's integers, and what was done to its value to get them."""

    integers: Integers
    clipped: int
    scaled: bool
    exact: bool


def encode_rows(
    values: Sequence[Value | None], structure: Structure, row: Callable[[Value, int], EncodedRow]
) -> Encoded:
    """Encodes the values of those that take part, one by one; `row` gets value and party."""
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
    """Holds the sum over the included parties, on the grid, and what it was blurred with.

    `noise` is the variance of the noise in each coordinate, in squared steps; `exact`
    says that nothing was rounded.
    """

    sums: Integers
    count: int
    noise: float
    exact: bool


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    """Says what the sum tells about the values. Deviations are standard errors.

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
    """Says what integer vectors mean: turns values into them, and their sum back."""

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded: ...

    def decode(self, total: NoisySum) -> ValueEstimate: ...


VOUCHED: Final = (
    "this is about any two vectors of a party that are no farther apart than twice the planned "
    "norm; longer vectors are allowed"
)


@dataclass(frozen=True, slots=True)
class Plain:
    """Encodes every number as one coordinate of the plan's grid.

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
