"""One round of a small world, and what it comes to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from tests.small_worlds.faults import Fault
from tests.small_worlds.graphs import Edges

CUT_OFF: Final = "04-C6"
"""The rule by which somebody is absent whose message is in the log, and not held against it."""


@dataclass(frozen=True, slots=True)
class World:
    """Numbers of a session, and who does what wrong in one round of it.

    `about` names the party that a fault is about, `joining` those that try to join,
    `barred` those among them that may not. What comes late is in the log before the close of its
    phase, and cut off, if it is `below` it.
    """

    parties: int
    edges: Edges
    survivors: int
    loss: int
    faults: Mapping[int, Fault] = field(default_factory=dict)
    about: Mapping[int, int] = field(default_factory=dict)
    full: bool = True
    threshold: Fraction | None = None
    rollbacks: int = 8
    joining: frozenset[int] | None = None
    barred: frozenset[int] = frozenset()
    below: bool = False

    def neighbours(self, u: int) -> set[int]:
        return {v for edge in self.edges if u in edge for v in edge if v != u}

    def lost(self, u: int, inside: Collection[int], withheld: int) -> int:
        """lost_u of a list (04-L1)."""
        return withheld + len(self.neighbours(u).difference(inside))

    def lies_to(self, u: int, v: int) -> bool:
        """Whether u commits to something else than the edge to v."""
        fault = self.faults.get(u)
        return fault is not None and fault.edge and self.about[u] == v

    def deals_wrongly_to(self, u: int, v: int) -> bool:
        """Whether the share of u for v does not fit."""
        fault = self.faults.get(u)
        return fault is not None and fault.share and self.about[u] == v

    def conspires_with(self, u: int, v: int) -> bool:
        """Whether u has agreed with v on a mask that their keys do not give."""
        fault = self.faults.get(u)
        return fault is not None and fault.conspires and self.about[u] == v

    def is_gone(self, u: int, phase: Phase) -> bool:
        """Whether u has left the round for good."""
        fault = self.faults.get(u)
        return fault is not None and fault.silent_from is not None and fault.silent_from <= phase


def with_faults(world: World, faults: Mapping[int, Fault], *, towards_liars: bool = False) -> World:
    """The same world with other faults.

    A fault is about the first honest neighbour of its party or, `towards_liars`, about the
    first one that is not; where there is none, about the first party of that kind.
    """
    liars = set(faults)
    honest = [u for u in range(world.parties) if u not in liars]
    about = {}
    for u in faults:
        others = sorted(liars - {u}) if towards_liars and faults[u].echo is None else honest
        beside = [v for v in others if v in world.neighbours(u)]
        about[u] = next(iter([*beside, *others, *(set(range(world.parties)) - {u})]))
    return replace(world, faults=dict(faults), about=about)


def without(world: World, party: int) -> World:
    """The same world in which one party keeps the rules."""
    faults = {u: fault for u, fault in world.faults.items() if u != party}
    return replace(world, faults=faults)


@dataclass(frozen=True, slots=True)
class Row:
    """A removal: party, phase, step, cause and rule."""

    party: int
    phase: Phase
    step: int
    cause: RemovalCause
    rule: str


@dataclass(slots=True)
class Outcome:
    """What a round comes to, and who is blamed by which rule.

    `moved` published another sum than their inputs and noise, where nothing can show it.
    `laggards` are in the final list and did not confirm or unmask. `spoke` says who posted
    a message in which phase; accusations aside. `stopped_at` is where it was aborted: phase and
    number of the rollback; `vetoed` if the messages that were cut off there would have led on.
    """

    removals: set[Row] = field(default_factory=set)
    faults: set[tuple[int, str]] = field(default_factory=set)
    void: set[tuple[int, int]] = field(default_factory=set)
    opened: set[tuple[int, int]] = field(default_factory=set)
    unmasked: set[int] = field(default_factory=set)
    recovered: set[int] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    laggards: set[int] = field(default_factory=set)
    final: frozenset[int] | None = None
    abort: AbortReason | None = None
    culprits: frozenset[int] = frozenset()
    vetoed: bool = False
    stopped_at: tuple[Phase, int] | None = None
    spoke: dict[Phase, set[int]] = field(default_factory=dict)

    def phases_of(self, party: int) -> frozenset[Phase]:
        """In which phases a party posted a message; accusations aside."""
        return frozenset(phase for phase, who in self.spoke.items() if party in who)

    @property
    def barred_for_good(self) -> set[int]:
        """04-X5: the convicted, the struck, and whoever posted an invalid proof."""
        proofs = {"04-E3", "04-J3", "04-K3"}
        found = {u for u, rule in self.faults if rule in proofs or rule.startswith("04-A")}
        return found | {row.party for row in self.removals if row.cause is RemovalCause.STRUCK}

    @property
    def barred_from_retries(self) -> set[int]:
        """04-X5: whoever was listed at commit and then failed by itself, and not by a cut."""
        late = {
            row.party
            for row in self.removals
            if row.phase in {Phase.PUBLISH, Phase.ROLLBACK}
            and row.cause is not RemovalCause.LOST
            and row.rule != CUT_OFF
        }
        return late | self.laggards
