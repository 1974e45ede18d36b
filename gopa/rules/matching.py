"""What both ends of each edge commit to, compared as it comes ([K5]).

Of the two ends of an edge the first that posts is written down. Whoever posts later is only
compared with it: who says the same takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec
from gopa.graph import Graph
from gopa.rules.edges import Edges, Positions, VoidEdge, good_points
from gopa.rules.signed_sums import SignedSums
from wire.errors import MalformedMessage, UsageError

Chosen: TypeAlias = npt.NDArray[np.bool_]

_Kind = TypeVar("_Kind", bound="np.generic[Any]")

_SIZE: Final = 32
_AT_ONCE: Final = 1 << 14
"""So many edges at least are decoded together."""


class Matching:
    """Takes each party's bytes once, in any order, and says which edges both ends agree on."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._low, self._high = (ends.astype(np.int32) for ends in graph.edges())
        self._numbers = _edge_numbers(graph)
        self._said = np.zeros((graph.edge_count, _SIZE), dtype=np.uint8)
        self._posted = np.zeros(graph.parties, dtype=np.bool_)
        self._apart: dict[int, bytes] = {}

    def post(self, party: int, data: bytes) -> None:
        """32 bytes for each neighbour of the party, in the order of their positions.

        Raises:
            UsageError: another number of bytes, or a party that has posted.
        """
        here = slice(self._graph.offsets[party], self._graph.offsets[party + 1])
        edges = self._numbers[here]
        if self._posted[party] or len(data) != _SIZE * len(edges):
            raise UsageError("one commitment for each neighbour, from each party once", "data")
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, _SIZE)
        answers = self._posted[self._graph.targets[here]]
        if (rows[answers] != self._said[edges[answers]]).any():
            self._apart[party] = data
        self._said[edges[~answers]] = rows[~answers]
        self._posted[party] = True

    def settle(
        self, listed: Sequence[int], ids: Sequence[bytes], group: Group | None
    ) -> tuple[Edges, PointVec | None]:
        """The edges between listed parties, all of which have posted.

        With a group the bytes are commitments, which have to be canonical points. Then the
        second part has for every party the sum of those of its live edges, with the signs
        of [P1]. Call it once.
        """
        inside = np.zeros(self._graph.parties, dtype=np.bool_)
        inside[list(listed)] = True
        live = inside[self._low] & inside[self._high]
        void = dict(self._disagreeing(inside))
        live[list(void)] = False
        signs = _signs(self._low, self._high, ids)
        sums = None if group is None else SignedSums(group, self._graph.parties)
        if group is not None and sums is not None:
            for some in _blocks(len(live), max(_AT_ONCE, self._graph.parties // 2)):
                points, nonsense = self._decoded(group, live, some)
                live[nonsense] = False
                void |= {edge: self._void(edge) for edge in nonsense.tolist()}
                kept = some.start + np.flatnonzero(live[some])
                sums.add(points, self._low[kept], self._high[kept], signs[kept])
        edges = Edges(
            parties=self._graph.parties,
            low=_only(self._low, live),
            high=_only(self._high, live),
            encodings=_only(self._said, live),
            void=tuple(void[edge] for edge in sorted(void)),
            signs=_only(signs, live),
        )
        return edges, None if sums is None else sums.all()

    def _disagreeing(self, inside: Chosen) -> Iterator[tuple[int, VoidEdge]]:
        """Edges between parties inside whose ends posted different bytes."""
        for party in self._apart:
            here = slice(self._graph.offsets[party], self._graph.offsets[party + 1])
            near = inside[self._graph.targets[here]] & inside[party]
            for edge in self._numbers[here][near].tolist():
                void = self._void(edge)
                if void.by_low != void.by_high:
                    yield edge, void

    def _void(self, edge: int) -> VoidEdge:
        low, high = int(self._low[edge]), int(self._high[edge])
        return VoidEdge(low, high, self._by(low, high, edge), self._by(high, low, edge))

    def _by(self, party: int, other: int, edge: int) -> bytes:
        """What the party posted. Where it differs from its neighbours all its bytes are kept."""
        data = self._apart.get(party)
        if data is None:
            return bytes(self._said[edge])
        at = _SIZE * int(np.searchsorted(self._graph.neighbours(party), other))
        return data[at : at + _SIZE]

    def _decoded(self, group: Group, live: Chosen, some: slice) -> tuple[PointVec, Positions]:
        """The points of live edges among some, and which of the edges have none."""
        edges = some.start + np.flatnonzero(live[some])
        encodings = self._said[edges]
        try:
            return group.decode_points(encodings.tobytes(), len(edges)), edges[:0]
        except MalformedMessage:
            good = np.array(good_points(group, [row.tobytes() for row in encodings]))
        return group.decode_points(encodings[good].tobytes(), int(good.sum())), edges[~good]


def _edge_numbers(graph: Graph) -> npt.NDArray[np.int32]:
    """The number of the edge to each neighbour of each party, as `graph.targets` lists them."""
    sources = np.repeat(np.arange(graph.parties, dtype=np.int32), graph.degrees)
    upward = sources < graph.targets
    numbers = np.empty(len(sources), dtype=np.int32)
    numbers[upward] = np.arange(graph.edge_count, dtype=np.int32)
    downward = np.flatnonzero(~upward)
    # Those of lower ends come by lower ends: a stable sort puts those of higher ends likewise.
    downward = downward[np.argsort(graph.targets[downward], kind="stable")]
    numbers[downward] = np.arange(graph.edge_count, dtype=np.int32)
    return numbers


def _signs(
    low: npt.NDArray[np.int32], high: npt.NDArray[np.int32], ids: Sequence[bytes]
) -> npt.NDArray[np.int8]:
    rank = np.empty(len(ids), dtype=np.int32)
    rank[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return np.where(rank[low] < rank[high], np.int8(1), np.int8(-1))


def _only(rows: npt.NDArray[_Kind], chosen: Chosen) -> npt.NDArray[_Kind]:
    """The chosen rows; the array itself where that is all of them."""
    return rows if chosen.all() else rows[chosen]


def _blocks(count: int, size: int) -> Iterator[slice]:
    return (slice(at, min(at + size, count)) for at in range(0, count, size))
