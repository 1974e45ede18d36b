"""Commits to long vectors row by row, and combines their rows at a point.

Rules 14-L3 and 14-L4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from commitments import VectorPedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalar, SecretScalarVec
from commitments.tables import ResidueTable, table_kernels
from wire.domains import ROW_PROOFS
from wire.errors import ComputationFault, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded
from zkp.equations import Term
from zkp.rows.product_tests import ProductTests
from zkp.rows.shape import Integers, RowShape
from zkp.transcript import SESSION_SIZE, DuplexSponge, Transcript
from zkp.vectors import concatenate

_WEIGHT_SIZE: Final = 16
_WORD: Final = 64
_ROOM: Final = 63


class HiddenRows(Guarded):
    """A vector of integers in whole rows, with a blinding for each row.

    The integers have at most `bits` bits and a sign. In their place stands a function where they
    can be made again: it is called when they are needed, once.
    """

    __slots__ = ("_made", "_tested", "bits", "blindings", "points")

    def __init__(
        self,
        values: Integers | Callable[[], Integers],
        blindings: SecretScalarVec,
        points: PointVec,
        bits: int = _WORD,
    ) -> None:
        self._made, self.blindings, self.points, self.bits = values, blindings, points, bits
        self._tested: tuple[ProductTests, Integers] | None = None

    @property
    def values(self) -> Integers:
        """The integers, with zeros behind them."""
        if callable(self._made):
            self._made = self._made()
        return self._made

    def column_sums(self, group: Group, tests: ProductTests) -> Integers:
        """`ProductTests.column_sums`, once: those of the answers are needed for the proof, too."""
        if self._tested is None or self._tested[0] is not tests:
            self._tested = tests, tests.column_sums(group, self.values)
        return self._tested[1]

    def combined(self, group: Group, weights: ResidueTable) -> tuple[SecretScalarVec, SecretScalar]:
        """The sum of rows and of blindings times the entries of a table."""
        row = table_kernels(group).combine_rows(self.values, weights).scalars()
        return row, weights.scalars().inner(self.blindings)


class HiddenPads(Guarded):
    """Pads, with a blinding for each of their rows."""

    __slots__ = ("blindings", "points", "values")

    def __init__(
        self, values: SecretScalarVec, blindings: SecretScalarVec, points: PointVec
    ) -> None:
        self.values, self.blindings, self.points = values, blindings, points

    def combined(self, _: Group, weights: ResidueTable) -> tuple[SecretScalarVec, SecretScalar]:
        """The sum of rows and of blindings times the entries of a table."""
        factors, width = weights.scalars().reveal(), len(self.values) // len(self.blindings)
        total = self.values[:width] * factors[0]
        for at in range(1, len(self.blindings)):
            total = total + self.values[width * at : width * (at + 1)] * factors[at]
        return total, factors.inner(self.blindings)


def hide_rows(
    group: Group, shape: RowShape, vector: Integers, bits: int, *, rng: Rng
) -> HiddenRows:
    """Commit to a vector whose entries lie in [-2^bits, 2^bits), in constant time.

    Raises `UsageError` for other entries, and `ComputationFault` for points that are others.
    """
    values = shape.padded(vector)
    # Where one is too large, so is the bitwise or: one comparison, and only its answer is seen.
    magnitudes = values ^ (values >> 63)
    if np.bitwise_or.reduce(magnitudes) >> bits:
        raise UsageError(f"an entry does not fit in {bits} bits")
    rows = [
        group.secret_scalars(values[start : start + shape.width])
        for start in range(0, shape.entries, shape.width)
    ]
    drawn = _RowBlindings(group, shape.rows, group.secret_scalars(_packed(values, bits)), rng)
    blindings = drawn.first
    key = VectorPedersen(group, shape.width)
    points = key.commit_rows(rows, blindings, bits=bits).points
    hidden = HiddenRows(values, blindings, points, bits)
    drawn.require_committed(hidden)
    return hidden


def hide_pads(group: Group, shape: RowShape, pads: SecretScalarVec, *, rng: Rng) -> HiddenPads:
    """Commit to pads; entries behind them are zeros."""
    rows = [pads[start : start + shape.width] for start in range(0, len(pads), shape.width)]
    drawn = _RowBlindings(group, len(rows), pads, rng)
    blindings = drawn.first
    key = VectorPedersen(group, shape.width)
    end, points = group.points([key.blinding_base]), []
    for at, row in enumerate(rows):
        bases = key.value_bases[: len(row)].concat(end)
        points.append(bases.msm(row.concat(blindings[at : at + 1])))
    filling = len(rows) * shape.width - len(pads)
    values = pads.concat(group.secret_scalars([0] * filling))
    hidden = HiddenPads(values, blindings, group.points(points))
    drawn.require_committed(hidden)
    return hidden


class _RowBlindings:
    """A blinding for each row, from fresh bytes and from what the rows hide (14-E5).

    A generator that repeats gives no two vectors the same ones.
    """

    def __init__(self, group: Group, count: int, witness: SecretScalarVec, rng: Rng) -> None:
        self._group, self._rng = group, rng
        self._transcript = Transcript(ROW_PROOFS)
        self._transcript.absorb_int(b"rows", count)
        self._source = self._transcript.nonce_source(b"blindings", group, count, witness, rng)
        self.first = self._source.draw()

    def require_committed(self, hidden: HiddenRows | HiddenPads) -> None:
        """Compares a random sum of the points with a commitment to that sum of rows.

        Rows are sent before anything is proved about them: one that a fault left without its
        blinding would show its entries. So blindings are drawn a second time for the comparison.
        Weights depend on the points, too: those of a generator that gives zeros alone would
        compare nothing. Raises `ComputationFault`.
        """
        group, count = self._group, len(hidden.blindings)
        self._transcript.absorb(b"fresh", draw(self._rng, SESSION_SIZE))
        self._transcript.absorb_points(b"points", hidden.points)
        sponge = DuplexSponge(self._transcript.digest(b"weights"))
        factors = group.reduce_scalars(sponge.squeeze(_WEIGHT_SIZE * count), _WEIGHT_SIZE)
        row, _ = hidden.combined(group, table_kernels(group).of_scalars(factors))
        blinding = factors.inner(self._source.draw())
        found = hidden.points.vartime_msm(factors)
        if found != VectorPedersen(group, len(row)).commit(row, blinding).points[0]:
            raise ComputationFault("a row is not what was committed to: commit again")


def _packed(values: Integers, bits: int) -> Integers:
    """Several entries in each integer, as many as fit: other entries make others."""
    count = 1 << (max(1, _ROOM // (bits + 1)).bit_length() - 1)
    parts, packed = values.reshape(-1, count), np.zeros(len(values) // count, np.int64)
    for at in range(count):
        packed += parts[:, at] << ((bits + 1) * at)
    return packed


def combined_rows(
    group: Group,
    vectors: Sequence[HiddenRows | HiddenPads],
    factors: Sequence[Scalar],
    point: ScalarVec,
) -> tuple[SecretScalarVec, SecretScalar]:
    """The rows of these vectors and their blindings, added up at a point of the row's bits.

    Each vector is multiplied by its factor.
    """
    kernels, parts = table_kernels(group), []
    for vector, factor in zip(vectors, factors, strict=True):
        weights = kernels.equality(point, len(vector.blindings))
        row, blinding = vector.combined(group, weights)
        parts.append((row * factor, blinding * factor))
    row, blinding = parts[0]
    for other, hiding in parts[1:]:
        row, blinding = row + other, blinding + hiding
    return row, blinding


def weighted_rows(
    group: Group,
    shape: RowShape,
    vectors: Sequence[PointVec],
    factors: Sequence[Scalar],
    point: ScalarVec,
) -> Term:
    """The same sum of the commitments to the rows."""
    most = max(shape.rows, shape.pad_rows)
    weights = table_kernels(group).equality(point, most).scalars().reveal()
    scalars = [
        weights[: len(vector)] * factor for vector, factor in zip(vectors, factors, strict=True)
    ]
    return Term(concatenate(vectors, group.points([])), concatenate(scalars, group.scalars([])))
