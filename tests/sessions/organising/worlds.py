"""Sessions on a log in memory: real parties, a clock that only moves when somebody sleeps."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from bulletin_board.client.http import NetworkError
from bulletin_board.client.state import ClientState, MemoryState
from gopa.contract.framing import Posted
from gopa.contract.manifest import Admission, Manifest
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Dated, Party, Post, Supplied, Witnessed
from gopa.protocol.rules import Findings, SessionState, check_log
from gopa.protocol.simulation import Script, SimulatedWitnesses, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.setup import SeededStreams, SimulationParts, permissive, set_up
from gopa.sessions.following.follower import Horizon
from gopa.sessions.organising import (
    BeaconSource,
    Deadlines,
    DurableOrganiser,
    Happening,
    OrganiserPace,
    Schedule,
    run,
)
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import FULL, SCALAR, inputs_for
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError

JOIN, PHASE = 600.0, 60.0
DEADLINES = Deadlines(join=JOIN, phase=PHASE)
ONE_ROUND = replace(SCALAR, rounds=1)


class Crash(Exception):
    """The process is gone."""


@dataclass
class Clock:
    """The time of day; sleeping is all that moves it."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.001)
        await asyncio.sleep(0)


class Kept:
    """A vault in memory that outlives the processes that use it.

    With `left` durable steps the process crashes in the next one: before it took effect or,
    with `after`, right behind.
    """

    def __init__(self) -> None:
        self._memory: bytes | None = None
        self._journal: list[bytes] = []
        self._state = MemoryState()
        self.left: int | None = None
        self.after = False
        self.steps = 0

    @property
    def board(self) -> ClientState:
        return self._state

    def memory(self) -> bytes | None:
        return self._memory

    def journal(self) -> tuple[bytes, ...]:
        return tuple(self._journal)

    def begin(self, memory: bytes) -> None:
        self._durable(lambda: self._begin(memory))

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        del leaves
        self._durable(lambda: self._journal.append(b"".join(parts)))

    def close(self) -> None:
        pass

    def _begin(self, memory: bytes) -> None:
        self._memory = memory
        self._journal.clear()

    def _durable(self, step: Callable[[], None]) -> None:
        self.steps += 1
        crashing = self.left == 0
        if self.left is not None:
            self.left -= 1
        if crashing and not self.after:
            raise Crash
        step()
        if crashing:
            raise Crash


@dataclass
class Crowd:
    """A log with its parties, who answer at once; `silent` says who does not, and when.

    Implements `OrganiserLog`. What parties post in a phase in which they are `late` stands in
    the log behind the close of that phase. `outages` counts down requests that fail with `failure`.
    """

    cast: SimulationParts
    witnesses: SimulatedWitnesses | None = None
    silent: dict[int, Collection[Phase]] = field(default_factory=dict)
    late: dict[int, Phase] = field(default_factory=dict)
    outages: int = 0
    failure: ProtocolError = field(default_factory=lambda: NetworkError("nobody answers"))
    cut_off: Callable[[], bool] = lambda: False
    told: int = 0
    fails_at_submit: int | None = None
    loses_answer: bool = False
    cosigned: Callable[[bytes], bytes] | None = None
    date: Callable[[], int] | None = None
    _held: list[Post] = field(default_factory=list)

    @property
    def manifest(self) -> Manifest:
        return self.cast.manifest

    @property
    def key(self) -> SigningKey:
        return self.cast.organiser_access.key

    @property
    def parties(self) -> tuple[SimulatedParty, ...]:
        return self.cast.parties

    async def newest(self) -> tuple[Horizon, bytes]:
        self._reach()
        board = self.cast.board
        note = board.checkpoint
        if self.witnesses is not None:
            note = self.witnesses.cosigned(note)
        if self.cosigned is not None:
            note = self.cosigned(note)
        return Horizon(board.size, board.root), note

    async def entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        session = self.cast.session
        found = self.cast.board.entries[start:stop]
        return tuple(each for each in found if each.entry.session == session)

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        self._reach()
        if self.fails_at_submit is not None:
            self.fails_at_submit -= 1
            if self.fails_at_submit < 0:
                self.fails_at_submit = None
                if self.loses_answer:
                    self._spread(self.cast.board.post(entries))
                raise Crash
        self._spread(self.cast.board.post(entries))

    def give(self, inputs: Sequence[Sequence[int]], logical: int = 0) -> None:
        """Every party has this value for a logical round."""
        for actor, values in zip(self.parties, inputs, strict=True):
            self._hear(actor, Supplied(logical, tuple(values)))

    def speak_late(self) -> None:
        """Whoever is late says now what it has to say."""
        held, self._held = self._held, []
        self._deliver(held)

    def findings(self) -> Findings:
        """What an auditor finds in the log."""
        raws = self.cast.board.reader().entries()
        return check_log(raws, SWIFT, rng=seeded("auditor"), session=self.cast.session)

    def slots_of_organiser(self) -> Counter[tuple[int, int]]:
        """How many entries each of its slots has."""
        own = self.manifest.organiser
        found = (each.entry for each in self.cast.board.entries if each.entry.author.data == own)
        return Counter((each.round, each.seq) for each in found)

    def _reach(self) -> None:
        if self.cut_off():
            raise self.failure
        if self.outages:
            self.outages -= 1
            raise self.failure

    def _spread(self, fresh: Sequence[Posted]) -> None:
        for posted in fresh:
            author = posted.entry.author.data
            if author == self.manifest.organiser:
                self.speak_late()
                for actor in self.parties:
                    self._hear(actor, Witnessed(self.cast.board.size, self.cast.board.root))
                for actor in self.parties:
                    self._hear(actor, posted)
                    if self.date is not None:
                        self._hear(actor, Dated(self.date()))
                continue
            for actor in self.parties:
                if actor.author == author:
                    self._hear(actor, posted)

    def _hear(self, actor: SimulatedParty, event: Posted | Supplied | Witnessed | Dated) -> None:
        board = self.cast.board
        said = actor.tell(
            event,
            lambda fetch: board.fetch(fetch, self.cast.session),
            lambda entries: sum(board.sizes[each.index] for each in entries),
        )
        for post in said:
            if post.phase in self.silent.get(actor.index, ()):
                continue
            if self.late.get(actor.index) is post.phase:
                self._held.append(post)
            else:
                self._deliver([post])

    def _deliver(self, posts: Sequence[Post]) -> None:
        for post in posts:
            self._spread(self.cast.board.post(post.entries))


def crowd(
    terms: Terms = ONE_ROUND,
    setting: SessionSetting = FULL,
    *,
    witnesses: SimulatedWitnesses | None = None,
    seed: int = 1,
    admission: Admission | None = None,
) -> Crowd:
    """A log and its parties, who have values for all rounds."""
    options = SimulationOptions(toolkit=SWIFT, witnesses=witnesses)
    cast = set_up(terms, setting, options, Script(), SeededStreams(seeded(seed)(32)))
    if admission is not None:
        manifest = replace(cast.manifest, admission=admission)
        cast = replace(cast, manifest=manifest, session=manifest.session)
        cast = replace(cast, parties=tuple(_moved(actor, cast) for actor in cast.parties))
    found = Crowd(cast, witnesses)
    for logical in range(terms.rounds):
        found.give(inputs_for(terms, logical), logical)
    return found


def _moved(actor: SimulatedParty, cast: SimulationParts) -> SimulatedParty:
    """The same party in the session of this cast."""
    rng = seeded(f"party {actor.index}")
    key, policy = actor.access.key, permissive(cast.manifest.terms)
    party = Party(cast.manifest, key, policy, rng=rng, toolkit=SWIFT)
    state = party.start()
    access = replace(
        actor.access, session=cast.session, manifest=cast.manifest, before=state, state=state
    )
    return SimulatedParty(party, access)


@dataclass
class Office:
    """Where an organiser runs: its vault, its clock, what it told."""

    world: Crowd
    vault: Kept = field(default_factory=Kept)
    clock: Clock = field(default_factory=Clock)
    schedule: Schedule = field(default_factory=lambda: Schedule(DEADLINES))
    beacon: BeaconSource | None = None
    told: list[Happening] = field(default_factory=list)
    closing: Callable[[], bool] = lambda: False
    outage_seconds: float = 3_600.0
    processes: int = 0

    def organiser(self) -> DurableOrganiser:
        """A new process with what the vault remembers."""
        self.processes += 1
        return DurableOrganiser(
            self.vault,
            self.world.manifest,
            self.world.key,
            self.schedule,
            rng=seeded(f"process {self.processes}"),
            clock=self.clock,
            toolkit=SWIFT,
        )

    def run(self) -> SessionState:
        """One process, to its end."""
        pace = OrganiserPace(1.0, self.outage_seconds, self.clock, self.clock.sleep)

        async def whole() -> SessionState:
            return await run(
                self.organiser(),
                self.world,
                beacon=self.beacon,
                pace=pace,
                tell=self.told.append,
                closing=self.closing,
            )

        return asyncio.run(asyncio.wait_for(whole(), 120))

    def run_through_crashes(self, most: int = 5) -> SessionState:
        """One process after the other, until one comes to its end."""
        for _ in range(most):
            try:
                return self.run()
            except Crash:
                continue
        raise AssertionError("it never came to its end")
