"""Entries that are withheld or come late: a value stays behind at least one mask."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from gopa.aggregation.engine import RoundAborted
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.protocol.party import Part
from gopa.protocol.party.states import Published
from gopa.sessions.contribution import Contribution
from tests.protocol.simulation.worlds import FEW, RECOVERING
from tests.sessions.hostile.observer import Observer, both_open
from tests.sessions.hostile.worlds import OrganiserRun, World, nothing, of, said, sooner, world

ONCE = replace(FEW, rounds=1, attempts=1, charged=0)
SPARSE = replace(ONCE, parties=10, k=4, survivors=7, loss=3, beta=Decimal("0.24"))
"""Each has four neighbours at least, and not all the others."""

RECOVERED = replace(RECOVERING, rounds=1, attempts=1, charged=0)
VICTIM = 0


class Held:
    """A round in which some posts do not get through; the victim's secrets as they were."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.keys: dict[int, bytes] = {}
        self.seed = b""
        self.organiser_run: OrganiserRun

    async def run(self, phase: Phase, *parties: int) -> list[object]:
        """Nothing that these parties say in this phase arrives before the phase is over."""
        here = self.here
        self.organiser_run = here.start_organiser()
        here.gather()
        for number in parties:
            here.ways[number].gate.stops = said(phase)
        here.ways[VICTIM].gate.stops = said(Phase.PUBLISH)
        offers = here.offers()
        await sooner(lambda: bool(here.ways[VICTIM].gate.stopped))
        self._pry()
        here.ways[VICTIM].gate.stops = said(phase) if VICTIM in parties else nothing
        rest = len(here.ways) - len(parties)
        await sooner(lambda: len(of(here.entries(), phase)) == rest)
        await sooner(lambda: all(_lost(here, number, phase) for number in parties))
        await self._overdue(phase)
        for way in here.ways:
            way.gate.stops = nothing
        got = await asyncio.gather(*offers, return_exceptions=True)
        await here.leave(*offers)
        await self.organiser_run.task
        return list(got)

    def _pry(self) -> None:
        stage = self.here.state(VICTIM).stage
        assert isinstance(stage, Published)
        assert stage.seed is not None
        self.keys = {other: key.reveal() for other, key in stage.keys.items()}
        self.seed = stage.seed.reveal()

    async def _overdue(self, phase: Phase) -> None:
        while not await asyncio.to_thread(_is_closed, self.here, phase):
            await self.here.pass_time(self.organiser_run, phase)
            await asyncio.sleep(0.2)


def _lost(here: World, number: int, phase: Phase) -> bool:
    return any(each.phase == phase for each in here.ways[number].gate.stopped)


def _is_closed(here: World, phase: Phase) -> bool:
    """Whether the organiser has closed this phase, or ended the round in it."""
    mine = [each for each in here.entries() if each.phase == Phase.ORGANISER and each.round == 1]
    ended = any(each.kind in {Kind.RESULT, Kind.ABORT} for each in mine)
    closes = [CLOSE.decode(each.body).phase for each in mine if each.kind == Kind.CLOSE]
    return ended or phase in closes


GRAPHS = pytest.mark.parametrize(
    "terms",
    [
        pytest.param(ONCE, id="complete"),
        pytest.param(SPARSE, id="sparse", marks=pytest.mark.soak),
    ],
)


@pytest.mark.slow
@GRAPHS
def test_a_value_that_was_published_late_stays_behind_its_own_mask(
    terms: Terms, tmp_path: Path
) -> None:
    """All neighbours open their edges to it, and the value was on the wire before that."""
    with world(tmp_path, terms) as here:
        held = Held(here)
        got = asyncio.run(held.run(Phase.PUBLISH, VICTIM))
        findings, seen = here.findings(), [*here.entries(), *here.sent()]
    mine, *others = got
    assert isinstance(mine, Contribution)
    assert not mine.included
    assert mine.part is Part.LATE
    assert all(
        isinstance(each, Contribution) and each.count == terms.parties - 1 for each in others
    )
    assert findings.faults == ()
    observer = Observer.of(here, seen)
    require_degree(terms, held.keys)
    assert set(observer.keys) == {frozenset((VICTIM, other)) for other in held.keys}
    assert VICTIM not in observer.seeds
    assert not both_open(here, seen) & {VICTIM}
    observer.require_hidden(VICTIM, held.keys, held.seed)


def require_degree(terms: Terms, neighbours: Collection[int]) -> None:
    """The graph is as dense as the terms say."""
    everybody = set(range(terms.parties)) - {VICTIM}
    assert len(neighbours) >= terms.k
    assert (set(neighbours) == everybody) is (terms.k == terms.parties - 1)


@pytest.mark.slow
@GRAPHS
def test_an_unmasking_that_comes_late_opens_no_edge(terms: Terms, tmp_path: Path) -> None:
    """The own mask is on the wire: the round has no result, and edges hide the value."""
    with world(tmp_path, terms) as here:
        held = Held(here)
        got = asyncio.run(held.run(Phase.UNMASK, VICTIM))
        findings, seen = here.findings(), [*here.entries(), *here.sent()]
    for each in got:
        assert isinstance(each, RoundAborted)
        assert each.reason == "NOT_UNMASKED"
        assert each.released == "masked"
    assert findings.faults == ()
    observer = Observer.of(here, seen)
    assert observer.seeds[VICTIM] == held.seed
    assert not observer.keys
    observer.require_hidden(VICTIM, held.keys, held.seed)


@pytest.mark.slow
def test_an_unmasking_that_comes_late_is_recovered(tmp_path: Path) -> None:
    with world(tmp_path, RECOVERED) as here:
        held = Held(here)
        got = asyncio.run(held.run(Phase.UNMASK, VICTIM))
        findings, seen = here.findings(), [*here.entries(), *here.sent()]
    assert all(isinstance(each, Contribution) and each.included for each in got)
    assert findings.faults == ()
    observer = Observer.of(here, seen)
    assert not observer.keys
    observer.require_hidden(VICTIM, held.keys, held.seed)


def test_delaying_the_neighbours_of_one_party_releases_nothing(tmp_path: Path) -> None:
    """Three of four is more than the plan allows: nobody opens an edge or a mask."""
    with world(tmp_path, ONCE) as here:
        held = Held(here)
        got = asyncio.run(held.run(Phase.PUBLISH, 1, 2, 3))
        findings, seen = here.findings(), [*here.entries(), *here.sent()]
    for each in got:
        assert isinstance(each, RoundAborted)
        assert each.reason == "TOO_FEW_LEFT"
        assert each.released == "none"
    assert findings.faults == ()
    observer = Observer.of(here, seen)
    assert not observer.keys
    assert not observer.seeds
    observer.require_hidden(VICTIM, held.keys, held.seed)
