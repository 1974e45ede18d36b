"""Turns values of any nested form into flat vectors, and back.

A value is a number, a numpy array of numbers, or a dict, list or tuple of values. All
parties have values of one structure: the same keys, lengths and shapes.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.aggregation.errors import InvalidValue
from wire.errors import UsageError

Floats: TypeAlias = npt.NDArray[np.float64]

Value: TypeAlias = Any
"""A number, a numpy array, or a dict, list or tuple of values."""

_MOST_DEPTH: Final = 32
_EXACT: Final = 2**53
_KINDS: Final = "biuf"
_PARTS: Final = (Mapping, list, tuple, np.ndarray)
_FLOATS: Final = frozenset({float, np.float16, np.float32, np.float64})
"""Kinds of numbers that an array of floats holds exactly, whatever they are."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Describes one number (`shape` is None) or one array, and where it stands in the value.

    With a `count` it describes so many numbers: all that a list or a tuple holds.
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
    """Describes the form that all parties' values share: `Structure.of` reads it off the first."""

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


def keys_of(value: Mapping[Any, Any]) -> list[Any]:
    """The keys of a dict in the order of their numbers."""
    return sorted(value, key=repr)


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
