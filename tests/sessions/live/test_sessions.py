"""Clients, an organiser and a board: whole sessions on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bulletin_board import Entry
from gopa.aggregation.engine import RoundAborted
from gopa.aggregation.values import OutOfRange
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Part, Refusal
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.board_access import Together
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution, RoundStatus
from gopa.sessions.organising import Deadlines
from gopa.sessions.parties.runner import SessionOver
from gopa.support.wording import PARTS
from tests.board.waiting import until
from tests.protocol.simulation.worlds import FEW, SIGNED, VECTOR
from tests.sessions.live.worlds import Gathering, gathering
from wire.errors import UsageError

ONCE = replace(FEW, rounds=1)
VECTORS = replace(VECTOR, rounds=1, parties=5, k=4, survivors=3, loss=2)
HURRY = Deadlines(join=3, phase=30)


def failing(news: RoundStatus) -> None:
    """Somebody's function that watches the session: it is told, and breaks."""
    raise LookupError(news.round)


async def hold(world: Gathering, clients: Sequence[Client]) -> list[Contribution | BaseException]:
    """One round in which client number i offers i/10; what each of them got."""
    organiser = asyncio.create_task(world.open())
    offers = [
        client.contribute(world.ticket, i / 10, watch=None if i else failing)
        for i, client in enumerate(clients)
    ]
    got = await asyncio.gather(*offers, return_exceptions=True)
    for client in clients:
        await client.close()
    await organiser
    return got


def test_everybody_gets_the_result_that_the_rules_find(tmp_path: Path) -> None:
    async def run(world: Gathering) -> list[Contribution | BaseException]:
        together = Together()
        clients = [
            world.member(i) if i % 2 else world.member(i, connect=together) for i in range(5)
        ]
        return await hold(world, clients)

    with gathering(tmp_path, ONCE) as world:
        got = asyncio.run(run(world))
        findings = world.findings()
    assert findings.faults == ()
    assert findings.rounds[0].final == tuple(range(5))
    assert findings.rounds[0].sums is not None
    for each in got:
        assert isinstance(each, Contribution)
        assert each.included
        assert each.count == 5
        assert each.sum == pytest.approx(findings.rounds[0].sums[0] / 20)
        label, shown, *_ = str(each).split()
        assert label == "mean"
        assert float(shown) == pytest.approx(each.mean, abs=each.stderr)
        late = replace(each, included=False, part=Part.LATE)
        assert PARTS["late"] in str(late)
        assert PARTS["late"] not in str(each)


def test_whoever_has_joined_offers_values_there(tmp_path: Path) -> None:
    """One membership for each session, and nobody has to wait for a round that does not come."""

    async def run(world: Gathering) -> list[Contribution]:
        organiser = asyncio.create_task(world.open())
        clients = [world.member(i, connect=together) for i in range(5)]
        first = clients[0]
        membership = await first.join(world.ticket)
        with pytest.raises(UsageError) as caught:
            await first.join(world.ticket)
        assert caught.value.field == "session"
        offers = [asyncio.create_task(c.contribute(world.ticket, 0.5)) for c in clients]
        await asyncio.sleep(0)
        unwanted = asyncio.create_task(membership.contribute(0.75))
        await asyncio.sleep(0)
        unwanted.cancel()
        got = await asyncio.gather(*offers)
        await membership.finished()
        assert unwanted.cancelled()
        for client in clients:
            await client.close()
        await organiser
        return list(got)

    together = Together()
    with gathering(tmp_path, ONCE) as world:
        got = asyncio.run(run(world))
    assert all(each.included for each in got)


@pytest.mark.slow
def test_whoever_does_not_come_is_left_out(tmp_path: Path) -> None:
    async def run(world: Gathering) -> list[Contribution | BaseException]:
        return await hold(world, [world.member(i) for i in range(4)])

    with gathering(tmp_path, ONCE, deadlines=HURRY) as world:
        got = asyncio.run(run(world))
        findings = world.findings()
    assert findings.faults == ()
    assert [each.count for each in got if isinstance(each, Contribution)] == [4] * 4


def test_too_few_parties_have_no_result(tmp_path: Path) -> None:
    async def run(world: Gathering) -> list[Contribution | BaseException]:
        return await hold(world, [world.member(i) for i in range(2)])

    terms = replace(ONCE, attempts=1, charged=0)
    with gathering(tmp_path, terms, deadlines=HURRY) as world:
        got = asyncio.run(run(world))
    for each in got:
        assert isinstance(each, RoundAborted)
        assert each.released == "none"
        assert each.reason == "TOO_FEW_JOINED"


def test_vectors_in_signed_mode(tmp_path: Path) -> None:
    values = {"a": np.array([0.25, 0.5]), "b": 1.0}

    async def run(world: Gathering) -> list[Contribution]:
        organiser = asyncio.create_task(world.open())
        together = Together()
        clients = [world.member(i, connect=together) for i in range(5)]
        got = await asyncio.gather(*(c.contribute(world.ticket, values) for c in clients))
        for client in clients:
            await client.close()
        await organiser
        return list(got)

    with gathering(tmp_path, VECTORS, setting=SIGNED) as world:
        got = asyncio.run(run(world))
        assert world.findings().faults == ()
    assert got[0].mean["a"].shape == (2,)
    assert all(each.mean["b"] == got[0].mean["b"] for each in got)


def test_a_party_that_is_stopped_goes_on_from_its_home(tmp_path: Path) -> None:
    """Stopped and started again in every phase, and it is in the result all the same."""

    async def restless(world: Gathering, home: Path) -> tuple[Contribution, int]:
        restarts = 0
        seen: set[Phase | None] = {None}
        while True:
            moved = asyncio.Event()

            def watch(news: RoundStatus, moved: asyncio.Event = moved) -> None:
                if news.opens not in seen:
                    seen.add(news.opens)
                    moved.set()

            client = world.member(0, home=home)
            offer = asyncio.ensure_future(client.contribute(world.ticket, 0.5, watch=watch))
            waiting = asyncio.ensure_future(moved.wait())
            await asyncio.wait({offer, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            done = offer.done()
            if not done:
                offer.cancel()
            await client.close()
            if done:
                return offer.result(), restarts
            restarts += 1

    async def run(world: Gathering) -> tuple[Contribution, int]:
        organiser = asyncio.create_task(world.open())
        together = Together()
        others = [world.member(i, connect=together) for i in range(1, 5)]
        offers = [asyncio.create_task(c.contribute(world.ticket, 0.5)) for c in others]
        found = await restless(world, tmp_path / "home")
        await asyncio.gather(*offers)
        for client in others:
            await client.close()
        await organiser
        return found

    with gathering(tmp_path, ONCE) as world:
        contribution, restarts = asyncio.run(run(world))
        findings = world.findings()
    assert restarts >= 4
    assert contribution.included
    assert contribution.count == 5
    assert findings.faults == ()
    assert findings.notes == ()


def test_a_round_has_one_value_also_after_a_restart(tmp_path: Path) -> None:
    async def run(world: Gathering) -> None:
        organiser = asyncio.create_task(world.open())
        client = world.member(0, home=tmp_path / "home")
        offer = asyncio.ensure_future(client.contribute(world.ticket, 0.5))
        await asyncio.to_thread(until, lambda: any(map(_is_join, world.entries())))
        offer.cancel()
        await client.close()
        again = world.member(0, home=tmp_path / "home")
        with pytest.raises(UsageError):
            await again.contribute(world.ticket, 0.9)
        others = [world.member(i) for i in range(1, 5)]
        offers = [asyncio.create_task(c.contribute(world.ticket, 0.5)) for c in others]
        contribution = await again.contribute(world.ticket, 0.5)
        assert contribution.included
        await asyncio.gather(*offers)
        for each in (again, *others):
            await each.close()
        await organiser

    with gathering(tmp_path, ONCE) as world:
        asyncio.run(run(world))


def _is_join(entry: Entry) -> bool:
    return entry.phase == Phase.JOIN


@pytest.mark.slow
def test_values_that_do_not_fit_are_refused_before_anything_is_said(tmp_path: Path) -> None:
    async def run(world: Gathering) -> None:
        organiser = asyncio.create_task(world.open())
        async with world.member(0) as client:
            with pytest.raises(OutOfRange):
                await client.contribute(world.ticket, 1.5)
            with pytest.raises(UsageError):
                await client.contribute(world.ticket, [0.5, 0.5])
            with pytest.raises(UsageError):
                await client.contribute(world.ticket, None)
            others = [world.member(i) for i in range(1, 5)]
            offers = [asyncio.create_task(c.contribute(world.ticket, 0.5)) for c in others]
            found = await client.contribute(world.ticket, 1.5, clip=True)
            assert found.included
            assert found.clipped == 1
            await asyncio.gather(*offers)
            for each in others:
                await each.close()
            with pytest.raises(SessionOver):
                await client.contribute(world.ticket, 0.5)
        await organiser

    with gathering(tmp_path, ONCE) as world:
        asyncio.run(run(world))


@pytest.mark.thirds
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_last_result_is_read_as_it_was(*, weighted: bool, tmp_path: Path) -> None:
    """Whoever comes back behind the end of a session gets what it would have got."""
    terms = VECTORS if weighted else ONCE
    value: Any = [0.25, 0.75] if weighted else 0.5
    how: dict[str, Any] = {"weight": 2.0, "max_weight": 4} if weighted else {}

    async def run(world: Gathering) -> tuple[Contribution, Contribution | None]:
        organiser = asyncio.create_task(world.open())
        together = Together()
        clients = [
            world.member(i, connect=together, home=tmp_path / "home" if not i else None)
            for i in range(5)
        ]
        work = [client.contribute(world.ticket, value, **how) for client in clients]
        first, *_ = await asyncio.gather(*work)
        for client in clients:
            await client.close()
        await organiser
        async with world.member(0, home=tmp_path / "home") as again:
            membership = await again.join(world.ticket)
            if weighted:
                with pytest.raises(UsageError):
                    await membership.concluded(value)
            return first, await membership.concluded(value, **how)

    setting = SessionSetting(weighted=weighted)
    with gathering(tmp_path / "board", terms, setting=setting) as world:
        first, last = asyncio.run(run(world))
        assert world.findings().faults == ()
    assert last is not None
    assert np.shape(last.mean) == np.shape(value)
    for name in ("mean", "sum", "stderr", "sum_stderr", "count", "included", "round"):
        np.testing.assert_array_equal(getattr(last, name), getattr(first, name))


def test_a_session_that_asks_too_much_is_not_joined(tmp_path: Path) -> None:
    async def run(world: Gathering) -> None:
        organiser = asyncio.create_task(world.open())
        policy = replace(permissive(world.terms), epsilon=world.terms.promised_epsilon / 2)
        modest = Client(world.identities[0], policy)
        with pytest.raises(Refusal) as refusal:
            await modest.contribute(world.ticket, 0.5)
        assert refusal.value.field == "epsilon"
        await modest.close()
        organiser.cancel()
        await asyncio.wait({organiser})

    with gathering(tmp_path, ONCE) as world:
        asyncio.run(run(world))
        authors = {
            posted.author.data for posted in world.entries() if posted.phase != Phase.ORGANISER
        }
    assert authors == set()


@pytest.mark.slow
def test_blocking_calls_do_the_same(tmp_path: Path) -> None:
    """Clients of callers without an event loop, each in a thread of its own."""

    async def run(world: Gathering) -> list[Contribution]:
        organiser = asyncio.create_task(world.open())
        clients = [world.member(i) for i in range(5)]

        def work(client: Client) -> Contribution:
            client.close_sync()  # nothing was begun: nothing to end
            with client:
                found = client.contribute_sync(world.ticket, 0.5)
                with pytest.raises(SessionOver):
                    client.contribute_sync(world.ticket, 0.5)
            client.close_sync()
            return found

        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(5) as threads:
            calls = [loop.run_in_executor(threads, work, client) for client in clients]
            got = await asyncio.gather(*calls)
        await organiser
        return list(got)

    with gathering(tmp_path, ONCE) as world:
        got = asyncio.run(run(world))
    assert {each.mean for each in got} == {got[0].mean}
    assert all(each.included for each in got)
