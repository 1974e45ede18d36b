"""What keeps the memory of a party or an organiser. `specs/12-sessions.md`, section 1."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bulletin_board.client.state import ClientState


@runtime_checkable
class Vault(Protocol):
    """The memory of one participant of one session; one process at a time uses it.

    A vault has two generations in turn: `begin` replaces memory and journal together, and
    erases those before. Everything is durable when a call returns.
    """

    @property
    def board(self) -> ClientState:
        """What the client of the board remembers."""

    def memory(self) -> bytes | None:
        """The memory of the current generation, None in a new vault."""

    def journal(self) -> tuple[bytes, ...]:
        """Every record since, in order."""

    def begin(self, memory: bytes) -> None:
        """Begin a new generation with this memory and an empty journal, in one durable step."""

    def append(self, *parts: bytes) -> None:
        """Add a record to the journal: these parts, one behind the other.

        Parts spare the copies where many parties of one process keep the same entries.
        """

    def close(self) -> None:
        """Let another process use the vault."""
