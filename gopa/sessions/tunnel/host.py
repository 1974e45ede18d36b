"""The host of parties that are called: shows the log, posts what they say (`specs/12-sessions.md`).

Nobody trusts a host. It holds no secret, decides nothing, and whatever it does wrong costs parties
the round and nothing else (section 7, 12-N1).
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final, Protocol, runtime_checkable

from bulletin_board import (
    LogReader,
    Submission,
)
from bulletin_board.display import visible
from bulletin_board.tree import Node, subset_proof
from gopa.contract.cutting import is_head
from gopa.contract.framing import Posted
from gopa.contract.organiser import CUT
from gopa.contract.phases import Kind, Phase
from gopa.protocol.admission.local_board import LocalBoard
from gopa.protocol.rules import SessionState
from gopa.sessions.following import ManifestSearch, matching
from gopa.sessions.organising import (
    BeaconSource,
    BoardLog,
    DurableOrganiser,
    OpenBoard,
    OrganiserPace,
    run,
)
from gopa.sessions.tunnel.hiding import hideable
from gopa.sessions.tunnel.messages import (
    REPLY,
    REQUEST,
    VERSION,
    HiddenEntry,
    OwnEntry,
    Shown,
    TunnelEntry,
    TunnelReply,
    TunnelRequest,
    Want,
)
from gopa.sessions.tunnel.packing import Deflated, deflated, pack, unpack
from wire.errors import InvalidProof, ProtocolError, UsageError

_LOG: Final = logging.getLogger("gopa.sessions")


@runtime_checkable
class BatchBoard(Protocol):
    """A board that takes many entries at once, under one checkpoint."""

    def submit_all(self, entries: Sequence[bytes]) -> list[int | ProtocolError]:
        """Post entries in their order; the index of each, or why it is not taken."""


Send = Callable[[Mapping[bytes, bytes]], Mapping[bytes, bytes]]
"""Takes requests by party to them, and brings back the replies that came."""

_FETCHED: Final = frozenset({Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.CONFIRM})
_AHEAD: Final = (Phase.COINS, Phase.CONFIRM, Phase.COMMIT)
AHEAD_BYTES: Final = 8_192
"""What a request shows unasked, at most, of what the party is about to ask for."""
_LARGE: Final = 16_384
"""Bytes from which on an entry is packed once for all parties: sums of long vectors."""


@dataclass(slots=True)
class _Line:
    """What the host knows of one party: its last reply, and what it has posted."""

    said: TunnelReply | None = None
    made: set[bytes] = field(default_factory=set)


class _SharedProofs:
    """What all parties are shown of the log as it is now, worked out once."""

    def __init__(self, reader: LogReader) -> None:
        self.node: Node = cache(reader.node)
        self.consistency: Callable[[int], tuple[bytes, ...]] = cache(partial(_consistency, reader))


class TunnelHost:
    """The host of one session's parties, over any transport that carries bytes.

    `turn` does everything; `request` and `take` are its halves, for a caller that has its own way
    to wait. One thread at a time. `executor` posts for many parties at once, where the board
    allows that. Without `sums` those of long vectors are left out of requests: for parties that do
    not ask for them (12-N12).
    """

    def __init__(
        self,
        board: OpenBoard,
        session: bytes,
        *,
        executor: Executor | None = None,
        sums: bool = True,
    ) -> None:
        self._sums = sums
        self._board = board
        self._session = session
        self._executor = executor
        self._search = ManifestSearch(session)
        self._reader: LogReader | None = None
        self._proofs: _SharedProofs | None = None
        self._read = 0
        self._round = 0
        self._entries: list[Posted] = []
        self._raws: dict[int, bytes] = {}
        self._parts: dict[int, Deflated | None] = {}
        self._lines: dict[bytes, _Line] = {}
        self._queue: list[tuple[Submission, ...]] = []
        self._phases: dict[tuple[int, int], list[Posted]] = {}
        self._heads: dict[tuple[int, int, bytes], bool] = {}

    def turn(self, parties: Sequence[bytes], send: Send) -> bool:
        """Tell these parties what is new, post what they say; whether one of them moved on.

        A party whose reply does not come, or is none, is told the same again in the next turn.
        """
        self.refresh()
        requests = {party: request for party in parties if (request := self.request(party))}
        before = {party: self._lines.get(party, _Line()).said for party in requests}
        moved = False
        for party, reply in (send(requests) if requests else {}).items():
            try:
                moved |= self.take(party, reply) != before.get(party)
            except ProtocolError as error:
                _LOG.warning("a reply is left out: %s", visible(str(error)))
        self.post()
        return moved

    def refresh(self) -> int:
        """Read what is new in the log; its size."""
        if self._reader is None or self._board.update().size > self._reader.size:
            self._reader = self._board.reader()
            self._proofs = _SharedProofs(self._reader)
            for posted, raw in self._posted(self._reader):
                self._keep(posted, raw)
            self._read = self._reader.size
        return self._read

    def request(self, party: bytes, *, again: bool = False) -> bytes | None:
        """The next request for the party with this key; None if there is nothing new for it.

        With `again` there is one also for a party that was told everything: it may have a value
        now that it did not have before.
        """
        reader, proofs = self._reader, self._proofs
        line, organiser = self._lines.get(party, _Line()), self._search.organiser
        if reader is None or proofs is None or organiser is None:
            return None
        if line.said is not None and line.said.over:
            return None
        start = 0 if line.said is None else line.said.start
        heard = {organiser, party}
        at = bisect_left(self._entries, start, key=_index)
        found = [each for each in self._entries[at:] if each.entry.author.data in heard]
        fetch = None if line.said is None else line.said.fetch
        spoken = any(posted.entry.author.data == organiser for posted in found)
        if not (spoken or fetch is not None or again):
            return None
        try:
            shown = self._shown(reader, proofs, party, line, found)
            request = REQUEST.encode(shown)
        except UsageError as error:  # all of a log that is very long
            _LOG.warning("what a party asks for does not fit into a request: %s", error)
            return None
        knows_manifest = line.said is not None and line.said.start
        dictionary = self._dictionaries[0] if knows_manifest else self._session
        return pack(request, dictionary, self._packed(shown))

    @property
    def _dictionaries(self) -> tuple[bytes, ...]:
        """What a party packs with, that has the manifest or does not have it yet (12-N10)."""
        return (self._search.body or b"") + self._session, self._session

    def take(self, party: bytes, reply: bytes) -> TunnelReply:
        """Take what the party with this key said; `post` posts it.

        Raises `MalformedMessage` or `InvalidProof` for what is not its reply.
        """
        said = REPLY.decode(unpack(reply, self._dictionaries))
        posts = list(map(Submission.decode, said.posts))
        owners = {(each.entry.session, each.entry.author.data) for each in posts}
        if not {(said.session, said.party), *owners} <= {(self._session, party)}:
            raise InvalidProof("the reply of another party or session", "12-N3")
        line = self._lines.setdefault(party, _Line())
        if not said.start:
            line.made.clear()  # it has begun anew and knows nothing of what it said
        line.said = said
        line.made.update(each.leaf for each in posts)
        if said.posts:
            self._queue.append(tuple(posts))
        return said

    def post(self) -> None:
        """Post what was taken; of each party in its order."""
        queue, self._queue = self._queue, []
        if isinstance(self._board, LocalBoard):
            self._board.expect(each for posts in queue for each in posts)
        if isinstance(self._board, BatchBoard):
            raws = [each.raw for posts in queue for each in posts]
            for outcome in self._board.submit_all(raws):
                if isinstance(outcome, ProtocolError):  # the phase is over, or it is nonsense
                    _not_taken(outcome)
        elif self._executor is None:
            for posts in queue:
                self._submit(posts)
        else:
            for _ in self._executor.map(self._submit, queue):
                pass

    def _submit(self, posts: tuple[Submission, ...]) -> None:
        for each in posts:
            try:
                self._board.submit(each.raw)
            except ProtocolError as error:  # the phase is over, or the party says nonsense
                _not_taken(error)
                return

    def _posted(self, reader: LogReader) -> list[tuple[Posted, bytes]]:
        if isinstance(self._board, LocalBoard):
            found = self._board.posted(self._read)
            return [each for each in found if each[0].index < reader.size]
        made = ((raw, Submission.decode(raw)) for raw in reader.entries(self._read))
        return [
            (Posted(index, submission.leaf, submission.entry), raw)
            for index, (raw, submission) in enumerate(made, self._read)
        ]

    def _keep(self, posted: Posted, raw: bytes) -> None:
        entry = posted.entry
        if entry.session != self._session:
            return
        self._search.take(posted)
        self._entries.append(posted)
        if not self._is_tail(posted):
            self._phases.setdefault((entry.round, entry.phase), []).append(posted)
        self._raws[posted.index] = raw
        opens = (entry.phase, entry.kind) == (Phase.ORGANISER, Kind.OPEN)
        if opens and entry.author.data == self._search.organiser and entry.round > self._round:
            self._forget(entry.round)

    def _is_tail(self, posted: Posted) -> bool:
        """Whether the entry stands behind a head that is all its readers need (12-N3)."""
        entry = posted.entry
        stream = entry.round, entry.phase, entry.author.data
        if entry.seq:
            return self._heads.get(stream, False)
        self._heads.setdefault(stream, is_head(entry))  # the first entry in a slot stands
        return False

    def _forget(self, number: int) -> None:
        """Drop what parties said in rounds that are over: nobody is shown it unless all is."""
        organiser, last, self._round = self._search.organiser, self._round, number
        self._entries = [
            e for e in self._entries if e.entry.round >= last or e.entry.author.data == organiser
        ]
        self._raws = {e.index: self._raws[e.index] for e in self._entries}
        self._phases = {at: kept for at, kept in self._phases.items() if at[0] >= last}
        self._heads = {at: own for at, own in self._heads.items() if at[0] >= last}
        self._parts = {index: part for index, part in self._parts.items() if index in self._raws}

    def _shown(
        self,
        reader: LogReader,
        proofs: _SharedProofs,
        party: bytes,
        line: _Line,
        found: Sequence[Posted],
    ) -> TunnelRequest:
        said = line.said
        size = 0 if said is None else said.size
        shown = {posted.index: posted for posted in (*found, *self._ahead(party, found))}
        whole: tuple[bytes, ...] = ()
        if said is not None and said.fetch is not None:
            answer = matching(
                said.fetch, self._phases.get((said.fetch.round, said.fetch.phase), ())
            )
            shown |= {posted.index: posted for posted in answer}
            present = {posted.entry.author.data for posted in answer}
            if said.want is Want.LOG or not present.issuperset(said.fetch.authors):
                whole = tuple(reader.entries(0, min(said.fetch.cut, reader.size)))
        indexes, cuts = sorted(shown), self._cuts(found, reader.size)
        organiser = self._search.organiser
        hidden = frozenset[int]()
        if said is not None and said.start and organiser is not None and not self._sums:
            hidden = hideable([shown[index] for index in indexes], organiser)
        return TunnelRequest(
            version=VERSION,
            session=self._session,
            checkpoint=reader.signed.to_bytes(),
            consistency=proofs.consistency(size),
            shown=tuple(
                HiddenEntry(index, shown[index].leaf)
                if index in hidden
                else self._entry(shown[index], party, line)
                for index in indexes
            ),
            cuts=cuts,
            proof=tuple(subset_proof(indexes, reader.size, proofs.node, cuts)),
            whole=whole,
            prefix=proofs.consistency(len(whole)),
        )

    def _cuts(self, found: Sequence[Posted], size: int) -> tuple[int, ...]:
        """The cuts of the closes of which an entry is shown: the party wants the roots there."""
        firsts = map(self._first_of, filter(self._is_close, found))
        cuts = {int.from_bytes(each.entry.body[CUT]) for each in firsts if each is not None}
        return tuple(sorted(cut for cut in cuts if 0 < cut <= size))

    def _is_close(self, posted: Posted) -> bool:
        own = posted.entry.author.data == self._search.organiser
        return own and posted.entry.kind == Kind.CLOSE

    def _first_of(self, posted: Posted) -> Posted | None:
        """The first chunk of a close, which may have been shown before."""
        if not posted.entry.chunk:
            return posted
        place = posted.entry.round, posted.entry.seq - posted.entry.chunk
        closes = filter(self._is_close, self._entries)
        return next((e for e in closes if (e.entry.round, e.entry.seq) == place), None)

    def _packed(self, shown: TunnelRequest) -> list[Deflated]:
        """The large entries in a request that shrink."""
        parts = []
        for each in shown.shown:
            if not isinstance(each, TunnelEntry) or len(each.raw) < _LARGE:
                continue
            if each.index not in self._parts:
                self._parts[each.index] = deflated(each.raw)
            if (part := self._parts[each.index]) is not None:
                parts.append(part)
        return parts

    def _entry(self, posted: Posted, party: bytes, line: _Line) -> Shown:
        if posted.entry.author.data == party and posted.leaf in line.made:
            return OwnEntry(posted.index, posted.leaf)
        return TunnelEntry(posted.index, self._raws[posted.index])

    def _ahead(self, party: bytes, found: Sequence[Posted]) -> list[Posted]:
        """What others said in the phases that the party hears are over, as far as it is little."""
        organiser = self._search.organiser
        spoken = [e.index for e in found if e.entry.author.data == organiser]
        if not spoken:
            return []
        # Others may have posted in front of the party: all since the organiser spoke before.
        before = reversed(self._entries[: bisect_left(self._entries, spoken[0], key=_index)])
        first = next((e.index for e in before if e.entry.author.data == organiser), 0)
        last, room = found[-1], AHEAD_BYTES
        ahead: list[Posted] = []
        for phase in _AHEAD:
            said = [
                each
                for each in self._phases.get((last.entry.round, phase), ())
                if first <= each.index < last.index and each.entry.author.data != party
            ]
            size = sum(len(self._raws[each.index]) for each in said)
            if size <= room:
                ahead, room = [*ahead, *said], room - size
        return ahead


def _index(posted: Posted) -> int:
    return posted.index


def _not_taken(error: ProtocolError) -> None:
    _LOG.info("not taken: %s", visible(str(error)))


def _consistency(reader: LogReader, size: int) -> tuple[bytes, ...]:
    return tuple(reader.consistency_proof(size)) if 0 < size < reader.size else ()


_PACE: Final = OrganiserPace(poll_seconds=0.05)


async def hold(  # noqa: PLR0913 - every edge is injected
    organiser: DurableOrganiser,
    board: OpenBoard,
    parties: Sequence[bytes],
    send: Send,
    *,
    beacon: BeaconSource | None = None,
    pace: OrganiserPace = _PACE,
) -> SessionState:
    """Run a session to its end: the organiser and the host in this process, parties behind `send`.

    `send` is called in a thread. A session whose coins come from drand needs a `beacon`. Raises
    what `gopa.sessions.organising.run` does.
    """
    session = organiser.manifest.session
    with ThreadPoolExecutor(1, "tunnel") as thread:
        loop = asyncio.get_running_loop()
        host = TunnelHost(board, session)
        turn = partial(host.turn, parties, send)
        log = BoardLog(board, session)
        running = asyncio.ensure_future(run(organiser, log, beacon=beacon, pace=pace))
        try:
            while not running.done():
                if not await loop.run_in_executor(thread, turn):
                    await pace.sleep(pace.poll_seconds)
            while await loop.run_in_executor(thread, turn):
                pass
        finally:
            running.cancel()
        return await running
