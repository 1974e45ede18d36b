"""Computes over tables of residues in Python: slow, and not in constant time.

The tests hold the native kernels against these. Specification:
`specs/14-long-vectors.md`, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from commitments.group import AnyScalar, AnyScalarVec, Group
from commitments.reference.arguments import count, foreign, integer, same_length
from commitments.reference.bigint import mpz
from commitments.reference.curve import Curve
from commitments.reference.group import ReferenceGroup
from commitments.reference.scalar_vectors import (
    ReferenceScalarVec,
    ReferenceSecretScalarVec,
    any_vector,
)
from commitments.reference.scalars import Concealed, ReferenceSecretScalar, any_residue
from commitments.tables import Integers, Places, ResidueTable, TableKernels, Words
from wire.errors import UsageError

_MOST: Final = 8
_MOST_BITS: Final = 24
_Kind = TypeVar("_Kind", np.int64, np.uint64, np.uint32)


class ReferenceTable(Concealed):
    """`commitments.tables.ResidueTable` in Python."""

    __slots__ = ("curve", "entries")

    def __init__(self, curve: Curve, entries: Sequence[int]) -> None:
        self.curve, self.entries = curve, entries

    def __len__(self) -> int:
        return len(self.entries)

    def entry(self, index: int, /) -> ReferenceSecretScalar:
        at = count(index, "the index")
        return self._scalars(self.entries[at : at + 1] or [0])[0]

    def fold(self, by: AnyScalar, half: int, /) -> ReferenceTable:
        factor = any_residue(self.curve, by)
        lines = self.lines(count(half, "the half"))
        return self._with([low + factor * step for low, step in lines])

    def pair_sums(self, other: ResidueTable, half: int, /) -> ReferenceSecretScalarVec:
        others, half = reference_table(self.curve, other), count(half, "the half")
        same_length(len(self), len(others), "tables")
        pairs = list(zip(self.lines(half), others.lines(half), strict=True))
        ends = sum(low * other for (low, _), (other, _) in pairs)
        return self._scalars([ends, sum(step * other for (_, step), (_, other) in pairs)])

    def power_sums(self, exponent: int, half: int, /) -> ReferenceSecretScalarVec:
        exponent, lines = integer(exponent, "the exponent"), self.lines(count(half, "the half"))
        if not 2 <= exponent <= _MOST:
            raise UsageError(f"an exponent lies between 2 and {_MOST}")
        return self._scalars(
            [
                comb(exponent, k) * sum(low ** (exponent - k) * step**k for low, step in lines)
                for k in range(exponent + 1)
                if k != 1
            ]
        )

    def times(self, other: ResidueTable, /) -> ReferenceTable:
        others = reference_table(self.curve, other).entries
        if not others or len(self) % len(others):
            raise UsageError(f"{len(self)} entries are no multiple of {len(others)}")
        return self._with([entry * others[j % len(others)] for j, entry in enumerate(self.entries)])

    def inner(self, other: ResidueTable, /) -> ReferenceSecretScalar:
        others = reference_table(self.curve, other).entries
        same_length(len(self), len(others), "inner product")
        return self._sum(zip(self.entries, others, strict=True))

    def inner_words(self, words: Words, /) -> ReferenceSecretScalar:
        values = _integers(words, np.uint64)
        same_length(len(self), len(values), "inner product")
        return self._sum(zip(self.entries, values, strict=True))

    def bit_inners(self, bits: bytes, /) -> ReferenceTable:
        strings = _strings(bits, len(self))
        return self._with([sum(_chosen(self.entries, string)) for string in strings])

    def permuted(self, places: Places, signs: bytes, /) -> ReferenceTable:
        moved = _integers(places, np.uint32)
        strings = _strings(signs, len(moved))
        if len(strings) != 1 or len(moved) > len(self):
            raise UsageError("a permutation has a sign for each place, and fits the table")
        if sorted(moved) != list(range(len(moved))):
            raise UsageError("places are a permutation: each of them once")
        entries = list(self.entries)
        for place, entry, sign in zip(moved, self.entries, strings[0], strict=False):
            entries[place] = -entry if sign else entry
        return self._with(entries)

    def scalars(self) -> ReferenceSecretScalarVec:
        return self._scalars(self.entries)

    def __repr__(self) -> str:
        return f"<ResidueTable: {len(self)} entries>"

    def lines(self, half: int) -> list[tuple[int, int]]:
        """Each entry of the first half, and what leads from it to the second half."""
        low, high = self.entries[:half], self.entries[half : 2 * half]
        padded = [*high, *[mpz(0)] * (len(low) - len(high))]
        return [(entry, other - entry) for entry, other in zip(low, padded, strict=True)]

    def _with(self, entries: Sequence[int]) -> ReferenceTable:
        return _reduced(self.curve, entries)

    def _scalars(self, values: Sequence[int]) -> ReferenceSecretScalarVec:
        order = self.curve.order
        return ReferenceScalarVec(
            self.curve, tuple(mpz(value % order) for value in values)
        ).secret()

    def _sum(self, pairs: Any) -> ReferenceSecretScalar:
        return self._scalars([sum(entry * other for entry, other in pairs)])[0]


def reference_table(curve: Curve, table: object) -> ReferenceTable:
    """The table, if it is one of this backend."""
    if isinstance(table, ReferenceTable) and table.curve is curve:
        return table
    raise foreign(curve, "table", table)


class _Kernels:
    """The maker of tables over one curve."""

    def __init__(self, curve: Curve) -> None:
        self._curve = curve

    def of_scalars(self, scalars: AnyScalarVec, /) -> ResidueTable:
        return ReferenceTable(self._curve, self._residues(scalars))

    def of_integers(self, integers: Integers, /) -> ReferenceTable:
        return _reduced(self._curve, _integers(integers, np.int64))

    def integer_power_sums(
        self, integers: Integers, exponent: int, half: int, /
    ) -> ReferenceSecretScalarVec:
        values = _integers(integers, np.int64)
        found = self.of_integers(integers).power_sums(exponent, half)
        bits = (126 - len(values).bit_length()) // exponent - 1
        if not all(-(1 << bits) <= value < 1 << bits for value in values):
            raise UsageError(f"an integer does not fit in {bits} bits")
        return found

    def equality(self, point: AnyScalarVec, size: int, /) -> ReferenceTable:
        return self._spread([(1 - p, p) for p in self._residues(point)], size)

    def equality_sum(
        self, points: AnyScalarVec, factors: AnyScalarVec, size: int, /
    ) -> ReferenceTable:
        given, weights = self._residues(points), self._residues(factors)
        if not weights or len(given) % len(weights):
            raise UsageError(f"{len(given)} scalars do not divide into {len(weights)} points")
        bits = len(given) // len(weights)
        parts = [given[start : start + bits] for start in range(0, len(given), bits)]
        tables = [self._spread([(1 - p, p) for p in part], size).entries for part in parts]
        columns = zip(*tables, strict=True)
        sums = [sum(w * e for w, e in zip(weights, each, strict=True)) for each in columns]
        return _reduced(self._curve, sums)

    def equality_words(
        self, points: AnyScalarVec, factors: AnyScalarVec, words: Words, /
    ) -> ReferenceSecretScalar:
        size = len(_integers(words, np.uint64))
        return self.equality_sum(points, factors, size).inner_words(words)

    def equality_moved(
        self,
        points: AnyScalarVec,
        factors: AnyScalarVec,
        moves: tuple[Places, bytes],
        at: AnyScalarVec,
        size: int,
        /,
    ) -> ReferenceSecretScalar:
        table = self.equality_sum(points, factors, size)
        same_length(len(points), len(factors) * len(at), "points of one length")
        return table.permuted(*moves).inner(self.equality(at, size))

    def products(self, factors: AnyScalarVec, size: int, /) -> ResidueTable:
        return self._spread([(1, factor) for factor in self._residues(factors)], size)

    def combine(self, factors: AnyScalarVec, tables: Sequence[ResidueTable], /) -> ResidueTable:
        weights, held = self._residues(factors), [self._entries(table) for table in tables]
        same_length(len(weights), len(held), "tables and factors")
        sums = [mpz(0)] * max(map(len, held), default=0)
        for weight, entries in zip(weights, held, strict=True):
            for place, entry in enumerate(entries):
                sums[place] += weight * entry
        return _reduced(self._curve, sums)

    def combine_rows(self, integers: Integers, weights: ResidueTable, /) -> ResidueTable:
        values, held = _integers(integers, np.int64), self._entries(weights)
        if not values or not held or len(values) % len(held):
            raise UsageError(f"{len(values)} integers do not divide into {len(held)} rows")
        width = len(values) // len(held)
        columns = (values[column::width] for column in range(width))
        sums = [sum(w * v for w, v in zip(held, each, strict=True)) for each in columns]
        return _reduced(self._curve, sums)

    def combine_bits(self, weights: ResidueTable, bits: bytes, size: int, /) -> ResidueTable:
        held = self._entries(weights)
        if not held:
            raise UsageError("a sum of strings needs at least one")
        strings = _strings(bits, size)
        same_length(len(held), len(strings), "strings and weights")
        columns = ([string[j] for string in strings] for j in range(size))
        return _reduced(self._curve, [sum(_chosen(held, column)) for column in columns])

    def row_bit_sums(self, integers: Integers, bits: bytes, size: int, /) -> bytes:
        values, strings = _integers(integers, np.int64), _strings(bits, size)
        if len(values) % size:
            raise UsageError(f"{len(values)} integers do not divide into rows of {size}")
        rows = (values[start : start + size] for start in range(0, len(values), size))
        sums = [sum(_chosen(row, string)) % (1 << 64) for row in rows for string in strings]
        return np.array(sums, np.uint64).tobytes()

    def _residues(self, vector: AnyScalarVec) -> Sequence[int]:
        return any_vector(self._curve, vector).residues

    def _entries(self, table: ResidueTable) -> Sequence[int]:
        return reference_table(self._curve, table).entries

    def _spread(self, pairs: Sequence[tuple[int, int]], size: int) -> ReferenceTable:
        """Products of one of each pair, by the bits of the index."""
        if len(pairs) > _MOST_BITS:
            raise UsageError(f"a table has at most {_MOST_BITS} bits, not {len(pairs)}")
        if count(size, "the number of entries") > 1 << len(pairs):
            raise UsageError(f"{size} entries are more than {len(pairs)} bits tell apart")
        entries = [mpz(1)]
        for pair in pairs:
            entries = [entry * factor % self._curve.order for entry in entries for factor in pair]
        return ReferenceTable(self._curve, entries[:size])


def reference_kernels(group: Group) -> TableKernels:
    """The kernels over the curve of this group."""
    if not isinstance(group, ReferenceGroup):
        raise UsageError(f"expected the reference backend, not {group.backend}")
    kernels = _Kernels(group.curve)
    return TableKernels(
        kernels.of_scalars,
        kernels.of_integers,
        kernels.integer_power_sums,
        kernels.equality,
        kernels.equality_sum,
        kernels.equality_words,
        kernels.equality_moved,
        kernels.products,
        kernels.combine,
        kernels.combine_rows,
        kernels.combine_bits,
        kernels.row_bit_sums,
    )


def _reduced(curve: Curve, entries: Sequence[int]) -> ReferenceTable:
    return ReferenceTable(curve, [mpz(entry % curve.order) for entry in entries])


def _chosen(values: Sequence[int], string: Sequence[int]) -> list[int]:
    return [value for value, bit in zip(values, string, strict=True) if bit]


def _integers(values: npt.NDArray[_Kind], kind: type[_Kind]) -> list[int]:
    """Integers of exactly this kind."""
    try:
        array = np.asarray(memoryview(values))  # type: ignore[arg-type]
    except TypeError:
        array = np.zeros((0, 0))
    if array.ndim != 1 or array.dtype != np.dtype(kind) or not array.flags.c_contiguous:
        raise UsageError(
            f"a C-contiguous, one-dimensional buffer of {np.dtype(kind)} is needed: "
            "convert the array"
        )
    found: list[int] = array.tolist()
    return found


def _strings(bits: bytes, size: int) -> list[list[int]]:
    """Strings of so many bits."""
    if not isinstance(bits, bytes):
        raise UsageError(f"bits are bytes, not {type(bits).__name__}")
    stride = -(-count(size, "the number of bits") // 8)
    if size == 0 or len(bits) % stride:
        raise UsageError(f"{len(bits)} bytes are no strings of {size} bits")
    rows = np.frombuffer(bits, np.uint8).reshape(-1, stride)
    found: list[list[int]] = np.unpackbits(rows, axis=1, bitorder="little")[:, :size].tolist()
    return found
