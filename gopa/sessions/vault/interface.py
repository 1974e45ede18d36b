"""A vault: it keeps the memory of a party or an organiser between runs.

Specification: `specs/12-sessions.md`, section 1. The errors say why a vault cannot be used; none
holds anything that the vault keeps. `MemoryVault` lasts as long as its process: for many parties
in one, and for tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from bulletin_board.client.state import ClientState, MemoryState
from wire.errors import GopaError, UsageError
from wire.secret import Guarded


class VaultError(GopaError):
    """A vault that cannot be used; what is in it is as it was."""


class VaultInUse(VaultError):
    """A vault that another process uses."""


class VaultExposed(VaultError):
    """A vault that others can read or enter: it is refused, not repaired (12-H1)."""


class VaultDamaged(VaultError):
    """A file that is missing, was changed, or belongs elsewhere (12-H4, 12-H6)."""


class WrongSecret(VaultError):
    """The wrong passphrase or key file, none where one is needed, or one too many."""


class VaultBroken(VaultError):
    """A failed write: what is on disk is known once the vault is opened again."""


class StateDiverged(VaultError):
    """A journal that makes other messages when repeated, or an old format (12-R3, 12-H2)."""


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

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        """Add a record to the journal: these parts, one behind the other.

        Parts spare the copies where many parties of one process keep the same entries. With
        `leaves` something that follows from the record leaves the process once this returns: a
        copy of the vault without it is an old one from then on (12-H8).
        """

    def close(self) -> None:
        """Let another process use the vault."""


class MemoryVault(Guarded):
    """A vault in memory alone. Parts of records are kept as they are, not copied."""

    __slots__ = ("_board", "_closed", "_memory", "_records")

    def __init__(
        self,
        memory: bytes | None = None,
        records: Iterable[tuple[bytes, ...]] = (),
        board: MemoryState | None = None,
    ) -> None:
        self._board = board or MemoryState()
        self._memory = memory
        self._records = list(records)
        self._closed = False

    @property
    def board(self) -> MemoryState:
        return self._board

    def memory(self) -> bytes | None:
        self._require_open()
        return self._memory

    def journal(self) -> tuple[bytes, ...]:
        self._require_open()
        return tuple(b"".join(parts) for parts in self._records)

    def begin(self, memory: bytes) -> None:
        self._require_open()
        self._memory = memory
        self._records = []

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        del leaves
        self._require_open()
        if self._memory is None:
            raise UsageError("a vault begins with a memory", "memory")
        self._records.append(parts)

    def close(self) -> None:
        self._closed = True

    def copy(self) -> MemoryVault:
        """The same as a backup: what is done to one is not seen in the other. It is open."""
        board = MemoryState()
        board.checkpoint = self._board.checkpoint
        board.evidence += self._board.evidence
        board.pairs += self._board.pairs
        unproven = self._board.unproven()
        if unproven is not None:
            board.keep_unproven(unproven)
            board.pairs.pop()
        return MemoryVault(self._memory, self._records, board)

    def _require_open(self) -> None:
        if self._closed:
            raise VaultError("the vault is closed")
