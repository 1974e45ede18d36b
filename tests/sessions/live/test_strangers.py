"""Strangers who speak in a session before its manifest is there (04-[S1])."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.entry import VERSION, Entry, sign_entry
from gopa.contract.phases import Kind, Phase
from gopa.sessions.board_access import Together
from gopa.sessions.contribution import Contribution
from tests.board.tools import party
from tests.board.waiting import until
from tests.protocol.simulation.worlds import FEW
from tests.sessions.live.worlds import Gathering, gathering

ONCE = replace(FEW, rounds=1)
_NOTHING = bytes(32)


def strangers(count: int, kind: Kind) -> Callable[[bytes], list[bytes]]:
    """So many authors, each with something in the place of the manifest."""

    def ahead(session: bytes) -> list[bytes]:
        found = []
        for number in range(count):
            key = party(number)
            place = (VERSION, session, int(Phase.ORGANISER), int(kind), 0, 0, 1, key.public, 0)
            found.append(sign_entry(Entry(*place, _NOTHING, 0, _NOTHING, b"no manifest"), key))
        return found

    return ahead


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind.MANIFEST, id="manifests"),
        pytest.param(Kind.OPEN, id="other things", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("count", [7, 8])
def test_seven_strangers_hide_no_manifest_and_eight_do(
    count: int, kind: Kind, tmp_path: Path
) -> None:
    """Parties find a session where an audit finds one, and nowhere else."""

    async def work(world: Gathering) -> list[Contribution | BaseException]:
        organiser = asyncio.create_task(world.open())
        together = Together()
        clients = [world.member(i, connect=together if i % 2 else None) for i in range(5)]
        offers = [asyncio.create_task(c.contribute(world.ticket, 0.5)) for c in clients]
        if count == 8:
            await asyncio.to_thread(until, lambda: len(world.entries()) == count + 1)
            done, _ = await asyncio.wait(offers, timeout=3.0)
            assert not done
            for each in (*offers, organiser):
                each.cancel()
        got = await asyncio.gather(*offers, return_exceptions=True)
        for client in clients:
            await client.close()
        await asyncio.wait({organiser})
        return got

    with gathering(tmp_path, ONCE, ahead=strangers(count, kind)) as world:
        got = asyncio.run(work(world))
        findings, said = world.findings(), {each.author.data for each in world.entries()}
    parties = {key.public.data for key in world.identities}
    if count == 7:
        assert all(isinstance(each, Contribution) and each.count == 5 for each in got)
        assert findings.faults == ()
        assert findings.rounds[0].final == tuple(range(5))
        assert parties <= said
    else:
        assert all(isinstance(each, asyncio.CancelledError) for each in got)
        assert findings.manifest is None
        assert not parties & said
