"""Crowds of strangers that want to keep a board from having a session at all."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Final

from gopa.adversary.outcome import Catch, How
from gopa.adversary.served import served

if TYPE_CHECKING:
    from gopa.adversary.boards import ServedOutcome, ServedSession

_PATIENT_REQUESTS: Final = 40
_STRANGER: Final = "stranger"
_CONFLICT: Final = 409


def kept_out(outcome: ServedOutcome) -> bool:
    """The session never came to a result."""
    return outcome.result == "none"


@served("manifest-squat", "05-D5", aim=kept_out)
async def manifest_squat(session: ServedSession) -> None:
    """Strangers post more manifests than a board keeps, halves and whole ones, and open no round.

    Then the organiser comes with its own.

    Caught: halves that have stood still longest give way to new ones, and so do sessions without
    a round, of which the older half stays while the crowd opens none.
    Costs: the log their first entries; a board that is told who may begin sessions takes none.
    """
    from gopa.adversary.boards import FEW_PENDING, FEW_SESSIONS, Squatters

    with closing(Squatters(session.board.main.address)) as squatters:
        await asyncio.to_thread(squatters.begin, 2 * FEW_PENDING)
        await asyncio.to_thread(squatters.begin_whole, 2 * FEW_SESSIONS, session.manifest)
        transport = session.start_organiser().transport
        await session.until(lambda: session.begun or transport.requests > _PATIENT_REQUESTS)
        if not session.begun:
            return
        session.gather()
        await session.done()
        if await asyncio.to_thread(squatters.go_on, 0) == _CONFLICT:
            session.turned_away.append(Catch("05-D5", _STRANGER, How.TURNED_AWAY))


@served("idle-crowd", "05-H2", aim=kept_out)
async def idle_crowd(session: ServedSession) -> None:
    """Strangers open more connections than a board takes, and say nothing, or half a request.

    Caught: whoever has waited longest with its request loses its connection to a newcomer.
    Costs: nothing but their connections: requests that are complete are answered.
    """
    from gopa.adversary.boards import FEW_CONNECTIONS, Crowd

    crowd = await asyncio.to_thread(Crowd, session.board.main.address, 2 * FEW_CONNECTIONS)
    with crowd:
        transport = session.start_organiser().transport
        await session.until(lambda: session.begun or transport.requests > _PATIENT_REQUESTS)
        if not session.begun:
            return
        session.gather()
        await session.done()
        if crowd.dropped():
            session.turned_away.append(Catch("05-H2", _STRANGER, How.TURNED_AWAY))
