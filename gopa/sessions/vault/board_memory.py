"""What the client of the board remembers, in a directory that only its owner reads."""

from __future__ import annotations

import os
from pathlib import Path

from bulletin_board import VerifierKey
from bulletin_board.client.state import DirectoryState
from gopa.sessions.vault.private_files import PRIVATE_DIRECTORY, PRIVATE_FILE


class PrivateState:
    """`DirectoryState`, with the permissions of a vault. Nothing in it is secret or sealed."""

    def __init__(self, directory: Path, log: VerifierKey) -> None:
        self._directory = directory
        self._state = DirectoryState(directory, log)
        self._tighten()

    def load(self) -> bytes | None:
        return self._state.load()

    def store(self, checkpoint: bytes) -> None:
        self._state.store(checkpoint)
        self._tighten()

    def keep_evidence(self, evidence: bytes) -> str:
        kept = self._state.keep_evidence(evidence)
        self._tighten()
        return kept

    def kept_evidence(self) -> bytes | None:
        return self._state.kept_evidence()

    def keep_unproven(self, pair: bytes) -> str:
        kept = self._state.keep_unproven(pair)
        self._tighten()
        return kept

    def unproven(self) -> bytes | None:
        return self._state.unproven()

    def clear_unproven(self) -> None:
        self._state.clear_unproven()

    def _tighten(self) -> None:
        """The vault's directory keeps others out until this is done ([H1])."""
        if os.name == "nt":
            return
        for path in self._directory.rglob("*"):
            path.chmod(PRIVATE_DIRECTORY if path.is_dir() else PRIVATE_FILE)
