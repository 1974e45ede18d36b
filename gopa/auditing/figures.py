"""Writes numbers as text: at most 12 digits, one spelling. `specs/11-audit.md`, [R4]."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

_DIGITS: Final = 12
_PLAIN: Final = range(-7, 16)
"""Exponents for which a number is written out."""

EXACT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)
_SHORT: Final = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
_UPWARDS: Final = Context(prec=_DIGITS, rounding=ROUND_CEILING)


def decimal_of(value: Fraction | int) -> Decimal:
    """Converts to a decimal with 60 digits."""
    fraction = Fraction(value)
    return EXACT.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


def root_of(value: Fraction | int) -> Decimal:
    """Takes the square root with 60 digits."""
    return EXACT.sqrt(decimal_of(value))


def text_of(value: Decimal | float, *, upwards: bool = False) -> str:
    """Writes the number with 12 significant digits; a bound is rounded `upwards`."""
    context = _UPWARDS if upwards else _SHORT
    rounded = context.create_decimal(Decimal(value))
    if rounded.is_zero():
        return "0"
    rounded = rounded.normalize(context)
    if rounded.adjusted() not in _PLAIN:
        return context.to_sci_string(rounded)
    return format(rounded, "f")
