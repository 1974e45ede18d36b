"""Refuses arguments that mean nothing, and makes equal numbers of all kinds the same."""

from __future__ import annotations

import math
from numbers import Integral, Real

from gopa import UsageError


def number(value: object, field: str) -> float:
    """The float, of whichever kind of number it was, so that equal ones are written alike."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError("a number", field)
    try:
        return float(value)
    except OverflowError:
        raise UsageError("a number that a float can hold", field) from None


def whole(value: object, field: str, least: int = 1, most: float = math.inf) -> int:
    """The integer, also one of numpy's, if it is from `least` to `most`.

    >>> from gopa.learning import whole
    >>> whole(0, "rounds")
    Traceback (most recent call last):
    ...
    wire.errors.UsageError: rounds: a whole number, at least 1
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or not least <= int(value) <= most
    ):
        ends = f"at least {least}" if most == math.inf else f"from {least} to {most}"
        raise UsageError(f"a whole number, {ends}", field)
    return int(value)
