"""One wrong result of the group, at a chosen call: what a fault in the machine does to a prover."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Literal, TypeAlias

import pytest

from commitments.reference.group import ReferenceGroup
from commitments.reference.points import ReferencePoint, ReferencePointVec
from commitments.reference.scalar_vectors import ReferenceScalarVec, ReferenceSecretScalarVec
from commitments.reference.scalars import ReferenceScalar, ReferenceSecretScalar

Kind: TypeAlias = Literal["zeros", "shifted"]

_CLASSES = (
    ReferenceGroup,
    ReferencePointVec,
    ReferencePoint,
    ReferenceScalarVec,
    ReferenceSecretScalarVec,
    ReferenceScalar,
    ReferenceSecretScalar,
)
_OPERATORS = {"__add__", "__sub__", "__mul__", "__neg__", "__getitem__"}


class Calls:
    """Counts the calls that a prover makes of the group, and spoils the result of one of them."""

    def __init__(self, at: int | None, kind: Kind) -> None:
        self.count = 0
        self._at = at
        self._kind = kind
        self._inside = False
        self.site = ("", "")
        """The function whose result was spoiled, and the one that called it."""

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            if self._inside:
                return function(*arguments, **named)
            self._inside = True
            try:
                result = function(*arguments, **named)
                place, self.count = self.count, self.count + 1
                if place != self._at:
                    return result
                self.site = function.__name__, sys._getframe(1).f_code.co_name
                return spoiled(result, self._kind)
            finally:
                self._inside = False

        return counted


@contextmanager
def fault(at: int | None, kind: Kind) -> Iterator[Calls]:
    """Inside, call number `at` of the reference group gives a wrong result; None for no call."""
    calls = Calls(at, kind)
    with pytest.MonkeyPatch.context() as patched:
        for owner in _CLASSES:
            for name, function in list(vars(owner).items()):
                if callable(function) and (name in _OPERATORS or not name.startswith("_")):
                    patched.setattr(owner, name, calls.around(function))
        yield calls


def spoiled(result: Any, kind: Kind) -> Any:
    """Zeros of the same type and size, or the first number or point moved by one."""
    if isinstance(result, ReferenceSecretScalarVec | ReferenceSecretScalar):
        return spoiled(result.reveal(), kind).secret()
    if isinstance(result, ReferenceScalarVec):
        order = result.curve.order
        changed = [(value + 1) % order if kind == "shifted" else 0 for value in result.ints()]
        kept = changed[1:] if kind == "zeros" else result.ints()[1:]
        return ReferenceGroup(result.curve).scalars(changed[:1] + kept)
    if isinstance(result, ReferenceScalar):
        one = ReferenceGroup(result.curve).scalar(1)
        return result + one if kind == "shifted" else result - result
    if isinstance(result, ReferencePoint):
        generator = ReferenceGroup(result.curve).generator
        return result + generator if kind == "shifted" else result - result
    if isinstance(result, ReferencePointVec):
        points = list(result)
        moved = [spoiled(point, kind) for point in points]
        return ReferenceGroup(result.curve).points(
            moved if kind == "zeros" else moved[:1] + points[1:]
        )
    return _spoiled_plain(result, kind)


def _spoiled_plain(result: Any, kind: Kind) -> Any:
    """Bytes and integers; what is neither stays as it is."""
    if isinstance(result, bytes) and result:
        return bytes(len(result)) if kind == "zeros" else bytes([result[0] ^ 1]) + result[1:]
    if isinstance(result, list) and result and isinstance(result[0], int):
        return [0] * len(result) if kind == "zeros" else [result[0] ^ 1, *result[1:]]
    return result
