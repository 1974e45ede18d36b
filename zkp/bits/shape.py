"""The fixed part of a statement: which bits enter which constraint, and how.

A shape is made once and serves any number of statements. Its digest stands for it
in every transcript, so ten thousand proofs of one shape hash its rows once.
Specification 06, rules A2 and A3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commitments.group import Group, ScalarVec
from wire.errors import UsageError
from zkp.bits.constraints import (
    Committed,
    Constraint,
    Row,
    Vector,
    require_positions,
    rows_of,
    shape_digest,
)
from zkp.bits.layout import Layout, distinct_dimensions, layout_of
from zkp.vectors import constant


@dataclass(frozen=True, slots=True)
class _Layer:
    """At most one entry of the matrix of rows for each bit: in which row, and what.

    `values` of a fixed layer are coefficients; of a varying one, places in the
    statement's list of coefficients, counted from 1. Zero is no entry in both.
    """

    rows: list[int]
    values: list[int]


class Shape:
    """The constraints of a statement without its constants and commitments. Immutable."""

    __slots__ = (
        "_fixed",
        "_varying",
        "committed_rows",
        "constraints",
        "digest",
        "extension_keys",
        "group",
        "layout",
        "numbers",
        "repeats",
        "row_count",
        "varying_count",
        "vector_dimensions",
        "vector_keys",
        "vector_ranks",
    )

    def __init__(self, group: Group, bits: int, constraints: Sequence[Constraint]) -> None:
        """Prepare a shape.

        Raises:
            UsageError: no bits, no constraints, or a position that is no bit.
        """
        if not constraints:
            raise UsageError("a statement needs at least one constraint")
        rows = [row for constraint in constraints for row in rows_of(constraint)]
        vectors = [len(c.rows) for c in constraints if isinstance(c, Vector)]
        self.group = group
        self.constraints: tuple[Constraint, ...] = tuple(constraints)
        self.vector_dimensions: tuple[int, ...] = tuple(vectors)
        self.layout: Layout = layout_of(bits, distinct_dimensions(vectors))
        require_positions(rows, bits)
        self.row_count: int = len(rows)
        self.committed_rows: tuple[int, ...] = tuple(_committed_rows(constraints))
        numbers, repeats = _numbering(constraints, self.layout)
        self.numbers: tuple[int, ...] = tuple(numbers)
        self.repeats: tuple[int, ...] = tuple(repeats)
        self.vector_ranks: tuple[int, ...] = tuple(
            vectors[:place].count(dimension) for place, dimension in enumerate(vectors)
        )
        keys = {dimension: key for key, dimension in enumerate(self.layout.dimensions)}
        self.vector_keys: tuple[int, ...] = tuple(keys[dimension] for dimension in vectors)
        self.extension_keys: tuple[int, ...] = tuple(
            key for dimension, key in keys.items() for _ in range(dimension)
        )
        self.digest: bytes = shape_digest(group, bits, constraints)
        self._prepare(rows)

    def _prepare(self, rows: Sequence[Row]) -> None:
        length = self.layout.bit_positions
        fixed = ((i, *entry) for i, row in enumerate(rows) for entry in row.fixed)
        self._fixed = [
            (layer.rows, self.group.scalars(layer.values)) for layer in _layers(fixed, length)
        ]
        places = [(i, position) for i, row in enumerate(rows) for position in row.varying]
        self.varying_count: int = len(places)
        varying = ((*place, source) for source, place in enumerate(places, start=1))
        self._varying = _layers(varying, length)

    @property
    def number_count(self) -> int:
        """Different row numbers; vector rows of one dimension share theirs."""
        return self.row_count - sum(self.vector_dimensions) + self.layout.extension

    def combine(self, weights: ScalarVec, varying: ScalarVec) -> ScalarVec:
        """The weighted sum of all rows: one coefficient for each bit position."""
        total = constant(self.group, 0, self.layout.bit_positions)
        for rows, coefficients in self._fixed:
            total = total + weights.gather(rows) * coefficients
        supplied = constant(self.group, 0, 1).concat(varying)
        for layer in self._varying:
            total = total + weights.gather(layer.rows) * supplied.gather(layer.values)
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        return self.group == other.group and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Shape: {self.row_count} rows over {self.layout.bits} bits>"


def _committed_rows(constraints: Sequence[Constraint]) -> list[int]:
    found, at = [], 0
    for constraint in constraints:
        if isinstance(constraint, Committed):
            found.append(at)
        at += len(rows_of(constraint))
    return found


def _numbering(constraints: Sequence[Constraint], layout: Layout) -> tuple[list[int], list[int]]:
    """For each row its number, counted from 0, and the repetition of its dimension.

    Public and committed rows are numbered first, in order; then come the rows of
    the vector constraints by increasing dimension.
    """
    starts, at = {}, sum(not isinstance(constraint, Vector) for constraint in constraints)
    for dimension in layout.dimensions:
        starts[dimension], at = at, at + dimension
    seen = dict.fromkeys(layout.dimensions, 0)
    numbers: list[int] = []
    repeats: list[int] = []
    scalar = 0
    for constraint in constraints:
        if isinstance(constraint, Vector):
            dimension = len(constraint.rows)
            numbers += range(starts[dimension], starts[dimension] + dimension)
            repeats += [seen[dimension]] * dimension
            seen[dimension] += 1
        else:
            numbers.append(scalar)
            repeats.append(0)
            scalar += 1
    return numbers, repeats


def _layers(entries: Iterable[tuple[int, int, int]], length: int) -> list[_Layer]:
    """Split (row, position, value) entries so that each layer is two dense vectors."""
    depth = [0] * length
    layers: list[_Layer] = []
    for row, position, value in entries:
        level = depth[position]
        depth[position] += 1
        if level == len(layers):
            layers.append(_Layer([0] * length, [0] * length))
        layers[level].rows[position] = row
        layers[level].values[position] = value
    return layers
