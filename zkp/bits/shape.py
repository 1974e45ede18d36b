"""Describes which hidden bits enter which linear constraint, and names it by a digest.

A shape is made once and serves any number of statements. Its digest stands for it
in every transcript, so ten thousand proofs of one shape hash its rows once.
Rules 06-A2 and 06-A3.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

from commitments.group import Group, ScalarVec
from wire.domains import BIT_SHAPE
from wire.errors import UsageError
from zkp.bits.layout import Layout, distinct_dimensions, layout_of
from zkp.transcript import frame
from zkp.vectors import constant

_PUBLIC: Final = 0
_COMMITTED: Final = 1
_VECTOR: Final = 2


@dataclass(frozen=True, slots=True)
class BitForm:
    """A linear form in the hidden bits.

    `fixed` holds (position, coefficient) pairs. `varying` holds positions whose
    coefficients each statement brings along. A position may occur several times:
    its coefficients add up.
    """

    fixed: tuple[tuple[int, int], ...]
    varying: tuple[int, ...] = ()

    @classmethod
    def weighted(cls, first: int, weights: Iterable[int]) -> BitForm:
        """Fixed weights on consecutive positions from `first` on."""
        return cls(tuple(enumerate(weights, start=first)))

    def __add__(self, other: BitForm) -> BitForm:
        return BitForm(self.fixed + other.fixed, self.varying + other.varying)


@dataclass(frozen=True, slots=True)
class Public:
    """The demand that <row, bits> + constant = 0."""

    row: BitForm


@dataclass(frozen=True, slots=True)
class CommittedValue:
    """The demand that <row, bits> + constant is the value in a Pedersen commitment."""

    row: BitForm


@dataclass(frozen=True, slots=True)
class CommittedVector:
    """The demand that <rows[j], bits> + constant j is coordinate j of a vector commitment."""

    rows: tuple[BitForm, ...]


Constraint: TypeAlias = Public | CommittedValue | CommittedVector


def rows_of(constraint: Constraint) -> tuple[BitForm, ...]:
    """The rows of a constraint, one for each value it speaks of."""
    return constraint.rows if isinstance(constraint, CommittedVector) else (constraint.row,)


def require_positions(rows: Sequence[BitForm], bits: int) -> None:
    """Raises `UsageError` for a row that names a bit that is not there."""
    for row in rows:
        for position in chain((position for position, _ in row.fixed), row.varying):
            if type(position) is not int or not 0 <= position < bits:
                raise UsageError(f"a row names position {position!r}, the bits are 0..{bits - 1}")


def shape_digest(group: Group, bits: int, constraints: Sequence[Constraint]) -> bytes:
    """32 bytes that no other shape has (06-A3)."""
    hashed = hashlib.sha256(frame(BIT_SHAPE) + frame(group.name.encode()))
    hashed.update(_u32(bits) + _u32(len(constraints)))
    for constraint in constraints:
        hashed.update(_kind(constraint))
        for row in rows_of(constraint):
            hashed.update(_u32(len(row.fixed)))
            hashed.update(b"".join(_u32(position) for position, _ in row.fixed))
            hashed.update(group.scalars([value for _, value in row.fixed]).to_bytes())
            hashed.update(_u32(len(row.varying)))
            hashed.update(b"".join(map(_u32, row.varying)))
    return hashed.digest()


def _kind(constraint: Constraint) -> bytes:
    if isinstance(constraint, CommittedVector):
        return bytes([_VECTOR]) + _u32(len(constraint.rows))
    return bytes([_COMMITTED if isinstance(constraint, CommittedValue) else _PUBLIC])


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class _Layer:
    """At most one entry of the matrix of rows for each bit: in which row, and what.

    `values` of a fixed layer are coefficients; of a varying one, places in the
    statement's list of coefficients, counted from 1. Zero is no entry in both.
    """

    rows: list[int]
    values: list[int]


class ConstraintShape:
    """The constraints of a statement without its constants and commitments. Immutable."""

    __slots__ = (
        "_columns",
        "_fixed",
        "_places",
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
        """Prepare the shape of a statement for its constraints.

        Raises:
            UsageError: no bits, no constraints, or a position that is no bit.
        """
        if not constraints:
            raise UsageError("a statement needs at least one constraint")
        rows = [row for constraint in constraints for row in rows_of(constraint)]
        vectors = [len(c.rows) for c in constraints if isinstance(c, CommittedVector)]
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

    def _prepare(self, rows: Sequence[BitForm]) -> None:
        length = self.layout.bit_positions
        fixed, columns = _dense([(i, *entry) for i, row in enumerate(rows) for entry in row.fixed])
        self._columns = [(of_rows, self.group.scalars(values)) for _, of_rows, values in columns]
        places_of = {position: at for at, (position, *_) in enumerate(columns, start=1)}
        self._places = [places_of.get(position, 0) for position in range(length)]
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
        if self._columns:
            one, sums = constant(self.group, 1, 1), constant(self.group, 0, 1)
            for rows, coefficients in self._columns:
                sums = sums.concat(one * weights.gather(rows).inner(coefficients))
            total = total + sums.gather(self._places)
        supplied = constant(self.group, 0, 1).concat(varying)
        for layer in self._varying:
            total = total + weights.gather(layer.rows) * supplied.gather(layer.values)
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstraintShape):
            return NotImplemented
        return self.group == other.group and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Shape: {self.row_count} rows over {self.layout.bits} bits>"


def _committed_rows(constraints: Sequence[Constraint]) -> list[int]:
    found, at = [], 0
    for constraint in constraints:
        if isinstance(constraint, CommittedValue):
            found.append(at)
        at += len(rows_of(constraint))
    return found


def _numbering(constraints: Sequence[Constraint], layout: Layout) -> tuple[list[int], list[int]]:
    """The number of each row, counted from 0, and the repetition of its dimension.

    Public and committed rows are numbered first, in order; then come the rows of
    the vector constraints by increasing dimension.
    """
    starts, at = {}, sum(not isinstance(constraint, CommittedVector) for constraint in constraints)
    for dimension in layout.dimensions:
        starts[dimension], at = at, at + dimension
    seen = dict.fromkeys(layout.dimensions, 0)
    numbers: list[int] = []
    repeats: list[int] = []
    scalar = 0
    for constraint in constraints:
        if isinstance(constraint, CommittedVector):
            dimension = len(constraint.rows)
            numbers += range(starts[dimension], starts[dimension] + dimension)
            repeats += [seen[dimension]] * dimension
            seen[dimension] += 1
        else:
            numbers.append(scalar)
            repeats.append(0)
            scalar += 1
    return numbers, repeats


_Entry = tuple[int, int, int]
_MANY: Final = 32
"""Rows of one position from which on they are one inner product, not as many layers."""


def _dense(
    entries: Sequence[_Entry],
) -> tuple[list[_Entry], list[tuple[int, list[int], list[int]]]]:
    """The (row, position, value) entries of positions with few rows; and columns of the others.

    A number that many rows share, such as a weight that bounds all coordinates, would make a
    layer of the whole length for each of them.
    """
    counts = Counter(position for _, position, _ in entries)
    dense = {position for position, count in counts.items() if count > _MANY}
    columns: dict[int, tuple[list[int], list[int]]] = {each: ([], []) for each in sorted(dense)}
    for row, position, value in entries:
        if position in dense:
            columns[position][0].append(row)
            columns[position][1].append(value)
    few = [entry for entry in entries if entry[1] not in dense]
    return few, [(position, *column) for position, column in columns.items()]


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
