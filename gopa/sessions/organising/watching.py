"""What has changed since the log was looked at last."""

from __future__ import annotations

from collections.abc import Iterator

from gopa.messages.organiser import Result
from gopa.rules import RoundView
from gopa.sessions.organising.events import Happening, Heard, PhaseOpened, RoundEnded
from gopa.sessions.organising.organiser import DurableOrganiser


class Watcher:
    """Compares where a session stands with where it stood.

    Rounds that had ended before the first look are not told.
    """

    def __init__(self) -> None:
        self._looked = False
        self._phase: tuple[int, bytes] | None = None
        self._posted = 0
        self._ended = 0

    def look(self, organiser: DurableOrganiser) -> Iterator[Happening]:
        """What has happened, in order."""
        state = organiser.state
        current = state.round
        first, self._looked = not self._looked, True
        if current is None:
            return
        if state.rounds_ended > self._ended and not first and current.ended is not None:
            yield _ended(current, organiser.gave_up)
        self._ended = state.rounds_ended
        yield from self._open(current, organiser.ends)

    def _open(self, current: RoundView, ends: float | None) -> Iterator[Happening]:
        if current.opens is None or ends is None:
            return
        phase = current.number, current.acts_on
        if phase != self._phase:
            self._phase, self._posted = phase, current.posted
            yield PhaseOpened(
                round=current.number,
                logical=current.logical,
                attempt=current.attempt,
                phase=current.opens,
                step=current.step,
                present=len(current.members) if current.lists else len(current.roll),
                expected=len(current.expected),
                ends=ends,
            )
            return
        if current.posted != self._posted:
            self._posted = current.posted
            yield Heard(current.number, current.opens, current.posted, len(current.expected))


def _ended(current: RoundView, why: str) -> Happening:
    if current.ended is None:
        raise TypeError("the round goes on")
    included = len(current.members) if isinstance(current.ended, Result) else 0
    return RoundEnded(
        current.number, current.logical, current.attempt, current.ended, included, why
    )
