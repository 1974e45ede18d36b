"""A vault that lasts as long as its process: for many parties in one, and for tests."""

from __future__ import annotations

from collections.abc import Iterable

from bulletin_board.client.state import MemoryState
from gopa.sessions.vault.errors import VaultError
from wire.errors import UsageError
from wire.secret import Guarded


class MemoryVault(Guarded):
    """`DirectoryVault` without a directory. Parts of records are kept as they are, not copied."""

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

    def append(self, *parts: bytes) -> None:
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
