"""Values of any type that travel as another type, such as points as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from wire.codec.base import Codec, Fault, Notation, Reader
from wire.errors import MalformedMessage, UsageError

A = TypeVar("A")
B = TypeVar("B")


class Converted(Codec[B], Generic[A, B]):
    """An inner codec with a strict conversion on top."""

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

    def read(self, reader: Reader) -> B:
        start = reader.position
        raw = self._inner.read(reader)
        try:
            return self._parse(raw)
        except MalformedMessage as error:
            # Offsets inside converted bytes count from where those bytes begin.
            origin = reader.position - len(raw) if isinstance(raw, bytes) else start
            raise Fault(error.message, origin + (error.offset or 0), error.field) from None

    def write(self, value: B, out: bytearray) -> None:
        try:
            raw = self._unparse(value)
        except UsageError as error:
            raise Fault(error.message, None, error.field) from None
        except (AttributeError, TypeError):  # how Python says that a value is of another type
            raise Fault(f"a value of type {type(value).__name__} does not belong here") from None
        self._inner.write(raw, out)


def converted(inner: Codec[A], parse: Callable[[A], B], unparse: Callable[[B], A]) -> Codec[B]:
    """Values of type B that travel as `inner`.

    The caller's duty: `parse` is strict, so that `unparse(parse(a)) == a` for
    every `a` it accepts, and raises `MalformedMessage` for every other; `unparse`
    raises `UsageError` for a value of type B that it cannot express.
    """
    return Converted(inner, parse, unparse)
