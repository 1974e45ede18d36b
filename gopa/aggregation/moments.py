"""A number and its square in one round: what a variance takes.

With the range moved to c in [-1, 1], a party contributes u = (c + 1) / 2 and c^2, both
between 0 and 1. For two parties the squared distance is (c - c')^2 (1/4 + (c + c')^2). For
a given c + c' it is largest with one of them at an end; there its derivative vanishes at
c' = (sqrt(2) - 2) / 4, where it is 1.28615.. This is the squared sensitivity, less than
the 2 of two unrelated numbers. Specification: `specs/10-values.md`, [Q10].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from commitments.group import Stream
from gopa.aggregation.bounds import Bounds
from gopa.aggregation.encoding import Encoded, Estimate, NoisySum, structure_of
from gopa.aggregation.grid import Grid, Integers, round_exactly
from gopa.aggregation.structure import Structure, Value
from gopa.planning import Terms
from wire.errors import UsageError

HALF_DISTANCE: Final = Fraction("0.567044")
"""Half the distance, in widths of the range, rounded up."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The mean of the values, and the mean of their squared distances from the middle.

    Raises:
        UsageError: the plan has another dimension than 2, or noise for a smaller
            sensitivity than that of the two numbers after rounding.
    """

    terms: Terms

    def __post_init__(self) -> None:
        if self.terms.dimension != 2:
            raise UsageError("a variance takes a plan with dimension 2", "plan")
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
        rows: list[Integers | None] = []
        clipped = 0
        for party, value in enumerate(values):
            if value is None:
                rows.append(None)
                continue
            given = bounds.admit(structure.flatten(value, party), structure, party, clip=clip)
            clipped += given.clipped
            rows.append(self._row(bounds.grid.position(float(given.values[0])), stream))
        both = Structure.of((0.0, 0.0))
        return Encoded(both, tuple(rows), clipped, 0, exact=False)

    def _row(self, position: Fraction, stream: Stream) -> Integers:
        centred = 2 * position / self.terms.steps - 1
        positions = (position, centred**2 * self.terms.steps)
        words = stream.bits(64, 2)
        pairs = zip(positions, words, strict=True)
        return np.array([round_exactly(exact, word, stream) for exact, word in pairs])

    def decode(self, total: NoisySum) -> Estimate:
        """Both means, in the units of the values and their squares."""
        grid = Grid.of(self.terms)
        scales = np.array([grid.step, float(grid.width) ** 2 / 4 / self.terms.steps])
        offsets = np.array([float(grid.low), 0.0])
        sums = total.sums.astype(np.float64)
        deviations = scales * math.sqrt(total.noise + total.count / 4)
        return Estimate(
            mean=offsets + scales * sums / total.count,
            mean_deviation=deviations / total.count,
            total=total.count * offsets + scales * sums,
            total_deviation=deviations,
            rounding=grid.step**2 / total.count / 4,
        )
