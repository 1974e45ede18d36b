"""Operates on files that only their owner can read, one system call each.

Tests replace them to stop at each single call. One process at a time uses a vault (12-H1).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from bulletin_board.storage.files import PRIVATE_DIRECTORY, PRIVATE_FILE, OsFiles
from gopa.sessions.vault.interface import VaultInUse

_BINARY: Final = getattr(os, "O_BINARY", 0)  # without it Windows changes newlines
_OTHERS: Final = 0o077


class PrivateFiles(OsFiles):
    """Calls the operating system; new files and directories are the owner's alone (12-H1)."""

    def create(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
        return os.open(path, flags, PRIVATE_FILE)

    def mkdir(self, path: Path) -> None:
        path.mkdir(PRIVATE_DIRECTORY)

    def open_end(self, path: Path) -> int:
        """Open a file to write behind what is there."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY)

    def open_begin(self, path: Path) -> int:
        """Open a file to write over what is there."""
        return os.open(path, os.O_WRONLY | _BINARY)

    def truncate(self, path: Path, size: int) -> None:
        os.truncate(path, size)

    def sync(self, handle: int) -> None:
        os.fsync(handle)


def write_all(files: PrivateFiles, handle: int, data: bytes) -> None:
    """Write everything: a single write may be short."""
    rest = memoryview(data)
    while rest:
        rest = rest[files.write(handle, rest) :]


def write_new(files: PrivateFiles, path: Path, data: bytes) -> None:
    """Write a new file and sync its content; its name in the directory is not synced."""
    handle = files.create(path)
    try:
        write_all(files, handle, data)
        files.sync(handle)
    finally:
        files.close(handle)


def erase(files: PrivateFiles, path: Path) -> None:
    """Write zeros over a file, then remove it (12-H5); its directory is not synced."""
    left = path.stat().st_size
    handle = files.open_begin(path)
    try:
        while left:
            size = min(left, 1 << 20)
            write_all(files, handle, bytes(size))
            left -= size
        files.sync(handle)
    finally:
        files.close(handle)
    files.unlink(path)


def is_exposed(path: Path) -> bool:
    """Whether others can use this file or directory, or it is a link to one (12-H1)."""
    found = path.lstat()
    if path.is_symlink():
        return True
    if os.name == "nt":
        return False
    return bool(found.st_mode & _OTHERS) or found.st_uid != os.geteuid()


class Ownership:
    """Locks a vault until `release`, or until the process ends, however it does.

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
