"""What happens while an organiser runs, for people and machines that watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gopa.messages.organiser import Abort, ResultMessage
from gopa.messages.phases import Phase


@dataclass(frozen=True, slots=True)
class PhaseOpened:
    """A phase is open. Rounds count from 1, `logical`, `attempt` and `step` as in the log.

    `present` is how many parties are in the round, 0 before the roll; `expected` how many
    of them may still post; `ends` is a time of day.
    """

    round: int
    logical: int
    attempt: int
    phase: Phase
    step: int
    present: int
    expected: int
    ends: float


@dataclass(frozen=True, slots=True)
class Heard:
    """More messages of the open phase are in the log."""

    round: int
    phase: Phase
    posted: int
    expected: int


@dataclass(frozen=True, slots=True)
class AwaitingBeacon:
    """The coins of the round wait for a value that is due at a time of day."""

    round: int
    beacon_round: int
    due: float


@dataclass(frozen=True, slots=True)
class BadBeacon:
    """The source has shown a value that the beacon did not sign."""

    beacon_round: int
    error: str


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """A round has its result or was aborted.

    `included` is how many parties are in the result; `why` is set where the organiser gave up.
    """

    round: int
    logical: int
    attempt: int
    outcome: ResultMessage | Abort
    included: int
    why: str


@dataclass(frozen=True, slots=True)
class BoardLost:
    """The board cannot be reached, or cannot show what it signed; it is asked again."""

    error: str


@dataclass(frozen=True, slots=True)
class BoardFound:
    """The board answers again, after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """No more rounds are opened. `complete` if all rounds of the plan are done."""

    rounds: int
    complete: bool


Happening: TypeAlias = (
    PhaseOpened
    | Heard
    | AwaitingBeacon
    | BadBeacon
    | RoundEnded
    | BoardLost
    | BoardFound
    | SessionEnded
)
