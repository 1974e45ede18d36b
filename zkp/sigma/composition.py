"""Statements of statements (specification 02, section 5).

* `AllOf` and `AnyOf`: all of them, or at least t of n. A witness that is used inside a threshold
  and outside of it is *not* linked: the proof says that some scalars satisfy each statement, not
  that they are the same scalars. To link them, put a commitment to the scalar into both
  statements and prove its opening in each branch.
* `conjoin`: several relations as one, with scalars in common. One secret is proved to satisfy
  several statements at once; `AllOf` does not say that, it keeps the witnesses apart.

How the challenge of a threshold statement is split: the challenges of n children are the values
P(1), .., P(n) of a polynomial of degree at most n - t with P(0) the challenge of the whole. The
proof carries the other coefficients, so sub-challenges that do not belong together cannot be
written down. A prover may choose n - t values freely before it sees P(0); t are left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TypeAlias, TypeVar

from commitments.group import Group, Scalar, ScalarVec, SecretScalar
from wire.errors import UsageError
from zkp.sigma.relation import (
    ImageTerm,
    LinearRelation,
    RelationEquation,
    RelationShape,
    RelationTerm,
    Violation,
)

S = TypeVar("S", Scalar, SecretScalar)


def evaluate(group: Group, polynomial: Sequence[S], at: int) -> S:
    """The value at `at` of the polynomial with these coefficients, constant term first."""
    place = group.scalar(at)
    value = polynomial[-1]
    for coefficient in polynomial[-2::-1]:
        value = value * place + coefficient
    return value


def interpolate(order: int, values: Mapping[int, int]) -> list[int]:
    """The coefficients of the polynomial of least length through (place, value) pairs.

    Places are distinct mod the prime `order`. The polynomial has as many
    coefficients as there are pairs, constant term first.
    """
    result: list[int] = []
    vanishing = [1]  # product of (X - place) over the places done so far
    for place, value in values.items():
        missing = value - _at(order, result, place)
        step = missing * pow(_at(order, vanishing, place), -1, order) % order
        result = [*result, 0]
        result = [(a + step * b) % order for a, b in zip(result, vanishing, strict=True)]
        shifted, scaled = [0, *vanishing], [*(place * b for b in vanishing), 0]
        vanishing = [(a - b) % order for a, b in zip(shifted, scaled, strict=True)]
    return result


def _at(order: int, polynomial: Sequence[int], place: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * place + coefficient) % order
    return value


def conjoin(parts: Sequence[tuple[LinearRelation, Sequence[int]]]) -> LinearRelation:
    """Make the relation that all of these hold, for one list of scalars.

    Beside each relation stands, for each of its scalars, the index of that scalar
    in the joint witness: equal indices mean the same secret. Elements are kept
    apart, in order.

    Raises:
        UsageError: no parts, several groups, or a list of indices that does not fit.
    """
    if not parts:
        raise UsageError("give at least one relation")
    first = parts[0][0]
    points = first.group.points([])
    equations: list[RelationEquation] = []
    for relation, indices in parts:
        if relation.group != first.group:
            raise UsageError("the relations must be over one group")
        if len(indices) != relation.shape.scalar_count:
            raise UsageError("give one joint index for each scalar of the relation")
        equations += _renumber(relation.shape, indices, len(points))
        points = points.concat(relation.points)
    return LinearRelation(RelationShape(first.group, tuple(equations), 1 + len(points)), points)


def _renumber(shape: RelationShape, scalars: Sequence[int], offset: int) -> list[RelationEquation]:
    def element(index: int) -> int:
        return index + offset if index else 0

    return [
        RelationEquation(
            tuple(ImageTerm(element(t.element), t.coefficient) for t in e.image),
            tuple(
                RelationTerm(scalars[t.scalar], element(t.element), t.coefficient) for t in e.terms
            ),
        )
        for e in shape.equations
    ]


class _Composed:
    """A composition of relations, its children, all over one group."""

    children: tuple[Statement, ...]

    def __post_init__(self) -> None:
        if not self.children:
            raise UsageError("a composed statement needs at least one child")
        if any(child.group != self.group for child in self.children):
            raise UsageError("the children of a composed statement must be over one group")

    @property
    def group(self) -> Group:
        """The group of every child."""
        return self.children[0].group

    def _first_violation(self) -> Violation | None:
        """The first rule that a child breaks."""
        return next((child.violation for child in self.children if child.violation), None)


@dataclass(frozen=True, eq=False)
class AllOf(_Composed):
    """The relation that every child holds. Children share no witness: for that use one relation."""

    children: tuple[Statement, ...]

    @cached_property
    def violation(self) -> Violation | None:
        """The first rule that a child breaks."""
        return self._first_violation()

    def serialize(self) -> bytes:
        """The encoding that binds the whole statement; prefix-free."""
        return b"\x01" + _u32(len(self.children)) + _serialize_children(self.children)


@dataclass(frozen=True, eq=False)
class AnyOf(_Composed):
    """The relation that at least `threshold` of the children hold; which ones stays hidden."""

    threshold: int
    children: tuple[Statement, ...]

    @property
    def degree(self) -> int:
        """The degree of the challenge polynomial: how many children may be simulated."""
        return len(self.children) - self.threshold

    @cached_property
    def violation(self) -> Violation | None:
        """The first of rules 02-T1 and 02-T2, or of a child's rules, that is broken."""
        if not 1 <= self.threshold <= len(self.children):  # T1
            return Violation("02-T1", "the threshold must be from 1 to the number of children")
        invalid = self._first_violation()
        if invalid is None and len({tagged(c) for c in self.children}) < len(self.children):  # T2
            return Violation("02-T2", "two children are equal: one witness would count twice")
        return invalid

    def serialize(self) -> bytes:
        """The encoding that binds the whole statement; prefix-free."""
        counts = _u32(self.threshold) + _u32(len(self.children))
        return b"\x02" + counts + _serialize_children(self.children)


Statement: TypeAlias = LinearRelation | AllOf | AnyOf


def tagged(statement: Statement) -> bytes:
    """The encoding of a statement as a child of another."""
    if isinstance(statement, LinearRelation):
        return b"\x00" + statement.serialize()
    return statement.serialize()


def leaves(statement: Statement) -> list[LinearRelation]:
    """The linear relations of a statement, from left to right."""
    if isinstance(statement, LinearRelation):
        return [statement]
    return [leaf for child in statement.children for leaf in leaves(child)]


def fresh_copy(statement: Statement) -> Statement:
    """The same statement with nothing computed yet.

    A prover checks its proof against one: what it keeps itself may be wrong.
    """
    if isinstance(statement, LinearRelation):
        return LinearRelation(statement.shape, statement.points)
    children = tuple(map(fresh_copy, statement.children))
    if isinstance(statement, AllOf):
        return AllOf(children)
    return AnyOf(statement.threshold, children)


@dataclass(frozen=True, slots=True)
class ProofSize:
    """The numbers of group elements and scalars in a proof of a statement."""

    commitments: int
    coefficients: int
    responses: int


def count(statement: Statement) -> ProofSize:
    """The dimensions of a proof. They depend on the statement alone."""
    if isinstance(statement, LinearRelation):
        return ProofSize(statement.shape.equation_count, 0, statement.shape.scalar_count)
    own = statement.degree if isinstance(statement, AnyOf) else 0
    parts = [count(child) for child in statement.children]
    return ProofSize(
        sum(part.commitments for part in parts),
        sum(part.coefficients for part in parts) + own,
        sum(part.responses for part in parts),
    )


def leaf_challenges(
    statement: Statement, challenge: Scalar, coefficients: ScalarVec
) -> list[Scalar]:
    """The challenge of each leaf, given that of the whole and all polynomial coefficients.

    A threshold statement takes its coefficients before its children take theirs.
    """
    return list(_assign(statement, challenge, iter(coefficients)))


def _assign(
    statement: Statement, challenge: Scalar, coefficients: Iterator[Scalar]
) -> Iterator[Scalar]:
    if isinstance(statement, LinearRelation):
        yield challenge
    elif isinstance(statement, AllOf):
        for child in statement.children:
            yield from _assign(child, challenge, coefficients)
    else:
        polynomial = [challenge, *islice(coefficients, statement.degree)]
        for place, child in enumerate(statement.children, start=1):
            own = evaluate(statement.group, polynomial, place)
            yield from _assign(child, own, coefficients)


def _serialize_children(children: tuple[Statement, ...]) -> bytes:
    return b"".join(map(tagged, children))


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")
