"""Follows a session by reading all of its log. `specs/12-sessions.md`, section 3.

Entries are verified one by one, and kept as long as somebody may ask for them. The manifest is
found among the first entries of a session (04-S1).
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from operator import attrgetter
from typing import Final

from bulletin_board import LogReader, Submission
from gopa.contract.framing import Assembler, Message, Posted, signature_claim
from gopa.contract.manifest import MANIFEST, Roster, session_id
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Fetch
from gopa.sessions.following.follower import BoardFollower, BoardLink, Horizon, PollingPace, Sleep
from wire.ed25519 import verify_many
from wire.errors import InvalidSignature, MalformedMessage, UsageError

_LOG: Final = logging.getLogger("gopa.sessions")
_SESSION: Final = slice(2, 34)
"""Where an encoded entry names its session."""

_BATCH: Final = 256


def read_session(
    reader: LogReader, session: bytes, start: int, stop: int, executor: Executor | None = None
) -> list[Posted]:
    """The session's entries from index `start` to `stop`, in order (12-W1).

    Raises `ProtocolError`s for what does not lead to the reader's checkpoint.
    """
    return entries_of_session(reader.entries(start, stop), session, start, executor)


def entries_of_session(
    raws: Iterable[bytes], session: bytes, start: int = 0, executor: Executor | None = None
) -> list[Posted]:
    """Those of a session among all entries of a log from index `start` on.

    What is no entry, or not signed by its author, is left out: an honest board takes none,
    and nobody can be held to it.
    """
    found: list[Posted] = []
    batch: list[tuple[int, Submission]] = []
    for index, raw in enumerate(raws, start):
        if raw[_SESSION] != session:
            continue
        try:
            batch.append((index, Submission.decode(raw)))
        except MalformedMessage as error:
            _LOG.warning("entry %d is left out: %s", index, error)
        if len(batch) == _BATCH:
            found += _signed_ones(batch, executor)
            batch = []
    return found + _signed_ones(batch, executor)


async def read_again(
    link: BoardLink, session: bytes, start: int, stop: int, executor: Executor | None
) -> list[Posted]:
    """Read the session's entries between these indexes from a board, in one of its threads."""

    def work() -> list[Posted]:
        return read_session(link.client.reader(), session, start, stop, executor)

    return await link.read(work)


def _signed_ones(batch: list[tuple[int, Submission]], executor: Executor | None) -> list[Posted]:
    wrong: frozenset[int] = frozenset()
    try:
        verify_many((signature_claim(submission) for _, submission in batch), executor)
    except InvalidSignature as error:
        wrong = frozenset(error.culprits)
        _LOG.warning("%d entries are left out: %s", len(wrong), error)
    return [
        Posted(index, submission.leaf, submission.entry)
        for number, (index, submission) in enumerate(batch)
        if number not in wrong
    ]


_MOST_AUTHORS: Final = 8


class ManifestSearch:
    """Takes the entries of a session in order until one of its authors has posted its manifest.

    Whoever has an entry where a manifest stands counts, whatever kind it is of: the rules count
    so, and a party that found more manifests than they do would take part in no session.
    A manifest that somebody else than its organiser posted first ends the search: by the rules
    such a session never begins. In a lookup it shows only that something was left out.
    """

    def __init__(self, session: bytes) -> None:
        self._session = session
        self._authors: dict[bytes, Assembler] = {}
        self._spoilt = False
        self.body: bytes | None = None
        self.organiser: bytes | None = None

    def take(self, posted: Posted) -> bool:
        """Whether this entry completes the manifest."""
        entry = posted.entry
        over = self._spoilt or self.body is not None
        if over or (entry.phase, entry.round) != (Phase.ORGANISER, 0):
            return False
        author = entry.author.data
        # As many as the rules read: strangers may post any number (attack `manifest-squat`).
        if author not in self._authors and len(self._authors) == _MOST_AUTHORS:
            return False
        assembler = self._authors.setdefault(author, Assembler())
        for item in assembler.observe(posted):
            if isinstance(item, Message) and self._is_manifest(item):
                self._settle(item)
                break
        return self.body is not None

    def _settle(self, found: Message) -> None:
        """Take the manifest if its organiser posted it: who posts a copy must not pass for it."""
        self._authors.clear()
        if _organiser_in(found.body) in {None, found.author}:
            self.body, self.organiser = found.body, found.author
        else:
            self._spoilt = True

    def _is_manifest(self, message: Message) -> bool:
        first = message.kind == Kind.MANIFEST and message.seq == 0
        return first and session_id(message.body) == self._session


def _organiser_in(body: bytes) -> bytes | None:
    """Whom the manifest names; None if it cannot be read: then joining fails, and says so."""
    try:
        return MANIFEST.decode(body).organiser
    except (MalformedMessage, UsageError):
        return None


_index = attrgetter("index")


class EntryStreams:
    """Keeps the newest entries of a session by author, as they come in the order of the log.

    Kept are those of the round that is open and of the one before, for parties that lag
    behind; of a roster's session those of its parties and its organiser. From index `floor`
    on nothing of them is missing.
    """

    def __init__(self, session: bytes) -> None:
        self._search = ManifestSearch(session)
        self._authors: dict[bytes, list[Posted]] = {}
        self._allowed: frozenset[bytes] | None = None
        self._opened = 0
        self._begun = 0
        self.floor = 0
        self.oldest = 0
        self.spoken = -1

    @property
    def manifest(self) -> bytes | None:
        """The body of the manifest, once it has come."""
        return self._search.body

    @property
    def organiser(self) -> bytes | None:
        """The author of the manifest."""
        return self._search.organiser

    def take(self, posted: Posted) -> None:
        """Take the next entry of the session."""
        author = posted.entry.author.data
        if self._allowed is None or author in self._allowed:
            self._authors.setdefault(author, []).append(posted)
        if self._search.take(posted):
            self._restrict()
        if author == self._search.organiser:
            self.spoken = posted.index
            self._hear(posted)

    def controls(self, start: int, stop: int) -> tuple[Posted, ...]:
        """The organiser's entries with these indexes."""
        organiser = self._search.organiser
        return () if organiser is None else self.of(organiser, start, stop)

    def of(self, author: bytes, start: int, stop: int) -> tuple[Posted, ...]:
        """The author's entries with these indexes."""
        entries = self._authors.get(author, [])
        first = bisect_left(entries, start, key=_index)
        return tuple(entries[first : bisect_left(entries, stop, key=_index)])

    def answer(self, wanted: Fetch) -> tuple[Posted, ...]:
        """All that the fetch asks for."""
        return matching(
            wanted, (each for author in wanted.authors for each in self._authors.get(author, ()))
        )

    def _restrict(self) -> None:
        """Keep entries of the roster alone: those of strangers could fill the memory."""
        organiser, body = self._search.organiser, self._search.body
        if organiser is None or body is None:
            return
        try:
            admission = MANIFEST.decode(body).admission
        except MalformedMessage:
            return
        if isinstance(admission, Roster):
            self._allowed = frozenset({*admission.keys, organiser})
            self._authors = {a: found for a, found in self._authors.items() if a in self._allowed}

    def _hear(self, posted: Posted) -> None:
        """Forget all rounds but the last two when a new one opens."""
        entry = posted.entry
        if (entry.phase, entry.kind) != (Phase.ORGANISER, Kind.OPEN) or entry.round <= self._opened:
            return
        self.oldest, self._opened = self._opened, entry.round
        self.floor, self._begun = self._begun, posted.index
        kept = {author: self._kept(found) for author, found in self._authors.items()}
        self._authors = {author: found for author, found in kept.items() if found}

    def _kept(self, entries: Sequence[Posted]) -> list[Posted]:
        return [each for each in entries if each.entry.round >= self.oldest]


def matching(wanted: Fetch, entries: Iterable[Posted]) -> tuple[Posted, ...]:
    """Those of the entries that the fetch asks for, in the order of the log."""
    authors = frozenset(wanted.authors)
    found = [
        posted
        for posted in entries
        if posted.index < wanted.cut
        and posted.entry.phase == wanted.phase
        and posted.entry.round == wanted.round
        and posted.entry.author.data in authors
    ]
    return tuple(sorted(found, key=_index))


_PACE: Final = PollingPace()
_AT_ONCE: Final = 4_096
"""Entries between two looks at the checkpoint while a log is caught up with."""


class WholeLog(BoardFollower):
    """Reads every entry once: a `SessionLog` for many parties of a process.

    Checkpoints, bundles and signatures are verified in threads, signatures on `executor` if
    there is one. A party that waits costs nothing; what it asks for is in memory unless it
    lags more than a round behind: then the log is read again for it.
    """

    def __init__(
        self,
        link: BoardLink,
        session: bytes,
        *,
        pace: PollingPace = _PACE,
        sleep: Sleep = asyncio.sleep,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(link, session, pace, sleep)
        self._executor = executor
        self._streams = EntryStreams(session)
        self._read = 0

    async def manifest(self) -> bytes:
        """The body of the session's manifest; waits until it is in the log."""
        return await self._until(lambda: self._streams.manifest, self._growth)

    async def spoken(self, start: int) -> Horizon:
        """Wait until the organiser has an entry at index `start` or behind it."""

        def heard() -> Horizon | None:
            return self._horizon if start <= self._streams.spoken < self._horizon.size else None

        return await self._until(heard, self._speech)

    def skip(self, number: int) -> None:
        """Everything is read in any case."""

    async def controls(self, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """The organiser's entries from index `start` to the horizon, complete, in order."""
        self._require_known(horizon)
        if start >= self._streams.floor:
            return self._streams.controls(start, horizon.size)
        organiser, read = self._streams.organiser, await self._again(start, horizon.size)
        return tuple(each for each in read if each.entry.author.data == organiser)

    async def own(
        self, author: bytes, start: int, stop: int, horizon: Horizon
    ) -> tuple[Posted, ...]:
        """The entries of the party with this key, from index `start` to `stop`."""
        self._require_known(horizon)
        if start >= self._streams.floor:
            return self._streams.of(author, start, stop)
        read = await self._again(start, stop)
        return tuple(each for each in read if each.entry.author.data == author)

    async def answer(self, wanted: Fetch, horizon: Horizon) -> tuple[Posted, ...]:
        """All that the fetch asks for."""
        self._require_known(horizon)
        if wanted.cut > horizon.size:
            raise UsageError("a cut below the horizon", "cut")
        if wanted.round >= self._streams.oldest:
            return self._streams.answer(wanted)
        return matching(wanted, await self._again(0, wanted.cut))

    async def complete(self, wanted: Fetch, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """All that the fetch asks for from index `start` on."""
        found = await self.answer(wanted, horizon)
        return tuple(posted for posted in found if posted.index >= start)

    async def _look(self) -> bool:
        """Read what is new. The horizon moves when all below it has been read."""
        reader = await self._link.read(self._newer)
        if reader is None:
            return False
        while self._read < reader.size:  # however fast the log grows behind this checkpoint
            stop = min(reader.size, self._read + _AT_ONCE)
            read = partial(read_session, reader, self._session, self._read, stop, self._executor)
            for posted in await self._link.read(read):
                self._streams.take(posted)
            self._read = stop
        before, self._horizon = self._horizon, Horizon(reader.size, reader.signed.root)
        self._growth.fire()
        if self._streams.spoken >= before.size:
            self._speech.fire()
        return True

    def _newer(self) -> LogReader | None:
        """Reads the log as it is now; None if it has not grown. Runs in a thread."""
        client = self._link.client
        return client.reader() if client.update().size > self._read else None

    async def _again(self, start: int, stop: int) -> list[Posted]:
        """Reads entries that are not kept any more from the board."""
        return await read_again(self._link, self._session, start, stop, self._executor)
