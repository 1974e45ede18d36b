"""A board that shows nothing, too little or something else for a while loses no party."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bulletin_board import Refused
from bulletin_board.admission import RefusalReason
from bulletin_board.client.forks import UnprovenHistory
from bulletin_board.client.http import NetworkError
from bulletin_board.reader import CHECKPOINT, MissingResource
from gopa.contract.framing import Posted
from gopa.protocol.party import Fetch
from gopa.sessions.board_access import Alone, RoundPatience, shown, until_shown
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import BoardLink, Horizon, SelectiveLog
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault
from tests.protocol.simulation.worlds import SCALAR
from tests.sessions.live.worlds import Gathering, gathering
from wire.errors import FaultyBoard, InvalidProof, MalformedMessage, ProtocolError
from wire.randomness import Rng

ONCE = replace(SCALAR, rounds=1)
EAGER = RoundPatience(retry_seconds=0.01)
SHAKEN = 0
QUESTIONS = {"manifest", "grown", "spoken", "controls", "own", "answer", "complete", "submit"}
_T = TypeVar("_T")

PASSING: list[ProtocolError] = [
    NetworkError("nobody answers"),
    UnprovenHistory("two checkpoints and nothing between them"),
    InvalidProof("too few witnesses cosigned what this board shows", "05-P2"),
    InvalidProof("the partial tiles do not lead to the checkpoint's root", "05-L2"),
    MissingResource("the server answers 404", CHECKPOINT),
    MissingResource("the log grows too fast: ask again", "tile/0/000.p/3"),
    MalformedMessage("a proxy's page"),
]


class Shaky(SelectiveLog):
    """Answers each kind of question only after it has failed in every way that passes."""

    def __init__(self, link: BoardLink, session: bytes) -> None:
        super().__init__(link, session)
        self.asked: Counter[str] = Counter()

    async def _at_last(self, name: str, answer: Callable[[], Awaitable[_T]]) -> _T:
        self.asked[name] += 1
        if self.asked[name] <= len(PASSING):
            raise PASSING[self.asked[name] - 1]
        return await answer()

    async def manifest(self) -> bytes:
        return await self._at_last("manifest", super().manifest)

    async def grown(self, size: int) -> Horizon:
        return await self._at_last("grown", lambda: super(Shaky, self).grown(size))

    async def spoken(self, start: int) -> Horizon:
        return await self._at_last("spoken", lambda: super(Shaky, self).spoken(start))

    async def controls(self, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        ask = super().controls
        return await self._at_last("controls", lambda: ask(start, horizon))

    async def own(
        self, author: bytes, start: int, stop: int, horizon: Horizon
    ) -> tuple[Posted, ...]:
        ask = super().own
        return await self._at_last("own", lambda: ask(author, start, stop, horizon))

    async def answer(self, wanted: Fetch, horizon: Horizon) -> tuple[Posted, ...]:
        """Hides everything, so that the log has to be read."""
        ask = super().answer
        await self._at_last("answer", lambda: ask(wanted, horizon))
        return ()

    async def complete(self, wanted: Fetch, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        ask = super().complete
        return await self._at_last("complete", lambda: ask(wanted, start, horizon))

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        ask = super().submit
        await self._at_last("submit", lambda: ask(entries))


class Shaking(Alone):
    """`Connect` over a log that is shaky."""

    log: Shaky

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        self.log = Shaky(
            BoardLink(ticket.board, ticket.trust, vault.board, rng=rng), ticket.session
        )
        return self.log


async def hold(world: Gathering, connect: Shaking) -> Contribution:
    """What party `SHAKEN` gets."""
    organiser = asyncio.create_task(world.open())
    parties: list[Client] = [
        world.member(n, waiting=EAGER, **({"connect": connect} if n == SHAKEN else {}))
        for n in range(world.terms.parties)
    ]
    got = await asyncio.gather(*(each.contribute(world.ticket, 0.5) for each in parties))
    for each in parties:
        await each.close()
    await organiser
    return got[SHAKEN]


@pytest.mark.slow
def test_a_party_asks_again(tmp_path: Path) -> None:
    connect = Shaking()
    with gathering(tmp_path, ONCE) as world:
        found = asyncio.run(asyncio.wait_for(hold(world, connect), 240))
        assert world.findings().faults == ()
    assert found.included
    assert found.count == ONCE.parties
    assert set(connect.log.asked) == QUESTIONS
    assert all(times > len(PASSING) for times in connect.log.asked.values())


@pytest.mark.parametrize(
    "error",
    [
        FaultyBoard("the log has forked"),
        Refused(RefusalReason.PHASE),
        TypeError("a mistake of ours"),
    ],
    ids=["fork", "refusal", "bug"],
)
def test_what_does_not_pass_is_raised(error: Exception) -> None:
    """The same question is answered at the second time, but is not asked twice."""
    asked = []

    async def ask() -> str:
        asked.append(1)
        if len(asked) == 1:
            raise error
        return "an answer"

    async def run(work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    with pytest.raises(type(error)):
        asyncio.run(run(lambda: shown(ask())))
    assert asyncio.run(run(lambda: shown(ask()))) == "an answer"
    asked.clear()
    with pytest.raises(type(error)):
        asyncio.run(run(lambda: until_shown(ask, EAGER)))
    assert len(asked) == 1
