"""What happens in a session, in words for people and in values for machines."""

from __future__ import annotations

from typing import Final

import numpy as np

from gopa.aggregation.encoding import NoisySum, Plain
from gopa.cli.session_progress import Happened, Progress, Standing
from gopa.messages.manifest import Manifest
from gopa.messages.organiser import Abort, Released, Result, Why
from gopa.messages.phases import Phase
from gopa.sessions.organising import (
    AwaitingBeacon,
    BadBeacon,
    BoardFound,
    BoardLost,
    Happening,
    Heard,
    PhaseOpened,
    RoundEnded,
    SessionEnded,
)

PHASE_WORDS: Final = {
    Phase.JOIN: "joining",
    Phase.COINS: "flipping coins",
    Phase.COMMIT: "committing",
    Phase.PUBLISH: "publishing",
    Phase.ROLLBACK: "opening edges",
    Phase.CONFIRM: "confirming",
    Phase.UNMASK: "unmasking",
    Phase.RECOVER: "recovering masks",
}
WHY_WORDS: Final = {
    Why.TOO_FEW_JOINED: "too few parties joined",
    Why.TOO_MANY_WITHHELD: "too many withheld their coins",
    Why.TOO_FEW_LEFT: "too few parties were left",
    Why.TOO_MANY_ROLLBACKS: "parties kept leaving after they had published",
    Why.NOT_CONFIRMED: "too few confirmed the final list",
    Why.NOT_UNMASKED: "a mask stayed closed",
    Why.ORGANISER: "the organiser gave up",
}
_SHOWN: Final = 8
"""Coordinates that a line shows."""


class Telling:
    """Says what an organiser tells, to whoever watches."""

    def __init__(self, manifest: Manifest, to: Progress) -> None:
        self._manifest, self._to = manifest, to
        self._phase: PhaseOpened | None = None

    def __call__(self, what: Happening) -> None:
        line = self._line(what)
        if line is not None:
            self._to.happened(line)
        if isinstance(what, PhaseOpened):
            self._phase = what
            self._stand(what, 0, what.expected)
        elif isinstance(what, Heard) and self._phase is not None:
            self._stand(self._phase, what.posted, what.posted + what.expected)
        elif isinstance(what, RoundEnded):
            self._to.standing(Standing("between rounds"))

    def _stand(self, phase: PhaseOpened, posted: int, total: int) -> None:
        text = f"round {phase.round}: {PHASE_WORDS[phase.phase]}"
        self._to.standing(Standing(text, posted, total or None, phase.ends))

    def _line(self, what: Happening) -> Happened | None:
        if isinstance(what, PhaseOpened):
            return _opened(what)
        if isinstance(what, Heard):
            return None
        if isinstance(what, RoundEnded):
            return ended_line(self._manifest, what)
        if isinstance(what, SessionEnded):
            text = "all rounds are done" if what.complete else "no more rounds for now"
            facts = {"rounds": what.rounds, "complete": what.complete}
            return Happened("session", f"{text}: {what.rounds} held", facts)
        return trouble_line(what)


def _opened(what: PhaseOpened) -> Happened:
    attempt = f", attempt {what.attempt + 1}" if what.attempt else ""
    present = f", {what.present} parties" if what.present else ""
    text = f"round {what.round}{attempt}: {PHASE_WORDS[what.phase]}{present}"
    return Happened(
        "phase",
        text,
        {
            "round": what.round,
            "logical": what.logical,
            "attempt": what.attempt,
            "phase": what.phase.name.lower(),
            "step": what.step,
            "present": what.present,
            "expected": what.expected,
            "ends": round(what.ends, 3),
        },
    )


def trouble_line(what: AwaitingBeacon | BadBeacon | BoardLost | BoardFound) -> Happened:
    """What holds a session up: a beacon or a board that is not there, or lies."""
    if isinstance(what, AwaitingBeacon):
        text = f"waiting for round {what.beacon_round} of the beacon"
        facts: dict[str, object] = {"round": what.round, "beacon_round": what.beacon_round}
        return Happened("beacon", text, facts | {"due": what.due})
    if isinstance(what, BadBeacon):
        text = f"the source of the beacon shows something wrong: {what.error}"
        facts = {"beacon_round": what.beacon_round, "error": what.error}
        return Happened("bad-beacon", text, facts)
    if isinstance(what, BoardLost):
        text = f"the board cannot be used just now, trying on: {what.error}"
        return Happened("board-lost", text, {"error": what.error})
    text = f"the board is back after {what.seconds:.0f} seconds"
    return Happened("board-found", text, {"seconds": round(what.seconds, 3)})


def ended_line(manifest: Manifest, what: RoundEnded) -> Happened:
    """A result or an abort."""
    facts: dict[str, object] = {
        "round": what.round,
        "logical": what.logical,
        "attempt": what.attempt,
    }
    if isinstance(what.outcome, Abort):
        text = f"round {what.round}: aborted, {why_text(what.outcome)}"
        facts |= abort_facts(what.outcome) | {"why": what.why}
        return Happened("abort", f"{text} ({what.why})" if what.why else text, facts)
    facts |= result_facts(manifest, what.outcome, what.included)
    text = f"round {what.round}: {result_text(manifest, what.outcome, what.included)}"
    return Happened("result", text, facts)


def why_text(abort: Abort) -> str:
    """Why a round was aborted, and whether anything of it was seen."""
    seen = "; masked values were released" if abort.released is Released.MASKED else ""
    return f"{WHY_WORDS[abort.reason]}{seen}"


def abort_facts(abort: Abort) -> dict[str, object]:
    """The same for machines."""
    return {
        "reason": abort.reason.name.lower(),
        "released": abort.released.name.lower(),
        "culprits": list(abort.culprits),
    }


def result_facts(manifest: Manifest, result: Result, included: int) -> dict[str, object]:
    """Sums on the grid, and what they say about the values where they say that alone."""
    facts: dict[str, object] = {"included": included, "sums": list(result.sums)}
    if manifest.weighted or not included:
        return facts
    found = _estimate(manifest, result, included)
    return facts | {"mean": found[0].tolist(), "stderr": found[1].tolist()}


def result_text(manifest: Manifest, result: Result, included: int) -> str:
    """The mean for people."""
    if manifest.weighted or not included:
        return f"a weighted result over {included} parties"
    mean, deviation = _estimate(manifest, result, included)
    shown = ", ".join(f"{each:.6g}" for each in mean[:_SHOWN])
    more = f" and {len(mean) - _SHOWN} more" if len(mean) > _SHOWN else ""
    return f"mean {shown}{more} ± {deviation[0]:.2g} over {included} parties"


def _estimate(
    manifest: Manifest, result: Result, included: int
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]
]:
    noise = included * float(manifest.terms.noise.variance)
    total = NoisySum(np.array(result.sums, dtype=np.int64), included, noise, exact=False)
    found = Plain(manifest.terms).decode(total)
    return found.mean, found.mean_deviation
