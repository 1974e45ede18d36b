"""The close of commit: whose proofs hold, and which edges mask (04-K1 to 04-K6).

Proofs are checked as they come, so that nobody has to keep them until the close; the commitments
of a party's edges are added up from points that come in parts. Of the two ends of an edge the
first that posts is written down (04-K5). Whoever posts later is only compared with it: who says
the same takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec
from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason
from gopa.contract.phases import Phase
from gopa.graph import Graph
from gopa.protocol.rules.mailbox import CheckedAhead, PartyVerdict, Sorter
from gopa.protocol.rules.openings import good_points
from gopa.protocol.rules.roll_and_edges import (
    CommitContent,
    Commits,
    CommittedEdges,
    Edges,
    Positions,
    ValueCommitments,
    VoidEdge,
)
from gopa.protocol.rules.round_state import CloseInputs, PhaseDecision, PhaseRules
from wire.errors import MalformedMessage, UsageError

Ends: TypeAlias = npt.NDArray[np.int32]
Signs: TypeAlias = npt.NDArray[np.int8]


class SignedSums:
    """The sums of sgn C over each party's edges; the other end takes C away (04-P1)."""

    def __init__(self, group: Group, parties: int) -> None:
        self._group = group
        self._sums = group.points([group.identity]).gather([0] * parties)

    def add(self, points: PointVec, low: Ends, high: Ends, signs: Signs) -> None:
        """Add some edges by their ends; the lower one adds the point with the sign."""
        self._take(points, low, signs)
        self._take(points, high, -signs)

    def all(self) -> PointVec:
        """Give one sum for each party."""
        return self._sums

    def _take(self, points: PointVec, ends: Ends, signs: Signs) -> None:
        if not len(ends):
            return
        order = np.argsort(ends, kind="stable")
        parties, lengths = np.unique(ends[order], return_counts=True)
        factors = self._group.scalars(signs[order].tolist())
        parts = points.gather(order.tolist()).vartime_segment_msm(factors, lengths.tolist())
        # A party without an edge here takes what lies behind the parts: nothing.
        first, last = int(parties[0]), int(parties[-1]) + 1
        places = np.full(last - first, len(parties))
        places[parties - first] = np.arange(len(parties))
        nothing = self._group.points([self._group.identity])
        more = self._sums[first:last] + parts.concat(nothing).gather(places.tolist())
        self._sums = self._sums[:first].concat(more).concat(self._sums[last:])


Chosen: TypeAlias = npt.NDArray[np.bool_]

_Kind = TypeVar("_Kind", bound="np.generic[Any]")

_SIZE: Final = 32
_AT_ONCE: Final = 1 << 14
"""So many edges at least are decoded together."""


class Matching:
    """The comparison of what both ends of edges posted, one party at a time, in any order."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._low, self._high = (ends.astype(np.int32) for ends in graph.edges())
        self._numbers = _edge_numbers(graph)
        self._said = np.zeros((graph.edge_count, _SIZE), dtype=np.uint8)
        self._posted = np.zeros(graph.parties, dtype=np.bool_)
        self._apart: dict[int, bytes] = {}

    def post(self, party: int, data: bytes) -> None:
        """Take 32 bytes for each neighbour of the party, in the order of their positions.

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
        """Compare the edges between listed parties, all of which have posted.

        With a group the bytes are commitments, which have to be canonical points. Then the
        second part has for every party the sum of those of its live edges, with the signs
        of 04-P1. Call it once.
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


@dataclass(slots=True)
class CommitRules(PhaseRules):
    """The judge of a round from the close of coins to that of commit."""

    phase = Phase.COMMIT

    _sorter: Sorter[CommitContent] = field(init=False)
    _edges: Matching = field(init=False)
    _proofs: CheckedAhead[Any] = field(init=False)

    def __post_init__(self) -> None:
        state = self.state
        self._edges = Matching(state.drawn)
        self._proofs = state.proving.commits_checked(state.tools)
        self._sorter = self.sorter(
            self._read, "04-K1", missing="04-K4", then=self._proofs.flush_full_batches
        )

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(self.state.members)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        found = self._sorter.sort(self.awaited(), cut)
        verdicts = found.out
        self._require_proofs(found.read, verdicts)
        read = {state.places[author]: content for author, (_, content) in found.read.items()}
        members = state.shortened(sorted(read), verdicts)
        if state.too_few(members):
            return self.abort(AbortReason.TOO_FEW_LEFT, verdicts)

        def settle(message: Message) -> None:
            self._settle({place: read[place] for place in members}, message.leaf)
            state.settle_list(Phase.COMMIT, cut, message, members)

        return self.decision(state.packed(members), verdicts, settle=settle)

    def _read(self, message: Message) -> CommitContent:
        found = self.state.proving.read_commit(self.state, message, self.opened.leaf)
        if found.claim is not None:
            self._proofs.add(message.leaf, found.claim)
        self._edges.post(self.state.places[message.author], found.edges)
        return found.content

    def _require_proofs(
        self, read: dict[bytes, tuple[Message, CommitContent]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Remove parties whose proof of input and noise, or of weights, does not hold (04-K3).

        Stops inputs out of the range, which move the sum at will (attack `out-of-range-input`),
        and noise that was not drawn (`zero-noise`, `noise-chosen-after-coins`).
        """
        self._proofs.require(read, verdicts, *self.state.proving.unproved)

    def _settle(self, listed: dict[int, CommitContent], leaf: bytes) -> None:
        """Keep what later phases need: which edges mask, what published values open, dealings."""
        state = self.state
        group = state.group if state.context.committed_masks else None
        edges, masks = self._edges.settle(list(listed), state.ids, group)
        commits = Commits(len(state.enrolled))
        for place, commit in listed.items():
            commits.add(place, commit.self_mask, commit.dealt)
        state.reach(CommittedEdges(leaf, commits, edges))
        if group is not None and masks is not None:
            own = _own_points(group, listed, len(state.enrolled))
            state.reach(ValueCommitments(masks + own))
        state.proving.keep_commits(state, listed)


def _own_points(group: Group, commits: dict[int, CommitContent], parties: int) -> PointVec:
    """D_u + B_u for each party that is listed; nothing for others."""
    nobody, found = group.points([group.identity]), group.points([])
    for at in range(0, parties, _AT_ONCE):
        places = range(at, min(at + _AT_ONCE, parties))
        listed = [commits[place] for place in places if place in commits]
        outputs = group.decode_points(b"".join(each.output for each in listed), len(listed))
        selves = group.decode_points(b"".join(each.self_mask for each in listed), len(listed))
        row = iter(range(len(listed)))
        rows = [next(row) if place in commits else len(listed) for place in places]
        found = found.concat((outputs + selves).concat(nobody).gather(rows))
    return found
