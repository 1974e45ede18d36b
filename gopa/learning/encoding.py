"""Writes plain data as bytes in one way only, so that equal runs are equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gopa import UsageError


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
