"""Over HTTP and over a tunnel a session has the same result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bulletin_board import Submission
from bulletin_board.note import open_checkpoint
from commitments.group import Group
from gopa.aggregation.values import OutOfRange
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import DrandBeacon, Mode
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Part
from gopa.protocol.rules import BeaconValue, Findings, SessionState
from gopa.protocol.simulation import SimulatedWitnesses
from gopa.protocol.simulation.setup import permissive
from gopa.rounds.unproved_noise import add_noise
from gopa.sessions.board_access import Together
from gopa.sessions.client import Client
from gopa.sessions.organising import BeaconSource, DurableOrganiser, OrganiserPace, Schedule
from gopa.sessions.tunnel import (
    FileGuard,
    MemoryGuard,
    Supply,
    TunnelHost,
    TunnelInput,
    TunnelParty,
    Unguarded,
    hold,
)
from gopa.sessions.tunnel.messages import REPLY, REQUEST
from gopa.sessions.vault import MemoryVault
from tests.board.live import client
from tests.board.tools import log_key
from tests.protocol.simulation.worlds import FEW, SIGNED, VECTOR
from tests.randomness import seeded
from tests.sessions.live.worlds import PATIENT, Gathering, gathering
from tests.sessions.organising.test_beacons import MARGIN, QUICK, before
from tests.sessions.organising.worlds import DEADLINES
from tests.sessions.tunnel.worlds import SECRET, Caller, Tunnelled, value_of
from wire.errors import GopaError, InvalidProof, UsageError
from zkp.noise import NoiseLaw

CROWD = replace(VECTOR, parties=20, k=19, survivors=12, loss=6, rounds=1)


FIVE = replace(FEW, rounds=1)


@pytest.fixture
def equal_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise from a seed that is the party's value, whatever log the party reads."""

    def seeded_noise(array: Any, law: NoiseLaw, group: Group, rng: object) -> None:
        del rng
        add_noise(array, law, group, seeded(np.asarray(array).tobytes().hex()))

    monkeypatch.setattr("gopa.protocol.party.committing.add_noise", seeded_noise)


def judged(findings: Findings) -> tuple[tuple[int, ...], tuple[int, ...]]:
    assert findings.faults == ()
    (found,) = findings.rounds
    assert found.sums is not None
    return found.final or (), tuple(found.sums)


def over_http(root: Path) -> Findings:
    async def run(world: Gathering) -> None:
        organiser = asyncio.create_task(world.open())
        together = Together()
        clients = [
            Client(each, permissive(CROWD), connect=together, rng=seeded(f"party {number}"))
            for number, each in enumerate(world.identities)
        ]
        given = [value_of(number, CROWD.dimension)(0) for number in range(CROWD.parties)]
        values = [each.value for each in given if each is not None]
        await asyncio.gather(
            *(
                each.contribute(world.ticket, value)
                for each, value in zip(clients, values, strict=True)
            )
        )
        for each in clients:
            await each.close()
        await organiser

    with gathering(root, CROWD, setting=SIGNED) as world:
        asyncio.run(run(world))
        return world.findings()


@pytest.mark.slow
@pytest.mark.usefixtures("equal_noise")
def test_twenty_parties_get_the_same_result_over_http_and_over_a_tunnel(tmp_path: Path) -> None:
    tunnelled = Tunnelled(CROWD, SIGNED).run()
    final, sums = judged(tunnelled.findings())
    assert final == tuple(range(CROWD.parties))
    assert (final, sums) == judged(over_http(tmp_path))
    exact = sum(number % 20 for number in range(CROWD.parties))
    assert any(total != exact for total in sums)  # there was noise
    # The entries are those of any session: as many, in the same phases, of the same sizes.
    phases = [Submission.decode(raw).entry.phase for raw in tunnelled.raws()]
    assert phases.count(Phase.UNMASK) == CROWD.parties


def test_a_host_serves_parties_on_a_board_over_http(tmp_path: Path) -> None:
    with gathering(tmp_path, FIVE, setting=SIGNED) as world:
        guard = FileGuard(tmp_path / "guard")
        callers = {
            each.public.data: Caller(
                partial(
                    TunnelParty,
                    world.ticket,
                    each,
                    permissive(FIVE),
                    secret=SECRET,
                    guard=guard,
                ),
                value_of(number, 1),
            )
            for number, each in enumerate(world.identities)
        }
        organiser = DurableOrganiser(
            MemoryVault(), world.manifest, world.organiser, Schedule(PATIENT), rng=seeded("open")
        )

        def send(requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
            return {party: callers[party](request) for party, request in requests.items()}

        pace = OrganiserPace(poll_seconds=0.02)
        board = client(world.ticket.board)
        state = asyncio.run(hold(organiser, board, tuple(callers), send, pace=pace))
        assert state.results == 1
        assert judged(world.findings())[0] == tuple(range(5))
        for caller in callers.values():
            assert caller.party().standing(caller.state).over
        late = TunnelHost(board, world.manifest.session)
        assert not late.turn((), lambda _: {})


def test_hold_ends_although_a_party_never_answers() -> None:
    world = Tunnelled(FIVE, SIGNED, guard=MemoryGuard())
    world.caller(4).silent = True
    pace = OrganiserPace(poll_seconds=0.001, clock=lambda: world.now, sleep=_sleeping(world))
    asyncio.run(hold(world.durable, world.board, tuple(world.callers), world.send, pace=pace))
    assert judged(world.findings())[0] == tuple(range(4))


def _sleeping(world: Tunnelled) -> Any:
    async def sleep(seconds: float) -> None:
        world.now += max(seconds, 1.0)
        await asyncio.sleep(0.01)

    return sleep


ONCE = replace(FEW, rounds=1)


DRAND = replace(ONCE, beacon="drand")


CLOSE_OF_JOIN = 7


"""Its index, behind the manifest, the opening and what five parties say."""


COINS = SessionSetting(mode=Mode.SIGNED, beacon=DrandBeacon(QUICKNET))


def witnessed(
    terms: Terms = ONCE, setting: SessionSetting = SIGNED, now: float = 1_800_000_000.0
) -> Tunnelled:
    """All of three witnesses are the quorum."""
    witnesses = SimulatedWitnesses.fresh(3, seeded("witnesses"), time=int(now))
    policy = witnesses.policy(log_key()).to_bytes()
    return Tunnelled(terms, setting, guard=Unguarded(), policy=policy, witnesses=witnesses, now=now)


def test_a_witnessed_session_is_held_to_its_end() -> None:
    world = witnessed().run()
    found = world.findings()
    assert found.faults == ()
    assert found.rounds[0].final == tuple(range(5))
    for caller in world.callers.values():
        for _, request, _ in caller.seen:
            signed = open_checkpoint(REQUEST.decode(request).checkpoint, log_key())
            assert len(signed.note.signatures) == 4


@pytest.mark.parametrize("left", [0, 2], ids=["the log alone", "two of three"])
def test_each_request_needs_the_quorum(left: int) -> None:
    """Whatever the party is told, it says nothing about a close that witnesses have not seen."""
    world = witnessed().run()
    caller = world.caller(0)
    for state, request, reply in caller.seen:
        given = state or caller.party().begin()
        shown = REQUEST.decode(request)
        note = open_checkpoint(shown.checkpoint, log_key()).note
        bare = replace(note, signatures=note.signatures[: 1 + left])
        assert len(bare.signatures) < len(note.signatures)
        wrong = REQUEST.encode(replace(shown, checkpoint=bare.to_bytes()))
        with pytest.raises(InvalidProof) as caught:
            caller.party().answer(given, wrong, caller.supply)
        assert caught.value.check == "05-P2"
        if state:
            assert caller.party().answer(state, request, caller.supply)[1] == reply


@dataclass
class Drand:
    """A session whose coins come from drand. Is a `BeaconSource`, too.

    The clock moves once all parties have heard the close of join, and not while one is called.
    """

    world: Tunnelled = field(default_factory=lambda: witnessed(DRAND, COINS, before(QUICK)))
    called: bool = False

    async def value(self, number: int) -> BeaconValue | None:
        if number != QUICK.number or self.world.now < QUICK.chain.time_of(number):
            return None
        return BeaconValue(number, QUICK.signature, QUICK.previous or b"")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.02)
        said = [REPLY.decode(each.seen[-1][2]) for each in self.world.callers.values() if each.seen]
        heard = [reply.start > CLOSE_OF_JOIN for reply in said]
        if heard.count(True) == 5 and not self.called:
            self.world.now += max(seconds, 1.0)

    def send(self, requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        self.called = True
        try:
            return self.world.send(requests)
        finally:
            self.called = False

    def hold(self, beacon: BeaconSource | None) -> SessionState:
        world = self.world
        organiser = DurableOrganiser(
            MemoryVault(),
            world.manifest,
            world.organiser,
            Schedule(DEADLINES, beacon_margin=MARGIN),
            rng=seeded("organiser"),
            clock=lambda: world.now,
        )
        pace = OrganiserPace(0.01, clock=lambda: world.now, sleep=self.sleep)
        keys = tuple(world.callers)
        return asyncio.run(hold(organiser, world.board, keys, self.send, beacon=beacon, pace=pace))


@pytest.mark.slow
def test_coins_come_from_drand() -> None:
    drand = Drand()
    world = drand.world
    late = world.caller(4)
    late.party = world.maker(4, clock=lambda: world.now + 3_600)
    state = drand.hold(drand)
    assert state.results == 1
    found = world.findings()
    assert found.faults == ()
    # Whose clock says that the beacon may have been known already takes no part.
    assert found.rounds[0].final == (0, 1, 2, 3)
    ended = late.party().standing(late.state).last
    assert ended is not None
    assert ended.part is Part.UNDATED
    closes = [
        CLOSE.decode(entry.body)
        for entry in (Submission.decode(raw).entry for raw in world.raws())
        if entry.kind == Kind.CLOSE
    ]
    noted = [each.checkpoint for each in closes if each.checkpoint]
    assert noted
    assert {len(open_checkpoint(each, log_key()).note.signatures) for each in noted} == {4}
    replies = [REPLY.decode(reply) for _, _, reply in world.caller(0).seen]
    assert replies[-1].over


def test_drand_needs_a_source_here_too() -> None:
    with pytest.raises(UsageError) as caught:
        Drand().hold(None)
    assert "drand" in str(caught.value)


WEIGHED = replace(VECTOR, rounds=1, parties=5, k=4, survivors=3, loss=2)


def giving(given: TunnelInput | None) -> Supply:
    return lambda _: given


def test_values_with_weights_in_full_mode() -> None:
    world = Tunnelled(WEIGHED, SessionSetting(weighted=True), max_weight=4)
    for caller in world.callers.values():
        caller.supply = giving(TunnelInput([0.25, 0.75], weight=2.0))
    found = world.run().findings()
    assert found.faults == ()
    assert found.rounds[0].final == tuple(range(5))
    last = world.caller(0).party().standing(world.caller(0).state).last
    assert last is not None
    assert getattr(last.outcome, "sums", None) == found.rounds[0].sums


WRONG: tuple[tuple[TunnelInput, type[GopaError]], ...] = (
    (TunnelInput([0.5, 0.5]), UsageError),
    (TunnelInput(0.5, weight=2.0), UsageError),
    (TunnelInput(None), UsageError),
    (TunnelInput(1.5), OutOfRange),
    (TunnelInput(float("nan")), GopaError),
)


def test_a_value_that_does_not_fit_changes_nothing() -> None:
    world = Tunnelled(ONCE, SIGNED)
    caller = world.caller(0)
    world.run(lambda: bool(caller.seen))
    request = world.next_request(0)
    for wrong, error in WRONG:
        with pytest.raises(error):
            caller.party().answer(caller.state, request, giving(wrong))
    caller.supply = giving(TunnelInput(1.5, clip=True))
    caller(request)  # its reply is lost: the host learns from the state where the party stands
    said = world.host.take(caller.party().key, caller.party().position(caller.state))
    assert said.posts
    world.host.post()
    world.run()
    assert world.findings().rounds[0].final == tuple(range(5))


def test_who_has_no_value_is_asked_again_and_sits_the_round_out() -> None:
    world = Tunnelled(ONCE, SIGNED)
    caller = world.caller(0)
    caller.supply = giving(None)
    key = caller.party().key
    world.run(lambda: bool(caller.seen) and REPLY.decode(caller.seen[-1][2]).needs_value)
    assert world.host.request(key) is None
    later = world.host.request(key, again=True) or b""
    assert world.host.take(key, caller(later)).needs_value
    world.run()
    assert len(world.findings().rounds[0].final or ()) == 4
