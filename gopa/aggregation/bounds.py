"""Holds inputs to what a plan allows: a public range, and for vectors a greatest length.

A plan with a norm counts on any two inputs being at most sqrt(squared_sensitivity) steps
apart on the grid, after rounding. They are if each is within half of that of the origin:
rounding moves a vector by less than the square root of the number of its coordinates
that were not on the grid. Where lengths are proved longer vectors are admitted, and rounded
again while that made them too long. Specification: `specs/10-values.md`, section 2, and [Y2] of 14.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from commitments.group import Stream
from gopa.aggregation.errors import OutOfRange
from gopa.aggregation.grid import Grid, Integers, squared_length
from gopa.aggregation.structure import Floats, Structure
from gopa.contract.lengths import longest_input
from gopa.contract.row_terms import of_single_counts, origin
from gopa.planning import Terms

_SAFE: Final = 1 - 1e-13
"""More than a length is off by; the planner leaves more room than that."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Holds an input that the plan allows, and what was changed to make it so."""

    values: Floats
    clipped: int
    scaled: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """Knows the range of every coordinate and, if the plan relies on it, the longest vector.

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
