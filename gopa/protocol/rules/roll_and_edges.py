"""Keeps what a round has established about its parties: the roll, their commits and their edges.

The roll is packed, with what parties bring from earlier rounds. Of listed commits stay the
self-masks and what was dealt for recovery. After the close of commit each edge is live or void
([K5]): its ends are positions of the roll, the lower one first, and edges are numbered in
increasing order of their ends.

Openings are checked many at a time. All equations Com(values_i; blinding_i) = point_i, weighted
with random numbers of 128 bits, become one multi-scalar multiplication over the bases and the
points. If it fails, halves are checked until every wrong one is named.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, cast, overload

import numpy as np
import numpy.typing as npt

from commitments import Pedersen, VectorPedersen
from commitments.group import Group, Point, PointVec, ScalarVec
from gopa.contract.framing import party_id
from gopa.contract.organiser import Roll, RollEntry
from gopa.rounds.masks.self_masks import SHARE_SIZE
from wire.domains import OPENING_WEIGHTS
from wire.errors import MalformedMessage, UsageError
from wire.packed import KeyTable, Rows
from wire.randomness import Rng, draw

_SIZE: Final = 32


class PackedRoll(Sequence[RollEntry]):
    """Keeps a roll in about 140 bytes for each party, with the positions by key and the ids."""

    def __init__(self, roll: Roll) -> None:
        self.beacon_round = roll.beacon_round
        self.places = RollPositions()
        self.ids = Rows(_SIZE)
        self._keys = Rows(_SIZE)
        self._hashes: list[bytes] | Rows = []
        if roll.parties and roll.parties[0].nonce_hash:
            self._hashes = Rows(len(roll.parties[0].nonce_hash))
        for each in roll.parties:
            self.places.add(each.author)
            self.ids.append(party_id(each.author))
            self._keys.append(each.key)
            self._hashes.append(each.nonce_hash)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> RollEntry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RollEntry]: ...
    def __getitem__(self, place: int | slice) -> RollEntry | Sequence[RollEntry]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        return RollEntry(self.author(at), self._keys[at], self._hashes[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedRoll) and self.roll() == other.roll()

    def __hash__(self) -> int:
        return hash(self.roll())

    def author(self, place: int) -> bytes:
        """The Ed25519 key of the party."""
        return self.places.author(place)

    def key(self, place: int) -> bytes:
        """The key that it agrees on edges with."""
        return self._keys[place]

    def nonce_hash(self, place: int) -> bytes:
        """The hash that its nonce has to fit."""
        return self._hashes[place]

    def roll(self) -> Roll:
        """Unpack the roll."""
        return Roll(tuple(self), self.beacon_round)


class RollPositions(Mapping[bytes, int]):
    """Maps the Ed25519 keys of parties to their positions, in order."""

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


class FirstSeeds:
    """Keeps every C_y (or A) of the session with the message that held it first ([J5])."""

    def __init__(self) -> None:
        self._seeds, self._authors, self._entries = KeyTable(_SIZE), Rows(_SIZE), array("Q")

    def note(self, seed: bytes, index: int, author: bytes) -> None:
        """Note that a message of the author at this index holds the seed."""
        if self._seeds.add(seed) == len(self._entries):
            self._authors.append(author)
            self._entries.append(index)

    def first(self, seed: bytes) -> tuple[int, bytes] | None:
        """The index and the author of the first message that held it."""
        number = self._seeds.find(seed)
        return None if number is None else (self._entries[number], self._authors[number])


class FirstInputs:
    """Keeps each party's first C_x of the logical round ([J5]); nothing in modes without any."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all inputs: a logical round begins."""
        self._authors, self._inputs = KeyTable(_SIZE), Rows(_SIZE)

    def note(self, author: bytes, given: bytes) -> None:
        """Note that the party takes part with this input."""
        if given and self._authors.add(author) == len(self._inputs):
            self._inputs.append(given)

    def allows(self, author: bytes, given: bytes) -> bool:
        """Whether the party's first input is this one, or there is none yet."""
        number = self._authors.find(author)
        return number is None or self._inputs.holds(number, given)


@dataclass(frozen=True, slots=True)
class Dealt:
    """Keeps what a party dealt for recovery, packed; `entry` is the index of its commit."""

    coefficients: bytes = b""
    shares: bytes = b""
    entry: int = 0

    def share(self, number: int) -> bytes:
        """The sealed share of its neighbour with this number, from 0."""
        return self.shares[number * SHARE_SIZE : (number + 1) * SHARE_SIZE]


_NOTHING: Final = Dealt()


def share_point(position: int) -> int:
    """Where the share for the party at this position of the roll lies."""
    return position + 1


class Commits:
    """Keeps self-masks of listed parties, 33 bytes each, and shares where some are dealt."""

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


_WEIGHT_SIZE: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedOpenings:
    """Holds openings and the points that they claim to open, one row of values for each."""

    key: Pedersen | VectorPedersen
    rows: Sequence[ScalarVec]
    blindings: ScalarVec
    points: PointVec

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.blindings) == len(self.points):
            raise UsageError("one row of values and one blinding for each point")
        if any(len(row) != self.key.values_per_commitment for row in self.rows):
            raise UsageError(f"{self.key.values_per_commitment} values open one point")


def wrong_openings(claimed: ClaimedOpenings, rng: Rng) -> frozenset[int]:
    """The positions of the openings that do not fit; `rng` only weighs the equations."""
    if not claimed.rows:
        return frozenset()
    everything = range(len(claimed.rows))
    weights = _weights(claimed, rng)
    total = _residue(claimed, weights, everything)
    return frozenset(_bisect(claimed, weights, everything, total))


def public(vector: object) -> ScalarVec:
    """A vector of scalars that were made of public ones only."""
    return cast("ScalarVec", vector)


def bases_of(key: Pedersen | VectorPedersen) -> PointVec:
    """The bases of a commitment's values, with that of its blinding behind them."""
    if isinstance(key, VectorPedersen):
        return key.bases
    return key.group.points([key.value_base, key.blinding_base])


def _weights(claimed: ClaimedOpenings, rng: Rng) -> ScalarVec:
    """Weights that depend on every byte of the claims and on fresh randomness."""
    digest = hashlib.shake_128(OPENING_WEIGHTS + draw(rng, 32))
    digest.update(claimed.points.to_bytes() + claimed.blindings.to_bytes())
    for row in claimed.rows:
        digest.update(row.to_bytes())
    group: Group = claimed.key.group
    return group.reduce_scalars(digest.digest(_WEIGHT_SIZE * len(claimed.rows)), _WEIGHT_SIZE)


def _residue(claimed: ClaimedOpenings, weights: ScalarVec, members: range) -> Point:
    """The weighted sum of Com(values; blinding) - point over some of the claims."""
    part = slice(members.start, members.stop)
    own, group = weights[part], claimed.key.group
    values = public(group.combine_scalars(own, claimed.rows[part]))
    blinding = group.scalars([1]) * claimed.blindings[part].inner(own)
    opened = bases_of(claimed.key).vartime_msm(values.concat(blinding))
    return opened - claimed.points[part].vartime_msm(own)


def _bisect(
    claimed: ClaimedOpenings, weights: ScalarVec, members: range, total: Point
) -> Iterator[int]:
    """The wrong ones in a range whose residue is known."""
    if total.is_identity():
        return
    if len(members) == 1:
        yield members[0]
        return
    middle = len(members) // 2
    lower = _residue(claimed, weights, members[:middle])
    yield from _bisect(claimed, weights, members[:middle], lower)
    yield from _bisect(claimed, weights, members[middle:], total - lower)


Positions = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Signs = npt.NDArray[np.int8]
Encodings = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class VoidEdge:
    """Names an edge between listed parties that masks nothing, and what each end posted."""

    low: int
    high: int
    by_low: bytes
    by_high: bytes


@dataclass(frozen=True, eq=False)
class Edges:
    """Keeps which edges mask. `encodings` has what both ends of each live one posted.

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
        """With which sign `party` adds the mask ([P1])."""
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
