"""Boards that hide entries from those who ask for places: nobody is accused for that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.client.http import Response
from bulletin_board.entry import Submission
from bulletin_board.lookup import LOOKUP, LOOKUP_ANSWER, FoundEntry, Lookup, LookupAnswer
from bulletin_board.tree import subset_proof
from gopa.contract.phases import Phase
from gopa.sessions.contribution import Contribution
from gopa.sessions.following import SelectiveLog
from tests.board.live import client
from tests.protocol.simulation.worlds import FEW
from tests.sessions.hostile.worlds import Gate, Through, World, of, sooner, world

ONCE = replace(FEW, rounds=1, attempts=1, charged=0)
Hides = Callable[[Lookup, FoundEntry], bool]


class Hiding(Gate):
    """Shows of what a lookup finds only some, with a good proof."""

    def __init__(self, address: str, hides: Hides) -> None:
        super().__init__(address)
        self.hides = hides
        self.hidden = 0

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        answer = super().request(method, url, body=body, media_type=media_type, limit=limit)
        if not url.endswith("/v1/lookup") or answer.status != 200:
            return answer
        wanted, honest = LOOKUP.decode(body or b""), LOOKUP_ANSWER.decode(answer.body)
        shown = tuple(each for each in honest.found if not self.hides(wanted, each))
        if shown == honest.found:
            return answer
        self.hidden += len(honest.found) - len(shown)
        node = client(self._address).reader().node
        proof = subset_proof([each.index for each in shown], wanted.size, node)
        lie = LookupAnswer(honest.until, shown, tuple(proof))
        return replace(answer, body=LOOKUP_ANSWER.encode(lie))


def of_neighbours(phase: Phase) -> Hides:
    """One of the others in a phase, from whoever asks for several."""

    def hides(wanted: Lookup, found: FoundEntry) -> bool:
        entry = Submission.decode(found.entry).entry
        asked = wanted.phases == (int(phase),) and len(wanted.authors) > 1
        return asked and entry.author.data == wanted.authors[0]

    return hides


def of_their_own(phase: Phase) -> Hides:
    """What somebody has said itself, from whoever asks for one author."""

    def hides(wanted: Lookup, found: FoundEntry) -> bool:
        entry = Submission.decode(found.entry).entry
        alone = len(wanted.authors) == 1 and Phase.ORGANISER not in wanted.phases
        return alone and entry.phase == phase

    return hides


async def session(here: World, hides: Hides, parties: int) -> tuple[list[object], list[int]]:
    """One round of so many parties, to all of whom the board lies; how often each read the log."""
    organiser_run = here.start_organiser()
    for number in range(parties):
        here.enter(number, Through(Hiding(here.ticket.board, hides)))
    offers = here.offers()
    await sooner(lambda: len(of(here.entries(), Phase.JOIN)) == parties)
    if parties < len(here.identities):
        await here.overdue(organiser_run, Phase.JOIN)
    got = await asyncio.gather(*offers, return_exceptions=True)
    logs = [m._access.log for c in here.clients for m in c._memberships.values()]
    readings = [log.readings for log in logs if isinstance(log, SelectiveLog)]
    await here.leave(*offers)
    await organiser_run.stop()
    return list(got), readings


@pytest.mark.thirds
@pytest.mark.parametrize("phase", [Phase.COMMIT, Phase.CONFIRM])
@pytest.mark.parametrize("parties", [ONCE.parties, ONCE.survivors])
def test_neighbours_that_are_hidden_are_found_in_the_log(
    phase: Phase, parties: int, tmp_path: Path
) -> None:
    with world(tmp_path, ONCE) as here:
        got, readings = asyncio.run(session(here, of_neighbours(phase), parties))
        require_harmless(here, got, parties)
    assert min(readings) >= 1


@pytest.mark.thirds
@pytest.mark.parametrize("phase", [Phase.JOIN, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM])
def test_own_entries_that_are_hidden_make_nobody_guilty(phase: Phase, tmp_path: Path) -> None:
    """Nobody can be spared: whoever counts itself out would find too few."""
    with world(tmp_path, ONCE) as here:
        got, _ = asyncio.run(session(here, of_their_own(phase), ONCE.survivors))
        require_harmless(here, got, ONCE.survivors)


def test_an_honest_board_is_not_read(tmp_path: Path) -> None:
    with world(tmp_path, ONCE) as here:
        got, readings = asyncio.run(session(here, lambda _, __: False, ONCE.survivors))
        require_harmless(here, got, ONCE.survivors, hidden=False)
    assert max(readings) == 0


def require_harmless(here: World, got: list[object], parties: int, *, hidden: bool = True) -> None:
    """The board did lie; all are in the result all the same, and nobody accused anybody."""
    gates = [way.gate for way in here.ways]
    assert all(isinstance(gate, Hiding) and bool(gate.hidden) is hidden for gate in gates)
    assert not [each for each in [*here.entries(), *here.sent()] if each.phase == Phase.ACCUSE]
    assert here.findings().faults == ()
    for each in got:
        assert isinstance(each, Contribution), each
        assert each.included
        assert each.count == parties
