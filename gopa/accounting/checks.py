"""Refuses arguments that mean nothing, by errors that say what to change."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from wire.errors import UsageError

Relation: TypeAlias = Literal["add-remove", "replace-one"]
RELATIONS: Final[tuple[Relation, ...]] = ("add-remove", "replace-one")


def positive(value: float | Fraction, field: str) -> float:
    """A number above 0 and finite."""
    number = _number(value, field)
    if not 0 < number < math.inf:
        raise UsageError("must be a finite number above 0", field)
    return number


def not_negative(value: float | Fraction, field: str) -> float:
    """A number of at least 0, finite."""
    number = _number(value, field)
    if not 0 <= number < math.inf:
        raise UsageError("must be a finite number, at least 0", field)
    return number


def probability(value: float, field: str) -> float:
    """A number from 0 to below 1."""
    number = _number(value, field)
    if not 0 <= number < 1:
        raise UsageError("must be a number from 0 to below 1", field)
    return number


def share(value: float, field: str) -> float:
    """A number above 0 and at most 1."""
    number = _number(value, field)
    if not 0 < number <= 1:
        raise UsageError("must be a number above 0 and at most 1", field)
    return number


def whole(value: int, least: int, field: str) -> int:
    """An integer of at least `least`."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise UsageError(f"must be an integer, at least {least}", field)
    return number


def relation(value: str) -> None:
    """One of the two ways in which data sets are neighbours."""
    if value not in RELATIONS:
        raise UsageError("must be 'add-remove' or 'replace-one'", "relation")


def _number(value: float | Fraction, field: str) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise UsageError("must be a number", field)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError("must be a number", field) from error
    return number
