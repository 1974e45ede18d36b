"""Runs a play on a stage, and the same session without lies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import TypeAlias

from gopa.adversary.boards.harm import harm
from gopa.adversary.boards.outcome import ServedOutcome, outcome_of
from gopa.adversary.boards.served_session import ServedSession, staged
from gopa.adversary.boards.transport import NeverHappened
from gopa.adversary.setup import SessionSetup
from gopa.adversary.trial import TwinFailed
from gopa.rules import RoundPicture
from gopa.simulation import Script

Play: TypeAlias = Callable[[ServedSession], Awaitable[None]]
"""What happens: who enters, what the front does, and what is waited for."""


def played(
    ground: SessionSetup, play: Play, *, honest_organiser: bool = True, retries: bool = False
) -> ServedOutcome:
    """What comes of a play. A play that waits in vain is stuck, and ended."""
    with staged(ground, retries=retries) as stage:
        stuck = asyncio.run(_perform(stage, play))
        return outcome_of(stage, honest_organiser=honest_organiser, stuck=stuck)


@lru_cache(maxsize=16)
def require_honest_session(ground: SessionSetup) -> None:
    """Raises `TwinFailed` unless a session over a front that does nothing has a right result."""
    outcome = played(ground, nobody_lies)
    everybody = all(end.included for end in outcome.ends)
    if outcome.result != "right" or outcome.caught or harm(outcome) or not everybody:
        raise TwinFailed(f"without lies: {outcome.result}, {harm(outcome)}, {outcome.caught}")


async def nobody_lies(stage: ServedSession) -> None:
    """Everybody takes part in a round, and the front passes everything on."""
    stage.chair()
    stage.gather()
    await stage.done()


def lying(script: Script) -> Play:
    """A play in which these parties lie, the others are honest, and the board is, too.

    The organiser waits for everybody who keeps the rules. Liars speak last where they want to.
    """

    async def play(stage: ServedSession) -> None:
        stage.chair(in_vain=partial(_only_liars_are_late, stage))
        for number in range(len(stage.identities)):
            if number in script.parties:
                stage.lie(number, script.parties[number])
            else:
                stage.enter(number)
        await stage.done_at_last()

    return play


def _only_liars_are_late(stage: ServedSession, current: RoundPicture) -> bool:
    """Whether liars alone are waited for, and have said whatever they want to say."""
    if not current.expected <= {liar.key for liar in stage.liars}:
        return False
    finished = [liar.finish(current.opened_at) for liar in stage.liars]
    return all(finished)


async def _perform(stage: ServedSession, play: Play) -> str:
    """What it waited for in vain."""
    try:
        await play(stage)
    except NeverHappened as error:
        return str(error)
    finally:
        await stage.leave()
    return ""
