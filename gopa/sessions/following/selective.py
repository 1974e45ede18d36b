"""Follows a session by asking for places of the log instead of reading all of it.

What the organiser has said is put together from lookups, round by round (12-W2).
Specification: `specs/12-sessions.md`, section 3.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from operator import attrgetter, itemgetter
from typing import Final

from bulletin_board import RefusalReason, Refused
from bulletin_board.client.http import NetworkError
from bulletin_board.display import visible
from bulletin_board.lookup import MOST_AUTHORS, VERSION, Lookup, VerifiedEntry
from gopa.contract.framing import Posted
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.party import Fetch
from gopa.sessions.following.follower import (
    BoardFollower,
    BoardLink,
    Horizon,
    PollingPace,
    Sleep,
    passes,
)
from gopa.sessions.following.whole import ManifestSearch, matching, read_again
from wire.errors import InvalidProof, MalformedMessage, UsageError

_index = attrgetter("index")
_where = itemgetter(0)
_KEPT = 2
_LAST = frozenset({Kind.MANIFEST, Kind.RESULT, Kind.ABORT})
"""Behind a message of these kinds the organiser's next one belongs to the next round."""


class Trail:
    """Keeps the organiser's newest entries, and the place (round, seq) of its next one.

    Kept are those of the round that is going on and of the one before, from index `floor` on;
    of older rounds only where they began. The next one was looked for below index `known` and
    lies at index `behind` or later: what a board has hidden once is found as soon as it is
    shown, or missed.
    """

    def __init__(self, number: int = 0) -> None:
        """The first entry that is due opens this round; the manifest is due in round 0."""
        self._entries: list[Posted] = []
        self._begun = [(0, number)]
        self.floor = 0
        self.known = 0
        self.behind = 0
        self.round = number
        self.seq = 0

    @property
    def looked(self) -> int:
        """Below this index nothing of the organiser is looked for any more."""
        return max(self.known, self.behind)

    def between(self, start: int, stop: int) -> tuple[Posted, ...]:
        """The entries with these indexes that are kept."""
        first = bisect_left(self._entries, start, key=_index)
        return tuple(self._entries[first : bisect_left(self._entries, stop, key=_index)])

    def round_at(self, index: int) -> int:
        """The round that was going on there; 0 in front of the first one."""
        return self._begun[bisect_right(self._begun, index, key=_where) - 1][1]

    def rounds(self, start: int, stop: int) -> range:
        """The rounds that were going on somewhere between these indexes, the manifest's not."""
        return range(max(1, self.round_at(start)), self.round_at(stop - 1) + 1)

    def continues(self, found: Sequence[Posted]) -> bool:
        """Whether entries of the due round leave no gap in seq."""
        due = self.seq
        for posted in found:
            if posted.entry.seq > due:
                return False
            due += posted.entry.seq == due
        return True

    def take(self, found: Sequence[Posted]) -> bool:
        """Add entries, in the order of the log; whether the due round has ended in them."""
        begun = self.round
        for posted in found:
            entry = posted.entry
            self._entries.append(posted)
            self.behind = posted.index + 1
            if entry.round > self._begun[-1][1]:
                self._begun.append((posted.index, entry.round))
            if entry.round > self.round:
                self.round, self.seq = entry.round, 0
            if entry.round == self.round and entry.seq == self.seq:
                self.seq += 1
                if entry.kind in _LAST and entry.chunk + 1 == entry.chunks:
                    self.round, self.seq = self.round + 1, 0
        self._forget()
        return self.round > begun

    def _forget(self) -> None:
        """Drop what is older than the round before the last one that has begun."""
        if len(self._begun) > _KEPT:
            self.floor = self._begun[-_KEPT][0]
            del self._entries[: bisect_left(self._entries, self.floor, key=_index)]


_LOG: Final = logging.getLogger("gopa.sessions")
_LONGEST: Final = 300
_PACE: Final = PollingPace(least=0.5, most=5.0)
_OF_PARTIES: Final = tuple(sorted(map(int, KIND_IN)))
_OF_ORGANISER: Final = (int(Phase.ORGANISER),)


class SelectiveLog(BoardFollower):
    """Reads what few parties need: a `SessionLog` for one party in a process.

    Everything is verified that a lookup shows. A lookup that cannot be trusted or had, a gap
    in what the organiser said, and a board that answers no lookups make it read the log
    instead; `readings` counts that. What a lookup hides without a gap is noticed by nobody:
    the newest message of the organiser, which then seems late, or the first of two entries
    in one slot, of which both stand in the log and convict their author.
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
        self._search = ManifestSearch(session)
        self._trail = Trail()
        self._asking = asyncio.Lock()
        self._searched = 0
        self.readings = 0

    @property
    def found(self) -> bool:
        """Whether the session's manifest has been found."""
        return self._search.body is not None

    async def manifest(self) -> bytes:
        """The body of the session's manifest; waits until it is in the log."""
        size = 0
        while self._search.body is None:
            horizon = await self.grown(size)
            async with self._asking:
                await self._find_manifest(horizon)
            size = horizon.size
        return self._search.body

    async def spoken(self, start: int) -> Horizon:
        """Wait until the organiser has an entry at index `start` or behind it."""
        size = 0
        while True:
            horizon = await self.grown(size)
            if await self.controls(start, horizon):
                return horizon
            size = horizon.size

    def skip(self, number: int) -> None:
        """Ask for nothing that the organiser said before this round."""
        if self._trail.known == 0:
            self._trail = Trail(number)

    async def controls(self, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """The organiser's next entries from index `start` on, without a gap: a round at a time."""
        self._require_known(horizon)
        async with self._asking:
            await self._find_manifest(horizon)
            if self._search.organiser is None:
                return ()
            trail = self._trail if start >= self._trail.floor else self._older(start)
            behind = trail.behind
            while trail.looked < horizon.size and not trail.between(start, horizon.size):
                await self._walk(trail, horizon)
            if trail is self._trail and trail.behind > behind:
                self._hurry()
        return trail.between(start, horizon.size)

    async def own(
        self, author: bytes, start: int, stop: int, horizon: Horizon
    ) -> tuple[Posted, ...]:
        """The party's entries of all rounds that were going on between these indexes."""
        self._require_known(horizon)
        async with self._asking:
            await self._find_manifest(horizon)
            if self._search.organiser is None:
                return ()
            while self._trail.looked < stop:
                await self._walk(self._trail, horizon)
        found: list[Posted] = []
        if start < stop:
            for number in self._trail.rounds(start, stop):
                wanted = self._wanted(horizon, number, start, _OF_PARTIES, (author,), stop)
                found += await self._looked_up(wanted, horizon)
        return tuple(sorted(found, key=lambda posted: posted.index))

    async def answer(self, wanted: Fetch, horizon: Horizon) -> tuple[Posted, ...]:
        """What the board shows of what the fetch asks for."""
        self._require_known(horizon)
        if not 0 <= wanted.cut <= horizon.size:
            raise UsageError("a cut below the horizon", "cut")
        authors = sorted(set(wanted.authors))
        found: list[Posted] = []
        for at in range(0, len(authors) if wanted.cut else 0, MOST_AUTHORS):
            some = tuple(authors[at : at + MOST_AUTHORS])
            phases = (int(wanted.phase),)
            lookup = self._wanted(horizon, wanted.round, 0, phases, some, wanted.cut)
            found += await self._looked_up(lookup, horizon)
        return matching(wanted, found)

    async def complete(self, wanted: Fetch, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """All of it from index `start` on: every entry up to the cut is read."""
        self._require_known(horizon)
        if not 0 <= wanted.cut <= horizon.size:
            raise UsageError("a cut below the horizon", "cut")
        return matching(wanted, await self._log(min(start, wanted.cut), wanted.cut))

    async def _look(self) -> bool:
        """Get the newest checkpoint; never says that the log has grown, which would hurry."""
        signed = await self._link.read(self._link.client.update)
        if signed.size <= self._horizon.size:
            return False
        self._horizon = Horizon(signed.size, signed.root)
        self._growth.fire()
        return False

    async def _find_manifest(self, horizon: Horizon) -> None:
        """Look up who posted first in the session; if that was a stranger, read the log.

        What has been read once is not read again, however long the manifest does not come.
        """
        if self._search.body is not None or horizon.size <= self._searched:
            return
        if not self._searched:
            found = await self._looked_up(self._wanted(horizon, 0, 0, _OF_ORGANISER, ()), horizon)
            if self._search_in(found) or not found:
                return
        read = await self._log(self._searched, horizon.size)
        self._searched = horizon.size
        for posted in read:
            self._search.take(posted)

    def _search_in(self, entries: Sequence[Posted]) -> bool:
        search = ManifestSearch(self._session)
        if any(search.take(posted) for posted in entries):
            self._search = search
            by_organiser = [e for e in entries if e.entry.author.data == search.organiser]
            if not self._trail.round:
                self._trail.take([each for each in by_organiser if each.entry.round == 0])
        return self._search.body is not None

    def _older(self, start: int) -> Trail:
        """A new trail for a round whose entries are not kept any more."""
        return Trail(self._trail.round_at(start))

    async def _walk(self, trail: Trail, horizon: Horizon) -> None:
        """Follow the organiser to the end of a round or to the horizon.

        What a lookup leaves out between two entries is read from the log (12-W2): a board could
        hide a close, to have the party act on a later one.
        """
        organiser = self._search.organiser
        if organiser is None:
            return
        wanted = self._wanted(horizon, trail.round, trail.behind, _OF_ORGANISER, (organiser,))
        found = await self._looked_up(wanted, horizon)
        if not trail.continues(found):
            _LOG.warning("the board leaves out what the organiser said: reading the log")
            read = await self._log(trail.behind, horizon.size)
            found = [each for each in read if each.entry.author.data == organiser]
        if not trail.take(found) or trail.behind >= horizon.size:
            trail.known = horizon.size

    def _wanted(  # noqa: PLR0913, PLR0917 - one argument for each field
        self,
        horizon: Horizon,
        number: int,
        start: int,
        phases: tuple[int, ...],
        authors: tuple[bytes, ...],
        below: int | None = None,
    ) -> Lookup:
        return Lookup(
            version=VERSION,
            session=self._session,
            round=number,
            start=start,
            below=horizon.size if below is None else below,
            size=horizon.size,
            phases=phases,
            authors=authors,
        )

    async def _looked_up(self, wanted: Lookup, horizon: Horizon) -> list[Posted]:
        """What a lookup shows, or what the log has if there is no good answer."""
        look_up = partial(self._link.client.look_up, wanted, horizon.root)
        try:
            found = await self._link.read(look_up)
        except (InvalidProof, MalformedMessage) as error:
            _LOG.warning(
                "a lookup is not answered well (%s): reading the log", visible(str(error), _LONGEST)
            )
        except Refused as refusal:
            offered = (
                refusal.reason is not RefusalReason.UNAVAILABLE or refusal.retry_after is not None
            )
            if passes(refusal) and offered:
                raise NetworkError(str(refusal)) from None
        else:
            return [_posted(each) for each in found]
        return _in_place(wanted, await self._log(wanted.start, wanted.below))

    async def _log(self, start: int, stop: int) -> list[Posted]:
        """The session's entries between these indexes, from bundles."""
        self.readings += 1
        return await read_again(self._link, self._session, start, stop, self._executor)


def _posted(found: VerifiedEntry) -> Posted:
    return Posted(found.index, found.submission.leaf, found.submission.entry)


def _in_place(wanted: Lookup, entries: Sequence[Posted]) -> list[Posted]:
    authors = frozenset(wanted.authors)
    here = [
        posted
        for posted in entries
        if posted.entry.round == wanted.round and posted.entry.phase in wanted.phases
    ]
    return [posted for posted in here if not authors or posted.entry.author.data in authors]
