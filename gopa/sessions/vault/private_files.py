"""Operations on files that only their owner can read, one system call each.

Tests replace them to stop at each single call.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from bulletin_board.durable import PRIVATE_DIRECTORY, PRIVATE_FILE
from bulletin_board.storage.files import OsFiles

_BINARY: Final = getattr(os, "O_BINARY", 0)  # without it Windows changes newlines
_OTHERS: Final = 0o077


class PrivateFiles(OsFiles):
    """The operating system's; new files and directories are the owner's alone ([H1])."""

    def create(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
        return os.open(path, flags, PRIVATE_FILE)

    def mkdir(self, path: Path) -> None:
        path.mkdir(PRIVATE_DIRECTORY)

    def open_end(self, path: Path) -> int:
        """To write behind what is there."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY)

    def open_begin(self, path: Path) -> int:
        """To write over what is there."""
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
    """A new file with this content, synced; its name is not."""
    handle = files.create(path)
    try:
        write_all(files, handle, data)
        files.sync(handle)
    finally:
        files.close(handle)


def erase(files: PrivateFiles, path: Path) -> None:
    """Write zeros over a file, then remove it ([H5]); its directory is not synced."""
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
    """Whether others can use this file or directory, or it is a link to one ([H1])."""
    found = path.lstat()
    if path.is_symlink():
        return True
    if os.name == "nt":
        return False
    return bool(found.st_mode & _OTHERS) or found.st_uid != os.geteuid()
