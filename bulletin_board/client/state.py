"""What a client remembers between runs: the newest checkpoint it has verified."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

from bulletin_board.note import VerifierKey
from bulletin_board.storage.files import EvidenceFolder, make_directory, remove_file, replace_file
from wire.errors import UsageError


class ClientState(Protocol):
    """A client's memory, so that it survives the process. One client at a time uses it."""

    def load(self) -> bytes | None:
        """Load the stored checkpoint."""

    def store(self, checkpoint: bytes) -> None:
        """Replace the stored checkpoint durably."""

    def keep_evidence(self, evidence: bytes) -> str:
        """Store evidence of a fork durably; returns where."""

    def kept_evidence(self) -> bytes | None:
        """Evidence stored before, in this run or an earlier one."""

    def keep_unproven(self, pair: bytes) -> str:
        """Store two checkpoints that may contradict each other durably; returns where."""

    def unproven(self) -> bytes | None:
        """The pair stored last, until `clear_unproven`."""

    def clear_unproven(self) -> None:
        """Forget the pair stored last: the two were shown to belong together."""


class MemoryState:
    """A client's memory until the process ends: for tests and simulations."""

    def __init__(self) -> None:
        self.checkpoint: bytes | None = None
        self.evidence: list[bytes] = []
        self.pairs: list[bytes] = []
        self._unproven: bytes | None = None

    def load(self) -> bytes | None:
        return self.checkpoint

    def store(self, checkpoint: bytes) -> None:
        self.checkpoint = checkpoint

    def keep_evidence(self, evidence: bytes) -> str:
        self.evidence.append(evidence)
        return "memory"

    def kept_evidence(self) -> bytes | None:
        return self.evidence[0] if self.evidence else None

    def keep_unproven(self, pair: bytes) -> str:
        self.pairs.append(pair)
        self._unproven = pair
        return "memory"

    def unproven(self) -> bytes | None:
        return self._unproven

    def clear_unproven(self) -> None:
        self.pairs = [pair for pair in self.pairs if pair != self._unproven]
        self._unproven = None


class DirectoryState:
    """A client's memory in a directory, apart for each log.

    With `private`, nobody but the owner can use what is made here, wherever a crash comes.
    """

    def __init__(self, directory: Path, log: VerifierKey, *, private: bool = False) -> None:
        self._private = private
        self._directory = directory / hashlib.sha256(str(log).encode()).hexdigest()[:32]
        self._checkpoint = self._directory / "checkpoint"
        self._open = self._directory / "unproven"
        self._evidence = EvidenceFolder(self._directory, private=private)
        self._pair: bytes | None = None
        try:
            make_directory(self._directory, private=private)
        except OSError as error:
            raise UsageError(f"{directory} cannot be used: {error.strerror}") from None

    def load(self) -> bytes | None:
        return _read(self._checkpoint)

    def store(self, checkpoint: bytes) -> None:
        replace_file(self._checkpoint, checkpoint, private=self._private)

    def keep_evidence(self, evidence: bytes) -> str:
        return str(self._evidence.keep("fork", evidence) or self._directory)

    def kept_evidence(self) -> bytes | None:
        found = self._evidence.read("fork")
        return found[0] if found else None

    def keep_unproven(self, pair: bytes) -> str:
        kept = self._evidence.keep("unproven", pair) or self._open
        replace_file(self._open, pair, private=self._private)
        self._pair = pair
        return str(kept)

    def unproven(self) -> bytes | None:
        self._pair = _read(self._open)
        return self._pair

    def clear_unproven(self) -> None:
        pair, self._pair = self._pair, None
        if pair is None:
            return
        self._evidence.drop("unproven", pair)  # first what a crash would otherwise leave for ever
        if _read(self._open) == pair:  # and not what another process keeps, which may be a fork
            remove_file(self._open)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
