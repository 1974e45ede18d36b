"""Tabulates multiples of bases that are multiplied very often."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from commitments.group import AnyScalarVec
from commitments.reference.arguments import same_length
from commitments.reference.curve import Addend, Curve, Element
from commitments.reference.multiexp import Windows, centred, windows_for
from commitments.reference.points import ReferencePointVec
from commitments.reference.scalar_vectors import any_vector
from wire.errors import UsageError

_WIDTH: Final = 6


class ReferenceFixedBases:
    """Sums of multiples without doublings. Implements `commitments.group.FixedBases`."""

    __slots__ = ("_tables", "_windows", "curve")

    def __init__(self, curve: Curve, bases: tuple[Element, ...]) -> None:
        if not bases:
            raise UsageError("fixed bases need at least one base")
        self.curve = curve
        self._windows = windows_for(curve.order // 2, _WIDTH)
        self._tables = [_table(curve, base, self._windows) for base in bases]

    def __len__(self) -> int:
        return len(self._tables)

    def combine(self, *columns: AnyScalarVec) -> ReferencePointVec:
        curve = self.curve
        same_length(len(self), len(columns), "bases and columns")
        scalars = [centred(curve, any_vector(curve, column).residues) for column in columns]
        for column in scalars:
            same_length(len(scalars[0]), len(column), "columns")
        return ReferencePointVec(
            curve,
            tuple(
                curve.add_all(
                    curve.identity, chain.from_iterable(map(self._terms, self._tables, row))
                )
                for row in zip(*scalars, strict=True)
            ),
        )

    def __repr__(self) -> str:
        return f"<FixedBases of {self.curve.name}: {len(self)} bases>"

    def _terms(self, table: list[list[Addend]], scalar: int) -> Iterator[Addend]:
        """The table entries that add up to scalar times the base of the table."""
        half = self._windows.half
        mask = 2 * half - 1
        rest = scalar + self._windows.offset
        for entries in table:
            digit = (rest & mask) - half
            rest >>= _WIDTH
            if digit > 0:
                yield entries[digit]
            elif digit:
                yield self.curve.negate_addend(entries[-digit])


def _table(curve: Curve, base: Element, windows: Windows) -> list[list[Addend]]:
    """Row i holds 0, 1, ..., half times base * 2^(width * i)."""
    size = windows.half + 1
    flat: list[Element] = []
    for _ in range(windows.count):
        flat.append(curve.identity)
        for _ in range(windows.half):
            flat.append(curve.add(flat[-1], base))
        base = curve.double(base, windows.width)
    addends = curve.addends(flat)
    return [addends[start : start + size] for start in range(0, len(flat), size)]
