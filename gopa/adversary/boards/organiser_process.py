"""Runs the organiser of a served session: one process of it, on one fork of the board."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from bulletin_board.client.state import MemoryState
from gopa.adversary.boards.clients import BRIEF
from gopa.adversary.boards.transport import TamperedTransport
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.rules import RoundPicture, SessionState
from gopa.sessions.following import BoardLink
from gopa.sessions.organising import (
    Act,
    BoardLog,
    Deadlines,
    DurableOrganiser,
    OrganiserPace,
    Schedule,
    run,
)
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import MemoryVault
from wire.ed25519 import SigningKey
from wire.randomness import Rng

_HOURS: Final = 36_000.0
_POLL_SECONDS: Final = 0.04


InVain: TypeAlias = Callable[[RoundPicture], bool]
"""Whether nobody will say anything more in the open phase. Asked in the organiser's thread."""


@dataclass(slots=True, eq=False)
class OrganiserProcess:
    """Runs the organiser on one fork, whose log is all it knows. Waits for whoever is late.

    `limits` are the seconds of each phase: one that is set to 0 is over as soon as all that
    was posted has been read.
    """

    transport: TamperedTransport
    machine: DurableOrganiser
    limits: dict[Phase, float]
    task: asyncio.Task[SessionState]

    @classmethod
    def begin(  # noqa: PLR0913, PLR0917 - what a process of an organiser needs
        cls,
        ticket: Ticket,
        manifest: Manifest,
        key: SigningKey,
        transport: TamperedTransport,
        rng: Rng,
        in_vain: InVain | None = None,
    ) -> OrganiserProcess:
        """Start it. With `in_vain` each phase is over once nothing is to come in it."""
        limits = dict.fromkeys(Phase, _HOURS)
        schedule = Schedule(Deadlines(others=limits))
        vault = MemoryVault()
        if in_vain is None:
            machine = DurableOrganiser(vault, manifest, key, schedule, rng=rng)
        else:
            machine = _Observant(vault, manifest, key, schedule, rng=rng)
            machine.limits, machine.in_vain = limits, in_vain
        task = asyncio.create_task(_run(ticket, machine, transport, rng))
        return cls(transport, machine, limits, task)

    @property
    def error(self) -> BaseException | None:
        """Why it stopped, if it did not come to an end."""
        if not self.task.done() or self.task.cancelled():
            return None
        return self.task.exception()

    async def stop(self) -> None:
        """Kills the process."""
        self.task.cancel()
        await asyncio.wait({self.task})


class _Observant(DurableOrganiser):
    """Ends a phase when it has read the log once more after nothing was to come in it."""

    limits: dict[Phase, float]
    in_vain: InVain
    over = -1

    def act(self) -> Act:
        """As ever, with the time of the open phase set before."""
        current = self.state.round
        if current is not None and current.opens is not None:
            over = self.over == current.opened_at
            self.limits[current.opens] = 0.0 if over else _HOURS
            if current.expected and self.in_vain(current):
                self.over = current.opened_at
        return super().act()


async def _run(
    ticket: Ticket, machine: DurableOrganiser, transport: TamperedTransport, rng: Rng
) -> SessionState:
    link = BoardLink(
        ticket.board, ticket.trust, MemoryState(), rng=rng, transport=transport, patience=BRIEF
    )
    try:
        log = BoardLog(link.client, ticket.session)
        return await run(machine, log, pace=OrganiserPace(poll_seconds=_POLL_SECONDS))
    finally:
        await link.close()
