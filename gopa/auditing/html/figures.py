"""Figures for people: decimal text of a report, rounded to what it can say.

Nothing here is trusted to be a number of a sensible size: what is not is shown as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Final

from gopa.support.rounding import rounded

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
