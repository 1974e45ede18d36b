"""Finds what the organiser's cut left out of a phase that its message ends ([C6], [X7]).

The organiser chooses the cut, and has read the log when it does: so a message that stands in
the log before its own counts for no list, but it is held against nobody either. Else a cut could
bar its author from the retry (attack `early-cuts-bar`), or end a round whose result the organiser
dislikes in somebody else's name (`early-cut`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gopa.contract.framing import Message
from gopa.contract.organiser import RemovalCause
from gopa.contract.phases import Phase
from gopa.protocol.rules.findings import Removed
from gopa.protocol.rules.rollback import RollbackRules
from gopa.protocol.rules.round_state import (
    CloseInputs,
    Failure,
    PhaseDecision,
    PhaseRules,
    RoundState,
)


@dataclass(frozen=True, slots=True)
class CutOff:
    """Judges a phase as its cut has it, and as it would be with the message's own index as the cut.

    `late` are the authors whose message would have counted, with its index; `goes_on` says
    whether the rules would have demanded a close or a result. `culprits` are those that an
    abort names and that are to blame all the same.
    """

    late: Mapping[bytes, int]
    goes_on: bool
    culprits: tuple[int, ...]


def cut_off(  # noqa: PLR0913, PLR0917 - the two cuts of a phase
    state: RoundState,
    rules: PhaseRules,
    decision: PhaseDecision,
    cut: int,
    end: int,
    given: CloseInputs,
) -> CutOff:
    """What stands in the log from `cut` on, below `end`, the message's own first index."""
    between = _between(state, rules, cut, end)
    whole = rules.demand(end, given) if between else decision
    late = {
        author: message.index
        for author, message in between.items()
        if _was_waited_for(rules, decision, author) and _counts(whole, author)
    }
    places = {state.places[author] for author in late if author in state.places}
    at_recover = rules.phase is Phase.RECOVER
    # There a share of another's mask excuses nobody: else two that keep their seeds could post
    # in the gap between an honest cut and its abort, and the report would accuse the organiser.
    spared = state.spared if at_recover else places
    left = set(_named(decision)) & set(_named(whole)) - spared
    closed = at_recover and set(_named(whole)) <= spared
    goes_on = closed or not isinstance(whole.said, Failure)
    return CutOff(late, goes_on, () if goes_on else tuple(sorted(left)))


def excused(removed: tuple[Removed, ...], late: Mapping[bytes, int]) -> tuple[Removed, ...]:
    """The removals, with the entry that was cut off and the rule that it was cut off by."""
    return tuple(
        replace(row, rule="04-C6", entry=late[row.author])
        if row.author in late and row.cause is RemovalCause.ABSENT
        else row
        for row in removed
    )


def _between(state: RoundState, rules: PhaseRules, cut: int, end: int) -> dict[bytes, Message]:
    """The message of each author that the cut left out; in rollback the first about this close."""
    found: dict[bytes, Message] = {}
    for message in () if rules.phase is None else state.mail.all(rules.phase):
        other = isinstance(rules, RollbackRules) and message.body[:32] != rules.opened.leaf
        if cut <= message.index < end and not other:
            found.setdefault(message.author, message)
    return found


def _was_waited_for(rules: PhaseRules, decision: PhaseDecision, author: bytes) -> bool:
    """Whether the author is out for want of a message. Whoever does not join is not missed."""
    if rules.phase is Phase.JOIN:
        return author not in decision.out
    return author in decision.out and decision.out[author].cause is RemovalCause.ABSENT


def _counts(whole: PhaseDecision, author: bytes) -> bool:
    """Whether nothing is wrong with what the author said; neighbours that it lost are not."""
    return author not in whole.out or whole.out[author].cause is RemovalCause.LOST


def _named(decision: PhaseDecision) -> tuple[int, ...]:
    return decision.said.culprits if isinstance(decision.said, Failure) else ()
