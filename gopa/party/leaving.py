"""When a party leaves a round: [C5], [X5] and [X6]."""

from __future__ import annotations

from dataclasses import replace

from bulletin_board.tree import leaf_hash
from gopa.messages.phases import Phase
from gopa.party.events import Output, Part
from gopa.party.states import Opened, Outside, State
from wire.errors import FaultyParty


def leave(state: State, opened: Opened, part: Part) -> tuple[State, list[Output]]:
    """Drop every secret of the round and be silent until the next one."""
    return replace(state, stage=Outside(opened, part), sent=()), []


def absent(state: State, opened: Opened, phase: Phase, cut: int) -> tuple[State, list[Output]]:
    """A list lacks this party. It leaves if its own message is late or it may be barred.

    Raises:
        FaultyParty: its message stands below the cut, so the organiser left it out.
    """
    if landed_below(state, phase, cut) and not (phase is Phase.JOIN and state.tally.excused):
        raise _left_out(state)
    if phase is not Phase.JOIN:
        state = replace(state, tally=replace(state.tally, excused=True))
    return leave(state, opened, Part.LATE)


def landed_below(state: State, phase: Phase, cut: int) -> bool:
    """Whether all own messages of this phase are known to stand in the log below the cut."""
    last = [leaf_hash(post.entries[-1]) for post in state.sent if post.phase is phase]
    landed = dict(state.landed)
    return all(landed.get(leaf, cut) < cut for leaf in last)


def _left_out(state: State) -> FaultyParty:
    return state.chain.fault("it left out a message below its own cut", state.chain.leaf)
