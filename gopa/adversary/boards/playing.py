"""Runs a play on a stage, and the same session without lies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

from gopa.adversary.boards.front import NeverHappened
from gopa.adversary.boards.harm import harm
from gopa.adversary.boards.outcome import ServedOutcome, outcome_of
from gopa.adversary.boards.stage import Stage, staged
from gopa.adversary.ground import Ground
from gopa.adversary.malicious import Malicious, phase_of, script_of
from gopa.adversary.trial import TwinFailed
from gopa.messages.phases import Phase

Play: TypeAlias = Callable[[Stage], Awaitable[None]]
"""What happens: who enters, what the front does, and what is waited for."""


def played(
    ground: Ground, play: Play, *, honest_organiser: bool = True, retries: bool = False
) -> ServedOutcome:
    """What comes of a play. A play that waits in vain is stuck, and ended."""
    with staged(ground, retries=retries) as stage:
        stuck = asyncio.run(_perform(stage, play))
        return outcome_of(stage, honest_organiser=honest_organiser, stuck=stuck)


@lru_cache(maxsize=16)
def require_honest_session(ground: Ground) -> None:
    """Raises `TwinFailed` unless a session over a front that does nothing has a right result."""
    outcome = played(ground, nobody_lies)
    everybody = all(end.included for end in outcome.ends)
    if outcome.result != "right" or outcome.caught or harm(outcome) or not everybody:
        raise TwinFailed(f"without lies: {outcome.result}, {harm(outcome)}, {outcome.caught}")


async def nobody_lies(stage: Stage) -> None:
    """Everybody takes part in a round, and the front passes everything on."""
    stage.chair()
    stage.gather()
    await stage.done()


def lying(actors: Sequence[Malicious]) -> Play:
    """A play in which these parties lie, the others are honest, and the board is, too."""
    silent = sorted({phase_of(each.at) for each in actors})
    script = script_of(actors)

    async def play(stage: Stage) -> None:
        chair = stage.chair()
        for number in range(len(stage.identities)):
            if number in script.parties:
                stage.lie(number, script.parties[number])
            else:
                stage.enter(number)
        for phase in silent:
            await stage.until(partial(_has_spoken, stage, phase))
            await stage.overdue_once(chair, phase)
        await stage.done()

    return play


def _has_spoken(stage: Stage, phase: Phase) -> bool:
    """Whether all that can be expected in a phase was said; liars may have said nothing."""
    taken = {e.entry.author.data for e in stage.board.sent if e.taken and e.entry.phase == phase}
    honest = {stage.identities[guest.number].public.data for guest in stage.guests}
    return honest <= taken and all(phase in liar.told for liar in stage.liars)


async def _perform(stage: Stage, play: Play) -> str:
    """What it waited for in vain."""
    try:
        await play(stage)
    except NeverHappened as error:
        return str(error)
    finally:
        await stage.leave()
    return ""
