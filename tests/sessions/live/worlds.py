"""A session whose organiser and parties run in one event loop, against a real board."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bulletin_board.client.state import MemoryState
from gopa.contract.terms import Terms
from gopa.protocol.rules import SessionState
from gopa.sessions.following import BoardLink
from gopa.sessions.organising import (
    BoardLog,
    Deadlines,
    DurableOrganiser,
    OrganiserPace,
    Schedule,
    run,
)
from gopa.sessions.vault import MemoryVault
from tests.sessions.scenes import Scene, staged

PATIENT = Deadlines(join=30, phase=30)


@dataclass
class Gathering(Scene):
    """A session that is about to open."""

    deadlines: Deadlines = PATIENT

    async def open(self) -> SessionState:
        """Run the organiser to the end."""
        machine = DurableOrganiser(
            MemoryVault(), self.manifest, self.organiser, Schedule(self.deadlines), rng=os.urandom
        )
        link = BoardLink(self.ticket.board, self.ticket.trust, MemoryState(), rng=os.urandom)
        try:
            log = BoardLog(link.client, self.ticket.session)
            return await run(machine, log, pace=OrganiserPace(poll_seconds=0.1))
        finally:
            await link.close()


@contextmanager
def gathering(
    root: Path, terms: Terms, *, deadlines: Deadlines = PATIENT, **options: Any
) -> Iterator[Gathering]:
    """A board that serves, and a session nobody has opened yet; options as `staged` has them."""
    with staged(Gathering, root, terms, **options) as made:
        made.deadlines = deadlines
        yield made
