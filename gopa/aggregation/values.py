"""Values as callers hold them: nested numbers and arrays, columns and tables; and flat vectors.

A value is a number, a numpy array of numbers, or a dict, list or tuple of values. All
parties have values of one structure: the same keys, lengths and shapes.

A column of pandas is known by its method `to_numpy`, a table by its columns, so those of other
libraries that have them work as well, and none of these libraries is a dependency.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa.contract.terms import check_name
from gopa.support.arrays import Floats
from wire.errors import UsageError


class InvalidValue(UsageError):
    """A party's value does not have the structure of the others, or is no number.

    `party` is the position of the value in the list, `coordinate` where inside it.
    """

    def __init__(self, message: str, party: int, coordinate: str = "") -> None:
        super().__init__(message, f"values[{party}]{coordinate}")
        self.args = (message, party, coordinate)
        self.party = party
        self.coordinate = coordinate


class OutOfRange(InvalidValue):
    """A value lies outside the public range, or a vector is longer than the plan allows.

    Nothing was released. `clip=True` moves such values to the nearest allowed ones.
    """


class InvalidWeight(UsageError):
    """A weight is negative, above the public maximum, or no number."""

    def __init__(self, message: str, party: int) -> None:
        super().__init__(message, f"weights[{party}]")
        self.args = (message, party)
        self.party = party


Value: TypeAlias = Any
"""A number, a numpy array, or a dict, list or tuple of values."""


class Column(Protocol):
    """A column or a table as those of pandas are: its entries come as an array."""

    def to_numpy(self) -> Any: ...


Values: TypeAlias = Sequence[Value | None] | npt.NDArray[Any] | Column
"""One value for each party, in a list, an array, a column, or a table with a row for each."""

Absent: TypeAlias = Literal["none", "nan"]
"""What stands for a party that does not take part: None alone, or NaN too."""

_MOST_DEPTH: Final = 32
_EXACT: Final = 2**53
_KINDS: Final = "biuf"
_PARTS: Final = (Mapping, list, tuple, np.ndarray)
_FLOATS: Final = frozenset({float, np.float16, np.float32, np.float64})
"""Kinds of numbers that an array of floats holds exactly, whatever they are."""

_HINT: Final = 'must be a number, not NaN: absent="nan" leaves out parties whose value is NaN'
_PARTLY: Final = (
    "must hold no NaN beside numbers, as a party takes part with its whole row: fill the gap, or "
    "make the whole row NaN to leave the party out"
)


def values_of(given: object, absent: Absent = "none") -> Sequence[Value | None]:
    """One value for each party; None stands for a party that does not take part.

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
    """The entries of a list, an array or a column; `UsageError` for anything else."""
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
    found = array.tolist() if array.dtype.kind in _KINDS else list(array)
    missing = given.isna() if hasattr(given, "isna") else [False] * len(found)
    return [math.nan if lacks else entry for entry, lacks in zip(found, missing, strict=True)]


def count_of(given: object, field: str) -> int:
    """How many entries a list has that holds one for each party.

    Raises `UsageError` for anything else: what has keys or no order would be read as
    something that nobody meant.
    """
    listed = isinstance(given, Sequence) and not isinstance(given, (str, bytes, bytearray))
    if listed or (isinstance(given, np.ndarray) and given.ndim):
        return len(given)  # type: ignore[arg-type]
    raise UsageError(
        f"must be a list with one entry for each party, not {type(given).__name__}", field
    )


def count_absent(values: Sequence[Value | None]) -> int:
    """How many parties do not take part."""
    return sum(value is None for value in values)


def weights_of(weights: object, values: Sequence[Value | None]) -> Sequence[Any]:
    """One weight for each party; that of a party that does not take part counts as 0."""
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


@dataclass(frozen=True, slots=True)
class Leaf:
    """One number (`shape` is None) or one array, and where it stands in the value.

    With a `count` it is so many numbers: all that a list or a tuple holds.
    """

    path: str
    shape: tuple[int, ...] | None
    count: int | None = None

    @property
    def size(self) -> int:
        if self.count is not None:
            return self.count
        return 1 if self.shape is None else math.prod(self.shape)

    def coordinate(self, position: int) -> str:
        """Where one number of this leaf stands in the value, as Python would write it."""
        if self.count is not None:
            return f"{self.path}[{position}]"
        if self.shape is None or not self.shape:
            return self.path
        where = np.unravel_index(position, self.shape)
        return self.path + "[" + ", ".join(str(int(axis)) for axis in where) + "]"

    def one_by_one(self) -> Iterator[Leaf]:
        """A leaf for each of the numbers, where it has a count."""
        if self.count is None:
            yield self
        else:
            yield from (Leaf(self.coordinate(position), None) for position in range(self.count))


@dataclass(frozen=True, slots=True)
class Structure:
    """The form that all parties' values share: `Structure.of` reads it off the first."""

    leaves: tuple[Leaf, ...]
    outline: Any

    @classmethod
    def of(cls, value: Value, party: int = 0) -> Structure:
        """The structure of one value.

        Raises:
            InvalidValue: something in it is no number, array, dict, list or tuple, or it
                holds no number at all.
        """
        leaves = tuple(_leaf(path, found) for path, found in _walk(value, party))
        if not sum(leaf.size for leaf in leaves):
            raise InvalidValue("must hold at least one number", party)
        return cls(leaves, _outline(value))

    @property
    def size(self) -> int:
        """How many numbers a value holds."""
        return sum(leaf.size for leaf in self.leaves)

    def flatten(self, value: Value, party: int) -> Floats:
        """The numbers of a value in one vector.

        Every number is taken exactly: floats as they are, integers up to 2^53.

        Raises:
            InvalidValue: another structure, a number that is not finite, or an integer
                that a float does not hold.
        """
        vector = self._at_once(value, party)
        return self._one_by_one(value, party) if vector is None else vector

    def _at_once(self, value: Value, party: int) -> Floats | None:
        """The vector, lists of numbers at once; None where something has to be looked at."""
        found = list(_walk(value, party))
        same = [_leaf(path, item) for path, item in found] == list(self.leaves)
        if not same or _outline(value) != self.outline:
            return None
        parts = [part for _, item in found if (part := _plain(item)) is not None]
        return np.concatenate(parts) if len(parts) == len(found) else None

    def _one_by_one(self, value: Value, party: int) -> Floats:
        """The vector, or what is wrong with the value and where."""
        found = list(_walk(value, party, runs=False))
        leaves = [each for leaf in self.leaves for each in leaf.one_by_one()]
        if [path for path, _ in found] != [leaf.path for leaf in leaves]:
            expected = {leaf.path for leaf in leaves}
            raise InvalidValue(_difference(expected, {path for path, _ in found}), party)
        if _outline(value) != self.outline:
            raise InvalidValue(
                "must have the same dicts, lists and tuples as the first value", party
            )
        vector = np.empty(self.size)
        start = 0
        for leaf, (path, item) in zip(leaves, found, strict=True):
            if _shape(item) != leaf.shape:
                raise InvalidValue(
                    f"must be {_described(leaf.shape)}, as in the first value", party, path
                )
            part = vector[start : start + leaf.size]
            part[:] = _exact(item, party, path)
            if not np.isfinite(part).all():
                where = leaf.coordinate(int(np.flatnonzero(~np.isfinite(part))[0]))
                raise InvalidValue("must be a finite number, not NaN or infinite", party, where)
            start += leaf.size
        return vector

    def restore(self, vector: Floats) -> Value:
        """A value of this structure with these numbers: floats, and arrays of float64."""
        parts, start = list[Any](), 0
        for leaf in self.leaves:
            part = vector[start : start + leaf.size]
            single = leaf.count is not None or leaf.shape is None
            parts += part.tolist() if single else [part.reshape(leaf.shape).copy()]
            start += leaf.size
        remaining = iter(parts)
        return _map(self.outline, lambda _: next(remaining))

    def coordinate(self, position: int) -> str:
        """Where the number at this position of the vector stands in the value."""
        for leaf in self.leaves:
            if position < leaf.size:
                return leaf.coordinate(position)
            position -= leaf.size
        return ""


def _difference(expected: set[str], found: set[str]) -> str:
    missing = ", ".join(sorted(expected - found)[:3])
    extra = ", ".join(sorted(found - expected)[:3])
    if missing:
        return f"lacks {missing}, which the first value has"
    if extra:
        return f"has {extra}, which the first value does not have"
    return "has its parts in another order than the first value"


def flat(value: Value) -> Floats:
    """The numbers of one value in a vector, whatever they are."""
    parts = [np.asarray(leaf, dtype=np.float64).reshape(-1) for _, leaf in _walk(value, 0)]
    return np.concatenate(parts)


def names_of(value: Value) -> list[str] | None:
    """The names of numbers that stand alone: keys of a dict of numbers, nothing for one number.

    None for any other value.
    """
    if not _has_parts(value):
        return [""]
    if isinstance(value, Mapping) and not any(map(_has_parts, value.values())):
        return [str(key) for key in keys_of(value)]
    return None


def labels(value: Value) -> list[str]:
    """What to call each number of a value: the key of a dict of numbers, the place of any other."""
    named = names_of(value)
    if named is not None:
        return named
    structure = Structure.of(value)
    return [structure.coordinate(position) for position in range(structure.size)]


def keys_of(value: Mapping[Any, Any]) -> list[Any]:
    """The keys of a dict in the order of their numbers."""
    return sorted(value, key=repr)


def _has_parts(value: Value) -> bool:
    return isinstance(value, _PARTS)


def _walk(
    value: Value, party: int, path: str = "", depth: int = 0, *, runs: bool = True
) -> Iterator[tuple[str, Any]]:
    """Numbers and arrays with their paths. Dicts are walked in the order of their keys' repr.

    With `runs` a list or a tuple of numbers comes as it is: they may be many.
    """
    if depth > _MOST_DEPTH:
        raise InvalidValue(f"must have at most {_MOST_DEPTH} levels of nesting", party, path)
    if isinstance(value, Mapping):
        keys = keys_of(value)
        if len(set(map(repr, keys))) < len(keys):
            raise InvalidValue("must have keys of which no two have the same repr", party, path)
        for key in keys:
            yield from _walk(value[key], party, f"{path}[{key!r}]", depth + 1, runs=runs)
    elif runs and depth < _MOST_DEPTH and _is_run(value):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _walk(item, party, f"{path}[{position}]", depth + 1, runs=runs)
    elif isinstance(value, (np.ndarray, numbers.Real, np.bool_)):
        yield path, value
    else:
        message = (
            f"must be a number, a numpy array, or a dict, list or tuple of them, not "
            f"{type(value).__name__}"
        )
        raise InvalidValue(message, party, path)


def _is_run(value: Value) -> bool:
    """Whether a value is a list or a tuple of numbers, which is seen from their types alone."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    kinds = set(map(type, value))
    return all(
        issubclass(kind, (numbers.Real, np.bool_)) and not issubclass(kind, _PARTS)
        for kind in kinds
    )


def _plain(found: Any) -> Floats | None:
    """The numbers of a leaf or of a run, if all are finite and exact; else None."""
    try:
        part = _exact_run(found) if isinstance(found, (list, tuple)) else _exact(found, 0, "")
    except InvalidValue:
        return None
    return part if part is not None and np.isfinite(part).all() else None


def _exact_run(run: Sequence[Any]) -> Floats | None:
    """Many numbers of Python's or numpy's usual kinds, each with its exact value; else None."""
    kinds = set(map(type, run))
    if kinds <= _FLOATS:
        return np.array(run, dtype=np.float64)
    if not kinds <= _FLOATS | {int, bool}:
        return None
    whole = (each for each in run if isinstance(each, int))
    if not all(-_EXACT <= each <= _EXACT for each in whole):
        return None
    return np.array(run, dtype=np.float64)


def _leaf(path: str, found: Any) -> Leaf:
    run = isinstance(found, (list, tuple))
    return Leaf(path, _shape(found), len(found) if run else None)


def _outline(value: Value) -> Value:
    """The same dicts, lists and tuples with nothing in them."""
    if isinstance(value, Mapping):
        return {key: _outline(item) for key, item in value.items()}
    if not isinstance(value, (list, tuple)):
        return None
    items = [None] * len(value) if _is_run(value) else [_outline(item) for item in value]
    return items if isinstance(value, list) else getattr(type(value), "_make", tuple)(items)


def _map(value: Value, change: Callable[[Any], Any]) -> Value:
    """The same dicts (as plain dicts), lists and tuples with changed leaves."""
    if isinstance(value, Mapping):
        changed = {key: _map(value[key], change) for key in keys_of(value)}
        return {key: changed[key] for key in value}
    if isinstance(value, tuple):
        items = [_map(item, change) for item in value]
        make = getattr(type(value), "_make", tuple)
        return make(items)
    if isinstance(value, list):
        return [_map(item, change) for item in value]
    return change(value)


def _shape(leaf: Any) -> tuple[int, ...] | None:
    return leaf.shape if isinstance(leaf, np.ndarray) else None


def _described(shape: tuple[int, ...] | None) -> str:
    return "a single number" if shape is None else f"an array of shape {shape}"


def _exact(leaf: Any, party: int, path: str) -> Floats:
    """The numbers of a leaf as float64, each with its exact value."""
    try:
        array = np.asarray(leaf)
        if array.dtype.kind == "O" and not isinstance(leaf, np.ndarray):
            array = np.asarray(float(leaf))
            if array != leaf:
                raise InvalidValue("must be numbers that a float holds exactly", party, path)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue("must be numbers that a float holds exactly", party, path) from None
    if isinstance(leaf, np.ma.MaskedArray):
        raise InvalidValue("must be an array without a mask", party, path)
    if array.dtype.kind not in _KINDS or array.dtype.itemsize > 8:
        raise InvalidValue(f"must be numbers of at most 64 bits, not {array.dtype}", party, path)
    if array.dtype.kind in "iu" and array.size and _largest(array) > _EXACT:
        raise InvalidValue("must be integers of at most 2^53", party, path)
    return array.astype(np.float64).reshape(-1)


def _largest(array: npt.NDArray[Any]) -> int:
    return max(int(array.max()), -int(array.min()))
