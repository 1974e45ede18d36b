"""Arguments that mean something, bytes that are equal for equal data, and streams from a seed."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from numbers import Integral, Real
from typing import Any

import numpy as np

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


def encoded(value: Any) -> bytes:
    """The bytes of numbers, text, arrays, and of sequences, dicts and dataclasses of them.

    Every part is preceded by its kind and length, so two values have the same bytes only if they
    are the same. Arrays are written little-endian with their shape, and every NaN as the same
    one; the order of a dict does not matter. Fields of a dataclass that do not compare are left
    out.

    Raises:
        UsageError: something else is in it.
    """
    kind, body = _parts(value)
    return b"".join((kind, len(body).to_bytes(8, "big"), body))


def _parts(value: Any) -> tuple[bytes, bytes]:  # noqa: PLR0911 - one for each kind
    if value is None or isinstance(value, bool | np.bool_):
        return b"b", str(value).encode()
    if isinstance(value, int | np.integer):
        return b"i", str(int(value)).encode()
    if isinstance(value, float | np.floating):
        return b"f", float(value).hex().encode()
    if isinstance(value, str):
        return b"s", value.encode()
    if isinstance(value, bytes):
        return b"y", value
    if isinstance(value, np.ndarray):
        return b"a", _array(value)
    if isinstance(value, tuple | list):
        return b"l", b"".join(map(encoded, value))
    if isinstance(value, Mapping):
        pairs = sorted((encoded(name), encoded(each)) for name, each in value.items())
        return b"d", b"".join(first + second for first, second in pairs)
    if is_dataclass(value) and not isinstance(value, type):
        named = {each.name: getattr(value, each.name) for each in fields(value) if each.compare}
        return b"c", encoded((type(value).__qualname__, named))
    raise UsageError(f"a {type(value).__name__} has no bytes of its own", "model")


def _array(values: np.ndarray[Any, Any]) -> bytes:
    if values.dtype.kind == "O":
        return encoded((values.shape, values.ravel().tolist()))
    if values.dtype.kind not in "biufcU":
        raise UsageError("an array holds numbers or text", "model")
    if values.dtype.kind in "fc":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return encoded((little.dtype.str, values.shape, little.tobytes()))


def generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of random numbers of its own for each use of one seed, never for secrets.

    Noise that hides something comes from `gopa.noise`.
    """
    require_seed(seed)
    return np.random.default_rng(int.from_bytes(sha256(encoded((seed, names))).digest(), "big"))


def fresh_seed() -> int:
    """A seed that nobody can foresee, from the system."""
    return int.from_bytes(os.urandom(16), "big")


def require_seed(seed: int) -> None:
    """Refuses what is no seed; an algorithm that draws nothing itself calls it first."""
    whole(seed, "seed", 0)
