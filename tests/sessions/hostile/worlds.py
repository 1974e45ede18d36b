"""Sessions over real boards, in which a test decides what gets through and who sees which log."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bulletin_board import Entry, Submission
from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.client.state import ClientState, MemoryState
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.protocol.admission.policy import ProtocolAdmission
from gopa.protocol.party.states import PartyState
from gopa.sessions.board_access import RoundPatience, Together
from gopa.sessions.client import Client
from gopa.sessions.following import BoardLink, SelectiveLog, SessionLog, WholeLog
from gopa.sessions.following.follower import BoardFollower
from gopa.sessions.organising import (
    BoardLog,
    Deadlines,
    DurableOrganiser,
    OrganiserPace,
    Schedule,
    run,
)
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import DirectoryVault, MemoryVault, Vault
from tests.board.live import live_board
from tests.board.tools import log_key
from tests.sessions.following.worlds import QUICK, stored
from tests.sessions.scenes import Scene, link, staged
from wire.randomness import Rng

EAGER = RoundPatience(retry_seconds=0.05)
Stops = Callable[[Entry], bool]


def nothing(_: Entry) -> bool:
    return False


def said(phase: Phase) -> Stops:
    """What a party says in this phase."""
    return lambda entry: entry.phase == phase


def root_of(raws: Iterable[bytes]) -> bytes:
    """The root of a log of these entries."""
    edge = RightEdge()
    edge.extend(map(leaf_hash, raws))
    return edge.root()


def closing(phase: Phase) -> Stops:
    """The organiser's close of this phase."""
    return lambda entry: entry.kind == Kind.CLOSE and CLOSE.decode(entry.body).phase is phase


class Gate(HttpTransport):
    """One participant's way to a board that has two sides behind one address.

    `stops` decides which posts get lost on the way; all that were sent are in `sent`.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self._idle = threading.Condition()
        self._running = 0
        self._side = address
        self.stops: Stops = nothing
        self.sent: list[bytes] = []
        self.stopped: list[Entry] = []

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        if url.endswith("/v1/entries"):
            entry = Submission.decode(body or b"").entry
            self.sent.append(body or b"")
            if self.stops(entry):
                self.stopped.append(entry)
                raise NetworkError("lost on the way")
        with self._idle:
            self._running += 1
            shown = url.replace(self._address, self._side, 1)
        try:
            return super().request(method, shown, body=body, media_type=media_type, limit=limit)
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    def show(self, side: str) -> None:
        """From now on it sees this side; no answer of the other one is on its way any more."""
        with self._idle:
            self._side = side
            assert self._idle.wait_for(lambda: not self._running, 60)


class Slow(Gate):
    """While it is `late` it shows the checkpoint of before: nobody can prove that it lies.

    It becomes late when its party first says something in the phase `since`.
    """

    def __init__(self, address: str, since: Phase | None = None) -> None:
        super().__init__(address)
        self.late = False
        self._since = since
        self._checkpoint: Response | None = None

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        asked = url.endswith("/checkpoint")
        if url.endswith("/v1/entries") and self._since is not None:
            said_now = Submission.decode(body or b"").entry.phase
            if said_now == self._since:
                self.late, self._since = True, None
        if asked and self.late and self._checkpoint is not None:
            return self._checkpoint
        answer = super().request(method, url, body=body, media_type=media_type, limit=limit)
        if asked:
            self._checkpoint = answer
        return answer


@dataclass
class Through:
    """`Connect` for one party, through its gate; keeps what it made."""

    gate: Gate
    whole: bool = False
    links: list[BoardLink] = field(default_factory=list)

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        self.links.append(link(ticket, vault.board, self.gate, rng))
        kind: type[BoardFollower] = WholeLog if self.whole else SelectiveLog
        return kind(self.links[-1], ticket.session, pace=QUICK)  # type: ignore[call-arg, return-value]

    async def close(self, log: SessionLog) -> None:
        await log.close()

    @property
    def sent(self) -> list[Entry]:
        """Whatever was handed to the network here, also what got lost there."""
        return [Submission.decode(raw).entry for raw in self.gate.sent]

    @property
    def seen(self) -> int:
        """The size of the largest tree that the party knows."""
        found = self.links[-1].client.seen
        return 0 if found is None else found.size


class Crowd(Through):
    """The same for many parties that read the log once."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(gate)
        self._together = Together(reach=self._way)

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        return self._together.open(ticket, vault, rng)

    async def close(self, log: SessionLog) -> None:
        await self._together.close(log)

    def _way(self, ticket: Ticket, state: ClientState, rng: Rng) -> BoardLink:
        self.links.append(link(ticket, state, self.gate, rng))
        return self.links[-1]


class Clock:
    """The time of day, and whatever is added to it."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self._ahead

    def reach(self, moment: float) -> None:
        """Go ahead to this moment, never back."""
        self._ahead += max(0.0, moment - self())


@dataclass
class OrganiserRun:
    """One process of the organiser, on one side of the board."""

    gate: Gate
    clock: Clock
    machine: DurableOrganiser
    task: asyncio.Task[object]

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


@dataclass
class World(Scene):
    """A session that nobody has opened yet, and the sides of its board."""

    ways: list[Through] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    sides: list[str] = field(default_factory=list)

    def client(self, number: int, *, home: Path | None = None, whole: bool = False) -> Client:
        """Party `number`, behind a gate of its own; `ways` has it."""
        return self.enter(number, Through(Gate(self.ticket.board), whole), home)

    def enter(self, number: int, way: Through, home: Path | None = None) -> Client:
        """Party `number` behind this gate."""
        made = self.member(number, home=home, connect=way, waiting=EAGER)
        self.ways.append(way)
        self.clients.append(made)
        return made

    def gather(self, home: Path | None = None, crowd: Collection[int] = ()) -> list[Client]:
        """Everybody of the roster; those of the crowd follow one log."""
        shared = Crowd(Gate(self.ticket.board))
        return [
            self.enter(
                i,
                shared if i in crowd else Through(Gate(self.ticket.board)),
                home and home / str(i),
            )
            for i in range(self.terms.parties)
        ]

    def offers(self, value: Any = 0.5) -> list[asyncio.Task[object]]:
        """All that were gathered offer this value."""
        return [
            asyncio.create_task(client.contribute(self.ticket, value)) for client in self.clients
        ]

    def start_organiser(self, side: str | None = None, stops: Stops = nothing) -> OrganiserRun:
        """Start an organiser that knows what the log of this side says, and nothing else."""
        gate, clock = Gate(self.ticket.board), Clock()
        gate.stops = stops
        if side is not None:
            gate.show(side)
        machine = DurableOrganiser(
            MemoryVault(),
            self.manifest,
            self.organiser,
            Schedule(Deadlines(join=3_000, phase=3_000)),
            rng=os.urandom,
            clock=clock,
        )
        task = asyncio.create_task(self._run(machine, gate, clock))
        return OrganiserRun(gate, clock, machine, task)

    async def _run(self, machine: DurableOrganiser, gate: Gate, clock: Clock) -> object:
        way = link(self.ticket, MemoryState(), gate)
        try:
            log = BoardLog(way.client, self.ticket.session)
            return await run(machine, log, pace=OrganiserPace(poll_seconds=0.05, clock=clock))
        finally:
            await way.close()

    def gate_to(self, side: str | None = None) -> Gate:
        """A reader's way to one side of the board."""
        gate = Gate(self.ticket.board)
        gate.show(side or self.ticket.board)
        return gate

    def fork(self, raws: Iterable[bytes]) -> str:
        """Another side of the board: the same key, these entries, its own future.

        Whoever runs it means to fork the log, whatever its witnesses say.
        """
        place = stored(self.root / f"side-{len(self.sides)}", list(raws))
        side = self.stack.enter_context(
            live_board(place, policy=self.policy, admission=ProtocolAdmission, risk_fork=True)
        )
        self.sides.append(side)
        return side

    def party(self, number: int) -> DurableParty:
        """What client `number` drives."""
        (membership,) = self.clients[number]._memberships.values()
        return membership._party

    def state(self, number: int) -> PartyState:
        """What party `number` knows."""
        return self.party(number).state

    def sent(self) -> list[Entry]:
        """Whatever parties have handed to the network, also what got lost there."""
        return [entry for way in self.ways for entry in way.sent]

    def has_closed(self, phase: Phase, number: int = 1, side: str | None = None) -> bool:
        """Whether the organiser has closed this phase."""
        found = [e for e in self.entries(self.gate_to(side)) if e.kind == Kind.CLOSE]
        return any(CLOSE.decode(e.body).phase is phase for e in found if e.round == number)

    async def overdue(
        self, organiser_run: OrganiserRun, phase: Phase, side: str | None = None
    ) -> None:
        """Time passes until it has."""
        while not await asyncio.to_thread(self.has_closed, phase, 1, side):
            await self.pass_time(organiser_run, phase, side)
            await asyncio.sleep(0.1)

    async def pass_time(
        self, organiser_run: OrganiserRun, phase: Phase, side: str | None = None
    ) -> None:
        """The organiser reads what is there; then the time of this phase is over, if it is open.

        The next phase has all of its time, however late the close is seen.
        """
        size = len(await asyncio.to_thread(self.raws, self.gate_to(side)))
        await sooner(lambda: organiser_run.machine.size >= size)
        current, ends = organiser_run.machine.state.round, organiser_run.machine.ends
        if current is not None and current.opens is phase and ends is not None:
            organiser_run.clock.reach(ends)

    async def leave(self, *tasks: asyncio.Task[object]) -> None:
        """Everybody goes home."""
        for task in tasks:
            task.cancel()
        for client in self.clients:
            await client.close()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def world(root: Path, terms: Terms, **options: Any) -> Iterator[World]:
    """A board that serves, and a session; options as `staged` has them."""
    with staged(World, root, terms, **options) as made:
        yield made


def vaults(home: Path) -> list[bytes]:
    """Whatever stands in the files of a client."""
    return [each.read_bytes() for each in sorted(home.rglob("*")) if each.is_file()]


def journal(home: Path) -> tuple[bytes, ...]:
    """What is kept of a round that goes on, secrets among it; nothing if none does."""
    (place,) = home.iterdir()
    vault = DirectoryVault(place, log_key(), rng=os.urandom)
    try:
        return vault.journal()
    finally:
        vault.close()


async def sooner(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until it holds; fails if that takes for ever."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, "it never came to pass"
        await asyncio.sleep(0.05)


def of(entries: Iterable[Entry], phase: Phase, round: int = 1) -> list[Entry]:  # noqa: A002
    """What was said in a phase."""
    return [each for each in entries if (each.phase, each.round) == (phase, round)]
