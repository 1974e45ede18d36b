"""Checks what callers pass in. No message ever repeats a value: it may be secret."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from commitments.reference.bigint import mpz
from commitments.reference.curve import Curve
from wire.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc.Buffer from Python 3.12 on

Item = TypeVar("Item")

_NATIVE_PREFIXES: Final = ("", "@", "=", "<" if sys.byteorder == "little" else ">")
_INTEGER_CODES: Final = "iIlLqQ"


def foreign(curve: Curve, wanted: str, value: object) -> UsageError:
    """The error for an operand of another type, group or backend; it names both."""
    kind = type(value)
    group = getattr(getattr(value, "curve", None), "name", None)
    of_group = f" of {group}" if group else ""
    return UsageError(
        f"expected a {wanted} of {curve.name} on the reference backend, "
        f"not {kind.__module__}.{kind.__qualname__}{of_group}"
    )


def integer(value: object, what: str) -> int:
    """An integer as such: bool, float and str are someone's mistake."""
    if isinstance(value, bool):
        raise UsageError(f"{what} must be an integer, not bool")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} must be an integer, not {type(value).__name__}") from None


def count(value: object, what: str = "the count") -> int:
    """A number of things."""
    number = integer(value, what)
    if number < 0:
        raise UsageError(f"{what} must not be negative")
    return number


def counts(values: object, what: str) -> list[int]:
    """A series of numbers of things."""
    if not isinstance(values, Iterable):
        raise UsageError(f"expected a sequence of integers, not {type(values).__name__}")
    return [count(value, what) for value in values]


def residue(value: object, order: int) -> int:
    """An integer strictly between -order and order, reduced."""
    number = integer(value, "a scalar")
    if not -order < number < order:
        raise UsageError("a scalar must lie strictly between -order and order")
    return mpz(number % order)


def residues(values: Iterable[int] | Buffer, order: int) -> tuple[int, ...]:
    """Integers, or a buffer of them, reduced."""
    buffer = integer_buffer(values)
    if buffer is not None:
        return tuple(mpz(value % order) for value in buffer.tolist())
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(f"expected integers or a buffer of them, not {type(values).__name__}")
    return tuple(residue(value, order) for value in values)


def integer_buffer(values: object) -> np.ndarray[Any, np.dtype[np.integer[Any]]] | None:
    """A view of a one-dimensional buffer of 32- or 64-bit integers; None if not a buffer."""
    try:
        view = memoryview(values)  # type: ignore[arg-type]
    except TypeError:
        return None
    except (BufferError, ValueError):
        raise UsageError("this object does not export its elements as a buffer") from None
    prefix, code = view.format[:-1], view.format[-1:]
    known = prefix in _NATIVE_PREFIXES and code in _INTEGER_CODES
    if not known or view.itemsize not in {4, 8} or view.ndim != 1:
        raise UsageError("a buffer of integers has one dimension and 32- or 64-bit elements")
    array = np.asarray(view)
    if len(array) and not array.flags.aligned:
        raise UsageError("the elements of a buffer begin at multiples of their size: copy them")
    return array


def item_at(items: tuple[Item, ...], index: object) -> Item:
    """One item; negative positions count from the end."""
    position = integer(index, "an index")
    if not -len(items) <= position < len(items):
        raise UsageError(f"index {position} is out of range for {len(items)} elements")
    return items[position]


def items_in(items: tuple[Item, ...], part: slice) -> tuple[Item, ...]:
    """A slice, with the meaning it has for every Python sequence."""
    try:
        return items[part]
    except (TypeError, ValueError):
        raise UsageError("a slice takes integers and a step other than zero") from None


def items_at(items: tuple[Item, ...], indices: Sequence[int]) -> tuple[Item, ...]:
    """The items at non-negative positions."""
    positions = counts(indices, "an index")
    if any(position >= len(items) for position in positions):
        raise UsageError(f"an index is out of range for {len(items)} elements")
    return tuple(items[position] for position in positions)


def same_length(left: int, right: int, what: str) -> None:
    """Refuse to pair sequences of different lengths."""
    if left != right:
        raise UsageError(f"{what}: lengths {left} and {right} differ")
