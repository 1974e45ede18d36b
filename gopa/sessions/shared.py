"""What parties of one process that follow a log together remember of its board."""

from __future__ import annotations

from contextlib import suppress

from bulletin_board import VerifierKey
from bulletin_board.client.forks import verify_fork
from bulletin_board.client.state import ClientState
from wire.errors import FaultyBoard, UsageError


class SharedState:
    """A `ClientState` for many: the checkpoint is kept once, evidence of a fork by everybody.

    `main` keeps what changes all the time. Whoever is welcomed gets a copy of what convicts
    the board, so that it stops there also when it comes back alone ([W6]).
    """

    def __init__(self, main: ClientState, log: VerifierKey) -> None:
        self._main = main
        self._log = log
        self._guests: list[ClientState] = []

    def welcome(self, guest: ClientState) -> None:
        """One more; raises `FaultyBoard` if it or `main` knows already that the log has forked."""
        known = guest.kept_evidence()
        evidence = known or self._main.kept_evidence()
        if evidence is not None:
            verify_fork(evidence, self._log)
            if known is None:
                _keep(guest, evidence)
            raise FaultyBoard("the log has forked, says evidence kept before", evidence)
        if guest is not self._main:
            self._guests.append(guest)

    def load(self) -> bytes | None:
        return self._main.load()

    def store(self, checkpoint: bytes) -> None:
        self._main.store(checkpoint)

    def keep_evidence(self, evidence: bytes) -> str:
        for guest in self._guests:  # first: a full disk below `main` must not lose it for all
            _keep(guest, evidence)
        return self._main.keep_evidence(evidence)

    def kept_evidence(self) -> bytes | None:
        return self._main.kept_evidence()

    def keep_unproven(self, pair: bytes) -> str:
        return self._main.keep_unproven(pair)

    def unproven(self) -> bytes | None:
        return self._main.unproven()

    def clear_unproven(self) -> None:
        self._main.clear_unproven()


def _keep(guest: ClientState, evidence: bytes) -> None:
    with suppress(OSError, UsageError):  # a full disk, or a directory that is gone
        guest.keep_evidence(evidence)
