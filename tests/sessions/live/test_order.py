"""In which order a party is told what its board shows (12-W2, 12-W5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.entry import VERSION, Entry, sign_entry
from gopa.contract.framing import Posted
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import PostedClose, Witnessed
from gopa.sessions.board_access import Together
from gopa.sessions.contribution import Contribution
from gopa.sessions.parties.durable import DurableParty
from tests.board.tools import party
from tests.board.waiting import until
from tests.protocol.simulation.worlds import FEW
from tests.sessions.live.worlds import Gathering, gathering

TWICE = replace(FEW, rounds=2)


class ToldParties:
    """What each party was told, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: dict[bytes, list[Posted | Witnessed]] = {}
        step = DurableParty.step

        def stepped(party: DurableParty, event: object) -> object:
            told = event.posted if isinstance(event, PostedClose) else event
            if isinstance(told, Posted | Witnessed):
                self.told.setdefault(party._author, []).append(told)
            return step(party, event)  # type: ignore[arg-type]

        monkeypatch.setattr(DurableParty, "step", stepped)


@pytest.mark.slow
def test_the_checkpoint_comes_before_what_stands_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parties_told = ToldParties(monkeypatch)

    async def work(world: Gathering) -> None:
        organiser = asyncio.create_task(world.open())
        together = Together()
        options = [{"connect": together} if i % 2 else {} for i in range(5)]
        clients = [world.member(i, **options[i]) for i in range(5)]
        for _ in range(2):
            await asyncio.gather(*(client.contribute(world.ticket, 0.5) for client in clients))
        for client in clients:
            await client.close()
        await organiser

    with gathering(tmp_path, TWICE) as world:
        asyncio.run(work(world))
        log, organiser = world.entries(), world.organiser.public.data
    assert len(parties_told.told) == 5
    spoken = [i for i, each in enumerate(log) if each.author.data == organiser]
    for told in parties_told.told.values():
        assert len(require_in_order(told, spoken, organiser)) >= len(spoken) - 1
    for index, entry in enumerate(log):
        if entry.phase != Phase.ORGANISER:
            assert max(i for i in spoken if i < index) < entry.seen_size <= index


def require_in_order(
    told: list[Posted | Witnessed], spoken: list[int], organiser: bytes
) -> list[int]:
    """The organiser's entries: under a checkpoint that came first, none left out below it."""
    size, heard, last = 0, list[int](), -1
    for event in told:
        if isinstance(event, Witnessed):
            assert event.size >= size
            assert heard == [i for i in spoken if i < size]
            size = event.size
            continue
        assert event.index > last
        last = event.index
        if event.entry.author.data == organiser:
            assert event.index < size
            heard.append(event.index)
    return heard


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
