"""Boards that show one party everything late: what was not said in time is never said."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gopa.contract.phases import Phase
from gopa.protocol.party import Part, Post
from gopa.sessions.contribution import Contribution
from gopa.sessions.parties.durable import DurableParty
from tests.protocol.simulation.worlds import FEW
from tests.sessions.hostile.worlds import Slow, Through, World, of, sooner, world

TWICE = replace(FEW, rounds=2, attempts=1, charged=0)
VICTIM = 0
SAID = (Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM, Phase.UNMASK)


class Ear:
    """What the state machine of one party said, whether or not it was sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, author: bytes) -> None:
        self.posts: list[Post] = []
        keep = DurableParty._keep

        def kept(party: DurableParty, step: Any) -> None:
            keep(party, step)
            if party._author == author:
                self.posts += step.posts

        monkeypatch.setattr(DurableParty, "_keep", kept)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("how", ["a slow board", "a process that was away"])
def test_what_was_not_said_in_its_round_is_not_said_later(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The party makes what it would have said, finds the round gone, and joins the next."""
    away = how.startswith("a process")

    async def work(here: World) -> tuple[list[object], Through, Ear]:
        ear = Ear(monkeypatch, here.identities[VICTIM].public.data)
        organiser_run, home = here.start_organiser(), tmp_path / "home"
        way = Through(Slow(here.ticket.board, since=Phase.COMMIT))
        here.enter(VICTIM, way, home)
        for number in range(1, TWICE.parties):
            here.client(number)
        offers = here.offers()
        await sooner(lambda: len(of(way.sent, Phase.COMMIT)) == 1)
        if away:
            offers[VICTIM].cancel()
            await here.clients[VICTIM].close()
        await sooner(lambda: here.has_closed(Phase.COMMIT))
        await sooner(lambda: len(of(here.entries(), Phase.PUBLISH)) == TWICE.parties - 1)
        await here.overdue(organiser_run, Phase.PUBLISH)
        rest = await asyncio.gather(*offers[1:])
        again = [asyncio.create_task(c.contribute(here.ticket, 0.5)) for c in here.clients[1:]]
        await sooner(lambda: len(of(here.entries(), Phase.JOIN, 2)) == len(again))
        if away:
            way = Through(Slow(here.ticket.board))
            back = here.enter(VICTIM, way, home)
            offers[VICTIM] = asyncio.create_task(back.contribute(here.ticket, 0.5))
        else:
            back = here.clients[VICTIM]
            require_slow(way).late = False
        mine = await offers[VICTIM]
        next_one = await back.contribute(here.ticket, 0.5)
        last = await asyncio.gather(*again)
        await here.leave(*offers, *again)
        await organiser_run.task
        return [mine, next_one, *rest, *last], way, ear

    with world(tmp_path, TWICE) as here:
        got, way, ear = asyncio.run(work(here))
        findings, sent = here.findings(), way.sent
    assert all(isinstance(each, Contribution) for each in got)
    mine, next_one = (each for each in got[:2] if isinstance(each, Contribution))
    assert (mine.round, mine.included, mine.part) == (1, False, Part.LATE)
    assert (next_one.round, next_one.included, next_one.count) == (2, True, TWICE.parties)
    assert Phase.PUBLISH in {each.phase for each in ear.posts if each.round == 1}
    early = {Phase.JOIN, Phase.COINS, Phase.COMMIT}
    assert {Phase(each.phase) for each in sent if each.round == 1} <= (set() if away else early)
    assert of(sent, Phase.PUBLISH, 2)
    assert findings.faults == ()


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("behind", SAID, ids=[phase.name.lower() for phase in SAID])
def test_whoever_sees_the_log_late_is_not_out_while_the_phase_is_open(
    behind: Phase, tmp_path: Path
) -> None:
    """The organiser waits: reads that one party gets late cost time, and nobody a place."""

    async def work(here: World) -> list[object]:
        organiser_run = here.start_organiser()
        before = None if behind is Phase.JOIN else SAID[SAID.index(behind) - 1]
        slow = Slow(here.ticket.board, since=before)
        slow.late = before is None
        here.enter(VICTIM, Through(slow))
        for number in range(1, once.parties):
            here.client(number)
        offers = here.offers()
        rest = len(offers) - 1
        await sooner(lambda: len(of(here.entries(), behind)) >= rest)
        assert len(of(here.entries(), behind)) == rest or behind is Phase.JOIN
        slow.late = False
        got = await asyncio.gather(*offers)
        await here.leave(*offers)
        await organiser_run.task
        return list(got)

    once = replace(TWICE, rounds=1)
    with world(tmp_path, once) as here:
        got = asyncio.run(work(here))
        findings = here.findings()
    assert all(isinstance(each, Contribution) and each.included for each in got)
    assert findings.faults == ()
    assert findings.rounds[0].final == tuple(range(once.parties))


def require_slow(way: Through) -> Slow:
    assert isinstance(way.gate, Slow)
    return way.gate
