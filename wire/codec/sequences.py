"""Encodes byte strings, sequences and records.

Byte strings and sequences have a fixed size, or their length in front. A record is a frozen
dataclass as the concatenation of its fields. A field may travel as another type, such as points
as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import groupby
from struct import Struct
from typing import Any, Generic, TypeVar

from wire.codec.base import (
    LARGEST_SIZE,
    ByteReader,
    Codec,
    DecodeFault,
    Notation,
    checked_sizes,
    spec_name,
)
from wire.errors import MalformedMessage, UsageError


class LengthPrefix:
    """The length in bytes of what follows, in as few bytes as hold the maximum."""

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum = minimum
        self._maximum = maximum
        self.width = max(1, (maximum.bit_length() + 7) // 8)

    def read(self, reader: ByteReader) -> int:
        """Consume the length; return the offset where the content ends.

        Compares numbers only, so that an absurd length costs nothing.
        """
        start = reader.position
        length = int.from_bytes(reader.take(self.width))
        if not self._minimum <= length <= self._maximum:
            raise DecodeFault(
                f"a length of {self._minimum} to {self._maximum}, not {length}", start
            )
        left = reader.limit - reader.position
        if length > left:
            raise DecodeFault(f"announces {length} bytes, {left} are left", start)
        return reader.position + length


class Fixed(Codec[bytes]):
    """The codec of byte strings of one length."""

    def __init__(self, size: int) -> None:
        checked_sizes(size, size, "fixed")
        self.min_size = self.max_size = self._size = size

    @property
    def notation(self) -> Notation:
        return Notation("opaque", f"[{self._size}]")

    @property
    def struct_format(self) -> str | None:
        return f"{self._size}s"

    def read(self, reader: ByteReader) -> bytes:
        return reader.take(self._size)

    def unpack_run(self, data: bytes) -> tuple[bytes, ...] | None:
        size = self._size
        if not size or len(data) % size:
            return None  # read one by one, it says where it ends too early
        return tuple([data[at : at + size] for at in range(0, len(data), size)])

    def write(self, value: bytes, out: bytearray) -> None:
        if type(value) is not bytes:
            raise DecodeFault(f"needs bytes, not {type(value).__name__}")
        if len(value) != self._size:
            raise DecodeFault(f"needs {self._size} bytes, not {len(value)}")
        out += value


class Opaque(Codec[bytes]):
    """The codec of byte strings of bounded length, behind their length."""

    def __init__(self, minimum: int, maximum: int) -> None:
        checked_sizes(minimum, maximum, "opaque")
        self._minimum = minimum
        self._maximum = maximum
        self._prefix = LengthPrefix(minimum, maximum)
        self.min_size = self._prefix.width + minimum
        self.max_size = self._prefix.width + maximum

    @property
    def notation(self) -> Notation:
        return Notation("opaque", f"<{self._minimum}..{self._maximum}>")

    def read(self, reader: ByteReader) -> bytes:
        stop = self._prefix.read(reader)
        return reader.take(stop - reader.position)

    def write(self, value: bytes, out: bytearray) -> None:
        if type(value) is not bytes:
            raise DecodeFault(f"needs bytes, not {type(value).__name__}")
        if not self._minimum <= len(value) <= self._maximum:
            raise DecodeFault(f"needs {self._minimum} to {self._maximum} bytes, not {len(value)}")
        out += len(value).to_bytes(self._prefix.width)
        out += value


def fixed(size: int) -> Codec[bytes]:
    """Exactly `size` bytes, nothing in front of them."""
    return Fixed(size)


def opaque(minimum: int, maximum: int) -> Codec[bytes]:
    """`minimum` to `maximum` bytes behind their length."""
    return Opaque(minimum, maximum)


T = TypeVar("T")


def _sequence_sizes(item: Codec[T], minimum: int, maximum: int, what: str) -> tuple[int, int]:
    checked_sizes(minimum, maximum, what)
    if item.min_size == 0:
        # Any number of empty items would fit in no bytes: no bound on the work, and
        # behind a length in bytes their number would be lost.
        raise UsageError(f"an item of {what} needs at least one byte")
    sizes = minimum * item.min_size, maximum * item.max_size
    return checked_sizes(*sizes, f"{what} in bytes")


class Array(Codec[tuple[T, ...]]):
    """The codec of a tuple whose length both sides know from elsewhere."""

    def __init__(self, item: Codec[T], count: int) -> None:
        self.min_size, self.max_size = _sequence_sizes(item, count, count, "an array")
        self._item = item
        self._count = count

    @property
    def notation(self) -> Notation:
        low, high = self.min_size, self.max_size
        size = f"[{low}]" if low == high else f"[{low}..{high}]"
        return Notation(self._item.notation.type_name, size, f"{self._count} items")

    def definitions(self) -> Iterator[tuple[str, str]]:
        return self._item.definitions()

    def read(self, reader: ByteReader) -> tuple[T, ...]:
        read = self._item.read
        items: list[T] = []
        try:
            while len(items) < self._count:
                items.append(read(reader))
        except DecodeFault as fault:
            fault.enter(f"[{len(items)}]")
            raise
        return tuple(items)

    def write(self, value: tuple[T, ...], out: bytearray) -> None:
        if type(value) is not tuple:
            raise DecodeFault(f"needs a tuple, not {type(value).__name__}")
        if len(value) != self._count:
            raise DecodeFault(f"needs {self._count} items, not {len(value)}")
        _write_items(self._item, value, out)


class VectorCodec(Codec[tuple[T, ...]]):
    """The codec of a tuple of bounded length, behind its size in bytes."""

    def __init__(self, item: Codec[T], minimum: int, maximum: int) -> None:
        self._low, self._high = _sequence_sizes(item, minimum, maximum, "a vector")
        self._prefix = LengthPrefix(self._low, self._high)
        self.min_size = self._prefix.width + self._low
        self.max_size = self._prefix.width + self._high
        self._item = item
        self._minimum = minimum
        self._maximum = maximum

    @property
    def notation(self) -> Notation:
        remark = f"{self._minimum} to {self._maximum} items"
        return Notation(self._item.notation.type_name, f"<{self._low}..{self._high}>", remark)

    def definitions(self) -> Iterator[tuple[str, str]]:
        return self._item.definitions()

    def read(self, reader: ByteReader) -> tuple[T, ...]:
        start, outer_limit = reader.position, reader.limit
        reader.limit = stop = self._prefix.read(reader)
        width = self._item.min_size
        if self._minimum <= (stop - reader.position) // width <= self._maximum:
            run = self._item.unpack_run(reader.data[reader.position : stop])
            if run is not None:
                reader.position, reader.limit = stop, outer_limit
                return run
        read = self._item.read
        items: list[T] = []
        try:
            while reader.position < stop and len(items) < self._maximum:
                items.append(read(reader))
        except DecodeFault as fault:
            fault.enter(f"[{len(items)}]")
            raise
        if reader.position < stop:
            raise DecodeFault(
                f"more than {self._maximum} items", reader.position, f"[{len(items)}]"
            )
        if len(items) < self._minimum:
            raise DecodeFault(f"{len(items)} items, at least {self._minimum} are needed", start)
        reader.limit = outer_limit
        return tuple(items)

    def write(self, value: tuple[T, ...], out: bytearray) -> None:
        if type(value) is not tuple:
            raise DecodeFault(f"needs a tuple, not {type(value).__name__}")
        if not self._minimum <= len(value) <= self._maximum:
            raise DecodeFault(f"needs {self._minimum} to {self._maximum} items, not {len(value)}")
        content = bytearray()
        _write_items(self._item, value, content)
        out += len(content).to_bytes(self._prefix.width)
        out += content


def _write_items(item: Codec[T], values: tuple[T, ...], out: bytearray) -> None:
    whole = item.pack_run(values)
    if whole is not None:
        out += whole
        return
    for index, value in enumerate(values):
        try:
            item.write(value, out)
        except DecodeFault as fault:
            fault.enter(f"[{index}]")
            raise


def array(item: Codec[T], count: int) -> Codec[tuple[T, ...]]:
    """Exactly `count` items, nothing in front: the statement fixes the count, not the message."""
    return Array(item, count)


def vector(item: Codec[T], minimum: int, maximum: int) -> Codec[tuple[T, ...]]:
    """`minimum` to `maximum` items behind their total size in bytes."""
    return VectorCodec(item, minimum, maximum)


A = TypeVar("A")
B = TypeVar("B")


class Converted(Codec[B], Generic[A, B]):
    """A strict conversion on top of an inner codec."""

    def __init__(self, inner: Codec[A], parse: Callable[[A], B], unparse: Callable[[B], A]) -> None:
        self._inner = inner
        self._parse = parse
        self._unparse = unparse
        self.min_size = inner.min_size
        self.max_size = inner.max_size

    @property
    def notation(self) -> Notation:
        return self._inner.notation

    def definitions(self) -> Iterator[tuple[str, str]]:
        return self._inner.definitions()

    def read(self, reader: ByteReader) -> B:
        start = reader.position
        raw = self._inner.read(reader)
        try:
            return self._parse(raw)
        except MalformedMessage as error:
            # Offsets inside converted bytes count from where those bytes begin.
            origin = reader.position - len(raw) if isinstance(raw, bytes) else start
            raise DecodeFault(error.message, origin + (error.offset or 0), error.field) from None

    def write(self, value: B, out: bytearray) -> None:
        try:
            raw = self._unparse(value)
        except UsageError as error:
            raise DecodeFault(error.message, None, error.field) from None
        except (AttributeError, TypeError):  # how Python says that a value is of another type
            raise DecodeFault(
                f"a value of type {type(value).__name__} does not belong here"
            ) from None
        self._inner.write(raw, out)


def converted(inner: Codec[A], parse: Callable[[A], B], unparse: Callable[[B], A]) -> Codec[B]:
    """Values of type B that travel as `inner`.

    The caller's duty: `parse` is strict, so that `unparse(parse(a)) == a` for
    every `a` it accepts, and raises `MalformedMessage` for every other; `unparse`
    raises `UsageError` for a value of type B that it cannot express.
    """
    return Converted(inner, parse, unparse)


_Part = tuple[Struct | None, tuple[Callable[[ByteReader], Any], ...]]


def _parts(codecs: Sequence[Codec[Any]]) -> Iterator[_Part]:
    """The fields of a record, those side by side that `struct` reads as one run of them.

    Beside a run stand the readers of its fields: they name the one that ends too early.
    """
    for packed, group in groupby(codecs, lambda codec: codec.struct_format is not None):
        run = tuple(group)
        reads = tuple(codec.read for codec in run)
        formats = "".join(codec.struct_format or "" for codec in run)
        yield (Struct(f">{formats}") if packed else None), reads


class RecordCodec(Codec[T]):
    """The codec of one frozen dataclass.

    The class validates itself in `__post_init__` by raising `UsageError`; when
    the values come from received bytes, that becomes `MalformedMessage`.
    """

    def __init__(self, cls: type[T], codecs: Mapping[str, Codec[Any]]) -> None:
        _check_dataclass(cls, tuple(codecs))
        self.cls = cls
        self.codecs = dict(codecs)
        self.min_size = sum(codec.min_size for codec in codecs.values())
        self.max_size = sum(codec.max_size for codec in codecs.values())
        if self.max_size > LARGEST_SIZE:
            raise UsageError(f"a {cls.__name__} could take 2^32 bytes or more: bound its fields")
        self._names = tuple(codecs)
        self._parts = tuple(_parts(tuple(codecs.values())))

    @property
    def notation(self) -> Notation:
        return Notation(spec_name(self.cls))

    def definitions(self) -> Iterator[tuple[str, str]]:
        lines = []
        for name, codec in self.codecs.items():
            yield from codec.definitions()
            head, tail, remark = codec.notation
            lines.append(f"    {head} {name}{tail};" + (f"  /* {remark} */" if remark else ""))
        name = spec_name(self.cls)
        yield name, "\n".join(["struct {", *lines, f"}} {name};"])

    def read(self, reader: ByteReader) -> T:
        start = reader.position
        values: list[Any] = []
        try:
            for run, reads in self._parts:
                if run is not None and reader.position + run.size <= reader.limit:
                    values += run.unpack_from(reader.data, reader.position)
                    reader.position += run.size
                    continue
                for read in reads:
                    values.append(read(reader))
        except DecodeFault as fault:
            fault.enter(self._names[len(values)])
            raise
        try:
            return self.cls(*values)
        except (UsageError, MalformedMessage) as error:
            raise DecodeFault(error.message, start, error.field) from None

    def write(self, value: T, out: bytearray) -> None:
        if type(value) is not self.cls:
            raise DecodeFault(f"needs a {self.cls.__name__}, not {type(value).__name__}")
        for name, codec in self.codecs.items():
            try:
                codec.write(getattr(value, name), out)
            except DecodeFault as fault:
                fault.enter(name)
                raise


def record(cls: type[T], /, **codecs: Codec[Any]) -> RecordCodec[T]:
    """One codec for each field of the frozen dataclass `cls`, in the order of its fields.

    A missing, extra or reordered field raises `UsageError` here, at import time.
    That a codec gives the type its field declares is beyond a type checker:
    keep the two side by side and test a round trip.
    """
    return RecordCodec(cls, codecs)


def _check_dataclass(cls: type[Any], names: tuple[str, ...]) -> None:
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise UsageError(f"{cls.__name__} is not a frozen dataclass")
    declared = fields(cls)
    if any(field.kw_only or not field.init for field in declared):
        raise UsageError(f"{cls.__name__} has a field that is not a positional argument")
    expected = tuple(field.name for field in declared)
    if names != expected:
        raise UsageError(f"{cls.__name__} needs codecs for exactly {', '.join(expected)}, in order")
