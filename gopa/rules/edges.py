"""The edges of a round after the close of commit: live ones and void ones ([K5]).

Ends are positions of the roll, the lower one first; edges are numbered in increasing
order of their ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec
from wire.errors import MalformedMessage

Positions = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Signs = npt.NDArray[np.int8]
Encodings = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class VoidEdge:
    """An edge between listed parties that masks nothing, and what each end posted."""

    low: int
    high: int
    by_low: bytes
    by_high: bytes


@dataclass(frozen=True, eq=False)
class Edges:
    """Which edges mask. `encodings` has what both ends of each live one posted.

    In full mode these are canonical points: they are decoded again where one is needed,
    which takes a sixth of the memory that the points themselves would.
    """

    parties: int
    low: Indices
    high: Indices
    encodings: Encodings
    void: tuple[VoidEdge, ...]
    signs: Signs = field(repr=False)

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def live_pairs(self) -> frozenset[tuple[int, int]]:
        """The live edges."""
        return frozenset(zip(self.low.tolist(), self.high.tolist(), strict=True))

    @cached_property
    def void_pairs(self) -> frozenset[tuple[int, int]]:
        """The void edges between listed parties."""
        return frozenset((edge.low, edge.high) for edge in self.void)

    @cached_property
    def void_between(self) -> Mapping[tuple[int, int], VoidEdge]:
        """The void edges by their ends."""
        return {(edge.low, edge.high): edge for edge in self.void}

    def find(self, one: int, other: int) -> int | None:
        """The number of the live edge between two parties."""
        low, high = np.int32(min(one, other)), np.int32(max(one, other))
        first, last = (
            np.searchsorted(self.low, low, "left"),
            np.searchsorted(self.low, low, "right"),
        )
        at = int(first + np.searchsorted(self.high[first:last], high))
        return at if at < last and self.high[at] == high else None

    def encoding(self, edge: int) -> bytes:
        """What both ends posted."""
        return bytes(self.encodings[edge])

    def points(self, group: Group, edges: Sequence[int]) -> PointVec:
        """The commitments of some edges, in full mode."""
        return group.decode_points(self.encodings[list(edges)].tobytes(), len(edges))

    def ends(self, edge: int) -> tuple[int, int]:
        """Both ends, the lower position first."""
        return int(self.low[edge]), int(self.high[edge])

    def sign_at(self, edge: int, party: int) -> int:
        """With which sign `party` adds the mask ([P1])."""
        return int(self.signs[edge]) * (1 if party == self.low[edge] else -1)

    def crossing(self, inside: Iterable[int]) -> list[tuple[int, int, int]]:
        """Live edges with one end inside: (edge, end inside, end outside), by ends."""
        member = np.zeros(self.parties, dtype=np.bool_)
        member[list(inside)] = True
        low_in, high_in = member[self.low], member[self.high]
        found = []
        for edge in np.flatnonzero(low_in != high_in).tolist():
            low, high = self.ends(edge)
            found.append((edge, low, high) if low_in[edge] else (edge, high, low))
        return found


def good_points(group: Group, encodings: Sequence[bytes]) -> list[bool]:
    """Which of the encodings are canonical points other than the identity."""
    try:
        group.decode_points(b"".join(encodings), len(encodings))
    except MalformedMessage:
        if len(encodings) == 1:
            return [False]
    else:
        return [True] * len(encodings)
    middle = len(encodings) // 2
    return good_points(group, encodings[:middle]) + good_points(group, encodings[middle:])
