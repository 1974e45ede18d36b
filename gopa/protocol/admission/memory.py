"""Keeps the indexes of entries that a board reads again after a restart, to know who may post.

They are all entries of organisers, and those of parties in a round that goes on: a round that is
over, or has given way to another one, needs none. An index takes eight bytes; the entry at it
is read from the log and verified.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from struct import Struct

from bulletin_board import Entry
from gopa.contract.phases import Phase
from gopa.protocol.admission.tracker import TrackedRound, TrackedSession
from wire.errors import MalformedMessage

_INDEX = Struct(">Q")


class _Needed:
    """Keeps the indexes of one session; `parties` are those of the round `round`."""

    __slots__ = ("organiser", "parties", "round")

    def __init__(self) -> None:
        self.organiser = array("Q")
        self.parties = array("Q")
        self.round: TrackedRound | None = None

    def note(self, index: int, entry: Entry, session: TrackedSession) -> None:
        if entry.phase == Phase.ORGANISER:
            self.organiser.append(index)
            found = session.round
            if found is not self.round or (found is not None and found.ended is not None):
                self.round, self.parties = found, array("Q")
        elif self.round is not None and self.round.ended is None:
            self.parties.append(index)


class NeededEntries:
    """Keeps indexes of entries, by session."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, _Needed] = {}

    def note(self, index: int, entry: Entry, session: TrackedSession | None) -> None:
        """Take an entry that counts; `session` is None until its manifest is whole."""
        needed = self._sessions.setdefault(entry.session, _Needed())
        if session is None:
            needed.organiser.append(index)
        else:
            needed.note(index, entry, session)

    def forget(self, session: bytes) -> None:
        """Drop a session whose manifest was given up or counts for nothing.

        If its entries stayed, whoever had begun it first would own it again after a restart.
        """
        self._sessions.pop(session, None)

    def save(self) -> bytes:
        """Give all indexes, in the order of the log."""
        return b"".join(map(_INDEX.pack, sorted(self._indexes())))

    def _indexes(self) -> Iterator[int]:
        for each in self._sessions.values():
            yield from each.organiser
            yield from each.parties


def read_indexes(state: bytes, size: int) -> list[int]:
    """Reads what `save` said of a log of this size; `MalformedMessage` for anything else."""
    if len(state) % _INDEX.size:
        raise MalformedMessage("whole indexes", "state")
    found = [index for (index,) in _INDEX.iter_unpack(state)]
    if any(a >= b for a, b in pairwise([*found, size])):
        raise MalformedMessage("increasing indexes of entries of the log", "state")
    return found
