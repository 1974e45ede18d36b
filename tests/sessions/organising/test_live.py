"""Organisers against a real board over HTTP: witnesses, restarts of the board, forks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.responses import PlainTextResponse

from bulletin_board import TrustPolicy
from bulletin_board.policy import WitnessGroup
from bulletin_board.sequencer import first_checkpoint
from bulletin_board.server.run import start_board
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.admission.view import Sessions
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.rules import Findings, SessionState, check_log
from gopa.sessions.organising import (
    BoardFound,
    BoardLog,
    BoardLost,
    Deadlines,
    DurableOrganiser,
    Happening,
    Heard,
    OrganiserPace,
    PhaseOpened,
    RoundEnded,
    Schedule,
    run,
)
from gopa.sessions.vault import MemoryVault
from tests.board.live import client, free_port, live_board, live_witness, serving, witnessed
from tests.board.tools import log_key, new_board, signer, trust
from tests.board.waiting import LONG, until
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import SCALAR
from tests.randomness import seeded
from tests.sessions.organising.live import LiveParties, taking_part
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

KEY = SigningKey.generate(seeded("organiser"))
KEYS = sorted(
    (SigningKey.generate(seeded(f"party {number}")) for number in range(SCALAR.parties)),
    key=lambda key: key.public.data,
)


def session(policy: TrustPolicy | None = None) -> Manifest:
    return new_manifest(
        replace(SCALAR, rounds=1),
        [key.public.data for key in KEYS],
        organiser=KEY.public.data,
        log=log_key(),
        rng=seeded("salt"),
        setting=SessionSetting(simulation=True),
        policy=policy,
    )


def index(party: int, logical: int) -> int:
    return party + logical


@dataclass
class Office:
    """An organiser in this process, with a client of its own."""

    manifest: Manifest
    url: str
    policy: TrustPolicy
    vault: MemoryVault = field(default_factory=MemoryVault)
    told: list[Happening] = field(default_factory=list)
    in_commit: float = LONG

    def run(self) -> SessionState:
        deadlines = Deadlines(LONG, LONG, {Phase.COMMIT: self.in_commit})
        organiser = DurableOrganiser(
            self.vault, self.manifest, KEY, Schedule(deadlines), rng=seeded("o"), toolkit=SWIFT
        )
        board = client(self.url, policy=self.policy, state=self.vault.board, attempts=3)
        log = BoardLog(board, self.manifest.session)
        pace = OrganiserPace(poll_seconds=0.02, outage_seconds=LONG)

        async def whole() -> SessionState:
            work = run(organiser, log, pace=pace, tell=self.told.append)
            return await asyncio.wait_for(work, 3 * LONG)

        return asyncio.run(whole())

    def ended(self) -> list[RoundEnded]:
        return [each for each in self.told if isinstance(each, RoundEnded)]

    def findings(self) -> Findings:
        entries = client(self.url, policy=self.policy).entries()
        return check_log(entries, SWIFT, rng=seeded("auditor"), session=self.manifest.session)


@pytest.mark.slow
def test_closes_carry_what_witnesses_have_cosigned(tmp_path: Path) -> None:
    sessions = Sessions()
    with live_witness(tmp_path, 1) as first, live_witness(tmp_path, 2) as second:
        policy = witnessed(2, first, second)
        manifest = session(policy)
        with live_board(tmp_path / "board", policy=policy, admission=sessions.policy) as url:
            office = Office(manifest, url, policy)
            parties = LiveParties(manifest, KEYS, index, SWIFT)
            with taking_part(parties, url, policy=policy):
                state = office.run()
                assert until(lambda: all(each.finished for each in parties.members))
            assert state.over
            assert [each.included for each in office.ended()] == [SCALAR.parties]
            found = office.findings()
            assert found.complete
            assert not found.faults
            assert not [each for each in parties.members if each.halted]


@contextmanager
def board_at(port: int, root: Path) -> Iterator[str]:
    """A board that comes back under the same address."""
    from bulletin_board.storage.directory import BoardDirectory

    place = BoardDirectory(root) if root.exists() else new_board(root)
    with ExitStack() as stack:
        app = start_board(place, signer(), trust(), Sessions().policy, stack)
        yield stack.enter_context(serving(app, port))


class LyingProxy:
    """Stands in front of a board, and gives as many wrong answers as it has, in this order.

    Each is for one path, with its status and its body; all other requests reach the board.
    """

    def __init__(self, app: ASGIApp, wrong: list[tuple[str, int, bytes]]) -> None:
        self._app, self.wrong = app, wrong

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.wrong or scope.get("path") != self.wrong[0][0]:
            await self._app(scope, receive, send)
            return
        _, status, body = self.wrong.pop(0)
        await PlainTextResponse(body, status)(scope, receive, send)


@pytest.mark.slow
def test_wrong_answers_of_a_proxy_do_not_end_a_session(tmp_path: Path) -> None:
    """A deployment, a cache or somebody on the way: parties go on, and so does the organiser."""
    checkpoint, posts = "/checkpoint", "/v1/entries"
    manifest, place = session(), new_board(tmp_path / "board")
    office = Office(manifest, "", trust())
    with ExitStack() as stack:
        app = start_board(place, signer(), trust(), Sessions().policy, stack)
        url = stack.enter_context(serving(app, free_port()))
        lies = [(checkpoint, 404, b"not found\n")] * 8
        lies += [(checkpoint, 200, b"<html>try later</html>\n")] * 8
        lies += [(posts, 201, b"thanks")] * 4
        lies += [(checkpoint, 200, first_checkpoint(signer("another.example/1")))] * 8
        proxy = LyingProxy(app, lies)
        office.url = stack.enter_context(serving(proxy, free_port()))
        parties = LiveParties(manifest, KEYS, index, SWIFT)
        with taking_part(parties, url):
            state = office.run()
        assert state.over
        assert not proxy.wrong
        assert [each.included for each in office.ended()] == [SCALAR.parties]
        assert not office.findings().faults


@pytest.mark.slow
def test_board_that_restarts_in_the_middle(tmp_path: Path) -> None:
    manifest, port, root = session(), free_port(), tmp_path / "board"
    url = f"http://127.0.0.1:{port}"
    office = Office(manifest, url, trust())
    parties = LiveParties(manifest, KEYS, index, SWIFT)
    parties.members[3].silent = frozenset({Phase.COMMIT})
    ends: list[SessionState] = []
    thread = threading.Thread(target=lambda: ends.append(office.run()), daemon=True)

    def waits_for_one() -> bool:
        return any(
            isinstance(each, PhaseOpened | Heard)
            and (each.phase, each.expected) == (Phase.COMMIT, 1)
            for each in list(office.told)
        )

    office.in_commit = 8.0
    with board_at(port, root), taking_part(parties, url):
        thread.start()
        assert until(waits_for_one)
    assert until(lambda: any(isinstance(each, BoardLost) for each in list(office.told)))
    with board_at(port, root), taking_part(parties, url):
        thread.join(2 * LONG)
        assert [each.over for each in ends] == [True]
        assert any(isinstance(each, BoardFound) for each in office.told)
        assert [each.included for each in office.ended()] == [SCALAR.parties - 1]
        found = office.findings()
        assert found.complete
        assert not found.faults


def test_board_without_its_quorum_is_waited_for(tmp_path: Path) -> None:
    """A checkpoint that the quorum did not cosign is no reason to go on."""
    with live_witness(tmp_path, 1) as first, live_witness(tmp_path, 2) as second:
        two = witnessed(2, first, second)
        manifest = session(two)
        one = replace(two, groups={"all": WitnessGroup(1, tuple(two.witnesses))})
        with live_board(tmp_path / "board", policy=one) as url:
            office = Office(manifest, url, two)
            log = BoardLog(client(url, policy=two, attempts=1), manifest.session)

            async def look() -> None:
                await log.newest()

            with pytest.raises(ProtocolError):
                asyncio.run(look())
            assert not office.told
