"""Where a party's message of the current round belongs: its phase, late evidence, or nowhere."""

from __future__ import annotations

from typing import Final

from gopa.contract.framing import Message
from gopa.contract.parameters import Roster
from gopa.contract.phases import Phase, is_open
from gopa.protocol.rules.findings import Notes
from gopa.protocol.rules.roll_and_edges import CommittedEdges, EnrolledRoll
from gopa.protocol.rules.round_state import PhaseRules, RoundState

_LATE: Final = "a message after its phase was closed"
_CUT_OFF: Final = "a message in the log before its phase was closed, but cut off"


def route(state: RoundState, rules: PhaseRules | None, notes: Notes, message: Message) -> None:
    """Take a message of somebody who may be a party; `rules` is None after the round."""
    phase = Phase(message.phase)
    if state.reached(EnrolledRoll) is not None and message.author not in state.places:
        notes.add("04-J6", "the author is not on the roll", state.number, message.index)
        return
    if phase is Phase.JOIN:
        seed = state.proving.used_seed(message, state.context)
        if seed is not None:
            state.memory.seeds.note(seed, message.index, message.author)
    if rules is not None and is_open(phase, rules.phase):
        _receive(state, phase, message)
    elif _is_ahead(state, rules, phase):
        state.mail.spoil(phase, message.author, message.index)
        notes.add("04-E4", "a message before its phase", state.number, message.index)
    else:
        _keep_late(state, phase, message)
        note_late(notes, message, state)


def note_above_cut(rules: PhaseRules, notes: Notes, cut: int, end: int) -> None:
    """Note who posted above the cut of a phase that a message at `end` ends: late, or cut off."""
    if rules.phase is None:
        return
    state = rules.state
    for message in state.mail.all(rules.phase):
        if cut <= message.index < end:
            author = _named(state, message)
            notes.add("04-C6", _CUT_OFF, message.round, message.index, author)
        elif message.index >= end:
            note_late(notes, message, state)


def note_late(notes: Notes, message: Message, state: RoundState | None = None) -> None:
    """Note a message that changes no list; in its own round its author is named.

    Else somebody could publish when its edges are about to be opened, and be taken back (attack
    `late-return`).
    """
    author = b"" if state is None else _named(state, message)
    notes.add("04-C2", _LATE, message.round, message.index, author)


def _named(state: RoundState, message: Message) -> bytes:
    """The author, if there cannot be any number of them: each one takes room in the report."""
    enrolled = state.position(message.author) is not None
    bounded = enrolled or isinstance(state.manifest.admission, Roster)
    return message.author if bounded else b""


def _receive(state: RoundState, phase: Phase, message: Message) -> None:
    """Put one message in the mailbox, except where several may come (04-E2).

    Of two values readers might take one or the other (attack `second-message`).
    """
    known = state.mail.first(phase).get(message.author)
    if known is None:
        state.mail.put(message)
        return
    what = "a second message in one phase"
    fault = state.fault(message.author, "04-E2", what, known.index, message.index)
    state.faults.append(fault)


def _keep_late(state: RoundState, phase: Phase, message: Message) -> None:
    """Keep what came too late for a list: it may still convict, or make an edge public."""
    if phase is Phase.ACCUSE:
        state.late_accusations.append(message)
    elif phase is Phase.ROLLBACK and state.reached(CommittedEdges) is not None:
        state.stray_openings.append(message)


def _is_ahead(state: RoundState, rules: PhaseRules | None, phase: Phase) -> bool:
    """Whether the phase may still open."""
    if rules is None or rules.phase is None:
        return False
    rolled_past = phase is Phase.ROLLBACK and state.released
    return phase.place > rules.phase.place and not rolled_past
