"""Sequences of one kind of item: of fixed count, or with a length in front."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from wire.codec.base import Codec, Fault, Notation, Reader, checked_sizes
from wire.codec.opaque import LengthPrefix
from wire.errors import UsageError

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
    """A tuple whose length both sides know from elsewhere."""

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

    def read(self, reader: Reader) -> tuple[T, ...]:
        read = self._item.read
        items: list[T] = []
        try:
            while len(items) < self._count:
                items.append(read(reader))
        except Fault as fault:
            fault.enter(f"[{len(items)}]")
            raise
        return tuple(items)

    def write(self, value: tuple[T, ...], out: bytearray) -> None:
        if type(value) is not tuple:
            raise Fault(f"needs a tuple, not {type(value).__name__}")
        if len(value) != self._count:
            raise Fault(f"needs {self._count} items, not {len(value)}")
        _write_items(self._item, value, out)


class Vector(Codec[tuple[T, ...]]):
    """A tuple of bounded length behind its size in bytes."""

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

    def read(self, reader: Reader) -> tuple[T, ...]:
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
        except Fault as fault:
            fault.enter(f"[{len(items)}]")
            raise
        if reader.position < stop:
            raise Fault(f"more than {self._maximum} items", reader.position, f"[{len(items)}]")
        if len(items) < self._minimum:
            raise Fault(f"{len(items)} items, at least {self._minimum} are needed", start)
        reader.limit = outer_limit
        return tuple(items)

    def write(self, value: tuple[T, ...], out: bytearray) -> None:
        if type(value) is not tuple:
            raise Fault(f"needs a tuple, not {type(value).__name__}")
        if not self._minimum <= len(value) <= self._maximum:
            raise Fault(f"needs {self._minimum} to {self._maximum} items, not {len(value)}")
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
        except Fault as fault:
            fault.enter(f"[{index}]")
            raise


def array(item: Codec[T], count: int) -> Codec[tuple[T, ...]]:
    """Exactly `count` items, nothing in front: the statement fixes the count, not the message."""
    return Array(item, count)


def vector(item: Codec[T], minimum: int, maximum: int) -> Codec[tuple[T, ...]]:
    """`minimum` to `maximum` items behind their total size in bytes."""
    return Vector(item, minimum, maximum)
