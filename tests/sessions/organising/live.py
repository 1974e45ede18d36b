"""Parties in a thread that reach a real board over HTTP, driven by their state machines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from bulletin_board import Refused, Submission
from bulletin_board.client.board import BoardClient
from bulletin_board.client.http import NetworkError
from bulletin_board.tree import PastRoots
from gopa.contract.framing import Posted
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
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
from gopa.protocol.simulation.setup import permissive
from gopa.rounds.toolkit import Toolkit
from tests.board.live import client
from tests.board.waiting import LONG
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError


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
