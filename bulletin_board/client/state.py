"""What a client remembers between runs: the newest checkpoint it has verified."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Protocol

from bulletin_board.note import VerifierKey
from bulletin_board.storage.files import OsFiles
from wire.errors import UsageError


class ClientState(Protocol):
    """Survives the process. One client at a time uses it."""

    def load(self) -> bytes | None:
        """The stored checkpoint."""

    def store(self, checkpoint: bytes) -> None:
        """Replace it durably."""

    def keep_evidence(self, evidence: bytes) -> str:
        """Store evidence of a fork durably; returns where."""

    def kept_evidence(self) -> bytes | None:
        """Evidence stored before, in this run or an earlier one."""


class MemoryState:
    """Forgets everything with the process: for tests and simulations."""

    def __init__(self) -> None:
        self.checkpoint: bytes | None = None
        self.evidence: list[bytes] = []

    def load(self) -> bytes | None:
        return self.checkpoint

    def store(self, checkpoint: bytes) -> None:
        self.checkpoint = checkpoint

    def keep_evidence(self, evidence: bytes) -> str:
        self.evidence.append(evidence)
        return "memory"

    def kept_evidence(self) -> bytes | None:
        return self.evidence[0] if self.evidence else None


class DirectoryState:
    """Files in a directory of the caller's, apart for each log."""

    def __init__(self, directory: Path, log: VerifierKey) -> None:
        self._directory = directory / hashlib.sha256(str(log).encode()).hexdigest()[:32]
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{directory} cannot be used: {error.strerror}") from None

    def load(self) -> bytes | None:
        path = self._directory / "checkpoint"
        return path.read_bytes() if path.exists() else None

    def store(self, checkpoint: bytes) -> None:
        self._write("checkpoint", checkpoint)

    def keep_evidence(self, evidence: bytes) -> str:
        name = f"fork-{hashlib.sha256(evidence).hexdigest()[:16]}.evidence"
        self._write(name, evidence)
        return str(self._directory / name)

    def kept_evidence(self) -> bytes | None:
        for path in sorted(self._directory.glob("fork-*.evidence")):
            return path.read_bytes()
        return None

    def _write(self, name: str, data: bytes) -> None:
        scratch = self._directory / f"{name}.new"
        with scratch.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(self._directory / name)
        OsFiles().sync_directory(self._directory)
