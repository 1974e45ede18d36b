"""Reads values out of what callers hold them in: lists, arrays, and columns and tables of pandas.

A column is known by its method `to_numpy`, a table by its columns, so those of other libraries
that have them work as well, and none of these libraries is a dependency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa.aggregation.errors import InvalidValue
from gopa.aggregation.structure import Structure, Value, count_of, flat
from gopa.contract.terms import check_name
from wire.errors import UsageError


class Column(Protocol):
    """Gives its entries as an array: what columns and tables of pandas and its like do."""

    def to_numpy(self) -> Any: ...


Values: TypeAlias = Sequence[Value | None] | npt.NDArray[Any] | Column
"""One value for each party, in a list, an array, a column, or a table with a row for each."""

Absent: TypeAlias = Literal["none", "nan"]
"""What stands for a party that does not take part: None alone, or NaN too."""

_HINT: Final = 'must be a number, not NaN: absent="nan" leaves out parties whose value is NaN'
_PARTLY: Final = (
    "must hold no NaN beside numbers, as a party takes part with its whole row: fill the gap, or "
    "make the whole row NaN to leave the party out"
)
_NUMBERS: Final = "biuf"


def values_of(given: object, absent: Absent = "none") -> Sequence[Value | None]:
    """Lists one value for each party; None stands for a party that does not take part.

    A table has a row for each party, and each row becomes a dict by the names of the columns. With
    `absent` "nan", None also stands for a value all of whose numbers are NaN.

    Raises:
        InvalidValue: a number is NaN, and `absent` is "none"; or a row of a table has NaN beside
            numbers.
        UsageError: neither a list nor a column nor a table; or columns share a name.
    """
    check_name(absent, get_args(Absent), "absent")
    table = _is_table(given)
    listed: Sequence[Any] = _rows(given) if table else entries_of(given, "values")
    if absent == "nan":
        listed = [None if _is_missing(value) else value for value in listed]
    for party, value in enumerate(listed):
        if table and isinstance(value, Mapping):
            _require_whole(value, party, absent)
        elif isinstance(value, (float, np.floating)) and np.isnan(value):
            raise InvalidValue(_HINT, party)
    return listed


def entries_of(given: object, field: str) -> Any:
    """Lists the entries of a list, an array or a column; `UsageError` for anything else."""
    if _is_table(given):
        raise UsageError("must be one column, not a table: take one by its name", field)
    if isinstance(given, np.ndarray) or not hasattr(given, "to_numpy"):
        count_of(given, field)
        return given
    array = np.asarray(given.to_numpy())
    count_of(array, field)
    if array.ndim > 1:
        return array
    # Only these become Python numbers: a date would become the count of its nanoseconds.
    found = array.tolist() if array.dtype.kind in _NUMBERS else list(array)
    missing = given.isna() if hasattr(given, "isna") else [False] * len(found)
    return [math.nan if lacks else entry for entry, lacks in zip(found, missing, strict=True)]


def count_absent(values: Sequence[Value | None]) -> int:
    """How many parties do not take part."""
    return sum(value is None for value in values)


def weights_of(weights: object, values: Sequence[Value | None]) -> Sequence[Any]:
    """Lists one weight for each party; that of a party that does not take part counts as 0."""
    listed: Sequence[Any] = entries_of(weights, "weights")
    if len(listed) != len(values):
        return listed
    return [0 if value is None else weight for weight, value in zip(listed, values, strict=True)]


def require_integers(values: Sequence[Value | None]) -> None:
    """`InvalidValue` names the first number that is not whole: rounding it would be silent."""
    for party, value in enumerate(values):
        if value is None:
            continue
        structure = Structure.of(value, party)
        vector = structure.flatten(value, party)
        broken = np.flatnonzero(vector != np.floor(vector))
        if len(broken):
            message = (
                "must be a whole number, as integers=True promises: leave that out, or round first"
            )
            raise InvalidValue(message, party, structure.coordinate(int(broken[0])))


def _is_table(given: object) -> bool:
    has_columns = hasattr(given, "columns") and hasattr(given, "to_numpy")
    return has_columns or hasattr(given, "__dataframe__")


def _rows(table: Any) -> list[dict[Any, Any]]:
    names = list(table.column_names if hasattr(table, "column_names") else table.columns)
    if not names:
        raise UsageError("must be a table with at least one column", "values")
    if len(set(map(repr, names))) < len(names):
        raise UsageError("must be a table in which every column has a name of its own", "values")
    columns = [entries_of(table[name], "values") for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _require_whole(row: Mapping[Any, Any], party: int, absent: Absent) -> None:
    for name, number in row.items():
        if isinstance(number, float) and math.isnan(number):
            raise InvalidValue(_HINT if absent == "none" else _PARTLY, party, f"[{name!r}]")


def _is_missing(value: Value | None) -> bool:
    """Whether all of its numbers are NaN; what is no value is left for others to refuse."""
    if value is None:
        return True
    try:
        numbers = flat(value)
    except (UsageError, TypeError, ValueError):
        return False
    return bool(len(numbers) and np.isnan(numbers).all())
