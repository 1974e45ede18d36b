"""What the state machines are built from: the group, the proofs, and who masks with whom.

The graph of a round follows from its coins, and so does which parties lost too many neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from commitments import ristretto255
from commitments.group import Group
from gopa.contract.beacon.coins import graph_seed, seed_of_choices
from gopa.contract.manifest import CommitReveal
from gopa.contract.organiser import Coins, Roll, pack_members, unpack_members
from gopa.graph import Graph, from_edges
from gopa.graph.choices import SEED_SIZE
from gopa.graph.structure import k_out_graph
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import Proofs
from gopa.rounds.real_proofs import RealProofs

GraphOfRound: TypeAlias = Callable[[RoundContext, Roll, bytes, Sequence[int], Coins, bytes], Graph]


Positions: TypeAlias = npt.NDArray[np.int64]


def graph_of_round(  # noqa: PLR0913, PLR0917 - the signature of `GraphOfRound`
    context: RoundContext,
    roll: Roll,
    roll_leaf: bytes,
    members: Sequence[int],
    coins: Coins,
    joint: bytes,
) -> Graph:
    """The graph over the positions of the roll (04-V2, 04-V4).

    Parties that are no members have no edges. Where fewer than k others are on the roll
    everybody chooses all of them.
    """
    parties = len(roll.parties)
    k = context.manifest.terms.choices(parties)
    if k < 1:
        return from_edges(parties, [])
    if not isinstance(context.manifest.beacon, CommitReveal):
        return k_out_graph(graph_seed(joint), parties, k)
    listed, nonces = pack_members(members, parties), b"".join(coins.nonces)
    choosers = _Choosers(context.session, context.round, roll_leaf, parties, listed, nonces)
    return _chosen(choosers, k)


@dataclass(frozen=True, slots=True)
class _Choosers:
    """The members whose nonces decide, packed: it is the key of a cache, and stays there."""

    session: bytes
    round: int
    roll_leaf: bytes
    parties: int
    listed: bytes
    nonces: bytes

    @property
    def members(self) -> tuple[int, ...]:
        return unpack_members(self.listed, self.parties)

    def seeds(self) -> list[bytes]:
        """One for each position; those of parties that are no members choose nothing."""
        seeds = [bytes(32)] * self.parties
        nonces = (self.nonces[at : at + SEED_SIZE] for at in range(0, len(self.nonces), SEED_SIZE))
        for member, nonce in zip(self.members, nonces, strict=True):
            seeds[member] = seed_of_choices(self.session, self.round, self.roll_leaf, nonce)
        return seeds


@lru_cache(maxsize=16)
def _chosen(choosers: _Choosers, k: int) -> Graph:
    graph = k_out_graph(choosers.seeds(), choosers.parties, k)
    return graph.between(choosers.members)


def losses(graph: Graph, inside: Iterable[int], withheld: int) -> Positions:
    """lost_u of every party of the roll, for the list `inside` (04-L1)."""
    gone = np.ones(graph.parties, dtype=np.int64)
    gone[list(inside)] = 0
    before = np.concatenate(([0], np.cumsum(gone[graph.targets])))
    lost = before[graph.offsets[1:]] - before[graph.offsets[:-1]]
    return np.asarray(lost + withheld, dtype=np.int64)


def peel(graph: Graph, inside: Iterable[int], withheld: int, most: int) -> tuple[int, ...]:
    """Remove whoever lost more than `most`, again and again, until nobody did (04-L2)."""
    kept = sorted(inside)
    while True:
        lost = losses(graph, kept, withheld)
        left = [party for party in kept if lost[party] <= most]
        if len(left) == len(kept):
            return tuple(left)
        kept = left


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The group, the proofs and the graph: by default what every real session uses.

    Nothing received from outside ever chooses a toolkit.
    """

    group: Group = field(default_factory=ristretto255)
    proofs: Proofs = field(default_factory=RealProofs)
    graph: GraphOfRound = graph_of_round
