"""Encodings of 00, sections 1 to 4. The formats themselves are read out of the specifications."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SPECS = Path(__file__).resolve().parents[1]
WIDTHS = {"boolean": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int64": 8}
FIELD = re.compile(
    r"(\w+)(?:\[(\d+)\])? (\w+)(?:\[(\d+)\]|<(\d+)\.\.(\d+)>)?;(?:  /\* \d+ to (\d+))?"
)


class Wrong(Exception):
    """What does not hold; names the rule, or none where bytes come from no correct encoder."""

    def __init__(self, rule: str = "") -> None:
        super().__init__(rule or "malformed")
        self.rule = rule


class Unsupported(Exception):
    """A version that this program does not know."""


def require(holds: object, rule: str = "") -> None:
    """Wrong by this rule, unless it holds."""
    if not holds:
        raise Wrong(rule)


def refusing(check: Callable[..., Any]) -> Callable[..., Any]:
    """A check that answers no where it meets something malformed."""

    @wraps(check)
    def answer(*given: Any, **named: Any) -> Any:
        try:
            return check(*given, **named)
        except Wrong:
            return False

    return answer


def strict(convert: Callable[[Any], Any], given: Any) -> Any:
    """What the standard library makes of it, or Wrong."""
    try:
        return convert(given)
    except (ValueError, ArithmeticError):
        raise Wrong from None


class Record(SimpleNamespace):
    """Fields by name. Two records are equal if all fields are."""

    def changed(self, **fields: Any) -> Record:
        """A copy with other values of these fields."""
        return Record(**{**vars(self), **fields})


def _formats() -> dict[str, Any]:
    """Enumerations as {number: name}; structs as fields and, for a select, {name: struct}."""
    found: dict[str, Any] = {}
    pages = [*SPECS.glob("0[3459]-*.md"), *SPECS.glob("14-*.md")]
    for path in pages:  # 03-V6, 04, 05, 09-D1 and 14-M1
        text = path.read_text(encoding="utf-8")
        for members, name in re.findall(r"enum : uint8 \{([^}]*)\} (\w+);", text):
            numbers = re.findall(r"(\w+)\((\d+)\)", members)
            found[name] = {int(number): member for member, number in numbers}
        for body, name in re.findall(r"struct \{((?:[^{}]|\{[^}]*\})*)\} (\w+);", text):
            found[name] = FIELD.findall(body), dict(re.findall(r"case (\w+): (\w+);", body))
    return found


FORMATS = _formats()


class Reader:
    """What is left of an input."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        """The next bytes (00-C13: the size is compared before anything is read)."""
        require(size <= len(self.data) - self.at)
        self.at += size
        return self.data[self.at - size : self.at]

    def part(self, width: int, high: int, low: int = 0) -> bytes:
        """A size of so many bytes, in its bounds, and what it announces."""
        size = int.from_bytes(self.take(width))
        require(low <= size <= high)
        return self.take(size)

    def read(self, form: str) -> Any:
        """00-C1 to 00-C3, 00-C9, 00-C10: an integer, the name of a member, or a record."""
        if form in WIDTHS:
            value = int.from_bytes(self.take(WIDTHS[form]), signed=form == "int64")
            require(form != "boolean" or value < 2)
            return value
        if isinstance(FORMATS[form], dict):
            (number,) = self.take(1)
            require(number in FORMATS[form])
            return FORMATS[form][number]
        (fields, cases), start = FORMATS[form], self.at
        record = Record(**{field[2]: self.field(*field) for field in fields})
        if cases:
            vars(record).update(vars(self.read(cases[record.tag])))
            record.raw = self.data[start : self.at]
        return record

    def field(self, form: str, item: str, _: str, *sizes: str) -> Any:
        """00-C4, 00-C5, 00-C7."""
        fixed, low, high, most = (int(size or 0) for size in sizes)
        if not high:
            return self.take(fixed) if fixed else self.read(form)
        inner = Reader(self.part((high.bit_length() + 7) // 8, high, low))
        if (form, item) == ("opaque", ""):
            return inner.data
        items = []
        while inner.at < len(inner.data):
            items.append(inner.take(int(item)) if item else inner.read(form))
        require(len(items) <= (most or high))
        return items


def decode(form: str, data: bytes) -> Any:
    """00-C15: the whole input, exactly."""
    reader = Reader(data)
    value = reader.read(form)
    require(reader.at == len(data))
    return value
