"""A board with no answer to a question: a party in a round waits as long as it is patient."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bulletin_board.client.http import NetworkError, Response
from bulletin_board.lookup import LOOKUP
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.protocol.party.states import Outside
from gopa.sessions.contribution import Contribution
from tests.protocol.simulation.worlds import FEW
from tests.sessions.hostile.worlds import Gate, Through, World, closing, of, sooner, world
from zkp.noise import NoNoise

RECOVERED = replace(
    FEW,
    rounds=1,
    attempts=1,
    charged=0,
    survivors=4,
    loss=1,
    threshold_numerator=1,
    threshold_denominator=2,
)
ONCE = replace(FEW, rounds=1, attempts=1, charged=0)
VICTIM = 0
RECORD = 85
"""Bytes of a journal that a checkpoint takes; one that asks again would write many."""


@dataclass
class Mood:
    """What `RoundPatience` says, for a party whose time stands still until it is told otherwise."""

    round_seconds: float = 3_600.0
    retry_seconds: float = 0.05
    now: float = 0.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def clock(self) -> float:
        return self.now


class Hanging(Gate):
    """Tells what the organiser says; while it hangs, it has no answer about parties."""

    def __init__(self, address: str, *, silent: bool) -> None:
        super().__init__(address)
        self._silent = silent
        self.hangs = False
        self.held = 0
        self.free = threading.Event()

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        asked = url.endswith("/v1/lookup") and LOOKUP.decode(body or b"").phases
        if self.hangs and asked and Phase.ORGANISER not in asked:
            self.held += 1
            if not self._silent:
                raise NetworkError("nobody answers")
            self.free.wait(120)
        return super().request(method, url, body=body, media_type=media_type, limit=limit)


def kept(home: Path) -> int:
    """How many bytes stand in the journal of the vault, which is in use."""
    return sum(each.stat().st_size for each in home.glob("*/journal-*"))


@pytest.mark.slow
@pytest.mark.parametrize("silent", [True, False], ids=["silence", "errors"])
def test_a_question_without_an_answer_keeps_nobody_in_a_round(
    *, silent: bool, tmp_path: Path
) -> None:
    """What the party needs for the round is erased; the others have their result."""
    home, mood = tmp_path / "home", Mood()

    async def work(here: World) -> list[object]:
        organiser_run, gate = here.start_organiser(), Hanging(here.ticket.board, silent=silent)
        way = Through(gate)
        victim = here.member(VICTIM, home=home, connect=way, waiting=mood)
        here.clients.append(victim)
        here.ways.append(way)
        for number in range(1, ONCE.parties):
            here.client(number)
        offers = here.offers()
        await sooner(lambda: bool(of(way.sent, Phase.COINS)))
        assert kept(home)
        mood.round_seconds, gate.hangs = 0.5, True
        await sooner(lambda: gate.held > 0)
        # A party keeps each checkpoint that it sees: from here on the log stands still.
        await sooner(lambda: len(of(here.entries(), Phase.COMMIT)) == ONCE.parties - 1)
        await sooner(lambda: way.seen == len(here.entries()))
        size = kept(home)
        await asyncio.sleep(1.0)
        assert 0 < size <= kept(home) < size + 3 * RECORD
        mood.now += 1.0
        await sooner(lambda: not kept(home), 20.0)
        gate.free.set()
        gate.hangs = False
        await here.overdue(organiser_run, Phase.COMMIT)
        got = await asyncio.gather(*offers)
        await here.leave(*offers)
        await organiser_run.task
        return list(got)

    with world(tmp_path, ONCE) as here:
        mine, *rest = asyncio.run(work(here))
        findings = here.findings()
    assert isinstance(mine, Contribution)
    assert (mine.included, mine.part) == (False, Part.TIMED_OUT)
    assert all(isinstance(each, Contribution) and each.included for each in rest)
    assert findings.faults == ()


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "noisy"])
def test_whoever_left_behind_the_final_list_is_told_that_its_value_is_in_the_sum(
    *, exact: bool, tmp_path: Path
) -> None:
    """Others recover its mask. If it did not know, it would give the value to a second sum."""
    terms = RECOVERED if not exact else replace(RECOVERED, noise=NoNoise(), epsilon=None)
    mood = Mood()

    async def work(here: World) -> list[object]:
        organiser_run = here.start_organiser(stops=closing(Phase.CONFIRM))
        gate = Hanging(here.ticket.board, silent=False)
        way = Through(gate)
        here.clients.append(here.member(VICTIM, connect=way, waiting=mood))
        here.ways.append(way)
        for number in range(1, terms.parties):
            here.client(number)
        offers = here.offers()
        await sooner(lambda: len(of(here.entries(), Phase.CONFIRM)) == terms.parties)
        mood.round_seconds, gate.hangs = 0.5, True
        organiser_run.gate.stops = lambda _: False
        await sooner(lambda: gate.held > 0)
        mood.now += 1.0
        await sooner(lambda: isinstance(here.state(VICTIM).stage, Outside), 20.0)
        gate.hangs = False
        await here.overdue(organiser_run, Phase.UNMASK)
        got = await asyncio.gather(*offers)
        await here.leave(*offers)
        await organiser_run.task
        return list(got)

    with world(tmp_path, terms) as here:
        mine, *rest = asyncio.run(work(here))
        findings = here.findings()
    assert findings.rounds[0].final == tuple(range(terms.parties))
    assert findings.faults == ()
    assert isinstance(mine, Contribution)
    assert (mine.included, mine.part) == (True, Part.TIMED_OUT)
    assert "yours among them" in str(mine)
    assert all(isinstance(each, Contribution) and each.sum == mine.sum for each in rest)
