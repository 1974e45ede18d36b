"""What the same parties said in another session, shown again in this one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import Submission
from bulletin_board.client.http import Response
from bulletin_board.lookup import LOOKUP, LOOKUP_ANSWER
from gopa.contract.phases import Phase
from gopa.protocol.organiser import new_manifest
from gopa.protocol.party import Fetch
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import SelectiveLog, WholeLog
from gopa.sessions.ticket import Ticket
from tests.board.tools import log_key
from tests.protocol.simulation.worlds import FEW
from tests.sessions.following.worlds import board_with, recorded, selective, whole
from tests.sessions.hostile.worlds import Gate, Through, World, of, world

ONCE = replace(FEW, rounds=1, attempts=1, charged=0)


class Replaying(Gate):
    """Answers with the entries of another session that stand in the places asked for."""

    def __init__(self, address: str, other: bytes) -> None:
        super().__init__(address)
        self._other = other
        self.replayed = 0

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        if url.endswith("/v1/lookup"):
            wanted = LOOKUP.decode(body or b"")
            asked = LOOKUP.encode(replace(wanted, session=self._other, start=0))
            answer = super().request(method, url, body=asked, media_type=media_type, limit=limit)
            if answer.status == 200 and LOOKUP_ANSWER.decode(answer.body).found:
                self.replayed += 1
                return answer
        return super().request(method, url, body=body, media_type=media_type, limit=limit)


def next_session(here: World) -> World:
    """The same organiser and parties on the same board."""
    manifest = new_manifest(
        here.terms,
        [key.public.data for key in here.identities],
        organiser=here.organiser.public.data,
        log=log_key(),
        rng=os.urandom,
    )
    ticket = Ticket(here.ticket.board, log_key(), manifest.session, manifest.policy)
    return replace(here, manifest=manifest, ticket=ticket, ways=[], clients=[])


async def run(here: World, ways: Callable[[int], Through]) -> tuple[list[object], list[int]]:
    """A round of everybody; what each got, and how often each read the log."""
    organiser_run = here.start_organiser()
    for number in range(here.terms.parties):
        here.enter(number, ways(number))
    offers = here.offers()
    got = await asyncio.gather(*offers, return_exceptions=True)
    logs = [m._access.log for c in here.clients for m in c._memberships.values()]
    readings = [log.readings for log in logs if isinstance(log, SelectiveLog)]
    await here.leave(*offers)
    await organiser_run.task
    return list(got), readings


def require_harmless(here: World, got: list[object]) -> None:
    for each in got:
        assert isinstance(each, Contribution), each
        assert each.session == here.ticket.session
        assert each.included
        assert each.count == here.terms.parties
    assert not [each for each in [*here.entries(), *here.sent()] if each.phase == Phase.ACCUSE]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A session that is over, on a board that serves."""
    with world(tmp_path_factory.mktemp("replays"), ONCE) as here:
        got, _ = asyncio.run(run(here, lambda _: Through(Gate(here.ticket.board))))
        require_harmless(here, got)
        assert here.findings().faults == ()
        yield here


@pytest.mark.soak
def test_sessions_side_by_side_do_not_disturb_each_other(first: World) -> None:
    here = next_session(first)
    got, readings = asyncio.run(run(here, lambda _: Through(Gate(here.ticket.board))))
    require_harmless(here, got)
    assert here.findings().faults == ()
    assert max(readings) == 0


@pytest.mark.slow
def test_answers_from_another_session_are_replaced_by_the_log(first: World) -> None:
    """Every place is the right one, every proof holds, every signature is theirs."""
    here, old = next_session(first), first.ticket.session
    gates = [Replaying(here.ticket.board, old) for _ in here.identities]
    got, readings = asyncio.run(run(here, lambda number: Through(gates[number])))
    require_harmless(here, got)
    assert here.findings().faults == ()
    assert min(gate.replayed for gate in gates) >= 1
    assert min(readings) >= 1


@pytest.mark.parametrize("kind", [whole, selective])
def test_entries_that_were_moved_here_are_nobody_s(
    kind: Callable[[str, bytes], WholeLog | SelectiveLog], tmp_path: Path
) -> None:
    """A board that logs them under the name of this session takes slots of nobody."""
    other, record = recorded(1), recorded(2)
    moved = [raw[:2] + record.session + raw[34:] for raw in other.raws]
    raws = [*other.raws, *moved, *record.raws]
    joins = of([Submission.decode(raw).entry for raw in moved], Phase.JOIN)
    assert {each.session for each in joins} == {record.session}

    async def work(url: str) -> None:
        log = kind(url, record.session)
        try:
            assert await log.manifest() == record.manifest
            horizon = await log.grown(len(raws) - 1)
            asked = Fetch(Phase.JOIN, 1, len(raws), (*other.parties, *record.parties))
            for found in (await log.answer(asked, horizon), await log.complete(asked, 0, horizon)):
                assert {each.entry.author.data for each in found} == set(record.parties)
                assert {each.entry.session for each in found} == {record.session}
            for author in other.parties:
                assert await log.own(author, 0, horizon.size, horizon) == ()
        finally:
            await log.close()

    with board_with(tmp_path / "log", raws) as url:
        asyncio.run(work(url))
