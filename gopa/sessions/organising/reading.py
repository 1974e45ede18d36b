"""Reads all of a log for an organiser, posts to it, and tells where a session stands.

Specification: 12-W1 and 12-W2. A status is read without checking proofs.
Entries are verified: they are in the log, and their authors have signed them. That the organiser
keeps the rules is for an audit to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Final, Protocol

from bulletin_board import Entry, LogReader, SignedCheckpoint, Submission
from gopa.contract.framing import Assembler, Message, Posted, signature_claim
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, AbortReason, Released, ResultMessage, RollEntry
from gopa.contract.phases import Kind, Phase
from gopa.protocol.admission.tracker import TrackedSession
from gopa.sessions.following.follower import Horizon
from gopa.sessions.ticket import Ticket, checked_manifest
from wire.ed25519 import verify_many
from wire.errors import UsageError

PIECE: Final = 2048
"""Entries that are read at once."""


class OrganiserLog(Protocol):
    """Shows all of a log, verified, and posts to it."""

    async def newest(self) -> tuple[Horizon, bytes]:
        """The newest checkpoint that satisfies the policy and extends all before; its bytes."""

    async def entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        """All entries of the session from index `start` to `stop`, below the newest checkpoint."""

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        """Post in this order; returns when the log has promised all of them."""


class OpenBoard(Protocol):
    """Is what an organiser needs of a board: a `BoardClient`, or a log of this process."""

    def update(self) -> SignedCheckpoint:
        """The newest checkpoint that holds."""

    def reader(self) -> LogReader:
        """All of the log below the newest checkpoint."""

    def submit(self, entry: bytes) -> object:
        """Post an entry; raises `Refused` if the board does not take it."""


class BoardLog:
    """Reads and posts to the log of a board, through a client that has the session's policy.

    One call at a time. `executor` verifies signatures.
    """

    def __init__(self, client: OpenBoard, session: bytes, executor: Executor | None = None) -> None:
        self._client = client
        self._session = session
        self._executor = executor
        self._reader: LogReader | None = None

    async def newest(self) -> tuple[Horizon, bytes]:
        signed = await asyncio.to_thread(self._client.update)
        if self._reader is None or signed.size > self._reader.size:
            self._reader = await asyncio.to_thread(self._client.reader)
        signed = self._reader.signed
        return Horizon(signed.size, signed.root), signed.to_bytes()

    async def entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        return await asyncio.to_thread(self._entries, start, stop)

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        for raw in entries:
            await asyncio.to_thread(self._client.submit, raw)

    def _entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        if self._reader is None:
            raise UsageError("entries lie below a checkpoint: ask for the newest one first")
        found: list[tuple[int, Submission]] = []
        for index, raw in enumerate(self._reader.entries(start, stop), start):
            submission = Submission.decode(raw)
            if submission.entry.session == self._session:
                found.append((index, submission))
        verify_many((signature_claim(each) for _, each in found), self._executor)
        return tuple(Posted(index, each.leaf, each.entry) for index, each in found)


def _is_phase(entry: Entry) -> bool:
    return 0 < entry.phase < len(Phase)


def culprits_of(abort: Abort, roll: Sequence[RollEntry]) -> tuple[bytes, ...]:
    """The keys of those that an abort names; positions behind the roll name nobody."""
    return tuple(roll[place].author for place in abort.culprits if place < len(roll))


@dataclass(frozen=True, slots=True)
class FinishedRound:
    """Says how a round ended; `included` are the keys of those in the result.

    `culprits` are the keys of those that an abort found missing or wrong, as the organiser says.
    `cut_off` are messages that were in the log before an abort and that its cut left out.
    `vetoed`: as far as their number tells, the round would have gone on (04-X7).
    """

    round: int
    logical: int
    attempt: int
    joined: int
    outcome: ResultMessage | Abort
    included: tuple[bytes, ...]
    culprits: tuple[bytes, ...] = ()
    cut_off: tuple[int, ...] = ()
    vetoed: bool = False


@dataclass(frozen=True, slots=True)
class OpenRound:
    """Says where the round stands that is going on.

    `step` counts rollbacks from 1 and is 0 elsewhere. `present` are the keys of those still
    in it, as the last close says (whoever has joined, before the roll is known), `posted` of
    those who have said something in the phase.
    """

    round: int
    logical: int
    attempt: int
    phase: Phase | None
    step: int
    present: tuple[bytes, ...]
    posted: tuple[bytes, ...]


@dataclass(slots=True)
class SessionStatus:
    """Collects what the log shows so far. Feed it every entry of the session, in order."""

    ticket: Ticket
    manifest: Manifest | None = None
    past: list[FinishedRound] = field(default_factory=list)
    unreadable: bool = False
    _said: list[tuple[int, int, bytes]] = field(default_factory=list)
    _first: int = 0
    _session: TrackedSession | None = None
    _assembler: Assembler = field(default_factory=Assembler)

    def take(self, entries: Iterable[Posted]) -> None:
        """Take entries; raises `ProtocolError`s for a manifest that is not the ticket's."""
        for posted in entries:
            if self._session is None:
                self._begin(posted)
            elif posted.entry.author.data == self._session.manifest.organiser:
                self._control(self._session, posted)
            else:
                self._party(self._session, posted)

    @property
    def open(self) -> OpenRound | None:
        """The round that is going on, if there is one."""
        if self._session is None or self._session.round is None:
            return None
        found = self._session.round
        if found.ended is not None:
            return None
        phase = found.opens
        posted = {
            author
            for (author, in_phase), progress in found.streams.items()
            if in_phase == phase and progress.whole
        }
        floors = found.floors if phase is Phase.ROLLBACK else {}
        said = [
            author
            for author in posted
            if found.streams[author, phase or 0].whole > floors.get(author, 0)
        ]
        return OpenRound(
            found.number,
            found.logical,
            found.attempt,
            phase,
            found.step if phase is Phase.ROLLBACK else 0,
            self._present(self._session),
            tuple(sorted(said)),
        )

    def _begin(self, posted: Posted) -> None:
        """Take the first whole message that hashes to the session as its manifest (04-S1)."""
        for item in self._assembler.observe(posted):
            if isinstance(item, Message) and item.kind == Kind.MANIFEST and item.round == 0:
                self.manifest = checked_manifest(self.ticket, item.body)
                self._session = TrackedSession.of(self.manifest)

    def _control(self, session: TrackedSession, posted: Posted) -> None:
        before = session.round
        ended = before is not None and before.ended is not None
        phase = None if before is None else before.opens
        if posted.entry.phase == Phase.ORGANISER:
            self._first = self._first if posted.entry.chunk else posted.index
            session.take_control(posted.entry)
        self.unreadable = session.broken
        found = session.round
        if found is None or found.ended is None or (ended and found is before):
            return
        included = self._present(session) if isinstance(found.ended, ResultMessage) else ()
        roll = () if found.roll is None else found.roll.parties
        culprits = culprits_of(found.ended, roll) if isinstance(found.ended, Abort) else ()
        cut_off, vetoed = self._left_out(session, found.ended, phase)
        where = found.number, found.logical, found.attempt
        past = FinishedRound(*where, len(roll), found.ended, included, culprits, cut_off, vetoed)
        self.past.append(past)

    def _party(self, session: TrackedSession, posted: Posted) -> None:
        entry, author = posted.entry, posted.entry.author.data
        found = session.round
        before = session.progress(author, Phase(entry.phase)).whole if _is_phase(entry) else 0
        session.take_party(entry)
        if found is None or entry.round != found.number or not _is_phase(entry):
            return
        if session.progress(author, Phase(entry.phase)).whole > before:
            self._said.append((posted.index, entry.phase, author))

    def _left_out(
        self, session: TrackedSession, ended: ResultMessage | Abort, phase: Phase | None
    ) -> tuple[tuple[int, ...], bool]:
        """What an abort cut off, and whether so many would have been enough."""
        said = [each for each in self._said if each[0] < self._first and each[1] == phase]
        self._said.clear()
        if not isinstance(ended, Abort) or phase is None:
            return (), False
        released = ended.released is Released.MASKED
        present = set(self._present(session))
        heard = present.intersection(author for *_, author in said)
        cut_off = tuple(index for index, *_ in said if index >= ended.cut)
        enough = len(heard) >= session.manifest.terms.survivors
        if phase in {Phase.UNMASK, Phase.RECOVER}:
            recovers = session.manifest.terms.threshold is not None
            enough = heard == present or recovers
        own = ended.reason is AbortReason.ORGANISER
        return cut_off, enough and (released if own else bool(cut_off))

    def _present(self, session: TrackedSession) -> tuple[bytes, ...]:
        found = session.round
        if found is None:
            return ()
        if found.roll is None:
            return tuple(sorted(found.joining))
        places: Iterable[int] = range(len(found.roll.parties))
        if found.final is not None:
            places = found.final
        elif found.lists:
            places = found.lists[-1][1]
        return tuple(found.roll.parties[place].author for place in sorted(places))
