"""Values that may be absent, and values of one of several kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from wire.codec.base import Codec, Fault, Notation, Reader
from wire.codec.integers import Enumeration, boolean
from wire.errors import UsageError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E", bound=Enum)
E_co = TypeVar("E_co", bound=Enum, covariant=True)


class Optional(Codec[T | None]):
    """A boolean that says whether a value follows."""

    def __init__(self, item: Codec[T]) -> None:
        if isinstance(item, Optional):
            raise UsageError("an optional of an optional has two encodings of None")
        self._item = item
        self.min_size = 1
        self.max_size = 1 + item.max_size

    @property
    def notation(self) -> Notation:
        return Notation(f"optional<{self._item.notation.type_name}>")

    def definitions(self) -> Iterator[tuple[str, str]]:
        return self._item.definitions()

    def read(self, reader: Reader) -> T | None:
        start = reader.position
        if not boolean.read(reader):
            return None
        value = self._item.read(reader)
        if value is None:  # a converted item could do this; None already has an encoding
            raise Fault("a value announced as present is absent", start)
        return value

    def write(self, value: T | None, out: bytearray) -> None:
        boolean.write(value is not None, out)
        if value is not None:
            self._item.write(value, out)


def optional(item: Codec[T]) -> Codec[T | None]:
    """The byte 0 for `None`, or the byte 1 and the item."""
    return Optional(item)


class Body(Protocol[T_co]):
    """A record seen as the source of its values, so that a case of `A` fits where `A | B` goes."""

    @property
    def cls(self) -> type[T_co]: ...
    @property
    def min_size(self) -> int: ...
    @property
    def max_size(self) -> int: ...
    def definitions(self) -> Iterator[tuple[str, str]]: ...
    def read(self, reader: Reader) -> T_co: ...
    def write(self, value: Any, out: bytearray) -> None: ...


@dataclass(frozen=True, slots=True)
class Case(Generic[E_co, T_co]):
    """One alternative of a `select`: the tag that announces it, and its record."""

    tag: E_co
    body: Body[T_co]


class Select(Codec[T]):
    """A tag, then the record that belongs to it. The class of a value decides its tag."""

    def __init__(self, name: str, tag: Enumeration[E], cases: tuple[Case[E, T], ...]) -> None:
        self._name = name
        self._tag = tag
        self._cases = cases
        self._bodies = {case.tag: case.body for case in cases}
        self._by_class = {case.body.cls: case for case in cases}
        if not cases or len(self._bodies) < len(cases) or len(self._by_class) < len(cases):
            raise UsageError(f"{name} needs cases with distinct tags and distinct classes")
        if any(type(case.tag) is not tag.members for case in cases):
            raise UsageError(f"the tags of {name} are members of {tag.members.__name__}")
        self.min_size = tag.min_size + min(body.min_size for body in self._bodies.values())
        self.max_size = tag.max_size + max(body.max_size for body in self._bodies.values())

    @property
    def notation(self) -> Notation:
        return Notation(self._name)

    def definitions(self) -> Iterator[tuple[str, str]]:
        yield from self._tag.definitions()
        lines = [f"    {self._tag.members.__name__} tag;", "    select (tag) {"]
        for case in self._cases:
            yield from case.body.definitions()
            lines.append(f"        case {case.tag.name.lower()}: {case.body.cls.__name__};")
        yield self._name, "\n".join(["struct {", *lines, "    };", f"}} {self._name};"])

    def read(self, reader: Reader) -> T:
        start = reader.position
        try:
            tag = self._tag.read(reader)
        except Fault as fault:
            fault.enter("tag")
            raise
        body = self._bodies.get(tag)
        if body is None:
            raise Fault(f"a {self._name} cannot be {tag.name.lower()}", start, "tag")
        return body.read(reader)

    def write(self, value: T, out: bytearray) -> None:
        case = self._by_class.get(type(value))
        if case is None:
            raise Fault(f"needs a {self._name}, not {type(value).__name__}")
        self._tag.write(case.tag, out)
        case.body.write(value, out)


def select(name: str, tag: Enumeration[E], /, *cases: Case[E, T]) -> Codec[T]:
    """Values of one of several record classes, announced by a member of an enumeration.

    Members without a case are malformed. Annotate the result, so that the type
    checker sees the union: `MESSAGE: Codec[Open | Close] = select(...)`.
    """
    return Select(name, tag, cases)
