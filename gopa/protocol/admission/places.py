"""Decides how many sessions a board has room for, and which of them give way to others.

Beginning a session costs a stranger a post. If the first to come had their places for ever, a
few posts would close the board for everybody else. What gives way depends on the log alone, so
a board that is started again knows the same. Specification: 05-D5
and 05-D6.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from bulletin_board import Entry
from gopa.protocol.admission.tracker import MessageProgress

MOST_PENDING_BYTES: Final = 2**28
"""Of manifests of several entries that are on their way: they are kept in memory."""


@dataclass(slots=True)
class Beginning:
    """Holds a manifest on its way; `kept` are its bytes that count."""

    author: bytes
    progress: MessageProgress = field(default_factory=MessageProgress)
    kept: int = 0

    def body(self, last: Entry) -> bytes:
        """The manifest that the last entry makes whole."""
        return b"".join(self.progress.bodies) + last.body


class Pending:
    """Holds manifests on their way, those that stood still longest first.

    Whoever goes on stays, and the one that has stood still longest gives way.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._given_up: list[bytes] = []
        self.known: OrderedDict[bytes, Beginning] = OrderedDict()

    def keep(self, session: bytes, beginning: Beginning) -> None:
        """It has gone on; others give way if there are too many."""
        self.forget(session)
        self.known[session] = beginning
        beginning.kept = beginning.progress.size
        self._bytes += beginning.kept
        while len(self.known) > self._most or self._bytes > MOST_PENDING_BYTES:
            longest = next(iter(self.known))
            self.forget(longest)
            self._given_up.append(longest)

    def given_up(self) -> list[bytes]:
        """Sessions whose manifests gave way since this was asked before."""
        found, self._given_up = self._given_up, []
        return found

    def forget(self, session: bytes) -> None:
        """It is whole, or given up."""
        beginning = self.known.pop(session, None)
        if beginning is not None:
            self._bytes -= beginning.kept
            beginning.kept = 0


class OpenSessions:
    """Holds sessions that are not over; `waiting` never had a round, oldest first.

    A session with a round stays. Of those without one, the older half stays, and the oldest of
    the younger half gives way. If the oldest of all did, a stranger's crowd would put out every
    session that waits for its first round; if the youngest did, the crowd would only
    have to come first. The halves are those of now: rounds that open behind a session may move
    it to the younger half, and it is safe from any crowd only while at most `most - 2(p + 1)`
    sessions have a round, where p wait before it. The only one that waits always gives way:
    otherwise manifests without a round would keep newcomers out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._given_up: list[bytes] = []
        self.going_on: set[bytes] = set()
        self.waiting: dict[bytes, None] = {}

    @property
    def full(self) -> bool:
        """Whether there is no place for another one, since nobody has to give way."""
        return len(self.going_on) >= self._most

    def begin(self, session: bytes) -> None:
        """Its manifest is whole; others give way if there are too many."""
        while self.waiting and len(self.going_on) + len(self.waiting) >= self._most:
            (longest,) = islice(self.waiting, len(self.waiting) // 2, len(self.waiting) // 2 + 1)
            del self.waiting[longest]
            self._given_up.append(longest)
        self.waiting[session] = None

    def go_on(self, session: bytes) -> None:
        """It has a round, or another one."""
        self.waiting.pop(session, None)
        self.going_on.add(session)

    def end(self, session: bytes) -> None:
        """It is over."""
        self.waiting.pop(session, None)
        self.going_on.discard(session)

    def given_up(self) -> list[bytes]:
        """Sessions that gave way since this was asked before."""
        found, self._given_up = self._given_up, []
        return found
