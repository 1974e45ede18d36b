"""Organisers against a real board over HTTP: witnesses, restarts of the board, forks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.responses import PlainTextResponse

from bulletin_board import Refused, Submission, TrustPolicy
from bulletin_board.client.board import BoardClient
from bulletin_board.client.http import NetworkError
from bulletin_board.policy import WitnessGroup
from bulletin_board.sequencer import first_checkpoint
from bulletin_board.server.run import start_board
from bulletin_board.tree import PastRoots
from gopa.contract.framing import Posted
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.admission.view import Sessions
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.party import (
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    Party,
    PartyState,
    Post,
    Supplied,
    with_root,
)
from gopa.protocol.party.events import Witnessed
from gopa.protocol.rules import Findings, SessionState, check_log
from gopa.protocol.simulation.setup import permissive
from gopa.rounds.toolkit import Toolkit
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
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass
class Member:
    """One party; `silent` are phases in which it says nothing."""

    party: Party
    key: SigningKey
    state: PartyState
    silent: frozenset[Phase] = frozenset()
    finished: list[Finished] = field(default_factory=list)
    halted: ProtocolError | None = None

    @property
    def author(self) -> bytes:
        return self.key.public.data


class LiveParties:
    """Everybody of a roster, with values for all rounds."""

    def __init__(
        self,
        manifest: Manifest,
        keys: Sequence[SigningKey],
        values: Callable[[int, int], int],
        toolkit: Toolkit | None = None,
    ) -> None:
        self._manifest, self._session = manifest, manifest.session
        self.members: list[Member] = []
        self._entries: list[Posted] = []
        self._leaves: list[bytes] = []
        self._past = PastRoots(self._leaves)
        self._read = 0
        for index, key in enumerate(keys):
            rng = seeded(f"live party {index}")
            party = Party(manifest, key, permissive(manifest.terms), rng=rng, toolkit=toolkit)
            member = Member(party, key, party.start())
            self.members.append(member)
            for logical in range(manifest.terms.rounds):
                row = (values(index, logical),) * manifest.terms.dimension
                self._tell(member, Supplied(logical, row))

    def follow(self, board: BoardClient, stop: threading.Event) -> None:
        """Until it is told to stop: a board that is away is asked again."""
        while not stop.is_set():
            with suppress(NetworkError, ProtocolError):
                self._catch_up(board)
            time.sleep(0.02)

    def _catch_up(self, board: BoardClient) -> None:
        reader = board.reader()
        said: list[Post] = []
        for index, raw in enumerate(reader.entries(self._read, reader.size), self._read):
            self._read = index + 1
            submission = Submission.decode(raw)
            self._leaves.append(submission.leaf)
            if submission.entry.session != self._session:
                continue
            posted = Posted(index, submission.leaf, submission.entry)
            self._entries.append(posted)
            for member in self._concerned(posted):
                if posted.entry.author.data == self._manifest.organiser:
                    self._tell(member, Witnessed(reader.size, reader.signed.root))
                said += self._tell(member, posted)
        for raw in (raw for post in said for raw in post.entries):
            try:
                board.submit(raw)
            except Refused:
                continue

    def _concerned(self, posted: Posted) -> Iterator[Member]:
        author = posted.entry.author.data
        for member in self.members:
            if author in {self._manifest.organiser, member.author}:
                yield member

    def _tell(self, member: Member, event: Event) -> list[Post]:
        said: list[Post] = []
        if isinstance(event, Posted):
            event = with_root(member.state.chain, event, self._root_at)
        waiting = [event]
        while waiting:
            member.state, outputs = member.party.step(member.state, waiting.pop(0))
            for output in outputs:
                if isinstance(output, Post) and output.phase not in member.silent:
                    said.append(output)
                elif isinstance(output, Fetch):
                    waiting.append(Fetched(output.phase, self._answer(output)))
                elif isinstance(output, Finished):
                    member.finished.append(output)
                elif isinstance(output, Halted):
                    member.halted = output.error
        return said

    def _root_at(self, size: int) -> bytes:
        root = self._past.at(size)
        assert root is not None
        return root

    def _answer(self, wanted: Fetch) -> tuple[Posted, ...]:
        return tuple(
            each
            for each in self._entries
            if each.index < wanted.cut
            and (each.entry.phase, each.entry.round) == (wanted.phase, wanted.round)
            and each.entry.author.data in wanted.authors
        )


@contextmanager
def taking_part(parties: LiveParties, url: str, **options: object) -> Iterator[LiveParties]:
    """In a thread of its own; `options` are those of the board's client."""
    stop = threading.Event()
    board = client(url, **options)  # type: ignore[arg-type]
    thread = threading.Thread(target=parties.follow, args=(board, stop), daemon=True)
    thread.start()
    try:
        yield parties
    finally:
        stop.set()
        thread.join(LONG)


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
