"""Computes what a party knows of a round once its coins are out: who masks with whom."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from gopa.contract.beacon import (
    drand_coins,
    joint_coins,
    reveal_hash,
    simulation_coins,
    verify_round,
)
from gopa.contract.manifest import CommitReveal, DrandBeacon
from gopa.contract.organiser import Coins, Roll, pack_members, unpack_members
from gopa.graph import Graph
from gopa.protocol.party.reading import DecodedRoll
from gopa.rounds.context import RoundContext
from gopa.rounds.graph import losses
from gopa.rounds.toolkit import GraphOfRound
from wire.errors import InvalidProof


@dataclass(frozen=True, slots=True, eq=False)
class RoundView:
    """Shows the public side of a round as one party sees it from `position`.

    `members` are those on the roll whose nonce, if there are nonces, was revealed.
    """

    context: RoundContext
    enrolment: DecodedRoll
    members: frozenset[int]
    joint: bytes
    graph: Graph
    position: int
    neighbours: tuple[int, ...]

    @property
    def withheld(self) -> int:
        """t, the parties on the roll whose nonce is missing (04-L1)."""
        return len(self.enrolment) - len(self.members)

    @property
    def own_id(self) -> bytes:
        return self.enrolment.ids[self.position]

    def id_of(self, position: int) -> bytes:
        return self.enrolment.ids[position]

    def authors(self, positions: Collection[int]) -> tuple[bytes, ...]:
        """The Ed25519 keys of the parties at these positions."""
        return tuple(self.enrolment.authors[position] for position in positions)

    def neighbours_of(self, position: int) -> tuple[int, ...]:
        """The neighbours of anybody on the roll, in increasing position."""
        return tuple(self.graph.neighbours(position).tolist())

    def lost(self, inside: Collection[int]) -> int:
        """How many neighbours and nonces this party lost (lost_u), for a list (04-L1)."""
        return self.withheld + sum(v not in inside for v in self.neighbours)

    def lost_of(self, position: int, inside: Collection[int]) -> int:
        """How many anybody on the roll lost, for a list."""
        return self.withheld + sum(v not in inside for v in self.neighbours_of(position))

    def most_lost(self, among: Collection[int], inside: Collection[int]) -> int:
        """The largest lost_u of the parties `among`, for the list `inside` (04-L1)."""
        size = len(self.enrolment)
        listed = pack_members(among, size), pack_members(inside, size)
        return _most_lost(self.graph, *listed, self.withheld)


def joint_of(context: RoundContext, roll: Roll, roll_leaf: bytes, coins: Coins) -> bytes:
    """R, the joint coin of the round (04-V3, 04-V4, 04-V5).

    Raises `InvalidProof` if the beacon did not sign what the close of coins says it did.
    """
    session, number, beacon = context.session, context.round, context.manifest.beacon
    if isinstance(beacon, CommitReveal):
        return joint_coins(session, number, roll_leaf, coins.nonces)
    if isinstance(beacon, DrandBeacon):
        value = _value(beacon, roll.beacon_round, coins.signature, coins.previous)
        return drand_coins(session, number, roll_leaf, value)
    return simulation_coins(session, number, roll_leaf)


@lru_cache(maxsize=64)
def _value(beacon: DrandBeacon, number: int, signature: bytes, previous: bytes) -> bytes:
    return verify_round(beacon.chain, number, signature, previous or None)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Holds all that a graph follows from."""

    context: RoundContext
    enrolment: DecodedRoll
    roll_leaf: bytes
    coins: Coins
    members: tuple[int, ...]
    joint: bytes


def view_of(draw: GraphOfRound, drawing: Drawing, position: int) -> RoundView:
    """The view of the party at `position`.

    Raises `InvalidProof` if a nonce in the list is not the one whose hash is on the roll.
    """
    graph, members = _drawn(draw, drawing)
    return RoundView(
        context=drawing.context,
        enrolment=drawing.enrolment,
        members=members,
        joint=drawing.joint,
        graph=graph,
        position=position,
        neighbours=tuple(graph.neighbours(position).tolist()),
    )


@lru_cache(maxsize=16)
def _most_lost(graph: Graph, among: bytes, inside: bytes, withheld: int) -> int:
    """Shared by all parties of a process that read the same confirmations."""
    lost = losses(graph, unpack_members(inside, graph.parties), withheld)
    return int(lost[list(unpack_members(among, graph.parties))].max())


@lru_cache(maxsize=16)
def _drawn(draw: GraphOfRound, drawing: Drawing) -> tuple[Graph, frozenset[int]]:
    """Shared by all parties of a process that read the same closes."""
    given = drawing
    roll = given.enrolment.roll
    _require_revealed(given)
    graph = draw(given.context, roll, given.roll_leaf, given.members, given.coins, given.joint)
    return graph, frozenset(given.members)


def _require_revealed(drawing: Drawing) -> None:
    """Require that everybody's nonce was fixed before anybody's was known (04-V1).

    An organiser that could list other nonces for parties it colludes with could surround
    a victim with them (attack `exchanged-nonce`).
    """
    context, ids = drawing.context, drawing.enrolment.ids
    if not drawing.coins.nonces:
        return
    for position, nonce in zip(drawing.members, drawing.coins.nonces, strict=True):
        expected = drawing.enrolment.roll.parties[position].nonce_hash
        if reveal_hash(context.session, context.round, ids[position], nonce) != expected:
            raise InvalidProof("a nonce does not fit its hash on the roll", "04-V1", (position,))
