"""A session followed by reading all of its log. `specs/12-sessions.md`, section 3."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from functools import partial
from typing import Final

from bulletin_board import LogReader
from gopa.messages.framing import Posted
from gopa.party import Fetch
from gopa.sessions.following.follower import BoardFollower, BoardLink, PollingPace, Sleep
from gopa.sessions.following.interface import Horizon
from gopa.sessions.following.streams import EntryStreams, matching, read_session
from wire.errors import UsageError

_PACE: Final = PollingPace()
_AT_ONCE: Final = 4_096
"""Entries between two looks at the checkpoint while a log is caught up with."""


class WholeLog(BoardFollower):
    """A `SessionLog` that reads every entry once, for all parties of a process.

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
        """The same of the party with this key, up to index `stop`."""
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
        """The same, without what stands below index `start`."""
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
        """In a thread: the log as it is now, if it has grown."""
        client = self._link.client
        return client.reader() if client.update().size > self._read else None

    async def _again(self, start: int, stop: int) -> list[Posted]:
        """What is not kept any more, from the board."""

        def work() -> list[Posted]:
            reader = self._link.client.reader()
            return read_session(reader, self._session, start, stop, self._executor)

        return await self._link.read(work)
