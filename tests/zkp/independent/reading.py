"""Statements of the library in the words of the independent verifier, and both answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from commitments.group import Point
from tests.zkp.independent.bit_argument import (
    Committed,
    Constraint,
    Public,
    Row,
    Statement,
    Vector,
    verify,
)
from wire.errors import InvalidProof, MalformedMessage
from zkp import bits
from zkp.transcript import Transcript

Answer = tuple[str, str, int | None] | None
"""None for a proof that holds; else the error, its check or field, and the offset."""


def answer(check: Callable[[], None]) -> Answer:
    """What a verifier says. Errors that no proof may cause are not caught."""
    try:
        check()
    except InvalidProof as error:
        return "InvalidProof", error.check, None
    except MalformedMessage as error:
        return "MalformedMessage", error.field, error.offset
    return None


def independent_answer(
    statement: bits.BitStatement,
    proof: bytes,
    onto: Transcript,
    *,
    published: Point | None = None,
) -> Answer:
    """The answer of the independent verifier to a statement of the library."""
    same = read(statement)
    return answer(lambda: verify(statement.group, same, proof, onto, published=published))


def read(statement: bits.BitStatement) -> Statement:
    """The same statement, by its public parts alone."""
    parts = _Parts(statement)
    constraints = tuple(parts.constraint(each) for each in statement.shape.constraints)
    return Statement(statement.shape.layout.bits, constraints)


class _Parts:
    """What belongs to one statement, handed out in the order of the constraints."""

    def __init__(self, statement: bits.BitStatement) -> None:
        self._constants: Iterator[int] = iter(statement.constants.ints())
        self._varying: Iterator[int] = iter(statement.varying.ints())
        self._commitments = iter(statement.commitments)
        self._vectors = iter(statement.vectors)

    def constraint(self, constraint: bits.Constraint) -> Constraint:
        if isinstance(constraint, bits.CommittedVector):
            return Vector(tuple(map(self._row, constraint.rows)), next(self._vectors))
        row = self._row(constraint.row)
        if isinstance(constraint, bits.CommittedValue):
            return Committed(row, next(self._commitments))
        return Public(row)

    def _row(self, row: bits.BitForm) -> Row:
        supplied = islice(self._varying, len(row.varying))
        varying = tuple(zip(row.varying, supplied, strict=True))
        return Row(row.fixed, next(self._constants), varying)
