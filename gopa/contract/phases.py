"""The table of phases: what is said in each, who owes it, which rules judge it, what follows.

Rules, parties, tracker and pages read it; tests compare it with the second verifier and with all
transcripts. `specs/04-protocol.md`, sections 1 and 2; the phase and kind `prove` are those of
`specs/14-long-vectors.md`, 14-M4.

    >>> from gopa.contract.phases import course
    >>> [phase.name for phase in course(rows=False, trusted=False, recovers=False)][-3:]
    ['ROLLBACK', 'CONFIRM', 'UNMASK']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cache
from typing import Final


class Phase(IntEnum):
    """Where an entry stands in a round; part of its slot on the board.

    A number says nothing about when a phase comes: `place` does.
    """

    ORGANISER = 0
    JOIN = 1
    COINS = 2
    COMMIT = 3
    ACCUSE = 4
    PUBLISH = 5
    ROLLBACK = 6
    CONFIRM = 7
    UNMASK = 8
    RECOVER = 9
    PROVE = 10

    @property
    def place(self) -> int:
        """Where the phase stands in the order of a round; the organiser's stands in front."""
        return _PLACES[self]


class Kind(IntEnum):
    """What the body of an entry is."""

    MANIFEST = 1
    OPEN = 2
    CLOSE = 3
    RESULT = 4
    ABORT = 5
    JOIN = 16
    REVEAL = 17
    COMMIT = 18
    ACCUSATION = 19
    PUBLISH = 20
    OPENING = 21
    CONFIRM = 22
    UNMASK = 23
    RECOVER = 24
    PROVE = 25


class Owed(Enum):
    """Who owes a message in a phase."""

    BY_ADMITTED = "whoever may join: nobody by name where admission is open"
    BY_ROLL = "everybody on the roll, where coins are made of nonces; else nobody"
    BY_LISTED = "everybody in the list of the close before"
    BY_NOBODY = "nobody: whoever has something to say says it"
    BY_BORDER = "listed parties at an edge that leads out of the list, or is disputed"
    BY_FINAL = "everybody in the final list"
    BY_HELPERS = "whoever confirmed and has a neighbour whose self-mask is missing"


class Turn(Enum):
    """What the close of a phase leaves to be done; the next phase depends on it."""

    LISTED = "whoever is listed goes on"
    UNPROVED = "with rows: words are out, and what they are is proved next"
    CROSSED = "an edge leads out of the list, or its ends disagree: a rollback opens it"
    FINAL = "the list is final"
    TRUSTED = "the list is final, and parties are trusted to keep the rules"
    MISSING = "self-masks are missing, and can be recovered; else the round is aborted"


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """A phase: its message, who owes it, the rules that judge it, what follows its close.

    A phase whose close nothing follows ends with the result or an abort, in place of a close;
    behind a turn to None the result follows a close at once. `beside` is the phase with which this
    one is open, if it has no close of its own. In some phases a party may post more than one
    message. Whoever fails in one that is `owed_once_committed` sits out the retry (04-X5).
    """

    kind: Kind
    owed: Owed
    rules: str
    then: Mapping[Turn, Phase | None] = field(default_factory=dict)
    beside: Phase | None = None
    repeatable: bool = False
    owed_once_committed: bool = False


_LISTS: Final = {
    Turn.CROSSED: Phase.ROLLBACK,
    Turn.FINAL: Phase.CONFIRM,
    Turn.TRUSTED: None,
}

TABLE: Final[Mapping[Phase, PhaseRow]] = {
    Phase.JOIN: PhaseRow(
        Kind.JOIN,
        Owed.BY_ADMITTED,
        "04-J1 04-J2 04-J3 04-J4 04-J5 04-J6 04-J7 04-X5 14-M1 14-L3",
        {Turn.LISTED: Phase.COINS},
    ),
    Phase.COINS: PhaseRow(
        Kind.REVEAL,
        Owed.BY_ROLL,
        "04-V1 04-V2 04-V3 04-V4 04-V5 04-V6",
        {Turn.LISTED: Phase.COMMIT},
    ),
    Phase.COMMIT: PhaseRow(
        Kind.COMMIT,
        Owed.BY_LISTED,
        "04-K1 04-K2 04-K3 04-K4 04-K5 04-K6 14-P3",
        {Turn.LISTED: Phase.PUBLISH},
    ),
    Phase.ACCUSE: PhaseRow(
        Kind.ACCUSATION,
        Owed.BY_NOBODY,
        "04-A1 04-A2 04-A3 04-A4 04-A5",
        beside=Phase.PUBLISH,
        repeatable=True,
    ),
    Phase.PUBLISH: PhaseRow(
        Kind.PUBLISH,
        Owed.BY_LISTED,
        "04-P1 04-P2 04-P3 14-M1 14-L3",
        {Turn.UNPROVED: Phase.PROVE, **_LISTS},
        owed_once_committed=True,
    ),
    Phase.PROVE: PhaseRow(
        Kind.PROVE, Owed.BY_LISTED, "14-P6 14-P8", _LISTS, owed_once_committed=True
    ),
    Phase.ROLLBACK: PhaseRow(
        Kind.OPENING,
        Owed.BY_BORDER,
        "04-O1 04-O2 04-O3 04-O4 04-O5 14-K6",
        _LISTS,
        repeatable=True,
        owed_once_committed=True,
    ),
    Phase.CONFIRM: PhaseRow(
        Kind.CONFIRM,
        Owed.BY_FINAL,
        "04-F1 04-F2 04-F3",
        {Turn.LISTED: Phase.UNMASK},
        owed_once_committed=True,
    ),
    Phase.UNMASK: PhaseRow(
        Kind.UNMASK,
        Owed.BY_FINAL,
        "04-U1 04-U2 14-P10",
        {Turn.MISSING: Phase.RECOVER},
        owed_once_committed=True,
    ),
    Phase.RECOVER: PhaseRow(Kind.RECOVER, Owed.BY_HELPERS, "04-U3 04-U4 04-U5"),
}
"""All phases of parties, in their order; accuse is open together with publish."""

ORDER: Final = tuple(TABLE)
_PLACES: Final = {phase: place for place, phase in enumerate((Phase.ORGANISER, *ORDER))}

KIND_IN: Final = {phase: row.kind for phase, row in TABLE.items()}
"""What a party posts in each phase."""

REPEATABLE: Final = frozenset(phase for phase, row in TABLE.items() if row.repeatable)
OWED_ONCE_COMMITTED: Final = frozenset(p for p, row in TABLE.items() if row.owed_once_committed)
CLOSED: Final = frozenset(phase for phase, row in TABLE.items() if row.beside is None)
MAY_BE_FINAL: Final = frozenset(phase for phase, row in TABLE.items() if Turn.FINAL in row.then)
"""Phases of which a close may be the final one."""


def is_open(phase: Phase, now: Phase | None) -> bool:
    """Whether messages of a phase count while the phase `now` is open."""
    return now is not None and now in {phase, TABLE[phase].beside}


def turn_after(phase: Phase, *, final: bool, rows: bool, trusted: bool) -> Turn:
    """What the close of a phase leaves to be done, in a session with rows or trusted parties."""
    row = TABLE[phase]
    if phase not in MAY_BE_FINAL:
        return next(iter(row.then), Turn.LISTED)
    if rows and Turn.UNPROVED in row.then:
        return Turn.UNPROVED
    return Turn.CROSSED if not final else Turn.TRUSTED if trusted else Turn.FINAL


@cache
def course(*, rows: bool, trusted: bool, recovers: bool) -> tuple[Phase, ...]:
    """All phases that a round of such a session may have, in their order."""
    reached: set[Phase | None] = {Phase.JOIN}
    found: list[Phase] = []
    for phase, row in TABLE.items():
        if phase not in reached and row.beside is None:
            continue
        turns = {turn_after(phase, final=True, rows=rows, trusted=trusted)}
        turns |= set() if trusted else {turn_after(phase, final=False, rows=rows, trusted=False)}
        turns -= set() if recovers else {Turn.MISSING}
        reached |= {row.then.get(turn) for turn in turns}
        found.append(phase)
    return tuple(found)
