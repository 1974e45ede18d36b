"""Recorded sessions on real boards, and boards that lie about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bulletin_board import Submission
from bulletin_board.client.board import Patience
from bulletin_board.client.http import HttpTransport, Response, Transport
from bulletin_board.client.state import ClientState, MemoryState
from bulletin_board.lookup import LOOKUP, LOOKUP_ANSWER, FoundEntry, Lookup, LookupAnswer
from bulletin_board.reader import LogReader
from bulletin_board.tree import subset_proof
from gopa.contract.framing import Posted
from gopa.protocol.party import Fetch
from gopa.protocol.simulation import Simulation
from gopa.sessions.following import (
    BoardLink,
    Horizon,
    PollingPace,
    SelectiveLog,
    SessionLog,
    WholeLog,
)
from tests.board.live import client, live_board
from tests.board.tools import anyone, new_board, open_log, trust
from tests.protocol.simulation.worlds import SCALAR, SIGNED, inputs_for, simulate
from tests.randomness import seeded

QUICK = PollingPace(least=0.01, most=0.05)


@dataclass(frozen=True)
class Recorded:
    """The log of a session that is over."""

    session: bytes
    organiser: bytes
    manifest: bytes
    parties: tuple[bytes, ...]
    raws: tuple[bytes, ...]

    def posted(self, raws: Sequence[bytes] | None = None) -> list[Posted]:
        """Entries of the session in a log with exactly these entries."""
        found = []
        for index, raw in enumerate(self.raws if raws is None else raws):
            each = Submission.decode(raw)
            if each.entry.session == self.session:
                found.append(Posted(index, each.leaf, each.entry))
        return found


@cache
def recorded(seed: int = 1, rounds: int = 1) -> Recorded:
    simulation = simulate(SCALAR, SIGNED, seed=seed)
    for number in range(rounds):
        simulation.run_round(inputs_for(SCALAR, seed + number))
    return record_of(simulation)


def record_of(simulation: Simulation) -> Recorded:
    return Recorded(
        simulation.session,
        simulation.manifest.organiser,
        simulation.manifest.to_bytes(),
        tuple(actor.author for actor in simulation.parties),
        tuple(simulation.log().entries()),
    )


def stored(root: Path, raws: Sequence[bytes]) -> Path:
    """A board's directory that holds these entries."""
    log = open_log(new_board(root))
    for at in range(0, len(raws), 500):
        log.append([Submission.decode(raw) for raw in raws[at : at + 500]])
    log.close()
    return root


@contextmanager
def board_with(root: Path, raws: Sequence[bytes]) -> Iterator[str]:
    with live_board(stored(root, raws), admission=anyone) as url:
        yield url


def link_to(
    url: str, transport: Transport | None = None, state: ClientState | None = None
) -> BoardLink:
    return BoardLink(
        url,
        trust(),
        state or MemoryState(),
        rng=seeded("link"),
        transport=transport,
        patience=Patience(4, 0.01, 0.05),
    )


def whole(url: str, session: bytes, transport: Transport | None = None) -> WholeLog:
    return WholeLog(link_to(url, transport), session, pace=QUICK)


def selective(url: str, session: bytes, transport: Transport | None = None) -> SelectiveLog:
    return SelectiveLog(link_to(url, transport), session, pace=QUICK)


def fetches(record: Recorded, choice: Callable[[Sequence[bytes]], Sequence[bytes]]) -> list[Fetch]:
    """Everything a party could ask for: each phase of each round, some authors, cuts."""
    posted = record.posted()
    places = sorted({(each.entry.round, each.entry.phase) for each in posted if each.entry.phase})
    found = []
    for number, phase in places:
        mine = [
            each.index for each in posted if (each.entry.round, each.entry.phase) == (number, phase)
        ]
        for cut in (mine[0], mine[len(mine) // 2], mine[-1] + 1):
            authors = tuple(choice(record.parties))
            found.append(Fetch(phase, number, cut, authors))  # type: ignore[arg-type]
    return found


def asked_for(posted: Sequence[Posted], wanted: Fetch) -> tuple[Posted, ...]:
    """What a fetch is for, said as plainly as can be."""
    return tuple(
        each
        for each in posted
        if each.index < wanted.cut
        and each.entry.phase == wanted.phase
        and each.entry.round == wanted.round
        and each.entry.author.data in wanted.authors
    )


def by(author: bytes, posted: Sequence[Posted], start: int, stop: int) -> tuple[Posted, ...]:
    return tuple(
        each for each in posted if each.entry.author.data == author and start <= each.index < stop
    )


async def said(log: SessionLog, start: int, horizon: Horizon) -> tuple[Posted, ...]:
    """All that the organiser said from index `start` on, asked for as a party does."""
    found: list[Posted] = []
    while piece := await log.controls(start, horizon):
        found += piece
        start = piece[-1].index + 1
    return tuple(found)


Show = Callable[[Lookup, list[FoundEntry]], list[FoundEntry]]


class Lying(HttpTransport):
    """Passes requests on; what it does to answers may be changed while it runs."""

    def __init__(self, seconds: float = 60.0) -> None:
        super().__init__(seconds=seconds)
        self.lookups = 0
        self.entries: Callable[[Lookup, list[FoundEntry]], list[FoundEntry]] = lambda _, found: (
            found
        )
        self.answer: Callable[[str, Response], Response] = lambda _, answer: answer

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        answer = super().request(method, url, body=body, media_type=media_type, limit=limit)
        if url.endswith("/v1/lookup") and answer.status == 200:
            self.lookups += 1
            answer = self._proved(url.removesuffix("/v1/lookup"), body or b"", answer)
        return self.answer(url, answer)

    def _proved(self, url: str, body: bytes, answer: Response) -> Response:
        """The entries that the liar shows, with a good proof of them."""
        wanted, honest = LOOKUP.decode(body), LOOKUP_ANSWER.decode(answer.body)
        found = self.entries(wanted, list(honest.found))
        if tuple(found) == honest.found:
            return answer
        reader: LogReader = client(url).reader()
        assert reader.size == wanted.size
        proof = subset_proof([each.index for each in found], wanted.size, reader.node)
        lie = LookupAnswer(honest.until, tuple(found), tuple(proof))
        return replace(answer, body=LOOKUP_ANSWER.encode(lie))
