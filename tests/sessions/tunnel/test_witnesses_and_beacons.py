"""Over a tunnel checkpoints need their witnesses, and coins may come from drand, as over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from bulletin_board import Submission
from bulletin_board.note import open_checkpoint
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import DrandBeacon, Mode
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Part
from gopa.protocol.rules import BeaconValue, SessionState
from gopa.protocol.simulation import SimulatedWitnesses
from gopa.sessions.organising import BeaconSource, DurableOrganiser, OrganiserPace, Schedule
from gopa.sessions.tunnel import Unguarded, hold
from gopa.sessions.tunnel.messages import REPLY, REQUEST
from gopa.sessions.vault import MemoryVault
from tests.board.tools import log_key
from tests.protocol.simulation.worlds import FEW, SIGNED
from tests.randomness import seeded
from tests.sessions.organising.test_beacons import MARGIN, QUICK, before
from tests.sessions.organising.worlds import DEADLINES
from tests.sessions.tunnel.worlds import Tunnelled
from wire.errors import InvalidProof, UsageError

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
