"""Events of a log whose closes have the root that they say, for tests about something else."""

from __future__ import annotations

from gopa.contract.framing import Posted
from gopa.protocol.party import Event, PartyState, PostedClose


def as_claimed(state: PartyState, event: Event) -> Event:
    """The event; of a close with the root that it names, as if the log had it at the cut."""
    if not isinstance(event, Posted):
        return event
    claim = state.chain.claim_in(event)
    return event if claim is None else PostedClose(event, claim[1])
