"""The honest of a served session, parties and organiser, each behind a transport of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from bulletin_board import Entry
from bulletin_board.client.board import Patience
from bulletin_board.client.state import ClientState, MemoryState
from gopa.adversary.boards.transport import NeverHappened, TamperedTransport
from gopa.aggregation import RoundAborted
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.protocol.rules import RoundPicture, SessionState
from gopa.sessions.board_access import RoundPatience
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution, RoundStatus
from gopa.sessions.following import BoardLink, SelectiveLog, SessionLog
from gopa.sessions.following.follower import PollingPace
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
from gopa.sessions.vault import MemoryVault, Vault
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof, ProtocolError
from wire.randomness import Rng

BRIEF: Final = Patience(4, 0.01, 0.05)
_PACE: Final = PollingPace(least=0.02, most=0.08)
_RETRY_SECONDS: Final = 0.05
_ROUND_SECONDS: Final = 0.2
QUORUM: Final = "05-P2"
"""The rule about witnesses."""


class Patient:
    """A clock that stands still until somebody's patience is to end."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._started = time.monotonic()

    def __call__(self) -> float:
        return self._started + self._ahead

    def end(self) -> None:
        """Lets more time pass than anybody waits."""
        self._ahead += 10_000.0


class NotingLog(SelectiveLog):
    """A log with notes of every answer of the board that did not hold.

    But for the quorum of a log that is empty, which nobody cosigns.
    """

    def __init__(self, link: BoardLink, session: bytes, noted: list[ProtocolError]) -> None:
        super().__init__(link, session, pace=_PACE)
        self._noted = noted
        self._held = False

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        try:
            await super().submit(entries)
        except ProtocolError as error:
            self._noted.append(error)
            raise

    async def _look(self) -> bool:
        try:
            found = await super()._look()
        except ProtocolError as error:
            if self._held or not _lacks_quorum(error):
                self._noted.append(error)
            raise
        self._held = True
        return found


def _lacks_quorum(error: BaseException) -> bool:
    return isinstance(error, InvalidProof) and error.check == QUORUM


@dataclass(slots=True, eq=False)
class NotedConnection:
    """The connection of one party to the board, with notes of what did not hold."""

    transport: TamperedTransport
    noted: list[ProtocolError] = field(default_factory=list)
    board: ClientState | None = None
    log: NotingLog | None = None
    seen: BoardLink | None = None

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        """A log that notes what did not hold."""
        self.board = vault.board
        self.seen = BoardLink(
            ticket.board,
            ticket.trust,
            vault.board,
            rng=rng,
            transport=self.transport,
            patience=BRIEF,
        )
        self.log = NotingLog(self.seen, ticket.session, self.noted)
        return self.log

    async def close(self, log: SessionLog) -> None:
        """Close the connection to the log."""
        await log.close()


@dataclass(slots=True, eq=False)
class HonestClient:
    """One honest party: its client, its transport to the board, and what came of its value.

    `error` is what it ended with, `contribution` what it got; neither while it waits.
    """

    number: int
    client: Client
    connection: NotedConnection
    patience: Patient
    home: Path
    value: Sequence[float]
    offer: asyncio.Task[Contribution] | None = None
    news: list[RoundStatus] = field(default_factory=list)

    @property
    def transport(self) -> TamperedTransport:
        return self.connection.transport

    @property
    def seen(self) -> int:
        """The size of the largest tree that it knows."""
        link = self.connection.seen
        found = None if link is None else link.client.seen
        return 0 if found is None else found.size

    @property
    def readings(self) -> int:
        """How often it read the log because a lookup was not to be trusted."""
        log = self.connection.log
        return 0 if log is None else log.readings

    @property
    def done(self) -> bool:
        return self.offer is not None and self.offer.done()

    @property
    def contribution(self) -> Contribution | None:
        if self.offer is None or not self.done or self.offer.cancelled() or self.offer.exception():
            return None
        return self.offer.result()

    @property
    def error(self) -> BaseException | None:
        if self.offer is None or not self.done or self.offer.cancelled():
            return None
        return self.offer.exception()

    @property
    def evidence(self) -> bytes | None:
        """What its vault has kept against the board."""
        return None if self.connection.board is None else self.connection.board.kept_evidence()

    @property
    def lost(self) -> Sequence[Entry]:
        """What it said and the front lost."""
        return self.transport.lost

    @property
    def unconvinced(self) -> bool:
        """Whether it was shown something that too few witnesses have cosigned."""
        return any(map(_lacks_quorum, self.connection.noted))

    @property
    def timed_out(self) -> bool:
        """Whether it has said that its patience has ended."""
        return any(each.part is Part.TIMED_OUT for each in self.news)

    def begin(self, ticket: Ticket, rounds: int = 1) -> None:
        """Offer the value for some rounds, and keep the contribution of the last one."""
        self.offer = asyncio.create_task(self._offer(ticket, rounds))

    async def _offer(self, ticket: Ticket, rounds: int) -> Contribution:
        for _ in range(rounds - 1):
            with suppress(RoundAborted):
                await self.client.contribute(ticket, self.value, watch=self.news.append)
        return await self.client.contribute(ticket, self.value, watch=self.news.append)

    async def leave(self) -> None:
        """Stops waiting, and closes the client."""
        if self.offer is not None:
            self.offer.cancel()
            await asyncio.wait({self.offer})
        await self.client.close()


def waiting_of(patience: Patient) -> RoundPatience:
    """Eager to ask again; leaves a round only when its patience is ended."""
    return RoundPatience(_ROUND_SECONDS, _RETRY_SECONDS, clock=patience)


async def all_done(parties: Sequence[HonestClient], seconds: float) -> None:
    """Until each has a result or an error; raises `NeverHappened`."""
    offers = {party.offer for party in parties if party.offer is not None}
    if offers:
        _, late = await asyncio.wait(offers, timeout=seconds)
        if late:
            raise NeverHappened(f"{len(late)} parties wait for ever")


_HOURS: Final = 36_000.0
_POLL_SECONDS: Final = 0.04


InVain: TypeAlias = Callable[[RoundPicture], bool]
"""Whether nobody will say anything more in the open phase. Asked in the organiser's thread."""


@dataclass(slots=True, eq=False)
class OrganiserProcess:
    """The organiser on one fork, whose log is all it knows. Waits for whoever is late.

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
        """Stop the organiser's task."""
        self.task.cancel()
        await asyncio.wait({self.task})


class _Observant(DurableOrganiser):
    """The end of a phase once the log was read again after its last expected entry."""

    limits: dict[Phase, float]
    in_vain: InVain
    over = -1

    def act(self) -> Act:
        """The next act of the organiser, with the time of the open phase set before."""
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
