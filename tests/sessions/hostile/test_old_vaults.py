"""A vault that was put back from a copy, on a live board: its party says nothing twice."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import Entry
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.sessions.contribution import Contribution
from gopa.sessions.vault import VaultOutdated
from tests.protocol.simulation.worlds import FEW
from tests.sessions.hostile.worlds import Through, World, closing, of, sooner, world

TWICE = replace(FEW, rounds=2, attempts=1, charged=0)
VICTIM = 0


def copied(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("lock"))


async def restarted(
    here: World, home: Path, *, old: bool
) -> tuple[list[Contribution], list[Contribution], Through]:
    """The victim is stopped when its commit is in the log, and goes on; perhaps from a copy.

    The copy was made when only its join was there. It is refused by the mark, unless the marks
    were put back with it. What the victim got, what the others got.
    """
    organiser_run, copy = here.start_organiser(stops=closing(Phase.COINS)), home.with_name("copy")
    marks, old_marks = home.with_name(f"{home.name}-marks"), home.with_name("copied marks")
    here.client(VICTIM, home=home)
    for number in range(1, TWICE.parties):
        here.client(number)
    offers = here.offers()
    await sooner(lambda: len(of(here.entries(), Phase.COINS)) == TWICE.parties)
    copied(home, copy)
    copied(marks, old_marks)
    await sooner(lambda: bool(organiser_run.gate.stopped))
    organiser_run.gate.stops = closing(Phase.COMMIT)
    await sooner(lambda: len(of(here.entries(), Phase.COMMIT)) == TWICE.parties)
    offers[VICTIM].cancel()
    await here.clients[VICTIM].close()
    if old:
        copied(copy, home)
        with pytest.raises(VaultOutdated):
            await here.member(VICTIM, home=home).join(here.ticket)
        copied(old_marks, marks)
    way = Through(type(here.ways[VICTIM].gate)(here.ticket.board))
    back = here.enter(VICTIM, way, home)
    mine = asyncio.create_task(back.contribute(here.ticket, 0.5))
    await sooner(lambda: bool(way.links) and way.seen >= len(here.raws()))
    organiser_run.gate.stops = lambda _: False
    if old:
        await sooner(lambda: len(of(here.entries(), Phase.PUBLISH)) == TWICE.parties - 1)
        await here.overdue(organiser_run, Phase.PUBLISH)
    first = [await mine, *await asyncio.gather(*offers[1:])]
    again = [asyncio.create_task(c.contribute(here.ticket, 0.5)) for c in here.clients[1:]]
    second = await asyncio.gather(*again)
    await here.leave(*offers, *again)
    await organiser_run.task
    kept = [each for each in (*first, *second) if isinstance(each, Contribution)]
    assert len(kept) == 2 * TWICE.parties
    return [kept[0], kept[-1]], kept[1:-1], way


def twice_said(entries: list[Entry]) -> set[object]:
    """Slots in which two things stand."""
    said = {(each.slot, each.body, each.seen_size) for each in entries}
    return {slot for slot, times in Counter(slot for slot, *_ in said).items() if times > 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "old",
    [
        pytest.param(False, id="as it was", marks=pytest.mark.soak),
        pytest.param(True, id="from a copy"),
    ],
)
def test_whoever_is_older_than_what_it_said_leaves_the_round(*, old: bool, tmp_path: Path) -> None:
    with world(tmp_path, TWICE) as here:
        mine, others, way = asyncio.run(restarted(here, tmp_path / "home", old=old))
        findings, seen = here.findings(), [*here.entries(), *here.sent()]
    first, second = mine
    assert (first.round, first.included) == (1, not old)
    assert first.part is (Part.TIMED_OUT if old else Part.ACTIVE)
    assert (second.round, second.included) == (2, True)
    everybody = TWICE.parties
    assert {each.round: each.count for each in others} == {1: everybody - old, 2: everybody}
    assert bool([each for each in way.sent if each.round == 1]) is not old
    assert not twice_said(seen)
    assert findings.faults == ()
    chained = {each.rule for each in findings.notes}
    assert chained == ({"04-E1"} if old else set())  # it does not know its own last word
