"""A session whose organiser and parties run in one event loop, against a real board."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulletin_board import Entry, Submission
from bulletin_board.client.state import MemoryState
from bulletin_board.policy import TrustPolicy
from gopa.admission import ProtocolAdmission
from gopa.organiser import Setting, new_manifest
from gopa.planning.terms import Terms
from gopa.rules import Findings, SessionState, check_log
from gopa.sessions.client import Client
from gopa.sessions.following import Link
from gopa.sessions.organising import BoardLog, Deadlines, DurableOrganiser, Pace, Schedule, run
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import MemoryVault
from gopa.simulation.setup import permissive
from tests.board.live import live_board
from tests.board.tools import log_key
from tests.randomness import seeded
from wire.ed25519 import SigningKey

PATIENT = Deadlines(join=30, phase=30)


@dataclass
class Gathering:
    """A session that is about to open: its ticket, its organiser, the keys of its roster."""

    ticket: Ticket
    organiser: DurableOrganiser
    identities: Sequence[SigningKey]
    terms: Terms

    def client(self, number: int, **options: object) -> Client:
        return Client(self.identities[number], permissive(self.terms), **options)  # type: ignore[arg-type]

    async def open(self) -> SessionState:
        """Run the organiser to the end."""
        link = Link(self.ticket.board, self.ticket.trust, MemoryState(), rng=os.urandom)
        try:
            log = BoardLog(link.client, self.ticket.session)
            return await run(self.organiser, log, pace=Pace(poll_seconds=0.1))
        finally:
            await link.close()

    def entries(self) -> list[Entry]:
        """The log as it is now."""
        link = Link(self.ticket.board, self.ticket.trust, MemoryState(), rng=os.urandom)
        return [Submission.decode(raw).entry for raw in link.client.reader().entries()]

    def findings(self) -> Findings:
        """What every rule says about the log as it is now."""
        link = Link(self.ticket.board, self.ticket.trust, MemoryState(), rng=os.urandom)
        entries = link.client.reader().entries()
        return check_log(entries, rng=seeded(1), session=self.ticket.session)


@contextmanager
def gathering(
    root: Path,
    terms: Terms,
    *,
    setting: Setting | None = None,
    deadlines: Deadlines = PATIENT,
    policy: TrustPolicy | None = None,
    executor: Executor | None = None,
) -> Iterator[Gathering]:
    """A board that serves, and a session nobody has opened yet."""
    with live_board(root, policy=policy, admission=ProtocolAdmission) as url:
        organiser = SigningKey.generate(os.urandom)
        identities = [SigningKey.generate(os.urandom) for _ in range(terms.parties)]
        manifest = new_manifest(
            terms,
            [each.public.data for each in identities],
            organiser=organiser.public.data,
            log=log_key(),
            rng=os.urandom,
            setting=setting or Setting(),
            policy=policy,
        )
        machine = DurableOrganiser(
            MemoryVault(),
            manifest,
            organiser,
            Schedule(deadlines),
            rng=os.urandom,
            executor=executor,
        )
        ticket = Ticket(url, log_key(), manifest.session, manifest.policy)
        yield Gathering(ticket, machine, identities, terms)
