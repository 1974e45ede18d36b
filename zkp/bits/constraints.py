"""Linear constraints on hidden bits, and the digest that names a list of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

from commitments.group import Group
from wire.domains import BIT_SHAPE
from wire.errors import UsageError
from zkp.sponge import frame

_PUBLIC: Final = 0
_COMMITTED: Final = 1
_VECTOR: Final = 2


@dataclass(frozen=True, slots=True)
class Row:
    """A linear form in the hidden bits.

    `fixed` holds (position, coefficient) pairs. `varying` holds positions whose
    coefficients each statement brings along. A position may occur several times:
    its coefficients add up.
    """

    fixed: tuple[tuple[int, int], ...]
    varying: tuple[int, ...] = ()

    @classmethod
    def weighted(cls, first: int, weights: Iterable[int]) -> Row:
        """Fixed weights on consecutive positions from `first` on."""
        return cls(tuple(enumerate(weights, start=first)))

    def __add__(self, other: Row) -> Row:
        return Row(self.fixed + other.fixed, self.varying + other.varying)


@dataclass(frozen=True, slots=True)
class Public:
    """<row, bits> + constant = 0."""

    row: Row


@dataclass(frozen=True, slots=True)
class Committed:
    """<row, bits> + constant is the value in a Pedersen commitment."""

    row: Row


@dataclass(frozen=True, slots=True)
class Vector:
    """<rows[j], bits> + constant j is coordinate j in a vector Pedersen commitment."""

    rows: tuple[Row, ...]


Constraint: TypeAlias = Public | Committed | Vector


def rows_of(constraint: Constraint) -> tuple[Row, ...]:
    """The rows of a constraint, one for each value it speaks of."""
    return constraint.rows if isinstance(constraint, Vector) else (constraint.row,)


def require_positions(rows: Sequence[Row], bits: int) -> None:
    """Raises `UsageError` for a row that names a bit that is not there."""
    for row in rows:
        for position in chain((position for position, _ in row.fixed), row.varying):
            if type(position) is not int or not 0 <= position < bits:
                raise UsageError(f"a row names position {position!r}, the bits are 0..{bits - 1}")


def shape_digest(group: Group, bits: int, constraints: Sequence[Constraint]) -> bytes:
    """32 bytes that no other shape has (rule A3)."""
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
    if isinstance(constraint, Vector):
        return bytes([_VECTOR]) + _u32(len(constraint.rows))
    return bytes([_COMMITTED if isinstance(constraint, Committed) else _PUBLIC])


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "big")
