"""Shows the current round as the organiser, the board and people want to see it."""

from __future__ import annotations

from collections.abc import Mapping

from gopa.messages.phases import Phase
from gopa.rules.final_phases import RecoverRules
from gopa.rules.findings import RoundPicture
from gopa.rules.publish import RollbackRules
from gopa.rules.round_state import PhaseRules, RoundState


def viewed(
    book: RoundState, stage: PhaseRules | None, leaf: bytes, opened_at: int, cut: int
) -> RoundPicture:
    """A picture of the round; it does not change any more."""
    opens = None if stage is None else stage.phase
    last = next((each for each in reversed(book.lists) if each.phase < Phase.CONFIRM), None)
    return RoundPicture(
        number=book.number,
        logical=book.logical,
        attempt=book.attempt,
        opens=opens,
        step=0 if stage is None else stage.step,
        acts_on=leaf,
        opened_at=opened_at,
        cut=cut,
        barred=book.barred,
        expected=_expected(book, stage),
        posted=0 if opens is None else len(book.mail.all(opens)),
        roll=book.enrolled,
        roll_leaf=book.roll_leaf,
        beacon_round=book.enrolled.beacon_round,
        lists=tuple(book.lists),
        removals=tuple(book.removals),
        members=() if last is None else last.members,
        withheld=book.withheld,
        joint=book.joint,
        graph=book.graph,
        edges=book.edges,
        owed=_owed(stage),
        dealers=dict(stage.dealers) if isinstance(stage, RecoverRules) else {},
        released=book.final is not None,
        ended=book.ended,
    )


def _expected(book: RoundState, stage: PhaseRules | None) -> frozenset[bytes]:
    if stage is None or stage.phase is None:
        return frozenset()
    posted = {message.author for message in book.mail.all(stage.phase)}
    spoiled = book.mail.early_authors(stage.phase)
    return frozenset(stage.awaited()) - posted - spoiled


def _owed(stage: PhaseRules | None) -> Mapping[int, tuple[int, ...]]:
    if not isinstance(stage, RollbackRules):
        return {}
    return {place: tuple(sorted(edges)) for place, edges in stage.owed.items()}
