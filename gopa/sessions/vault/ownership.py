"""One process at a time uses a vault ([H1])."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bulletin_board.durable import PRIVATE_FILE
from gopa.sessions.vault.errors import VaultInUse


class Ownership:
    """Held until `release`, or until the process ends, however it does.

    Raises `VaultInUse` if another process holds it.
    """

    __slots__ = ("_handle",)

    def __init__(self, path: Path) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
        try:
            _lock(handle)
        except OSError:
            os.close(handle)
            raise VaultInUse(f"another process uses {path.parent}: stop it first") from None
        self._handle: int | None = handle

    def release(self) -> None:
        """Let another process have it; again, nothing happens."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int) -> None:
    """Lock an open file for this process alone, or raise `OSError` at once."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
