"""What the closes of a round establish: the roll, commits, edges, and the stages made of them.

The roll is packed, with what parties bring from earlier rounds. Of listed commits stay the
self-masks and what was dealt for recovery. After the close of commit each edge is live or void
(04-K5): its ends are positions of the roll, the lower one first, and edges are numbered in
increasing order of their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from commitments.group import Group, PointVec, ScalarVec
from gopa.contract.framing import party_id
from gopa.contract.organiser import Abort, ResultMessage, Roll, RollEntry
from gopa.graph import Graph
from gopa.rounds.masks.self_masks import SHARE_SIZE
from wire.packed import KeyTable, Rows
from wire.secret import SecretBytes

_SIZE: Final = 32


_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


class LazySequence(Sequence[_Item], Generic[_Key, _Item]):
    """Items that are made when they are asked for: of many only a few are in memory."""

    def __init__(self, make: Callable[[_Key], _Item], keys: Sequence[_Key]) -> None:
        self._make, self._keys = make, keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> _Item: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[_Item]: ...
    def __getitem__(self, at: int | slice) -> _Item | Sequence[_Item]:
        if isinstance(at, slice):
            return LazySequence(self._make, self._keys[at])
        return self._make(self._keys[at])


class PackedRoll(LazySequence[int, RollEntry]):
    """A roll in about 140 bytes for each party, with the positions by key and the ids."""

    def __init__(self, roll: Roll) -> None:
        super().__init__(self._entry, range(len(roll.parties)))
        self.beacon_round = roll.beacon_round
        self.places = RollPositions()
        self.ids = Rows(_SIZE)
        self._agreed = Rows(_SIZE)
        self._hashes: list[bytes] | Rows = []
        if roll.parties and roll.parties[0].nonce_hash:
            self._hashes = Rows(len(roll.parties[0].nonce_hash))
        for each in roll.parties:
            self.places.add(each.author)
            self.ids.append(party_id(each.author))
            self._agreed.append(each.key)
            self._hashes.append(each.nonce_hash)

    def _entry(self, place: int) -> RollEntry:
        return RollEntry(self.author(place), self.key(place), self.nonce_hash(place))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedRoll) and self.roll() == other.roll()

    def __hash__(self) -> int:
        return hash(self.roll())

    def author(self, place: int) -> bytes:
        """The Ed25519 key of the party."""
        return self.places.author(place)

    def key(self, place: int) -> bytes:
        """The key that it agrees on edges with."""
        return self._agreed[place]

    def nonce_hash(self, place: int) -> bytes:
        """The hash that its nonce has to fit."""
        return self._hashes[place]

    def roll(self) -> Roll:
        """The roll with all its entries."""
        return Roll(tuple(self), self.beacon_round)


class RollPositions(Mapping[bytes, int]):
    """The positions of parties by their Ed25519 keys, in order."""

    def __init__(self) -> None:
        self._authors = KeyTable(_SIZE)

    def add(self, author: bytes) -> None:
        """Add the party with the next position."""
        self._authors.add(author)

    def author(self, place: int) -> bytes:
        """The key of the party at this position."""
        return self._authors[place]

    def __getitem__(self, author: bytes) -> int:
        place = self._authors.find(author)
        if place is None:
            raise KeyError(author)
        return place

    def __contains__(self, author: object) -> bool:
        return isinstance(author, bytes) and author in self._authors

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._authors)

    def __len__(self) -> int:
        return len(self._authors)


@dataclass(frozen=True, slots=True)
class Dealt:
    """What a party dealt for recovery, packed; `entry` is the index of its commit."""

    coefficients: bytes = b""
    shares: bytes = b""
    entry: int = 0

    def share(self, number: int) -> bytes:
        """The sealed share of its neighbour with this number, from 0."""
        return self.shares[number * SHARE_SIZE : (number + 1) * SHARE_SIZE]


_NOTHING: Final = Dealt()


class Commits:
    """Self-masks of listed parties, 33 bytes each, and shares where some are dealt."""

    def __init__(self, parties: int = 0) -> None:
        self._listed = bytearray(parties)
        self._self_masks = Rows(_SIZE, parties)
        self._dealt: dict[int, Dealt] = {}

    def add(self, place: int, self_mask: bytes, dealt: Dealt = _NOTHING) -> None:
        """Add the commit of a party that the close lists."""
        self._listed[place] = True
        self._self_masks[place] = self_mask
        if dealt.coefficients or dealt.shares:
            self._dealt[place] = dealt

    def __contains__(self, place: int) -> bool:
        return 0 <= place < len(self._listed) and bool(self._listed[place])

    def self_mask(self, place: int) -> bytes:
        """B_u, or the hash of the seed, of a listed party."""
        return self._self_masks[place]

    def dealt(self, place: int) -> Dealt:
        """What a listed party dealt: shares are in the order of its neighbours."""
        return self._dealt.get(place, _NOTHING)


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
    """The edges that mask. `encodings` has what both ends of each live one posted.

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
        """The live edges as pairs of positions."""
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
        return self.find_each(one, [other])[0]

    def find_each(self, one: int, others: Sequence[int]) -> list[int | None]:
        """The number of the live edge between one party and each of others."""
        given = np.array(others, np.int64)
        wanted = _both(np.minimum(given, one), np.maximum(given, one))
        places = np.searchsorted(self._ends[:-1], wanted)
        found = self._ends[places] == wanted
        pairs = zip(places.tolist(), found.tolist(), strict=True)
        return [place if there else None for place, there in pairs]

    @cached_property
    def _ends(self) -> Positions:
        """Both ends of each live edge as one number, increasing; behind them one of no edge."""
        return np.append(_both(self.low.astype(np.int64), self.high), np.int64(-1))

    def encoding(self, edge: int) -> bytes:
        """The bytes that both ends posted."""
        return bytes(self.encodings[edge])

    def points(self, group: Group, edges: Sequence[int]) -> PointVec:
        """The commitments of some edges, in full mode."""
        return group.decode_points(self.encodings[list(edges)].tobytes(), len(edges))

    def ends(self, edge: int) -> tuple[int, int]:
        """Both ends, the lower position first."""
        return int(self.low[edge]), int(self.high[edge])

    def sign_at(self, edge: int, party: int) -> int:
        """The sign with which `party` adds the mask of an edge (04-P1)."""
        return self.signs_at([edge], party)[0]

    def signs_at(self, edges: Sequence[int], party: int) -> tuple[int, ...]:
        """The same for each of some edges."""
        chosen = list(edges)
        ends = np.where(self.low[chosen] == party, 1, -1)
        return tuple((self.signs[chosen] * ends).tolist())

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


def _both(low: Positions, high: Positions | Indices) -> Positions:
    """Two positions as one number, in the order of pairs."""
    return (low << 32) + high


@dataclass(frozen=True, slots=True, eq=False)
class EnrolledRoll:
    """The roll, which the close of join with this leaf made."""

    roll: PackedRoll
    leaf: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What the close of coins drew; `withheld` nonces were not revealed."""

    joint: bytes
    graph: Graph
    withheld: int


@dataclass(frozen=True, slots=True, eq=False)
class CommittedEdges:
    """The commits that the close of commit with this leaf lists, and the edges that mask."""

    leaf: bytes
    commits: Commits
    edges: Edges


@dataclass(frozen=True, slots=True, eq=False)
class ValueCommitments:
    """What published values open: D_u + B_u and the signed sum of C_uv over the live edges.

    By position; gone once values are in.
    """

    points: PointVec


@dataclass(frozen=True, slots=True, eq=False)
class PublishedValues:
    """The masked values of those whom the close of publish lists, by position."""

    values: list[bytes]


@dataclass(frozen=True, slots=True)
class UnmaskedSeeds:
    """The seeds of self-masks that are public, and whose self-masks were recovered."""

    seeds: Mapping[int, SecretBytes]
    recovered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CutOffUnmasks:
    """Whose self-mask only the cut of unmask made late."""

    members: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ended:
    """The message that ended the round, at its index, whom it blames, and the veto if it is one."""

    message: ResultMessage | Abort
    index: int
    culprits: tuple[int, ...] = ()
    veto: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinContent:
    """What counts of a well-formed join.

    `input` stands for the input that is the same in all attempts: C_x, or the hash of rows. `fixed`
    is what else the session's kind of proof keeps.
    """

    key: bytes
    possession: bytes
    nonce_hash: bytes
    input: bytes
    seed: bytes = b""
    fixed: object = None


@dataclass(frozen=True, slots=True)
class CommitContent:
    """What counts of a well-formed commit, besides its edges and proofs."""

    self_mask: bytes
    output: bytes
    dealt: Dealt


@dataclass(frozen=True, slots=True)
class CommitRead:
    """A commit that was read: what counts, the bytes of its edges, and what it claims to prove."""

    content: CommitContent
    edges: bytes
    claim: object = None


@dataclass(frozen=True, slots=True)
class Masked:
    """A published value as scalars; words stay packed until they are summed.

    `carried` came with words whose author has to prove what they are.
    """

    data: bytes
    values: ScalarVec | None = None
    blinding: ScalarVec | None = None
    carried: object = None


Lies: TypeAlias = Mapping[int, tuple[int, int]]
"""Who said something false about a mask: where each of them committed and where it proved."""
