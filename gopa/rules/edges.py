"""The edges of a round after the close of commit: live ones and void ones ([K5]).

Ends are positions of the roll, the lower one first; edges are numbered in increasing
order of their ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec
from gopa.graph import Graph
from wire.errors import MalformedMessage

Positions = npt.NDArray[np.int64]

_SIZE = 32


@dataclass(frozen=True, slots=True)
class VoidEdge:
    """An edge between listed parties that masks nothing, and what each end posted."""

    low: int
    high: int
    by_low: bytes
    by_high: bytes


@dataclass(frozen=True, eq=False)
class Edges:
    """Which edges mask. `points` are the decoded commitments of live ones, in full mode."""

    parties: int
    low: Positions
    high: Positions
    encodings: bytes
    points: PointVec | None
    void: tuple[VoidEdge, ...]
    signs: Positions = field(repr=False)

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

    @cached_property
    def _codes(self) -> Positions:
        return self.low * self.parties + self.high

    def find(self, one: int, other: int) -> int | None:
        """The number of the live edge between two parties."""
        code = min(one, other) * self.parties + max(one, other)
        at = int(np.searchsorted(self._codes, code))
        return at if at < len(self) and self._codes[at] == code else None

    def encoding(self, edge: int) -> bytes:
        """What both ends posted."""
        return self.encodings[_SIZE * edge : _SIZE * edge + _SIZE]

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

    def around(self, parties: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
        """For each of the parties its live edges, and the sign with which it adds each."""
        edges = np.concatenate([np.arange(len(self)), np.arange(len(self))])
        owners = np.concatenate([self.low, self.high])
        signs = np.concatenate([self.signs, -self.signs])
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.asarray(parties, dtype=np.int64), "left")
        stops = np.searchsorted(owners[order], np.asarray(parties, dtype=np.int64), "right")
        edges, signs = edges[order], signs[order]
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            yield edges[start:stop].tolist(), signs[start:stop].tolist()


def match_edges(
    graph: Graph,
    posted: Mapping[int, Sequence[bytes]],
    ids: Sequence[bytes],
    group: Group | None,
) -> Edges:
    """Compare what both ends of each edge posted; `posted` has the listed parties only.

    With a group the encodings are commitments, which have to be canonical points.
    """
    halves: dict[int, bytes] = {}
    pairs: list[tuple[int, int]] = []
    encodings: list[bytes] = []
    void: list[VoidEdge] = []
    parties = graph.parties
    for party in sorted(posted):
        row = zip(graph.neighbours(party).tolist(), posted[party], strict=True)
        for other, mine in row:
            if other not in posted:
                continue
            if party < other:
                halves[party * parties + other] = mine
                continue
            theirs = halves.pop(other * parties + party)
            if mine == theirs:
                pairs.append((other, party))
                encodings.append(mine)
            else:
                void.append(VoidEdge(other, party, theirs, mine))
    points, good = _decoded(group, encodings)
    for (low, high), encoding, right in zip(pairs, encodings, good, strict=True):
        if not right:
            void.append(VoidEdge(low, high, encoding, encoding))
    return _ordered(
        parties, list(compress(pairs, good)), list(compress(encodings, good)), points, void, ids
    )


def _ordered(  # noqa: PLR0913, PLR0917 - the parts of an instance
    parties: int,
    pairs: list[tuple[int, int]],
    encodings: list[bytes],
    points: PointVec | None,
    void: list[VoidEdge],
    ids: Sequence[bytes],
) -> Edges:
    order = sorted(range(len(pairs)), key=pairs.__getitem__)
    ends = np.array([pairs[at] for at in order], dtype=np.int64).reshape(-1, 2)
    signs = [1 if ids[pairs[at][0]] < ids[pairs[at][1]] else -1 for at in order]
    return Edges(
        parties=parties,
        low=ends[:, 0].copy(),
        high=ends[:, 1].copy(),
        encodings=b"".join(encodings[at] for at in order),
        points=None if points is None else points.gather(order),
        void=tuple(sorted(void, key=lambda edge: (edge.low, edge.high))),
        signs=np.array(signs, dtype=np.int64),
    )


def _decoded(group: Group | None, encodings: Sequence[bytes]) -> tuple[PointVec | None, list[bool]]:
    """The points among the encodings, and which encodings are points."""
    if group is None:
        return None, [True] * len(encodings)
    everything = b"".join(encodings)
    try:
        return group.decode_points(everything, len(encodings)), [True] * len(encodings)
    except MalformedMessage:
        good = good_points(group, encodings)
    kept = b"".join(compress(encodings, good))
    return group.decode_points(kept, sum(good)), good


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
