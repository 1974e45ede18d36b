"""Performs every operation on the files of a log, one system call each.

The only module of the package that changes public files. Tests replace it to
fail, or to stop, at each single call.

Public files are written so that readers never see half a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from bulletin_board.modes import PUBLIC_FILE, make_public_directory, set_public
from bulletin_board.reader import DirectorySource
from bulletin_board.storage.interface import StorageError

_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows changes newlines


class FileOperations(Protocol):
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


class PublicDirectory(DirectorySource):
    """`PublicFiles` below `root`; `scratch` is on the same file system and belongs to the writer.

    A file is written to `scratch` and renamed into place, so that a reader finds
    the old file or the new one. Its name there is not that of another writer's: two
    would write into one file. After a loss of power it may find neither, until
    `sync` has returned: the writer keeps the batches from which it writes again.
    """

    def __init__(self, root: Path, scratch: Path, files: FileOperations | None = None) -> None:
        super().__init__(root)
        self._public = root
        self._scratch = scratch
        self._files = files or OsFiles()
        self._own = os.urandom(8).hex()
        self._unsynced: dict[Path, None] = {}

    def write(self, files: Mapping[str, bytes]) -> None:
        with _as_storage_error("public files cannot be written"):
            for path, data in files.items():
                target = self._public / path
                self._make_parents(target)
                self._write_one(target, f"{self._own}-{path.replace('/', '-')}", data)
                self._unsynced[target] = None

    def sync(self) -> None:
        with _as_storage_error("public files cannot be made durable"):
            directories: dict[Path, None] = {}
            for target in self._unsynced:
                if target.is_file():
                    self._files.sync_file(target)
                directories |= dict.fromkeys(
                    parent for parent in target.parents if parent.is_relative_to(self._public)
                )
            for directory in directories:
                if directory.is_dir():
                    self._files.sync_directory(directory)
            self._unsynced.clear()

    def remove(self, paths: Iterable[str]) -> None:
        with _as_storage_error("public files cannot be removed"):
            for path in paths:
                self._remove_one(self._public / path)

    def clean(self) -> None:
        with _as_storage_error(f"{self._scratch} cannot be emptied"):
            for path in sorted(self._scratch.iterdir()):
                self._files.unlink(path)

    def _make_parents(self, target: Path) -> None:
        if target.parent.is_dir():
            return
        missing = [p for p in target.parents if p.is_relative_to(self._public) and not p.is_dir()]
        for directory in reversed(missing):
            self._files.mkdir(directory)

    def _write_one(self, target: Path, name: str, data: bytes) -> None:
        scratch = self._scratch / name
        handle = self._files.create(scratch)
        try:
            rest = memoryview(data)
            while rest:  # a write may be short
                rest = rest[self._files.write(handle, rest) :]
        finally:
            self._files.close(handle)
        self._files.rename(scratch, target)

    def _remove_one(self, path: Path) -> None:
        """Remove a file, and its directory if that was its last partial version."""
        if path.exists():
            self._files.unlink(path)
        parent = path.parent
        if parent.suffix == ".p" and parent.exists() and not any(parent.iterdir()):
            self._files.rmdir(parent)


@contextmanager
def _as_storage_error(message: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{message}: {error.strerror}") from error
