"""A board that shows nothing, too little or something else for a while loses no party."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from bulletin_board import Refused
from bulletin_board.admission import RefusalReason
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence, UnprovenHistory
from bulletin_board.client.http import NetworkError
from bulletin_board.client.state import MemoryState
from bulletin_board.note import Checkpoint, sign_note
from bulletin_board.reader import CHECKPOINT, MissingResource
from gopa.contract.beacon import QUICKNET
from gopa.contract.framing import Posted
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.protocol.party import Dated, Event, Fetch, Party
from gopa.protocol.party.states import BetweenRounds, Enrolled, PartyState
from gopa.sessions.board_access import Alone, RoundPatience, SharedState, shown, until_shown
from gopa.sessions.board_access import RoundPatience as Patience
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import BoardLink, Horizon, SelectiveLog
from gopa.sessions.parties.runner import PartyRunner
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault
from tests.board.tools import log_key, signer
from tests.contract.samples import POLICY, manifest
from tests.protocol.rules.worlds import small_terms
from tests.protocol.simulation.worlds import SCALAR
from tests.sessions.live.worlds import Gathering, gathering
from wire.errors import FaultyBoard, InvalidProof, MalformedMessage, ProtocolError
from wire.randomness import Rng

ONCE = replace(SCALAR, rounds=1)


EAGER = RoundPatience(retry_seconds=0.01)


SHAKEN = 0


QUESTIONS = {"manifest", "grown", "spoken", "controls", "own", "answer", "complete", "submit"}


_T = TypeVar("_T")


PASSING: list[ProtocolError] = [
    NetworkError("nobody answers"),
    UnprovenHistory("two checkpoints and nothing between them"),
    InvalidProof("too few witnesses cosigned what this board shows", "05-P2"),
    InvalidProof("the partial tiles do not lead to the checkpoint's root", "05-L2"),
    MissingResource("the server answers 404", CHECKPOINT),
    MissingResource("the log grows too fast: ask again", "tile/0/000.p/3"),
    MalformedMessage("a proxy's page"),
]


class Shaky(SelectiveLog):
    """Answers each kind of question only after it has failed in every way that passes."""

    def __init__(self, link: BoardLink, session: bytes) -> None:
        super().__init__(link, session)
        self.asked: Counter[str] = Counter()

    async def _at_last(self, name: str, answer: Callable[[], Awaitable[_T]]) -> _T:
        self.asked[name] += 1
        if self.asked[name] <= len(PASSING):
            raise PASSING[self.asked[name] - 1]
        return await answer()

    async def manifest(self) -> bytes:
        return await self._at_last("manifest", super().manifest)

    async def grown(self, size: int) -> Horizon:
        return await self._at_last("grown", lambda: super(Shaky, self).grown(size))

    async def spoken(self, start: int) -> Horizon:
        return await self._at_last("spoken", lambda: super(Shaky, self).spoken(start))

    async def controls(self, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        ask = super().controls
        return await self._at_last("controls", lambda: ask(start, horizon))

    async def own(
        self, author: bytes, start: int, stop: int, horizon: Horizon
    ) -> tuple[Posted, ...]:
        ask = super().own
        return await self._at_last("own", lambda: ask(author, start, stop, horizon))

    async def answer(self, wanted: Fetch, horizon: Horizon) -> tuple[Posted, ...]:
        """Hides everything, so that the log has to be read."""
        ask = super().answer
        await self._at_last("answer", lambda: ask(wanted, horizon))
        return ()

    async def complete(self, wanted: Fetch, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        ask = super().complete
        return await self._at_last("complete", lambda: ask(wanted, start, horizon))

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        ask = super().submit
        await self._at_last("submit", lambda: ask(entries))


class Shaking(Alone):
    """`Connect` over a log that is shaky."""

    log: Shaky

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        self.log = Shaky(
            BoardLink(ticket.board, ticket.trust, vault.board, rng=rng), ticket.session
        )
        return self.log


async def hold(world: Gathering, connect: Shaking) -> Contribution:
    """What party `SHAKEN` gets."""
    organiser = asyncio.create_task(world.open())
    parties: list[Client] = [
        world.member(n, waiting=EAGER, **({"connect": connect} if n == SHAKEN else {}))
        for n in range(world.terms.parties)
    ]
    got = await asyncio.gather(*(each.contribute(world.ticket, 0.5) for each in parties))
    for each in parties:
        await each.close()
    await organiser
    return got[SHAKEN]


@pytest.mark.slow
def test_a_party_asks_again(tmp_path: Path) -> None:
    connect = Shaking()
    with gathering(tmp_path, ONCE) as world:
        found = asyncio.run(asyncio.wait_for(hold(world, connect), 240))
        assert world.findings().faults == ()
    assert found.included
    assert found.count == ONCE.parties
    assert set(connect.log.asked) == QUESTIONS
    assert all(times > len(PASSING) for times in connect.log.asked.values())


@pytest.mark.parametrize(
    "error",
    [
        FaultyBoard("the log has forked"),
        Refused(RefusalReason.PHASE),
        TypeError("a mistake of ours"),
    ],
    ids=["fork", "refusal", "bug"],
)
def test_what_does_not_pass_is_raised(error: Exception) -> None:
    """The same question is answered at the second time, but is not asked twice."""
    asked = []

    async def ask() -> str:
        asked.append(1)
        if len(asked) == 1:
            raise error
        return "an answer"

    async def run(work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    with pytest.raises(type(error)):
        asyncio.run(run(lambda: shown(ask())))
    assert asyncio.run(run(lambda: shown(ask()))) == "an answer"
    asked.clear()
    with pytest.raises(type(error)):
        asyncio.run(run(lambda: until_shown(ask, EAGER)))
    assert len(asked) == 1


ENROLLED = Enrolled(cast("Any", None), cast("Any", None), bytes(32), 7)


@dataclass
class Told:
    """A party that keeps what it is told."""

    manifest: Manifest
    state: PartyState
    events: list[Event] = field(default_factory=list)
    wanted: None = None

    def step(self, event: Event) -> tuple[()]:
        self.events.append(event)
        party = cast("Any", SimpleNamespace(_context=None))
        self.state, _ = Party._step(party, self.state, event)
        return ()


def told(agreed: Manifest, stage: Any, *dates: float) -> list[Event]:
    """What the party is told while the clock shows these dates."""
    state = PartyState(cast("Any", None), stage)
    party = Told(agreed, state)
    shown = iter(dates)
    waiting = Patience(date=lambda: next(shown))
    runner = object.__new__(PartyRunner)
    runner._party, runner._waiting, runner._executor = cast("Any", party), waiting, None
    for _ in dates:
        asyncio.run(runner._date())
    return party.events


DRAND = manifest(small_terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY)


def test_the_first_time_counts_and_is_rounded_up() -> None:
    assert told(DRAND, ENROLLED, 1_700_000_000.2, 1_700_000_009.0) == [Dated(1_700_000_001)]


@pytest.mark.parametrize(
    "stage", [BetweenRounds(), replace(ENROLLED, noted=5)], ids=["waits", "told"]
)
def test_nothing_is_said_where_no_time_is_wanted(stage: Any) -> None:
    assert told(DRAND, ENROLLED, 3.0)
    assert told(DRAND, stage, 3.0) == []


def test_nonces_need_no_clock() -> None:
    plain = manifest(small_terms(), beacon=CommitReveal(), policy=POLICY)
    assert told(plain, ENROLLED, 3.0) == []


def note(root: bytes) -> bytes:
    return sign_note(Checkpoint(log_key().name, 5, root).to_text(), signer()).to_bytes()


def evidence(second: int) -> bytes:
    """Two checkpoints of one size, a fork unless `second` is 1."""
    return FORK_EVIDENCE.encode(ForkEvidence(note(bytes([1] * 32)), note(bytes([second] * 32)), ()))


FORK = evidence(2)


class NoSpace(OSError):
    """What that disk says."""


class Full(MemoryState):
    """A disk on which there is no room."""

    def keep_evidence(self, evidence: bytes) -> str:
        raise NoSpace(ENOSPC, f"no space for {len(evidence)} bytes")


def test_whoever_comes_after_the_fork_gets_the_evidence_too() -> None:
    main, early, late = MemoryState(), MemoryState(), MemoryState()
    shared = SharedState(main, log_key())
    shared.add(main)
    shared.add(early)
    shared.keep_evidence(FORK)
    with pytest.raises(FaultyBoard) as raised:
        shared.add(late)
    assert raised.value.evidence == FORK
    assert [each.kept_evidence() for each in (main, early, late)] == [FORK] * 3


def test_who_brings_evidence_does_not_join() -> None:
    main, clean, knows = MemoryState(), MemoryState(), MemoryState()
    shared = SharedState(main, log_key())
    shared.add(clean)
    knows.keep_evidence(FORK)
    with pytest.raises(FaultyBoard):
        shared.add(knows)
    assert main.kept_evidence() is clean.kept_evidence() is None


def test_what_proves_no_fork_is_given_to_nobody() -> None:
    main, late = MemoryState(), MemoryState()
    shared = SharedState(main, log_key())
    shared.add(late)
    main.keep_evidence(evidence(1))
    with pytest.raises(InvalidProof):
        shared.add(late)
    assert late.kept_evidence() is None


@pytest.mark.parametrize("main_is_full", [False, True])
def test_a_full_disk_loses_the_evidence_of_nobody_else(*, main_is_full: bool) -> None:
    main = Full() if main_is_full else MemoryState()
    states = [MemoryState(), MemoryState() if main_is_full else Full(), MemoryState()]
    shared = SharedState(main, log_key())
    for each in states:
        shared.add(each)
    if main_is_full:
        with pytest.raises(NoSpace):
            shared.keep_evidence(FORK)
    else:
        shared.keep_evidence(FORK)
    kept = [each.kept_evidence() for each in (main, *states)]
    assert kept.count(FORK) == 3


def test_a_pair_of_checkpoints_is_remembered_until_it_is_proved() -> None:
    main = MemoryState()
    shared = SharedState(main, log_key())
    assert shared.unproven() is None
    shared.keep_unproven(b"pair")
    assert shared.unproven() == main.unproven() == b"pair"
    shared.clear_unproven()
    assert shared.unproven() is main.unproven() is None
