"""Integers, booleans and enumerations: fixed width, big-endian."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import Enum, Flag
from typing import TypeVar

from wire.codec.base import Codec, Fault, Notation, Reader
from wire.errors import UsageError

E = TypeVar("E", bound=Enum)


class Integer(Codec[int]):
    """Every integer of `width` bytes, two's complement when signed."""

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

    def read(self, reader: Reader) -> int:
        return int.from_bytes(reader.take(self._width), signed=self._signed)

    def write(self, value: int, out: bytearray) -> None:
        if type(value) is not int:  # True would otherwise be a second name for 1
            raise Fault(f"needs an int, not {type(value).__name__}")
        if not self._low <= value <= self._high:
            raise Fault(f"needs an integer from {self._low} to {self._high}")
        out += value.to_bytes(self._width, signed=self._signed)

    def unpack_run(self, data: bytes) -> tuple[int, ...] | None:
        count, rest = divmod(len(data), self._width)
        return None if rest else struct.unpack(f">{count}{self._code}", data)

    def pack_run(self, values: tuple[int, ...]) -> bytes | None:
        if any(type(value) is not int for value in values):
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
    """One byte: 0 is false, 1 is true, all others are malformed."""

    min_size = max_size = 1

    @property
    def notation(self) -> Notation:
        return Notation("boolean")

    def read(self, reader: Reader) -> bool:
        byte = reader.take(1)[0]
        if byte > 1:
            raise Fault(f"a boolean byte is 0 or 1, not {byte}", reader.position - 1)
        return byte == 1

    def write(self, value: bool, out: bytearray) -> None:
        if type(value) is not bool:
            raise Fault(f"needs a bool, not {type(value).__name__}")
        out.append(value)


boolean = Boolean()


class Enumeration(Codec[E]):
    """Members of an enum class by their value; unknown values are malformed."""

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
            except Fault as fault:
                raise UsageError(fault.message, f"{members.__name__}.{member.name}") from None

    @property
    def notation(self) -> Notation:
        return Notation(self.members.__name__)

    def definitions(self) -> Iterator[tuple[str, str]]:
        listed = [f"{member.name.lower()}({member.value})" for member in self.members]
        body = ",\n    ".join(listed)
        name = self.members.__name__
        yield name, f"enum : {self._base.notation.head} {{\n    {body}\n}} {name};"

    def read(self, reader: Reader) -> E:
        start = reader.position
        value = self._base.read(reader)
        member = self._by_value.get(value)
        if member is None:
            raise Fault(f"{value} is not a {self.members.__name__}", start)
        return member

    def write(self, value: E, out: bytearray) -> None:
        if type(value) is not self.members:
            raise Fault(f"needs a {self.members.__name__}, not {type(value).__name__}")
        self._base.write(value.value, out)


def enumeration(members: type[E], base: Integer) -> Enumeration[E]:
    """The members of an enum class whose values are distinct integers that fit `base`."""
    return Enumeration(members, base)
