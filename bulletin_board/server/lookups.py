"""Answers lookups: with bounded work, beside the writer and never in its way.

Specification: `specs/05-bulletin-board.md`, section 11.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.entry import Submission
from bulletin_board.lookup import (
    LOOKUP,
    LOOKUP_ANSWER,
    MOST_FOUND,
    MOST_FOUND_BYTES,
    FoundEntry,
    Lookup,
    LookupAnswer,
)
from bulletin_board.reader import LARGEST_TILE, Source
from bulletin_board.server.public_files import OutgrownFiles
from bulletin_board.storage import StorageError
from bulletin_board.storage.sqlite import IndexReader, TooManyRows
from bulletin_board.tree import (
    LARGEST_BUNDLE,
    TILE_WIDTH,
    Tile,
    TileNodes,
    bundle_at,
    consistency_proof,
    decode_bundle,
    decode_tile,
    subset_proof,
)
from wire.errors import MalformedMessage, ProtocolError

_SIZES_KEPT = 8
_SESSIONS_KEPT = 4_096
_PAUSE = 0.002
_PAUSES = 5


@dataclass(frozen=True, slots=True)
class LookupLimits:
    """Bounds of what lookups cost: rows of the index, bytes of bundles, memory, a queue."""

    waiting: int = 64
    rows: int = 4_096
    session_rows: int = 1_000_000
    bundle_bytes: int = 2**25
    cache_bytes: int = 2**26


class LookupService:
    """The finder of entries by place. One thread works, and posts that wait go before it.

    `size` is the number of committed and published entries, None while the log is closed;
    `busy` says whether posts wait.
    """

    def __init__(
        self,
        places: IndexReader,
        public: Source,
        size: Callable[[], int | None],
        busy: Callable[[], bool] = lambda: False,
        limits: LookupLimits = LookupLimits(),
    ) -> None:
        self._places = places
        self._size = size
        self._busy = busy
        self._limits = limits
        self._bundles = _Bundles(OutgrownFiles(public), limits.cache_bytes)
        self._trees = _Trees(OutgrownFiles(public))
        self._first: OrderedDict[bytes, int] = OrderedDict()
        self._worker = ThreadPoolExecutor(1, "board-lookups")
        self._waiting = threading.BoundedSemaphore(limits.waiting)

    async def answer(self, request: bytes) -> bytes:
        """The encoded answer. Raises `Refused`."""
        try:
            wanted = LOOKUP.decode(request)
        except MalformedMessage as error:
            raise Refused(RefusalReason.LOOKUP, str(error)) from None
        return await self._in_turn(lambda: self._answer(wanted))

    async def consistency(self, older: int, newer: int) -> bytes:
        """The hashes that show that one tree extends the other. Raises `Refused`."""
        if not 0 < older <= newer:
            raise Refused(RefusalReason.LOOKUP, "0 < older size <= newer size")
        return await self._in_turn(lambda: self._consistency(older, newer))

    async def _in_turn(self, work: Callable[[], bytes]) -> bytes:
        if not self._waiting.acquire(blocking=False):
            raise Refused(RefusalReason.BUSY, "too many lookups wait", 1)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, work)
        finally:
            self._waiting.release()

    def close(self) -> None:
        """Answer what waits, then stop."""
        self._worker.shutdown()
        self._places.close()

    def _current(self, wanted: int) -> int:
        """How many entries the log has: at least as many as wanted."""
        size = self._size()
        if size is None or wanted > size:
            raise Refused(RefusalReason.UNAVAILABLE, "the log does not have so many entries yet", 1)
        return size

    def _consistency(self, older: int, newer: int) -> bytes:
        """Little work, and whoever posts asks for it: it lets nobody go first."""
        self._current(newer)
        try:
            return b"".join(consistency_proof(older, newer, self._trees.nodes(newer)))
        except ProtocolError as error:
            raise Refused(RefusalReason.UNAVAILABLE, str(error), 1) from None

    def _answer(self, wanted: Lookup) -> bytes:
        self._let_posts_go_first()
        size = self._current(wanted.size)
        try:
            answer = self._found(wanted, size)
        except TooManyRows:
            raise Refused(
                RefusalReason.TOO_WIDE, "ask for fewer authors, or read the log"
            ) from None
        except (StorageError, ProtocolError) as error:
            raise Refused(RefusalReason.UNAVAILABLE, str(error), 1) from None
        return LOOKUP_ANSWER.encode(answer)

    def _let_posts_go_first(self) -> None:
        """Wait for a moment while posts are answered: threads of one interpreter take turns."""
        for _ in range(_PAUSES):
            if not self._busy():
                return
            time.sleep(_PAUSE)

    def _found(self, wanted: Lookup, size: int) -> LookupAnswer:
        indexes = self._indexes(wanted, size)
        found: list[FoundEntry] = []
        total, budget = 0, self._bundles.read + self._limits.bundle_bytes
        for index in indexes[:MOST_FOUND]:
            entry = self._bundles.entry(index, size)
            found.append(FoundEntry(index, entry))
            total += len(entry)
            if total > MOST_FOUND_BYTES or self._bundles.read > budget:
                break
        whole = len(found) == len(indexes)
        until = wanted.below if whole else found[-1].index + 1
        proof = subset_proof(indexes[: len(found)], wanted.size, self._trees.nodes(wanted.size))
        return LookupAnswer(until, tuple(found), tuple(proof))

    def _indexes(self, wanted: Lookup, size: int) -> list[int]:
        """Everything in the places asked for, in the order of the log."""
        authors = wanted.authors or self._first_author(wanted.session, size)
        left = self._limits.rows
        indexes: list[int] = []
        for author in authors:
            for phase in wanted.phases:
                posted = self._places.posted(wanted.session, author, phase, wanted.round, left)
                left -= len(posted)
                indexes += [index for index in posted if wanted.start <= index < wanted.below]
        return sorted(indexes)

    def _first_author(self, session: bytes, size: int) -> Sequence[bytes]:
        """Whoever posted the first entry of the session: none if the log has none."""
        index = self._first.get(session)
        if index is None:
            index = self._places.first(session, self._limits.session_rows)
            if index is None or index >= size:
                return ()
            self._first[session] = index  # the first entry stays the first
            if len(self._first) > _SESSIONS_KEPT:
                self._first.popitem(last=False)
        return (Submission.decode(self._bundles.entry(index, size)).entry.author.data,)


class _Bundles:
    """Entries by index, from bundles of which the last used ones are kept in memory."""

    def __init__(self, source: Source, most: int) -> None:
        self._source = source
        self._left = most
        self._kept: OrderedDict[int, tuple[list[bytes], int]] = OrderedDict()
        self.read = 0

    def entry(self, index: int, size: int) -> bytes:
        """Entry `index` of the log, which has at least `size` entries."""
        number, offset = divmod(index, TILE_WIDTH)
        kept = self._kept.get(number)
        if kept is None or offset >= len(kept[0]):
            kept = self._load(number, size)
        self._kept.move_to_end(number)
        return kept[0][offset]

    def _load(self, number: int, size: int) -> tuple[list[bytes], int]:
        bundle = bundle_at(number, size)
        data = self._source.fetch(bundle.path, LARGEST_BUNDLE)
        self.read += len(data)
        self._forget(number)
        self._kept[number] = decode_bundle(data, bundle.width), len(data)
        self._left -= len(data)
        while self._left < 0 and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return self._kept[number]

    def _forget(self, number: int) -> None:
        _, size = self._kept.pop(number, ([], 0))
        self._left += size


class _Trees:
    """Nodes of the trees that clients have verified; what does not change is computed once.

    Tiles are believed: whoever reads the proof checks it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: OrderedDict[int, TileNodes] = OrderedDict()

    def nodes(self, size: int) -> TileNodes:
        found = self._kept.get(size)
        if found is None:
            older = next(iter(self._kept.values()), None)  # inner nodes are those of every size
            found = self._kept[size] = TileNodes(size, self._tile, older)
            if len(self._kept) > _SIZES_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(size)
        return found

    def _tile(self, tile: Tile) -> Sequence[bytes]:
        return decode_tile(self._source.fetch(tile.path, LARGEST_TILE), tile.width)
