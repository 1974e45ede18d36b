"""The entries of a session that somebody may still ask for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter

from gopa.messages.framing import Posted
from gopa.messages.manifest import MANIFEST, Roster
from gopa.messages.phases import Kind, Phase
from gopa.party import Fetch
from gopa.sessions.following.finding import ManifestSearch
from wire.errors import MalformedMessage

_index = attrgetter("index")


class Streams:
    """Takes all entries of a session in the order of the log.

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
        """The next entry."""
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
        """Strangers are nobody's neighbours, and would fill the memory."""
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
        """A new round: the one before the last one is not asked for any more."""
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
