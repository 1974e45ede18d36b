"""Runs a scenario in a served session, and the same session without lies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import TypeAlias

from gopa.adversary.boards.harm import harm
from gopa.adversary.boards.outcome import ServedOutcome, outcome_of
from gopa.adversary.boards.served_session import ServedSession, serve_session
from gopa.adversary.boards.transport import NeverHappened
from gopa.adversary.setup import SessionSetup
from gopa.adversary.trial import TwinFailed
from gopa.protocol.rules import RoundPicture
from gopa.protocol.simulation import Script

Scenario: TypeAlias = Callable[[ServedSession], Awaitable[None]]
"""What happens: who enters, what the front does, and what is waited for."""


def played(
    setup: SessionSetup, scenario: Scenario, *, honest_organiser: bool = True, retries: bool = False
) -> ServedOutcome:
    """Runs a scenario and says what came of it. One that waits in vain is stuck, and ended."""
    with serve_session(setup, retries=retries) as session:
        stuck = asyncio.run(_perform(session, scenario))
        return outcome_of(session, honest_organiser=honest_organiser, stuck=stuck)


@lru_cache(maxsize=16)
def require_honest_session(setup: SessionSetup) -> None:
    """Raises `TwinFailed` unless a session over a front that does nothing has a right result."""
    outcome = played(setup, nobody_lies)
    everybody = all(end.included for end in outcome.ends)
    if outcome.result != "right" or outcome.caught or harm(outcome) or not everybody:
        raise TwinFailed(f"without lies: {outcome.result}, {harm(outcome)}, {outcome.caught}")


async def nobody_lies(session: ServedSession) -> None:
    """Everybody takes part in a round, and the front passes everything on."""
    session.start_organiser()
    session.gather()
    await session.done()


def lying(script: Script) -> Scenario:
    """A scenario in which these parties lie, the others are honest, and the board is, too.

    The organiser waits for everybody who keeps the rules. Liars speak last where they want to.
    """

    async def scenario(session: ServedSession) -> None:
        session.start_organiser(in_vain=partial(_only_liars_are_late, session))
        for number in range(len(session.identities)):
            if number in script.parties:
                session.lie(number, script.parties[number])
            else:
                session.enter(number)
        await session.done_at_last()

    return scenario


def _only_liars_are_late(session: ServedSession, current: RoundPicture) -> bool:
    """Whether liars alone are waited for, and have said whatever they want to say."""
    if not current.expected <= {liar.key for liar in session.liars}:
        return False
    finished = [liar.finish(current.opened_at) for liar in session.liars]
    return all(finished)


async def _perform(session: ServedSession, scenario: Scenario) -> str:
    """What it waited for in vain."""
    try:
        await scenario(session)
    except NeverHappened as error:
        return str(error)
    finally:
        await session.leave()
    return ""
