"""Over HTTP and over a tunnel a session has the same result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bulletin_board import Submission
from commitments.group import Group
from gopa.contract.phases import Phase
from gopa.protocol.rules import Findings
from gopa.protocol.simulation.setup import permissive
from gopa.rounds.unproved_noise import add_noise
from gopa.sessions.board_access import Together
from gopa.sessions.client import Client
from gopa.sessions.organising import DurableOrganiser, OrganiserPace, Schedule
from gopa.sessions.tunnel import FileGuard, MemoryGuard, TunnelHost, TunnelParty, hold
from gopa.sessions.vault import MemoryVault
from tests.board.live import client
from tests.protocol.simulation.worlds import FEW, SIGNED, VECTOR
from tests.randomness import seeded
from tests.sessions.live.worlds import PATIENT, Gathering, gathering
from tests.sessions.tunnel.worlds import SECRET, Caller, Tunnelled, value_of
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
