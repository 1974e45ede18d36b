"""Describes a round: as a picture while it goes on, and as findings for whoever judges it."""

from __future__ import annotations

from collections.abc import Mapping

from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.rules.final_phases import RecoverRules
from gopa.protocol.rules.findings import RoundFindings, RoundPicture
from gopa.protocol.rules.late_evidence import LateEvidence
from gopa.protocol.rules.retry import releases_of
from gopa.protocol.rules.rollback import RollbackRules
from gopa.protocol.rules.round_state import PhaseRules, RoundState


def viewed(
    state: RoundState, rules: PhaseRules | None, leaf: bytes, opened_at: int, cut: int
) -> RoundPicture:
    """Make a picture of the round that does not change any more."""
    opens = None if rules is None else rules.phase
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
        roll=state.enrolled,
        roll_leaf=state.roll_leaf,
        beacon_round=state.enrolled.beacon_round,
        lists=tuple(state.lists),
        removals=tuple(state.removals),
        members=() if last is None else last.members,
        withheld=state.withheld,
        joint=state.joint,
        graph=state.graph,
        edges=state.edges,
        owed=_owed(rules),
        dealers=dict(rules.dealers) if isinstance(rules, RecoverRules) else {},
        released=state.final is not None,
        ended=state.ended,
    )


def _expected(state: RoundState, rules: PhaseRules | None) -> frozenset[bytes]:
    if rules is None or rules.phase is None:
        return frozenset()
    posted = {message.author for message in state.mail.all(rules.phase)}
    spoiled = state.mail.early_authors(rules.phase)
    return frozenset(rules.awaited()) - posted - spoiled


def _owed(rules: PhaseRules | None) -> Mapping[int, tuple[int, ...]]:
    if not isinstance(rules, RollbackRules):
        return {}
    return {place: tuple(sorted(edges)) for place, edges in rules.owed.items()}


def reported(state: RoundState, late: LateEvidence) -> RoundFindings:
    """Say what is established about a round, with what late evidence shows."""
    ended, edges = state.ended, state.edges
    opened = {edges.ends(edge) for edge in state.openings} if edges is not None else set()
    return RoundFindings(
        number=state.number,
        logical=state.logical,
        attempt=state.attempt,
        opened_at=state.opened.index,
        ended_at=state.ended_at,
        barred=tuple(sorted(state.barred)),
        roll=tuple(state.places),
        withheld=state.withheld,
        joint=state.joint,
        graph=state.graph,
        lists=tuple(state.lists),
        removals=tuple(state.removals),
        void=() if edges is None else tuple(sorted(edges.void_pairs)),
        opened=tuple(sorted(opened | set(late.opened))),
        unmasked=tuple(sorted({*state.unmasked, *state.recovered})),
        recovered=state.recovered,
        released=state.final is not None,
        releases=releases_of(state),
        sums=ended.sums if isinstance(ended, ResultMessage) else None,
        abort=ended.reason if isinstance(ended, Abort) else None,
        culprits=state.blamed_for_abort if isinstance(ended, Abort) else (),
        veto=state.veto,
    )
