"""Runs a party that lies in a session over HTTP: a simulated party, on a real board."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bulletin_board import Entry, RefusalReason, Refused, Submission
from bulletin_board.client.state import MemoryState
from gopa.adversary.boards.clients import BRIEF
from gopa.adversary.boards.transport import TamperedTransport
from gopa.contract.framing import Posted
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.party import Event, Party, Post, Supplied, Witnessed
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.board import SimulatedBoard, size_of
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.script import Behaviour
from gopa.protocol.simulation.setup import permissive
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.contribution import RoundProgress
from gopa.sessions.following import BoardLink
from gopa.sessions.ticket import Ticket
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError
from wire.randomness import Rng

_NAP_SECONDS: Final = 0.03
_RULES: Final[Mapping[RefusalReason, str]] = {
    RefusalReason.PHASE: "04-C2",
    RefusalReason.UNREGISTERED: "04-J1",
    RefusalReason.TOO_LARGE: "04-S4",
}


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """Something that a board did not take."""

    entry: Entry
    reason: RefusalReason


def rule_of(found: TurnedAway) -> str:
    """The rule by which the board did so; empty where it is another's, as that of conflicts."""
    if found.reason is RefusalReason.SEQUENCE:
        return "04-E1" if found.entry.chunk else "04-E2"
    return _RULES.get(found.reason, "")


@dataclass(frozen=True, slots=True)
class OpenedPhase:
    """A phase, and where in the log its opening ends."""

    phase: Phase
    index: int


class LyingParty:
    """A party that hears a log entry by entry, and says what its behaviours make of its messages.

    It needs no network: whoever runs it reads for it, and posts what it says.
    """

    def __init__(  # noqa: PLR0913 - what a party is made of
        self,
        number: int,
        manifest: Manifest,
        key: SigningKey,
        *,
        copy: SimulatedBoard,
        rows: Sequence[tuple[int, ...]],
        behaviours: Sequence[Behaviour],
        rng: Rng = os.urandom,
    ) -> None:
        """`copy` is an empty log; `rows` what it has to contribute in each round, on the grid."""
        toolkit, self._session = Toolkit(), manifest.session
        policy = permissive(manifest.terms)
        party = Party(manifest, key, policy, rng=rng, toolkit=toolkit, session=self._session)
        state = party.start()
        access = PartyAccess(
            index=number,
            session=self._session,
            manifest=manifest,
            toolkit=toolkit,
            key=key,
            rng=rng,
            board=copy,
            before=state,
            state=state,
        )
        self.copy, self.simulated = copy, SimulatedParty(party, access, tuple(behaviours))
        self.opened: OpenedPhase | None = None
        self._rows, self._supplied, self.finished = tuple(rows), 0, -1
        self._organiser, self._progress = manifest.organiser, RoundProgress(manifest)

    def read(self, raws: Sequence[bytes], size: int, root: bytes) -> Sequence[Posted]:
        """Takes entries that the log has and the copy had not, below a checkpoint."""
        fresh = self.copy.post(list(raws))
        if fresh:
            self._tell(Witnessed(size, root))
        return fresh

    def hear(self, posted: Posted) -> list[Post]:
        """What it says to an entry of the log."""
        author = posted.entry.author.data
        if author == self._organiser:
            return self._obey(posted)
        return self._tell(posted) if author == self.simulated.author else []

    def _obey(self, posted: Posted) -> list[Post]:
        """To a message of the organiser, with last words before it and words behind it."""
        news, said = self._progress.hear(posted), list[Post]()
        before, self.opened = self.opened, self.opened if news is None else None
        if news is not None:
            if before is not None:
                said += self.finish(before)
            if news.opens is not None:
                self.opened = OpenedPhase(news.opens, posted.index)
            if news.logical >= self._supplied:
                self._supplied = news.logical + 1
                said += self._tell(Supplied(news.logical, self._rows[news.logical]))
        said += self._tell(posted)
        if news is not None and before is not None:
            said += self.simulated.after(before.phase)
        return said

    def finish(self, opened: OpenedPhase) -> list[Post]:
        """Its last words of a phase, once."""
        if self.finished >= opened.index:
            return []
        self.finished = opened.index
        return self.simulated.last_words(opened.phase)

    def _tell(self, event: Event) -> list[Post]:
        return self.simulated.tell(
            event,
            lambda wanted: self.copy.fetch(wanted, self._session),
            lambda entries: size_of(self.copy, entries),
        )


class LyingClient:
    """A client that reads the whole log, and posts what a party that lies says to it.

    `turned_away` is what the board did not take, `failed` what else went wrong on the way.
    """

    def __init__(
        self, number: int, ticket: Ticket, transport: TamperedTransport, party: LyingParty
    ) -> None:
        self.number, self.transport = number, transport
        self.turned_away: list[TurnedAway] = []
        self.failed: list[ProtocolError] = []
        self._asked = -1
        self._party = party
        self._link = BoardLink(
            ticket.board,
            ticket.trust,
            MemoryState(),
            rng=os.urandom,
            transport=transport,
            patience=BRIEF,
        )
        self._task = asyncio.create_task(self._run())

    @property
    def key(self) -> bytes:
        """What stands on the roster."""
        return self._party.simulated.author

    def finish(self, opened_at: int) -> bool:
        """Everybody else has spoken in the phase that was opened there: now it is up to this one.

        Whether all that it has to say there has been posted. Ask again until it has.
        """
        self._asked = opened_at
        return self._task.done() or self._party.finished >= opened_at

    @property
    def error(self) -> BaseException | None:
        """The error that its behaviours raised; none of that is an answer of the board."""
        if not self._task.done() or self._task.cancelled():
            return None
        return self._task.exception()

    async def leave(self) -> None:
        """Stop the party and its link."""
        self._task.cancel()
        await asyncio.wait({self._task})
        await self._link.close()

    async def _run(self) -> None:
        while self._party.simulated.halted is None:
            asked = self._asked  # before it reads: then what others have said is in the copy
            try:
                for posted in await self._link.read(self._read):
                    await self._link.read(partial(self._hear, posted))
                opened = self._party.opened
                if opened is not None and opened.index == asked:
                    await self._link.read(partial(self._finish, opened))
            except ProtocolError as error:
                self.failed.append(error)
            await asyncio.sleep(_NAP_SECONDS)

    def _read(self) -> Sequence[Posted]:
        """What the log has and the copy had not."""
        reader, size = self._link.client.reader(), self._party.copy.size
        fresh = list(reader.entries(min(size, reader.size)))
        return self._party.read(fresh, reader.size, reader.signed.root)

    def _hear(self, posted: Posted) -> None:
        self._post(self._party.hear(posted))

    def _finish(self, opened: OpenedPhase) -> None:
        self._post(self._party.finish(opened))

    def _post(self, posts: Sequence[Post]) -> None:
        """What the board takes of it."""
        for raw in (raw for post in posts for raw in post.entries):
            try:
                self._link.client.submit(raw)
            except Refused as error:
                entry = Submission.decode(raw).entry
                self.turned_away.append(TurnedAway(entry, error.reason))
            except ProtocolError as error:
                self.failed.append(error)
