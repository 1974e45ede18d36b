"""Shows the current round as the organiser, the board and people want to see it."""

from __future__ import annotations

from collections.abc import Mapping

from gopa.messages.phases import Phase
from gopa.rules.final_phases import RecoverRules
from gopa.rules.findings import RoundPicture
from gopa.rules.publish import RollbackRules
from gopa.rules.round_state import PhaseRules, RoundState


def viewed(
    state: RoundState, rules: PhaseRules | None, leaf: bytes, opened_at: int, cut: int
) -> RoundPicture:
    """A picture of the round; it does not change any more."""
    opens = None if rules is None else rules.phase
    last = next((each for each in reversed(state.lists) if each.phase < Phase.CONFIRM), None)
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
