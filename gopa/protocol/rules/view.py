"""A round as others see it: a picture while it goes on, and findings for whoever judges it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, ResultMessage, RollEntry
from gopa.contract.phases import Phase
from gopa.graph import Graph
from gopa.protocol.rules.findings import Listed, Removed, RoundFindings
from gopa.protocol.rules.roll_and_edges import (
    CommittedEdges,
    Drawn,
    Edges,
    Ended,
    EnrolledRoll,
    UnmaskedSeeds,
)
from gopa.protocol.rules.round_state import PhaseRules, RoundState


@dataclass(frozen=True, slots=True)
class RoundPicture:
    """The current round, or the last one.

    `opens` is the phase that is open (with PUBLISH also ACCUSE), None when the round is
    over. Messages of that phase begin with `acts_on`, the leaf of the organiser's message
    at index `opened_at`; so does the organiser's own next one. `cut` is the last cut.

    `expected` are the Ed25519 keys of those that the open phase waits for: whoever may
    still post and has not yet. (With open admission nobody is expected in JOIN.) A
    message counts once it is whole, whatever it says. `posted` is how many messages
    the phase has.

    Positions are those of `roll`. `owed` are the neighbours to which each party has to
    open an edge in the open rollback, `dealers` whose shares each may give in RECOVER.
    `live` and `void` are pairs with the lower position first. `members` is the last list
    before confirm: from the final close on the final one.
    """

    number: int
    logical: int
    attempt: int
    opens: Phase | None
    step: int
    acts_on: bytes
    opened_at: int
    cut: int
    barred: frozenset[bytes]
    expected: frozenset[bytes]
    posted: int
    roll: Sequence[RollEntry]
    roll_leaf: bytes
    beacon_round: int
    lists: tuple[Listed, ...]
    removals: tuple[Removed, ...]
    members: tuple[int, ...]
    withheld: int
    joint: bytes
    graph: Graph | None
    edges: Edges | None
    owed: Mapping[int, tuple[int, ...]]
    dealers: Mapping[int, tuple[int, ...]]
    released: bool
    ended: ResultMessage | Abort | None

    @property
    def live(self) -> frozenset[tuple[int, int]]:
        """The edges that mask, known from the close of commit on."""
        return frozenset() if self.edges is None else self.edges.live_pairs

    @property
    def void(self) -> frozenset[tuple[int, int]]:
        """The edges between listed parties that mask nothing."""
        return frozenset() if self.edges is None else self.edges.void_pairs


@dataclass(frozen=True, slots=True)
class SessionState:
    """Where the session stands.

    `round` is None before the first `open`. `results` counts the rounds that have one, `releases`
    the valid final closes of the logical round that is current. After `over` the rules demand
    nothing more: either all logical rounds are done (`failed` is False) or the manifest or a
    message of the organiser broke a rule (`failed`).
    """

    session: bytes
    manifest: Manifest | None
    round: RoundPicture | None
    rounds_ended: int
    results: int
    releases: int
    over: bool
    failed: bool


def viewed(
    state: RoundState, rules: PhaseRules | None, leaf: bytes, opened_at: int, cut: int
) -> RoundPicture:
    """Make a picture of the round that does not change any more."""
    opens = None if rules is None else rules.phase
    enrolled, drawn = state.reached(EnrolledRoll), state.reached(Drawn)
    committed, ended = state.reached(CommittedEdges), state.reached(Ended)
    confirm = Phase.CONFIRM.place
    last = next((each for each in reversed(state.lists) if each.phase.place < confirm), None)
    return RoundPicture(
        number=state.number,
        logical=state.logical,
        attempt=state.attempt,
        opens=opens,
        step=0 if rules is None else rules.step,
        acts_on=leaf,
        opened_at=opened_at,
        cut=cut,
        barred=state.barred,
        expected=_expected(state, rules),
        posted=0 if opens is None else len(state.mail.all(opens)),
        roll=() if enrolled is None else enrolled.roll,
        roll_leaf=b"" if enrolled is None else enrolled.leaf,
        beacon_round=0 if enrolled is None else enrolled.roll.beacon_round,
        lists=tuple(state.lists),
        removals=tuple(state.removals),
        members=() if last is None else last.members,
        withheld=0 if drawn is None else drawn.withheld,
        joint=b"" if drawn is None else drawn.joint,
        graph=None if drawn is None else drawn.graph,
        edges=None if committed is None else committed.edges,
        owed={} if rules is None else rules.edges_owed(),
        dealers={} if rules is None else rules.shares_owed(),
        released=state.released,
        ended=None if ended is None else ended.message,
    )


def _expected(state: RoundState, rules: PhaseRules | None) -> frozenset[bytes]:
    if rules is None or rules.phase is None:
        return frozenset()
    posted = {message.author for message in state.mail.all(rules.phase)}
    spoiled = state.mail.early_authors(rules.phase)
    return frozenset(rules.awaited()) - posted - spoiled


def reported(state: RoundState, late: Collection[tuple[int, int]]) -> RoundFindings:
    """What is established about a round; `late` are the edges that late evidence opens."""
    enrolled, drawn = state.reached(EnrolledRoll), state.reached(Drawn)
    committed, ended = state.reached(CommittedEdges), state.reached(Ended)
    edges = None if committed is None else committed.edges
    unmasked = state.reached(UnmaskedSeeds) or UnmaskedSeeds({})
    message = None if ended is None else ended.message
    opened = {edges.ends(edge) for edge in state.openings} if edges is not None else set()
    return RoundFindings(
        number=state.number,
        logical=state.logical,
        attempt=state.attempt,
        opened_at=state.opened.index,
        ended_at=None if ended is None else ended.index,
        barred=tuple(sorted(state.barred)),
        roll=() if enrolled is None else tuple(enrolled.roll.places),
        withheld=0 if drawn is None else drawn.withheld,
        joint=b"" if drawn is None else drawn.joint,
        graph=None if drawn is None else drawn.graph,
        lists=tuple(state.lists),
        removals=tuple(state.removals),
        void=() if edges is None else tuple(sorted(edges.void_pairs)),
        opened=tuple(sorted(opened.union(late))),
        unmasked=tuple(sorted({*unmasked.seeds, *unmasked.recovered})),
        recovered=unmasked.recovered,
        released=state.released,
        releases=state.releases,
        sums=message.sums if isinstance(message, ResultMessage) else None,
        abort=message.reason if isinstance(message, Abort) else None,
        culprits=() if ended is None else ended.culprits,
        veto=() if ended is None else ended.veto,
    )
