"""What the organiser has said, put together from lookups, round by round ([W2])."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter, itemgetter

from gopa.messages.framing import Posted
from gopa.messages.phases import Kind

_index = attrgetter("index")
_where = itemgetter(0)
_KEPT = 2
_LAST = frozenset({Kind.MANIFEST, Kind.RESULT, Kind.ABORT})
"""Behind these the organiser speaks in the next round."""


class Trail:
    """The organiser's newest entries, and the place (round, seq) of the next one.

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
        """What is older than the round before the one that has begun last."""
        if len(self._begun) > _KEPT:
            self.floor = self._begun[-_KEPT][0]
            del self._entries[: bisect_left(self._entries, self.floor, key=_index)]
