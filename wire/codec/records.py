"""Encodes records: a frozen dataclass as the concatenation of its fields.

A field may travel as another type, such as points as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

from wire.codec.base import LARGEST_SIZE, ByteReader, Codec, DecodeFault, Notation, spec_name
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


T = TypeVar("T")


class RecordCodec(Codec[T]):
    """Instances of one frozen dataclass.

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
        self._readers: tuple[Callable[[ByteReader], Any], ...] = tuple(
            codec.read for codec in codecs.values()
        )

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
            for read in self._readers:
                values.append(read(reader))  # noqa: PERF401 - its length names the field that fails
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
