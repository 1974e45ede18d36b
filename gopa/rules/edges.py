"""The edges of a round after the close of commit: live ones and void ones ([K5]).

Ends are positions of the roll, the lower one first; edges are numbered in increasing
order of their ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec
from gopa.graph import Graph
from wire.errors import MalformedMessage

Positions = npt.NDArray[np.int64]
Encodings = npt.NDArray[np.uint8]

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
        edges, signs, starts = self._incidence
        for party in parties:
            here = slice(starts[party], starts[party + 1])
            yield edges[here].tolist(), signs[here].tolist()

    @cached_property
    def _incidence(self) -> tuple[Positions, Positions, Positions]:
        """Edges and signs, party by party, and where each party's begin."""
        owners = np.concatenate([self.low, self.high])
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(self.parties + 1), "left")
        edges = np.concatenate([np.arange(len(self)), np.arange(len(self))])
        signs = np.concatenate([self.signs, -self.signs])
        return edges[order], signs[order], starts


def match_edges(
    graph: Graph,
    posted: Mapping[int, bytes],
    ids: Sequence[bytes],
    group: Group | None,
) -> Edges:
    """Compare what both ends of each edge posted; `posted` has the listed parties only.

    Each posted 32 bytes for each neighbour, in the order of their positions. With a group
    these are commitments, which have to be canonical points.
    """
    low, high, by_low, by_high = _both_ends(graph, posted)
    live = (by_low == by_high).all(axis=1)
    points, good = _decoded(group, by_low[live])
    if points is not None:
        live[np.flatnonzero(live)[~good]] = False
    return Edges(
        parties=graph.parties,
        low=low[live],
        high=high[live],
        encodings=by_low[live].tobytes(),
        points=points,
        void=tuple(
            VoidEdge(int(low[at]), int(high[at]), by_low[at].tobytes(), by_high[at].tobytes())
            for at in np.flatnonzero(~live).tolist()
        ),
        signs=_signs(low[live], high[live], ids),
    )


def _both_ends(
    graph: Graph, posted: Mapping[int, bytes]
) -> tuple[Positions, Positions, Encodings, Encodings]:
    """All edges between listed parties by their ends, and what each end posted."""
    listed = sorted(posted)
    inside = np.zeros(graph.parties, dtype=np.bool_)
    inside[listed] = True
    said = np.frombuffer(b"".join(map(posted.__getitem__, listed)), dtype=np.uint8)
    sources = np.repeat(np.arange(graph.parties), graph.degrees)
    by_listed = inside[sources]
    rows = said.reshape(int(by_listed.sum()), _SIZE)
    sources, targets = sources[by_listed], graph.targets[by_listed].astype(np.int64)
    upward = np.flatnonzero((sources < targets) & inside[targets])
    downward = np.flatnonzero((sources > targets) & inside[targets])
    # Edges come by their lower ends, as rows do: those of higher ends are sorted alike.
    downward = downward[np.lexsort((sources[downward], targets[downward]))]
    return sources[upward], targets[upward], rows[upward], rows[downward]


def _signs(low: Positions, high: Positions, ids: Sequence[bytes]) -> Positions:
    rank = np.empty(len(ids), dtype=np.int64)
    rank[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return np.where(rank[low] < rank[high], 1, -1)


def _decoded(
    group: Group | None, encodings: Encodings
) -> tuple[PointVec | None, npt.NDArray[np.bool_]]:
    """The points among the encodings, and which encodings are points."""
    good = np.ones(len(encodings), dtype=np.bool_)
    if group is None:
        return None, good
    try:
        return group.decode_points(encodings.tobytes(), len(encodings)), good
    except MalformedMessage:
        good[:] = good_points(group, [row.tobytes() for row in encodings])
    return group.decode_points(encodings[good].tobytes(), int(good.sum())), good


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
