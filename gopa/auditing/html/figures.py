"""What is read out of a report in JSON: texts that are cut, and figures as people read them.

What has another shape than a report is refused. Names and labels in it are strangers' words of any
length: no text leaves this module longer than the page may show, so nobody can make a page grow
without bound. Nothing is trusted to be a number of a sensible size: what is not is shown as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from types import MappingProxyType
from typing import Final

from gopa.support.rounding import rounded
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


_CONTEXT: Final = Context(prec=40, rounding=ROUND_HALF_EVEN)
_MOST_EXPONENT: Final = 25
_TWO_SIGMA: Final = Decimal("1.96")
_SMALLEST: Final = 400
_RARE: Final = 10**12
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number_of(value: str, most: int = _MOST_EXPONENT) -> Decimal | None:
    """The number, if it is one that can be written out: no more than `most` places long."""
    if len(value) > 64:
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > most:
        return None
    return number


def with_error(mean: str, error: str) -> tuple[str, str]:
    """Both, rounded to what the error leaves known; six digits where there is no usable error."""
    return rounded(mean, error, grouped=True) or (short(mean), short(error))


def between(mean: str, error: str) -> tuple[str, str] | None:
    """Where the true value lies in about 19 of 20 cases."""
    middle, spread = number_of(mean), number_of(error)
    if middle is None or spread is None or spread <= 0:
        return None
    reach = _CONTEXT.multiply(_TWO_SIGMA, spread)
    low = _CONTEXT.subtract(middle, reach)
    high = _CONTEXT.add(middle, reach)
    return with_error(str(low), error)[0], with_error(str(high), error)[0]


def tiny(value: str) -> str:
    """Three significant digits, with a power of ten for small numbers."""
    number = number_of(value, _SMALLEST)
    if number is None:
        return value
    brief = Context(prec=3, rounding=ROUND_HALF_EVEN).plus(number)
    if not brief or brief.adjusted() >= -3:
        return f"{brief.normalize():f}"
    digits = brief.scaleb(-brief.adjusted()).normalize()
    power = f"10{str(brief.adjusted()).translate(_RAISED)}"
    return power if digits == 1 else f"{digits:f} · {power}"


def short(value: str) -> str:
    """Six significant digits."""
    number = number_of(value)
    if number is None:
        return value
    brief = Context(prec=6, rounding=ROUND_HALF_EVEN).plus(number)
    if -5 <= brief.adjusted() <= 12:
        return f"{brief:f}"
    return f"{brief:.6g}"


def largest(values: Sequence[str]) -> str:
    """The largest of some chances, as the first of equals is written; no number counts as 1."""

    def size(value: str) -> float:
        try:
            return float(value[:64])
        except ValueError:
            return 1.0

    return max(values, key=size)


def sure(epsilon: str) -> str:
    """How sure, in percent and rounded up, an even guess can get to be."""
    number = number_of(epsilon)
    if number is None or number < 0:
        return "100"
    part = 1 / (1 + math.exp(-min(float(number), 700.0)))
    percent = Decimal(str(round(100 * part, 6))).quantize(Decimal("0.1"), ROUND_CEILING)
    return f"{percent:f}"


def chance(delta: str) -> str | None:
    """A small chance in words; None where it is none, and nothing is promised."""
    number = number_of(delta, _SMALLEST)
    if number is None or number >= 1:
        return None
    if number <= 0:
        return "no chance"
    if number > Decimal("0.5"):
        return f"{short(str(_CONTEXT.multiply(number, Decimal(100))))} %"
    once = int(_CONTEXT.divide(Decimal(1), number))
    return "less than one in a million million" if once > _RARE else f"one in {_rounded(once):,}"


def _rounded(count: int) -> int:
    """Three digits, rounded down: a chance is never shown smaller than it is."""
    unit = int("1" + "0" * max(len(str(count)) - 3, 0))
    return count // unit * unit


def counted(count: int, one: str, many: str) -> str:
    """`1 party`, `2 parties`."""
    return f"{count:,} {one if count == 1 else many}"


def grouped(count: int) -> str:
    """`12,345`."""
    return f"{count:,}"


def key_name(key: str) -> str:
    """The first digits of a key: enough to find it again."""
    return key[:12] + ("…" if len(key) > 12 else "")
