"""Statements made of statements: all of them, or at least t of n (specification 02, section 5).

A witness that is used inside a threshold and outside of it is *not* linked: the
proof says that some scalars satisfy each statement, not that they are the same
scalars. To link them, put a commitment to the scalar into both statements and
prove its opening in each branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from commitments.group import Group, Scalar, ScalarVec
from wire.errors import UsageError
from zkp.sigma.relation import LinearRelation
from zkp.sigma.shape import Violation
from zkp.sigma.threshold import evaluate


@dataclass(frozen=True, eq=False)
class AllOf:
    """Every child holds. Children share no witness; use one relation where they should."""

    children: tuple[Statement, ...]

    def __post_init__(self) -> None:
        _require_one_group(self.children)

    @property
    def group(self) -> Group:
        """The group of every child."""
        return self.children[0].group

    @cached_property
    def violation(self) -> Violation | None:
        """The first rule that a child breaks."""
        return _first_violation(self.children)

    def serialize(self) -> bytes:
        """The encoding that binds the whole statement; prefix-free."""
        return b"\x01" + _u32(len(self.children)) + _serialize_children(self.children)


@dataclass(frozen=True, eq=False)
class AnyOf:
    """At least `threshold` of the children hold; which ones stays hidden."""

    threshold: int
    children: tuple[Statement, ...]

    def __post_init__(self) -> None:
        _require_one_group(self.children)

    @property
    def group(self) -> Group:
        """The group of every child."""
        return self.children[0].group

    @property
    def degree(self) -> int:
        """The degree of the challenge polynomial: how many children may be simulated."""
        return len(self.children) - self.threshold

    @cached_property
    def violation(self) -> Violation | None:
        """The first of rules 02-T1 and 02-T2, or of a child's rules, that is broken."""
        if not 1 <= self.threshold <= len(self.children):  # T1
            return Violation("02-T1", "the threshold must be from 1 to the number of children")
        invalid = _first_violation(self.children)
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
class Counts:
    """How many group elements and scalars a proof of a statement has."""

    commitments: int
    coefficients: int
    responses: int


def count(statement: Statement) -> Counts:
    """The dimensions of a proof. They depend on the statement alone."""
    if isinstance(statement, LinearRelation):
        return Counts(statement.shape.equation_count, 0, statement.shape.scalar_count)
    own = statement.degree if isinstance(statement, AnyOf) else 0
    parts = [count(child) for child in statement.children]
    return Counts(
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


def _require_one_group(children: tuple[Statement, ...]) -> None:
    if not children:
        raise UsageError("a composed statement needs at least one child")
    if any(child.group != children[0].group for child in children):
        raise UsageError("the children of a composed statement must be over one group")


def _first_violation(children: tuple[Statement, ...]) -> Violation | None:
    return next((child.violation for child in children if child.violation), None)


def _serialize_children(children: tuple[Statement, ...]) -> bytes:
    return b"".join(map(tagged, children))


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")
