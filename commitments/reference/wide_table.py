"""Symmetric tables of 128-bit precision, searched one draw at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from commitments.group import WideTable
from commitments.reference.arguments import integer
from wire.errors import UsageError

DRAW_SIZE: Final = 16
_RANGE: Final = 1 << 128
_LARGEST_RADIUS: Final = 2**31 - 1


class ReferenceWideTable:
    """Implements `commitments.group.WideTable`."""

    __slots__ = ("_bounds", "_radius")

    def __init__(self, lower: Sequence[int]) -> None:
        try:
            bounds = [integer(bound, "a bound of a wide table") for bound in lower]
        except TypeError:
            raise UsageError("a wide table is made from a sequence of integers") from None
        if not 1 <= len(bounds) <= _LARGEST_RADIUS:
            raise UsageError("a wide table has at least one and below 2^31 lower bounds")
        rising = all(low <= high for low, high in pairwise(bounds))
        if not (bounds[0] >= 1 and bounds[-1] <= _RANGE // 2 and rising):
            raise UsageError("the lower bounds of a wide table rise from 1 or more to 2^127")
        self._radius = len(bounds)
        self._bounds = bounds + [_RANGE - bound for bound in reversed(bounds)]

    @property
    def radius(self) -> int:
        """Draws lie in -radius .. radius."""
        return self._radius

    def draws(self, data: bytes) -> Iterator[int]:
        """One value for every 16 bytes."""
        for start in range(0, len(data), DRAW_SIZE):
            draw = int.from_bytes(data[start : start + DRAW_SIZE], "little")
            yield bisect_right(self._bounds, draw) - self._radius

    def __repr__(self) -> str:
        return f"<WideTable: radius {self._radius}>"


def reference_table(table: WideTable) -> ReferenceWideTable:
    """The table, if it is one of this backend."""
    if isinstance(table, ReferenceWideTable):
        return table
    raise UsageError(f"expected a wide table of the reference backend, not {type(table).__name__}")
