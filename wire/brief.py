"""Shows dataclasses in one short line: in notebooks, errors and logs nobody reads raw bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Final

MOST: Final = 200
_MOST_TEXT: Final = 40
_MOST_ITEMS: Final = 3
_SHOWN_BYTES: Final = 4


class Brief:
    """The base of dataclasses with `repr=False`: a `repr` of one line, at most `MOST` characters.

    Bytes are shown by their first digits, long lists by their length. Nothing is hidden by this:
    what must not leak is a `wire.secret.Guarded`, which says nothing here either.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __repr__(self) -> str:
        parts = [f"{each.name}={_brief(getattr(self, each.name))}" for each in fields(self)]
        said = f"{type(self).__name__}({', '.join(parts)})"
        return said if len(said) <= MOST else f"{said[: MOST - 3]}..)"


def _brief(value: object) -> str:
    """A value in a few characters."""
    if isinstance(value, bytes):
        more = ".." if len(value) > _SHOWN_BYTES else ""
        return f"0x{value[:_SHOWN_BYTES].hex()}{more}"
    if isinstance(value, Collection) and not isinstance(value, str):
        return _listed(value)
    if is_dataclass(value):
        return f"<{type(value).__name__}>"
    said = repr(value)
    if isinstance(value, Enum):
        said = value.name
    elif isinstance(value, Decimal | Fraction):
        said = str(value)
    return _cut(" ".join(said.split()))


def _listed(items: Collection[object]) -> str:
    plain = not isinstance(items, Mapping) and len(items) <= _MOST_ITEMS
    if plain and all(isinstance(each, int | float | str | Enum) for each in items):
        return f"({', '.join(map(_brief, items))})"
    return f"<{len(items)} {'item' if len(items) == 1 else 'items'}>"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}.."
