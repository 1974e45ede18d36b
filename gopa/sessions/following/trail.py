"""What the organiser has said, put together from lookups, round by round ([W2])."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from gopa.messages.framing import Posted
from gopa.messages.phases import Kind

_index = attrgetter("index")
_LAST = frozenset({Kind.MANIFEST, Kind.RESULT, Kind.ABORT})
"""Behind these the organiser speaks in the next round."""


class Trail:
    """The organiser's entries that are known, and the place (round, seq) of the next one.

    It was looked for below index `known` and lies at index `behind` or later: what a board has
    hidden once is found as soon as it is shown, or missed.
    """

    def __init__(self) -> None:
        self._entries: list[Posted] = []
        self.known = 0
        self.behind = 0
        self.round = 0
        self.seq = 0

    def between(self, start: int, stop: int) -> tuple[Posted, ...]:
        """The entries with these indexes."""
        first = bisect_left(self._entries, start, key=_index)
        return tuple(self._entries[first : bisect_left(self._entries, stop, key=_index)])

    def rounds(self, start: int, stop: int) -> range:
        """The rounds that were going on somewhere between these indexes, the manifest's not."""
        before = bisect_left(self._entries, start + 1, key=_index)
        inside = bisect_left(self._entries, stop, key=_index)
        first = self._entries[before - 1].entry.round if before else 0
        last = self._entries[inside - 1].entry.round if inside else 0
        return range(max(1, first), last + 1)

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
            if entry.round > self.round:
                self.round, self.seq = entry.round, 0
            if entry.round == self.round and entry.seq == self.seq:
                self.seq += 1
                if entry.kind in _LAST and entry.chunk + 1 == entry.chunks:
                    self.round, self.seq = self.round + 1, 0
        return self.round > begun
