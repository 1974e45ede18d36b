"""Waiting for a quorum without holding a thread."""

from __future__ import annotations

from concurrent.futures import Future

from bulletin_board.note import SignedCheckpoint

Covered = Future[SignedCheckpoint | None]


class Waiters:
    """Futures of whoever waits for a cosigned checkpoint above an index; bounded.

    The caller serialises the calls.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: list[tuple[int, Covered]] = []

    def add(self, index: int) -> Covered | None:
        """A future for a checkpoint that covers entry `index`; None if too many wait."""
        self._waiting = [item for item in self._waiting if not item[1].done()]
        if len(self._waiting) >= self._most:
            return None
        future: Covered = Future()
        self._waiting.append((index, future))
        return future

    def announce(self, signed: SignedCheckpoint) -> None:
        """Give the checkpoint to all that it covers."""
        covered = [future for index, future in self._waiting if index < signed.size]
        self._waiting = [item for item in self._waiting if item[0] >= signed.size]
        for future in covered:
            _resolve(future, signed)

    def give_up(self) -> None:
        """There will be no quorum: None to everyone."""
        waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            _resolve(future, None)


def _resolve(future: Covered, value: SignedCheckpoint | None) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(value)
