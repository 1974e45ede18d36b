"""Reads the organiser's messages for people: what they say about the round that is going on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gopa.messages.framing import Posted
from gopa.messages.manifest import Manifest
from gopa.messages.organiser import Abort, Close, Open, ResultMessage, read_control
from gopa.messages.phases import Kind, Phase
from gopa.party import Part
from gopa.session_tracker import MessageProgress, TrackedRound, close_phase
from wire.errors import MalformedMessage

_OPENING: Final = frozenset({Kind.OPEN, Kind.CLOSE, Kind.RESULT, Kind.ABORT})


@dataclass(frozen=True, slots=True)
class RoundStatus:
    """Says where a round stands behind a message of the organiser.

    `opens` is the phase that is open now, None when the round is over. `present` is how many
    parties are still in it, None before the roll is known. `part` is what became of this party:
    None as long as it takes part or still may.
    """

    round: int
    logical: int
    attempt: int
    opens: Phase | None
    present: int | None
    ended: ResultMessage | Abort | None
    part: Part | None = None


class RoundProgress:
    """Turns the organiser's entries into statuses, without judging them: the party does that.

    Entries come in the order of the log; it may begin with any round. It says nothing more
    about a round in which a message cannot be read.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._progress = MessageProgress()
        self._round: TrackedRound | None = None
        self._number = 0

    @property
    def news(self) -> RoundStatus | None:
        """The last news."""
        return None if self._round is None else _news(self._round)

    def hear(self, posted: Posted) -> RoundStatus | None:
        """The news of this entry, if it completes a message."""
        entry = posted.entry
        if entry.round < self._number or entry.kind not in _OPENING:
            return None
        if entry.round > self._number:
            self._number, self._progress, self._round = entry.round, MessageProgress(), None
        if not self._progress.continues(entry):
            return None
        body = self._progress.take(entry, keep=True)
        if body is None:
            return None
        try:
            self._apply(entry.kind, body)
        except MalformedMessage:
            self._round = None
        return self.news

    def _apply(self, kind: int, body: bytes) -> None:
        message = read_control(kind, body)
        if isinstance(message, Open):
            self._round = TrackedRound(self._number, message.logical, message.attempt)
        elif self._round is None:
            return
        elif isinstance(message, Close):
            close_phase(self._manifest, self._round, message)
        else:
            self._round.ended, self._round.opens = message, None


def _news(found: TrackedRound) -> RoundStatus:
    return RoundStatus(
        round=found.number,
        logical=found.logical,
        attempt=found.attempt,
        opens=found.opens,
        present=_present(found),
        ended=found.ended,
    )


def _present(found: TrackedRound) -> int | None:
    if found.roll is None:
        return None
    if found.final is not None:
        return len(found.final)
    return len(found.lists[-1][1]) if found.lists else len(found.roll.parties)
