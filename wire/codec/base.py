"""A codec: two sizes, a reading side, a writing side, a notation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from wire.errors import MalformedMessage, UsageError


def describe(codec: Codec[Any]) -> str:
    """Every named type in `codec`, innermost first, in the notation of `specs/00-wire.md`.

    Specifications quote this text and a test compares the two, so neither can
    drift. Two different types of one name raise `UsageError`.
    """
    seen: dict[str, str] = {}
    for name, text in codec.definitions():
        if seen.setdefault(name, text) != text:
            raise UsageError(f"two different types are called {name}")
    return "\n\n".join(seen.values())


T = TypeVar("T")

LARGEST_SIZE = 2**32 - 1
"""No codec accepts more bytes than a four-byte length can announce."""


class DecodeFault(Exception):
    """What the innermost codec found to be wrong. Internal.

    Enclosing codecs prepend their step to `path` while it travels outwards;
    `Codec.decode` and `Codec.encode` turn it into the public error.
    """

    def __init__(self, message: str, offset: int | None = None, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.path = path

    def enter(self, step: str) -> None:
        """Prepend a field name or an index such as `[3]` to the path."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{joint}{self.path}"


class ByteReader:
    """Received bytes, read from a position on, and nothing at or past `limit`."""

    __slots__ = ("data", "limit", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.limit = len(data)

    def take(self, size: int) -> bytes:
        """The next `size` bytes; a slice is made only after the bound is checked."""
        start = self.position
        stop = start + size
        if stop > self.limit:
            raise DecodeFault(f"needs {size} bytes, {self.limit - start} are left", start)
        self.position = stop
        return self.data[start:stop]


class Notation(NamedTuple):
    """How a field of this type is written in a specification: `head name tail`."""

    head: str
    tail: str = ""
    remark: str = ""

    @property
    def type_name(self) -> str:
        return self.head + self.tail


class Codec(ABC, Generic[T]):
    """A map between some values of type T and byte strings, one to one.

    `decode(encode(v)) == v` for every value that encodes, and
    `encode(decode(b)) == b` for every byte string that decodes: no value has
    two encodings. `min_size` and `max_size` bound the length of all encodings.
    Codecs are immutable, hold no state between calls and are safe to share
    between threads. They are built from finished codecs only, so no codec
    contains itself and the depth of decoding is fixed before any byte is read.
    """

    min_size: int
    max_size: int

    @property
    def struct_format(self) -> str | None:
        """How `struct` reads a value, if every string of this size is one's encoding."""
        return None

    def encode(self, value: T) -> bytes:
        """The one encoding of `value`; `UsageError` names the field that has none."""
        out = bytearray()
        try:
            self.write(value, out)
        except DecodeFault as fault:
            raise UsageError(fault.message, fault.path) from None
        return bytes(out)

    def decode(self, data: bytes) -> T:
        """The value whose encoding is exactly `data`, or `MalformedMessage`.

        The work is bounded by the length of `data` and by `max_size`: no length
        inside the data makes the decoder allocate before the bytes are there.
        """
        if type(data) is not bytes:
            raise UsageError(f"only bytes can be decoded, not {type(data).__name__}")
        if len(data) > self.max_size:
            message = f"{len(data)} bytes where at most {self.max_size} are allowed"
            raise MalformedMessage(message, "", self.max_size)
        reader = ByteReader(data)
        try:
            value = self.read(reader)
        except DecodeFault as fault:
            raise MalformedMessage(fault.message, fault.path, fault.offset) from None
        if reader.position != len(data):
            message = f"{len(data) - reader.position} bytes after the end of the message"
            raise MalformedMessage(message, "", reader.position)
        return value

    @property
    @abstractmethod
    def notation(self) -> Notation:
        """How specifications write a field of this type."""

    def definitions(self) -> Iterator[tuple[str, str]]:
        """Name and text of every named type in here, innermost first."""
        yield from ()

    @abstractmethod
    def read(self, reader: ByteReader) -> T:
        """One value, consumed by an enclosing codec; raises `DecodeFault`."""

    @abstractmethod
    def write(self, value: T, out: bytearray) -> None:
        """Append one value for an enclosing codec; raises `DecodeFault`."""

    def unpack_run(self, data: bytes) -> tuple[T, ...] | None:
        """The values of a vector at once, or None where they are read one by one."""
        del data
        return None

    def pack_run(self, values: tuple[T, ...]) -> bytes | None:
        """The bytes of a vector's values at once, or None where they are written one by one."""
        del values
        return None


def checked_sizes(minimum: int, maximum: int, what: str) -> tuple[int, int]:
    """Bounds for a codec under construction; `UsageError` unless 0 <= min <= max < 2^32."""
    if type(minimum) is not int or type(maximum) is not int:
        raise UsageError(f"the bounds of {what} are integers")
    if not 0 <= minimum <= maximum <= LARGEST_SIZE:
        raise UsageError(f"the bounds of {what} need 0 <= minimum <= maximum < 2^32")
    return minimum, maximum


def spec_name(cls: type) -> str:
    """The name of a type in specifications: its own, or what its class gives as `__spec_name__`.

    A class may be named by its role in the code, while the format that everybody implements
    keeps the name that specifications print.
    """
    return str(getattr(cls, "__spec_name__", cls.__name__))
