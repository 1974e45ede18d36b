"""Holds what the state machines are built from: the group, the proofs, the graph of a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from commitments import ristretto255
from commitments.group import Group
from gopa.contract.organiser import Coins, Roll
from gopa.graph import Graph
from gopa.rounds.context import RoundContext
from gopa.rounds.graph import graph_of_round
from gopa.rounds.proofs import Proofs
from gopa.rounds.real_proofs import RealProofs

GraphOfRound: TypeAlias = Callable[[RoundContext, Roll, bytes, Sequence[int], Coins, bytes], Graph]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The group, the proofs and the graph: by default what every real session uses.

    Nothing received from outside ever chooses a toolkit.
    """

    group: Group = field(default_factory=ristretto255)
    proofs: Proofs = field(default_factory=RealProofs)
    graph: GraphOfRound = graph_of_round
