"""Every operation on files that a log performs, one system call each.

The only module of the package that changes public files. Tests replace it to
fail, or to stop, at each single call.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from bulletin_board.modes import PUBLIC_FILE, make_public_directory, set_public

_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows changes newlines


class Files(Protocol):
    """Operations on files; all raise `OSError`."""

    def create(self, path: Path) -> int: ...
    def write(self, handle: int, data: bytes | memoryview) -> int: ...
    def close(self, handle: int) -> None: ...
    def rename(self, old: Path, new: Path) -> None: ...
    def unlink(self, path: Path) -> None: ...
    def mkdir(self, path: Path) -> None: ...
    def rmdir(self, path: Path) -> None: ...
    def sync_file(self, path: Path) -> None: ...
    def sync_directory(self, path: Path) -> None: ...


class OsFiles:
    """The operating system's."""

    def create(self, path: Path) -> int:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, PUBLIC_FILE)
        set_public(handle)
        return handle

    def write(self, handle: int, data: bytes | memoryview) -> int:
        return os.write(handle, data)

    def close(self, handle: int) -> None:
        os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)  # noqa: PTH104 - one call, one name, as in the protocol

    def unlink(self, path: Path) -> None:
        path.unlink()

    def mkdir(self, path: Path) -> None:
        make_public_directory(path)

    def rmdir(self, path: Path) -> None:
        path.rmdir()

    def sync_file(self, path: Path) -> None:
        _sync(path)

    def sync_directory(self, path: Path) -> None:
        if os.name != "nt":  # Windows cannot open a directory, and does not need to
            _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
