"""Numbers the phases of a round and the kinds of messages.

`specs/04-protocol.md`, sections 1 and 2; the phase and kind `prove` are those of
`specs/14-long-vectors.md`, 14-M4.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Phase(IntEnum):
    """Says where an entry stands in a round; part of its slot on the board.

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


ORDER: Final = (
    Phase.JOIN,
    Phase.COINS,
    Phase.COMMIT,
    Phase.ACCUSE,
    Phase.PUBLISH,
    Phase.PROVE,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
    Phase.RECOVER,
)
"""The phases of a round in their order; accuse is open together with publish."""

_PLACES: Final = {phase: place for place, phase in enumerate((Phase.ORGANISER, *ORDER))}


class Kind(IntEnum):
    """Says what the body of an entry is."""

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


KIND_IN = {
    Phase.JOIN: Kind.JOIN,
    Phase.COINS: Kind.REVEAL,
    Phase.COMMIT: Kind.COMMIT,
    Phase.ACCUSE: Kind.ACCUSATION,
    Phase.PUBLISH: Kind.PUBLISH,
    Phase.ROLLBACK: Kind.OPENING,
    Phase.CONFIRM: Kind.CONFIRM,
    Phase.UNMASK: Kind.UNMASK,
    Phase.RECOVER: Kind.RECOVER,
    Phase.PROVE: Kind.PROVE,
}
"""What a party posts in each phase."""

ORGANISER_KINDS = frozenset({Kind.MANIFEST, Kind.OPEN, Kind.CLOSE, Kind.RESULT, Kind.ABORT})

REPEATABLE = frozenset({Phase.ACCUSE, Phase.ROLLBACK})
"""Phases in which a party may post more than one message."""
