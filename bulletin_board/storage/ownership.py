"""Telling a writer that was replaced from one whose disk is broken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bulletin_board.storage.interface import Held, Lock, LostLock, StorageError


@contextmanager
def noticing_another_writer(lock: Lock, held: Held) -> Iterator[None]:
    """Turn whatever fails inside into `LostLock` if the lock was taken by another writer.

    The newer writer removes files in `scratch`, discards what is staged, takes places in
    the index, shows a newer checkpoint. To the older one all of that looks like a broken
    disk, which it would answer by opening the log anew, and so by taking it back.
    """
    try:
        yield
    except Exception:
        if _epoch(lock, held) != held.epoch:
            raise LostLock("another writer has taken over") from None
        raise


def _epoch(lock: Lock, held: Held) -> int:
    try:
        return lock.epoch()
    except StorageError:
        return held.epoch  # the disk is broken indeed
