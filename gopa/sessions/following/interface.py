"""One session as a verified log shows it. Specification: `specs/12-sessions.md`, section 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bulletin_board import LogReader
from gopa.messages.framing import Posted
from gopa.party import Fetch


@dataclass(frozen=True, slots=True)
class Horizon:
    """A verified checkpoint: entries below `size` are known to be in the log."""

    size: int
    root: bytes


@runtime_checkable
class SessionLog(Protocol):
    """What one participant reads and posts; it believes only what has been proved ([W1]).

    Implementations: `WholeLog` reads every entry, `SelectiveLog` asks for places. Many
    parties of one process may share one. Raises `FaultyBoard` on a fork, for good.
    """

    @property
    def session(self) -> bytes:
        """The session of interest."""

    async def manifest(self) -> bytes:
        """The body of the session's manifest, of which the session is the hash.

        Waits until it is in the log.
        """

    async def grown(self, size: int) -> Horizon:
        """Wait for a verified checkpoint of more than `size` entries; the newest one."""

    async def spoken(self, start: int) -> Horizon:
        """Wait until the organiser has an entry at index `start` or behind it; the newest horizon.

        What parties post wakes nobody up: thousands of them may wait here.
        """

    def skip(self, number: int) -> None:
        """Called first, if at all: this participant asks for no control in front of a round."""

    async def controls(self, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """The organiser's next entries from index `start` on, without a gap, in order ([W2]).

        Perhaps not all below the horizon: ask again behind the last, until there are none.
        """

    async def own(
        self, author: bytes, start: int, stop: int, horizon: Horizon
    ) -> tuple[Posted, ...]:
        """All entries between these indexes of the party with this Ed25519 key."""

    async def answer(self, wanted: Fetch, horizon: Horizon) -> tuple[Posted, ...]:
        """What the board says the fetch asks for: proved, but perhaps not all ([W3])."""

    async def complete(self, wanted: Fetch, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """All that it asks for, by reading the log from index `start` to the cut."""

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        """Post in this order; returns when the log has promised all of them ([W7]).

        Raises `Refused` for a reason that does not pass.
        """

    async def reader(self) -> LogReader:
        """All of the log below the newest verified checkpoint."""

    async def close(self) -> None:
        """Give back connections and tasks; calling it again does nothing."""
