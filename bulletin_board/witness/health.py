"""Tracks how a witness behaves: what it last did, when to ask it again, when to stop asking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

MOST_REFUSALS = 6
"""Refusals without a cosignature in between, after which a witness is asked no more."""

_FIRST_PAUSE = 1.0
_LONGEST_FAILURE_PAUSE = 8.0
"""A witness that comes back is noticed within this time."""


class WitnessState(Enum):
    """The states of a witness, in the words that `/healthz`, `/metrics` and the page use."""

    WAITING = "waiting"
    COSIGNING = "cosigning"
    FAILING = "failing"
    REFUSING = "refusing"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class WitnessHealth:
    """How one witness behaves; every change gives a new object.

    A failure (no answer, or one that is no cosignature) is retried for ever, more
    and more slowly. A refusal says that the witness holds another history: the
    witness is mistaken, or lies, or the board has forked. It is retried a few
    times, and until it has cosigned again the witness does not count for the quorum.
    `refused` and `failed` count since the last cosignature, `refusals` and `failures`
    since the board started. `time` is what its last cosignature states, `seen` when that came by
    the board's own clock.
    """

    time: int | None = None
    reason: str = ""
    refused: int = 0
    failed: int = 0
    refusals: int = 0
    failures: int = 0
    seen: float | None = None

    def after_cosigning(self, time: int, seen: float) -> WitnessHealth:
        return WitnessHealth(time, "", 0, 0, self.refusals, self.failures, seen)

    def after_failing(self, reason: str) -> WitnessHealth:
        return replace(
            self,
            reason=self.reason if self.refused else reason,
            failed=self.failed + 1,
            failures=self.failures + 1,
        )

    def after_refusing(self, reason: str) -> WitnessHealth:
        return replace(
            self, reason=reason, refused=self.refused + 1, failed=0, refusals=self.refusals + 1
        )

    @property
    def state(self) -> WitnessState:
        if self.refused:
            return WitnessState.EXCLUDED if self.refused >= MOST_REFUSALS else WitnessState.REFUSING
        if self.failed:
            return WitnessState.FAILING
        return WitnessState.WAITING if self.time is None else WitnessState.COSIGNING

    @property
    def pause(self) -> float:
        """Seconds until it is asked again."""
        after_failure: float = _FIRST_PAUSE * 2 ** min(self.failed - 1, MOST_REFUSALS)
        after_refusal: float = _FIRST_PAUSE * 2 ** (self.refused - 1)
        return max(
            min(after_failure, _LONGEST_FAILURE_PAUSE) if self.failed else 0.0,
            after_refusal if self.refused else 0.0,
        )
