"""In which order a party is told what its board shows ([W2], [W5])."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.contract.framing import Posted
from gopa.contract.phases import Phase
from gopa.protocol.party import PostedClose, Witnessed
from gopa.sessions.board_access import Together
from gopa.sessions.durable_party import DurableParty
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
