"""Records: a frozen dataclass as the concatenation of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from wire.codec.base import LARGEST_SIZE, Codec, Fault, Notation, Reader
from wire.errors import MalformedMessage, UsageError

T = TypeVar("T")


class Record(Codec[T]):
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
        self._readers: tuple[Callable[[Reader], Any], ...] = tuple(
            codec.read for codec in codecs.values()
        )

    @property
    def notation(self) -> Notation:
        return Notation(self.cls.__name__)

    def definitions(self) -> Iterator[tuple[str, str]]:
        lines = []
        for name, codec in self.codecs.items():
            yield from codec.definitions()
            head, tail, remark = codec.notation
            lines.append(f"    {head} {name}{tail};" + (f"  /* {remark} */" if remark else ""))
        yield self.cls.__name__, "\n".join(["struct {", *lines, f"}} {self.cls.__name__};"])

    def read(self, reader: Reader) -> T:
        start = reader.position
        values: list[Any] = []
        try:
            for read in self._readers:
                values.append(read(reader))  # noqa: PERF401 - its length names the field that fails
        except Fault as fault:
            fault.enter(self._names[len(values)])
            raise
        try:
            return self.cls(*values)
        except (UsageError, MalformedMessage) as error:
            raise Fault(error.message, start, error.field) from None

    def write(self, value: T, out: bytearray) -> None:
        if type(value) is not self.cls:
            raise Fault(f"needs a {self.cls.__name__}, not {type(value).__name__}")
        for name, codec in self.codecs.items():
            try:
                codec.write(getattr(value, name), out)
            except Fault as fault:
                fault.enter(name)
                raise


def record(cls: type[T], /, **codecs: Codec[Any]) -> Record[T]:
    """One codec for each field of the frozen dataclass `cls`, in the order of its fields.

    A missing, extra or reordered field raises `UsageError` here, at import time.
    That a codec gives the type its field declares is beyond a type checker:
    keep the two side by side and test a round trip.
    """
    return Record(cls, codecs)


def _check_dataclass(cls: type[Any], names: tuple[str, ...]) -> None:
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise UsageError(f"{cls.__name__} is not a frozen dataclass")
    declared = fields(cls)
    if any(field.kw_only or not field.init for field in declared):
        raise UsageError(f"{cls.__name__} has a field that is not a positional argument")
    expected = tuple(field.name for field in declared)
    if names != expected:
        raise UsageError(f"{cls.__name__} needs codecs for exactly {', '.join(expected)}, in order")
