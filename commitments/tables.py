"""What both backends compute over tables: values of functions at the corners of a cube.

A table has an entry, a residue mod the order, for every index; an index of v bits is a corner of a
cube of v dimensions, its most significant bit the first coordinate. Entries behind the end of a
table are zeros. Nothing here knows what is proved about tables. Specification:
`specs/14-long-vectors.md`, section 4.

Strings of bits are bytes, the lowest bit first, and each string begins with a new byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import AnyScalar, AnyScalarVec, Group, SecretScalar, SecretScalarVec

Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.uint32]


class ResidueTable(Protocol):
    """Secret residues in the form that products are quickest in; never printed or pickled.

    Operations leave a table as it is. What they return is secret, too: who knows that it is public
    reveals it.
    """

    def __len__(self) -> int: ...

    def entry(self, index: int, /) -> SecretScalar: ...

    def fold(self, by: AnyScalar, half: int, /) -> ResidueTable:
        """lo + by (hi - lo), with lo the first `half` entries and hi those behind them."""

    def pair_sums(self, other: ResidueTable, half: int, /) -> SecretScalarVec:
        """The sum of (lo + X (hi - lo)) (lo' + X (hi' - lo')): its coefficients of 1 and X^2."""

    def power_sums(self, exponent: int, half: int, /) -> SecretScalarVec:
        """The sum of (lo + X (hi - lo))^e, e from 2 to 8: its coefficients of 1, X^2, .., X^e."""

    def times(self, other: ResidueTable, /) -> ResidueTable:
        """Each entry times one of the other table, which is taken again and again."""

    def inner(self, other: ResidueTable, /) -> SecretScalar:
        """The sum of the products of entries; the tables have one length."""

    def inner_words(self, words: Words, /) -> SecretScalar:
        """The same with unsigned 64-bit words."""

    def bit_inners(self, bits: bytes, /) -> ResidueTable:
        """The sums of entries where a string of bits has a 1, one for each string."""

    def permuted(self, places: Places, signs: bytes, /) -> ResidueTable:
        """Entry j at place `places[j]`, negated where bit j of the signs is 1; others stay."""

    def scalars(self) -> SecretScalarVec: ...


@dataclass(frozen=True, slots=True)
class TableKernels:
    """The maker of tables; on the native backend its time depends on no entry and no integer.

    of_scalars(scalars), of_integers(integers): the table of these.
    integer_power_sums(integers, exponent, half): `ResidueTable.power_sums` of that table, for
        integers so small that no sum reaches 2^126; others are refused.
    equality(point, count): entry j is the product of p_i where bit i of j is 1, and of 1 - p_i
        where it is 0; the first `count` entries.
    equality_sum(points, factors, count): the sum of such tables, one for each factor, times the
        factors; the points have one length and stand one behind the other.
    equality_words(points, factors, words): the inner product of such a sum and words, which costs
        no table.
    equality_moved(points, factors, (places, signs), at, count): that of such a sum, permuted as
        `ResidueTable.permuted` does, and the table of equality with one more point.
    products(factors, count): entry j is the product of the factors at the bits of j that are 1.
    combine(factors, tables): the sum of tables times factors.
    combine_rows(integers, weights): the sum of rows of integers times the entries of a table.
    combine_bits(weights, bits, count): the sum of strings of `count` bits times those entries.
    row_bit_sums(integers, bits, count): for each row of `count` integers, and each string, the sum
        of the integers where it has a 1, mod 2^64: signed 64-bit integers as bytes.
    """

    of_scalars: Callable[[AnyScalarVec], ResidueTable]
    of_integers: Callable[[Integers], ResidueTable]
    integer_power_sums: Callable[[Integers, int, int], SecretScalarVec]
    equality: Callable[[AnyScalarVec, int], ResidueTable]
    equality_sum: Callable[[AnyScalarVec, AnyScalarVec, int], ResidueTable]
    equality_words: Callable[[AnyScalarVec, AnyScalarVec, Words], SecretScalar]
    equality_moved: Callable[
        [AnyScalarVec, AnyScalarVec, tuple[Places, bytes], AnyScalarVec, int], SecretScalar
    ]
    products: Callable[[AnyScalarVec, int], ResidueTable]
    combine: Callable[[AnyScalarVec, Sequence[ResidueTable]], ResidueTable]
    combine_rows: Callable[[Integers, ResidueTable], ResidueTable]
    combine_bits: Callable[[ResidueTable, bytes, int], ResidueTable]
    row_bit_sums: Callable[[Integers, bytes, int], bytes]


def table_kernels(group: Group) -> TableKernels:
    """The kernels of the backend that this group runs on."""
    if group.backend == "native":
        from commitments import native

        return TableKernels(
            native.scalar_table,
            native.integer_table,
            native.integer_power_sums,
            native.equality_table,
            native.equality_sum,
            native.equality_words,
            native.equality_moved,
            native.product_table,
            native.combine_tables,
            native.combine_rows,
            native.combine_bits,
            native.row_bit_sums,
        )
    from commitments.reference.tables import reference_kernels

    return reference_kernels(group)
