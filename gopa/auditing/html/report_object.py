"""Reads a report as JSON: what has another shape is refused, and every text is cut.

Names and labels in a report are strangers' words of any length. No text leaves this module longer
than the page may show, so nobody can make a page grow without bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wire.errors import UsageError

LONGEST: Final = 1200
LONGEST_NAME: Final = 200
LARGEST_NUMBER: Final = 2**64
NOBODY: Final[Mapping[str, str]] = MappingProxyType({})


def cut(value: str, most: int = LONGEST) -> str:
    """The text, cut after `most` characters."""
    return value if len(value) <= most else f"{value[:most]}..."


class ReportObject:
    """Reads an object of the report. Methods raise `UsageError` for a field of another shape."""

    __slots__ = ("_fields", "_names")

    def __init__(self, fields: object, names: Mapping[str, str] = NOBODY) -> None:
        """`names` are those that the auditor knows, by whole keys in hexadecimal digits."""
        if not isinstance(fields, Mapping):
            raise UsageError("this is no audit report: an object is expected", "report")
        self._fields, self._names = fields, names

    def _get(self, name: str) -> object:
        if name not in self._fields:
            raise UsageError(f"this is no audit report: {name} is missing", "report")
        return self._fields[name]

    def _list(self, name: str) -> list[object]:
        value = self._get(name)
        if not isinstance(value, list | tuple):
            raise _wrong(name)
        return list(value)

    def text(self, name: str, most: int = LONGEST) -> str:
        """A field that holds text, cut after `most` characters."""
        return cut(_text(self._get(name), name), most)

    def number(self, name: str) -> int:
        """A field that holds an integer."""
        return _number(self._get(name), name)

    def place(self, name: str) -> int | None:
        """A field that holds an integer or null."""
        value = self._get(name)
        return None if value is None else _number(value, name)

    def flag(self, name: str) -> bool:
        """A field that holds a truth value."""
        value = self._get(name)
        if not isinstance(value, bool):
            raise _wrong(name)
        return value

    def part(self, name: str) -> ReportObject:
        """A field that holds an object."""
        return ReportObject(self._get(name), self._names)

    def part_or_none(self, name: str) -> ReportObject | None:
        """A field that holds an object or null."""
        value = self._get(name)
        return None if value is None else ReportObject(value, self._names)

    def rows(self, name: str) -> list[ReportObject]:
        """A field that holds a list of objects."""
        return [ReportObject(item, self._names) for item in self._list(name)]

    @property
    def named(self) -> bool:
        """Whether the auditor knows anybody by name."""
        return bool(self._names)

    def name_of(self, key: str) -> str:
        """What the auditor calls the owner of a key; nothing where it knows no name."""
        return cut(self._names.get(key, ""), LONGEST_NAME)

    def texts(self, name: str, most: int = LONGEST) -> list[str]:
        """A field that holds a list of texts, each cut after `most` characters."""
        return [cut(_text(item, name), most) for item in self._list(name)]

    def numbers(self, name: str) -> list[int]:
        """A field that holds a list of integers."""
        return [_number(item, name) for item in self._list(name)]

    def count(self, name: str) -> int:
        """How long the list in a field is."""
        return len(self._list(name))

    def pairs(self, name: str, below: int) -> list[tuple[int, int]]:
        """A field that holds pairs of positions, all from 0 and below a bound."""
        found = []
        for item in self._list(name):
            if not isinstance(item, list | tuple) or len(item) != 2:
                raise _wrong(name)
            first, second = (_number(end, name) for end in item)
            if not (0 <= first < below and 0 <= second < below):
                raise _wrong(name)
            found.append((first, second))
        return found


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise _wrong(name)
    return str.__str__(value)  # a subclass might call itself markup


def _number(value: object, name: str) -> int:
    """Refuses what no report counts: arithmetic and text of hundreds of digits fail elsewhere."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_NUMBER:
        raise _wrong(name)
    return value


def _wrong(name: str) -> UsageError:
    return UsageError(f"this is no audit report: {name} has another shape", "report")
