"""Encodes integers, booleans and enumerations (fixed width, big-endian), and choices among kinds.

A choice is a value that may be absent, or one of several kinds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, Flag
from typing import Any, Generic, Protocol, TypeVar

from wire.codec.base import ByteReader, Codec, DecodeFault, Notation, spec_name
from wire.errors import UsageError

E = TypeVar("E", bound=Enum)


class Integer(Codec[int]):
    """The codec of integers of `width` bytes, in two's complement when signed."""

    def __init__(self, width: int, *, signed: bool) -> None:
        self.min_size = self.max_size = self._width = width
        self._signed = signed
        code = "BHxIxxxQ"[width - 1]
        self._code = code.lower() if signed else code
        self._low = -(1 << (8 * width - 1)) if signed else 0
        self._high = (1 << (8 * width - signed)) - 1

    @property
    def notation(self) -> Notation:
        return Notation(f"{'' if self._signed else 'u'}int{8 * self._width}")

    @property
    def struct_format(self) -> str | None:
        return self._code

    def read(self, reader: ByteReader) -> int:
        return int.from_bytes(reader.take(self._width), signed=self._signed)

    def write(self, value: int, out: bytearray) -> None:
        if type(value) is not int:  # True would otherwise be a second name for 1
            raise DecodeFault(f"needs an int, not {type(value).__name__}")
        if not self._low <= value <= self._high:
            raise DecodeFault(f"needs an integer from {self._low} to {self._high}")
        out += value.to_bytes(self._width, signed=self._signed)

    def unpack_run(self, data: bytes) -> tuple[int, ...] | None:
        count, rest = divmod(len(data), self._width)
        return None if rest else struct.unpack(f">{count}{self._code}", data)

    def pack_run(self, values: tuple[int, ...]) -> bytes | None:
        if not {int}.issuperset(map(type, values)):
            return None
        try:
            return struct.pack(f">{len(values)}{self._code}", *values)
        except struct.error:
            return None


u8 = Integer(1, signed=False)
u16 = Integer(2, signed=False)
u32 = Integer(4, signed=False)
u64 = Integer(8, signed=False)
i64 = Integer(8, signed=True)


class Boolean(Codec[bool]):
    """The codec of a truth value, one byte: 0 is false, 1 is true, all others are malformed."""

    min_size = max_size = 1

    @property
    def notation(self) -> Notation:
        return Notation("boolean")

    def read(self, reader: ByteReader) -> bool:
        byte = reader.take(1)[0]
        if byte > 1:
            raise DecodeFault(f"a boolean byte is 0 or 1, not {byte}", reader.position - 1)
        return byte == 1

    def write(self, value: bool, out: bytearray) -> None:
        if type(value) is not bool:
            raise DecodeFault(f"needs a bool, not {type(value).__name__}")
        out.append(value)


boolean = Boolean()


class Enumeration(Codec[E]):
    """The codec of an enum class, by the values of its members; unknown ones are malformed."""

    def __init__(self, members: type[E], base: Integer) -> None:
        if issubclass(members, Flag) or not len(members):
            raise UsageError(f"{members.__name__} is not an enumeration with members")
        self.members = members
        self.min_size = self.max_size = base.max_size
        self._base = base
        self._by_value = {member.value: member for member in members}
        for member in members:
            try:
                base.write(member.value, bytearray())
            except DecodeFault as fault:
                raise UsageError(fault.message, f"{members.__name__}.{member.name}") from None

    @property
    def notation(self) -> Notation:
        return Notation(spec_name(self.members))

    def definitions(self) -> Iterator[tuple[str, str]]:
        listed = [f"{member.name.lower()}({member.value})" for member in self.members]
        body = ",\n    ".join(listed)
        name = spec_name(self.members)
        yield name, f"enum : {self._base.notation.head} {{\n    {body}\n}} {name};"

    def read(self, reader: ByteReader) -> E:
        start = reader.position
        value = self._base.read(reader)
        member = self._by_value.get(value)
        if member is None:
            raise DecodeFault(f"{value} is not a {self.members.__name__}", start)
        return member

    def write(self, value: E, out: bytearray) -> None:
        if type(value) is not self.members:
            raise DecodeFault(f"needs a {self.members.__name__}, not {type(value).__name__}")
        self._base.write(value.value, out)


def enumeration(members: type[E], base: Integer) -> Enumeration[E]:
    """The members of an enum class whose values are distinct integers that fit `base`."""
    return Enumeration(members, base)


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
E_co = TypeVar("E_co", bound=Enum, covariant=True)


class Optional(Codec[T | None]):
    """The codec of a value that may be absent: a boolean, and behind it the value if any."""

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

    def read(self, reader: ByteReader) -> T | None:
        start = reader.position
        if not boolean.read(reader):
            return None
        value = self._item.read(reader)
        if value is None:  # a converted item could do this; None already has an encoding
            raise DecodeFault("a value announced as present is absent", start)
        return value

    def write(self, value: T | None, out: bytearray) -> None:
        boolean.write(value is not None, out)
        if value is not None:
            self._item.write(value, out)


def optional(item: Codec[T]) -> Codec[T | None]:
    """The byte 0 for `None`, or the byte 1 and the item."""
    return Optional(item)


class Body(Protocol[T_co]):
    """A record as the source of its values, for types: a case of `A` fits where `A | B` goes."""

    @property
    def cls(self) -> type[T_co]: ...
    @property
    def min_size(self) -> int: ...
    @property
    def max_size(self) -> int: ...
    def definitions(self) -> Iterator[tuple[str, str]]: ...
    def read(self, reader: ByteReader) -> T_co: ...
    def write(self, value: Any, out: bytearray) -> None: ...


@dataclass(frozen=True, slots=True)
class Case(Generic[E_co, T_co]):
    """One alternative of a `select`: the tag that announces it, and its record."""

    tag: E_co
    body: Body[T_co]


class Select(Codec[T]):
    """The codec of a tag and its record. The class of a value decides the tag."""

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

    def read(self, reader: ByteReader) -> T:
        start = reader.position
        try:
            tag = self._tag.read(reader)
        except DecodeFault as fault:
            fault.enter("tag")
            raise
        body = self._bodies.get(tag)
        if body is None:
            raise DecodeFault(f"a {self._name} cannot be {tag.name.lower()}", start, "tag")
        return body.read(reader)

    def write(self, value: T, out: bytearray) -> None:
        case = self._by_class.get(type(value))
        if case is None:
            raise DecodeFault(f"needs a {self._name}, not {type(value).__name__}")
        self._tag.write(case.tag, out)
        case.body.write(value, out)


def select(name: str, tag: Enumeration[E], /, *cases: Case[E, T]) -> Codec[T]:
    """Values of one of several record classes, announced by a member of an enumeration.

    Members without a case are malformed. Annotate the result, so that the type
    checker sees the union: `MESSAGE: Codec[Open | Close] = select(...)`.
    """
    return Select(name, tag, cases)
