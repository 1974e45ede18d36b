"""Rounds a number to what its error leaves known, for everything that people read.

The one place of it: results, commands, the page of an audit and the board's page all show
numbers through `known` or `rounded`. Files for programs hold all digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from itertools import islice, starmap
from typing import Final, SupportsFloat, TypeAlias

Number: TypeAlias = Decimal | str | SupportsFloat

_CONTEXT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)
_PLAIN: Final = range(-7, 16)
"""Exponents for which a number is written out."""

_LONGEST: Final = 64
_MOST_SHOWN: Final = 6


def known(value: Number, error: Number) -> tuple[str, str]:
    """Rounds the value to the first digit of its error, and the error to two digits.

    A value known to +- 19 is 40, not 37.4. Without a usable error (zero, none, not finite) six
    digits stay. What is no number is shown as it is.
    """
    return rounded(value, error) or (short(value), short(error))


def rounded(value: Number, error: Number, *, grouped: bool = False) -> tuple[str, str] | None:
    """Gives the same; None without a usable error. `grouped` sets commas between thousands."""
    middle, spread = _decimal(value), _decimal(error)
    if middle is None or spread is None:
        return None
    blur = Context(prec=2, rounding=ROUND_HALF_EVEN).plus(spread)
    if blur <= 0 or blur.adjusted() not in _PLAIN or middle.adjusted() > _PLAIN[-1]:
        return None
    shown = middle.quantize(Decimal(1).scaleb(blur.adjusted()), context=_CONTEXT)
    return _written(shown, grouped=grouped), _written(blur.normalize(), grouped=grouped)


def plus_minus(value: Number, error: Number) -> str:
    """Writes the value with its error, as `40 +- 19`; an empty error is left out."""
    return " +- ".join(filter(None, known(value, error)))


def blur(error: Number) -> str:
    """Writes an error alone: two digits of it, without an exponent."""
    return known(0, error)[1]


def listed(
    values: Sequence[Number], errors: Sequence[Number], names: Sequence[str] | None = None
) -> str:
    """Writes the first few values, with one error where all share it, and says how many.

    With `names` each has its name before it and its own error behind.
    """
    pairs = list(starmap(known, islice(zip(values, errors, strict=True), _MOST_SHOWN)))
    more = f", .. {len(values)} numbers" if len(values) > _MOST_SHOWN else ""
    if names is not None:
        named = zip(names, pairs, strict=False)
        return ", ".join(f"{name} {' +- '.join(filter(None, pair))}" for name, pair in named) + more
    blurs = {error for _, error in pairs}
    if len(pairs) > 1 and len(blurs) == 1 and blurs != {""}:
        return f"{', '.join(value for value, _ in pairs)}{more}, each +- {blurs.pop()}"
    return ", ".join(" +- ".join(filter(None, pair)) for pair in pairs) + more


def short(value: Number, digits: int = 6) -> str:
    """Writes a number without a known error in a few digits; what is no number as it is."""
    number = _decimal(value)
    if number is None:
        return str(value)
    return f"{float(number) + 0.0:.{digits}g}"


def _decimal(value: Number) -> Decimal | None:
    """The number, if it is finite; a long text is nobody's number."""
    text = str(value if isinstance(value, str | Decimal) else float(value))
    if len(text) > _LONGEST:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _written(number: Decimal, *, grouped: bool = False) -> str:
    """Digits without an exponent, and no minus in front of nothing."""
    plain = number or abs(number)
    return f"{plain:,f}" if grouped else f"{plain:f}"
