"""Routes a party's message of the current round: to its phase, to late evidence, or nowhere."""

from __future__ import annotations

from typing import Final

from gopa.messages.framing import Message
from gopa.messages.parameters import Roster
from gopa.messages.phases import Phase
from gopa.rules.evidence import Notes
from gopa.rules.join import sown
from gopa.rules.round_state import PhaseRules, RoundState

_LATE: Final = "a message after its phase was closed"
_CUT_OFF: Final = "a message in the log before its phase was closed, but cut off"


def route(book: RoundState, stage: PhaseRules | None, notes: Notes, message: Message) -> None:
    """Take a message of somebody who may be a party; `stage` is None after the round."""
    phase = Phase(message.phase)
    if book.enrolled and message.author not in book.places:
        notes.add("04-J6", "the author is not on the roll", book.number, message.index)
        return
    if phase is Phase.JOIN:
        seed = sown(message, book.context)
        if seed is not None:
            book.memory.seeds.note(seed, message.index, message.author)
    if _is_open(stage, phase):
        _receive(book, phase, message)
    elif _is_ahead(book, stage, phase):
        book.mail.spoil(phase, message.author, message.index)
        notes.add("04-E4", "a message before its phase", book.number, message.index)
    else:
        _keep_late(book, phase, message)
        note_late(notes, message, book)


def note_above_cut(book: RoundState, stage: PhaseRules, notes: Notes, cut: int, end: int) -> None:
    """The phase ends by a message at `end`: whoever posted above the cut was late, or cut off."""
    if stage.phase is None:
        return
    for message in book.mail.all(stage.phase):
        if cut <= message.index < end:
            author = _named(book, message)
            notes.add("04-C6", _CUT_OFF, message.round, message.index, author)
        elif message.index >= end:
            note_late(notes, message, book)


def note_late(notes: Notes, message: Message, book: RoundState | None = None) -> None:
    """The message changes no list; in its own round its author is named."""
    author = b"" if book is None else _named(book, message)
    notes.add("04-C2", _LATE, message.round, message.index, author)


def _named(book: RoundState, message: Message) -> bytes:
    """The author, if there cannot be any number of them: each one takes room in the report."""
    bounded = message.author in book.places or isinstance(book.manifest.admission, Roster)
    return message.author if bounded else b""


def _receive(book: RoundState, phase: Phase, message: Message) -> None:
    """Put one message in the mailbox, except where several may come ([E2]).

    Of two values readers might take one or the other (attack `second-message`).
    """
    known = book.mail.first(phase).get(message.author)
    if known is None:
        book.mail.put(message)
        return
    what = "a second message in one phase"
    fault = book.fault(message.author, "04-E2", what, known.index, message.index)
    book.faults.append(fault)


def _keep_late(book: RoundState, phase: Phase, message: Message) -> None:
    """What came too late for a list may still convict, or make an edge public."""
    if phase is Phase.ACCUSE:
        book.late_accusations.append(message)
    elif phase is Phase.ROLLBACK and book.edges is not None:
        book.stray_openings.append(message)


def _is_open(stage: PhaseRules | None, phase: Phase) -> bool:
    if stage is None:
        return False
    return phase is stage.phase or (phase is Phase.ACCUSE and stage.phase is Phase.PUBLISH)


def _is_ahead(book: RoundState, stage: PhaseRules | None, phase: Phase) -> bool:
    """Whether the phase may still open."""
    if stage is None or stage.phase is None:
        return False
    now = Phase.ACCUSE if stage.phase is Phase.PUBLISH else stage.phase
    rolled_past = phase is Phase.ROLLBACK and book.final is not None
    return phase > now and not rolled_past
