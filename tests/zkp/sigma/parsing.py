"""Statements read back from their encodings, as vector files carry them.

Library code never does this: there a statement is built by whoever checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from commitments.group import Group
from wire.errors import MalformedMessage
from zkp.sigma import (
    AllOf,
    AnyOf,
    ImageTerm,
    LinearRelation,
    RelationEquation,
    RelationShape,
    RelationTerm,
    Statement,
)

T = TypeVar("T")


class Reader:
    """Bytes that are read once, from front to back."""

    def __init__(self, group: Group, data: bytes) -> None:
        self.group = group
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, n: int) -> bytes:
        if self.left < n:
            raise MalformedMessage("the statement is too short", "statement", self._at)
        self._at += n
        return self._data[self._at - n : self._at]

    def count(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def coefficient(self) -> int:
        size = self.group.scalar_size
        return int(self.group.decode_scalars(self.take(size), 1)[0])

    def many(self, read: Callable[[], T]) -> tuple[T, ...]:
        return tuple(read() for _ in range(self.count()))

    def image_term(self) -> ImageTerm:
        return ImageTerm(self.count(), self.coefficient())

    def term(self) -> RelationTerm:
        return RelationTerm(self.count(), self.count(), self.coefficient())

    def equation(self) -> RelationEquation:
        return RelationEquation(self.many(self.image_term), self.many(self.term))


def parse_relation(group: Group, data: bytes) -> LinearRelation:
    """One relation; the number of its elements is what the remaining bytes hold."""
    reader = Reader(group, data)
    equations = reader.many(reader.equation)
    shape = RelationShape(group, equations, 1 + reader.left // group.point_size)
    return LinearRelation.decode(shape, reader.take(reader.left))


def parse_composed(group: Group, data: bytes) -> Statement:
    """A tree of statements."""
    reader = Reader(group, data)
    statement = _node(reader)
    if reader.left:
        raise MalformedMessage("the statement has trailing bytes", "statement")
    return statement


def _node(reader: Reader) -> Statement:
    kind = reader.take(1)
    if kind == b"\x00":
        return _leaf(reader)
    if kind == b"\x01":
        return AllOf(reader.many(lambda: _node(reader)))
    threshold = reader.count()
    return AnyOf(threshold, reader.many(lambda: _node(reader)))


def _leaf(reader: Reader) -> LinearRelation:
    equations = reader.many(reader.equation)
    used = {t.element for e in equations for t in e.image}
    used |= {t.element for e in equations for t in e.terms}
    shape = RelationShape(reader.group, equations, 1 + max(used))
    return LinearRelation.decode(shape, reader.take(max(used) * reader.group.point_size))
