"""Any number of items behind their size in bytes: a journal is bounded by its size alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from wire.codec import Codec
from wire.codec.base import Fault, Notation, Reader
from wire.codec.opaque import LengthPrefix

T = TypeVar("T")


class Run(Codec[tuple[T, ...]]):
    """A tuple of at most `most` bytes. Each item has at least one byte."""

    def __init__(self, item: Codec[T], most: int) -> None:
        self._item = item
        self._most = most
        self._prefix = LengthPrefix(0, most)
        self.min_size = self._prefix.width
        self.max_size = self._prefix.width + most

    def prefix(self, size: int) -> bytes:
        """What stands in front of so many bytes."""
        return size.to_bytes(self._prefix.width)

    @property
    def notation(self) -> Notation:
        return Notation(self._item.notation.type_name, f"<0..{self._most}>")

    def definitions(self) -> Iterator[tuple[str, str]]:
        return self._item.definitions()

    def read(self, reader: Reader) -> tuple[T, ...]:
        outer = reader.limit
        reader.limit = stop = self._prefix.read(reader)
        items: list[T] = []
        try:
            while reader.position < stop:
                items.append(self._item.read(reader))
        except Fault as fault:
            fault.enter(f"[{len(items)}]")
            raise
        reader.limit = outer
        return tuple(items)

    def write(self, value: tuple[T, ...], out: bytearray) -> None:
        if type(value) is not tuple:
            raise Fault(f"needs a tuple, not {type(value).__name__}")
        content = bytearray()
        for number, item in enumerate(value):
            try:
                self._item.write(item, content)
            except Fault as fault:
                fault.enter(f"[{number}]")
                raise
        if len(content) > self._most:
            raise Fault(f"needs at most {self._most} bytes, not {len(content)}")
        out += self.prefix(len(content))
        out += content
