"""Makes, replaces and removes the files of a log: who may use them, and what a crash leaves.

What is served is everybody's to read, the rest is its owner's. A lock that somebody else takes on
a database stops the log, and reading is enough to take one, so nobody else may even open one.
Modes are set, never left to the umask.

Public files are written so that readers never see half a file. Files that have to outlive a loss
of power are written aside, synced, named, and the name is synced. `FileOperations` has one method
for each system call: tests replace it to fail, or to stop, at each single call.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from bulletin_board.reader import DirectorySource
from bulletin_board.storage.interface import DiskFull, StorageError
from wire.errors import UsageError

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
PUBLIC_FILE = 0o644
PUBLIC_DIRECTORY = 0o755

_POSIX = os.name != "nt"
_OTHERS = 0o077
_ANYBODY_WRITES = 0o002


def make_public_directory(path: Path) -> None:
    """Make a directory that everybody may read, and those missing above it, if it is not there."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        _set(each, PUBLIC_DIRECTORY)


def make_private_directory(path: Path) -> None:
    """Make its owner's directory if there is none; `UsageError` if others may use the one there."""
    make_public_directory(path.parent)
    if not path.exists():
        path.mkdir(PRIVATE_DIRECTORY)
        _set(path, PRIVATE_DIRECTORY)
    require_private(path)


def write_public(path: Path, data: bytes) -> None:
    """Write a file that everybody may read, and make the directories above it."""
    if not path.parent.is_dir():
        make_public_directory(path.parent)
    path.write_bytes(data)
    _set(path, PUBLIC_FILE)


def set_public(handle: int) -> None:
    """Let everybody read this open file."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, PUBLIC_FILE)


def create_private(path: Path) -> None:
    """Make an empty file of the owner's if there is none; `UsageError` if others may use it.

    One that is there is not opened: closing it again would drop the locks that this process
    has on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    except FileExistsError:
        require_private(path)
    else:
        _set(path, PRIVATE_FILE)


def require_private(path: Path) -> None:
    """Return if nobody but its owner may use it; `UsageError`, or `OSError` if it is not there."""
    found = path.stat()
    if _POSIX and found.st_mode & _OTHERS:
        mode = "700" if stat.S_ISDIR(found.st_mode) else "600"
        raise UsageError(f"{path} can be used by others: chmod {mode} it")


def require_owned(path: Path, *, sticky: bool) -> None:
    """Return unless everybody may exchange what is in a directory, or make new files there.

    With `sticky` the bit that keeps others from exchanging things is enough.
    """
    mode = path.stat().st_mode
    if _POSIX and mode & _ANYBODY_WRITES and not (sticky and mode & stat.S_ISVTX):
        raise UsageError(
            f"everybody may write to {path}: choose another directory, or chmod o-w it"
        )


def _set(path: Path, mode: int) -> None:
    if _POSIX:
        path.chmod(mode)


_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows changes newlines


class FileOperations(Protocol):
    """Operations on files, one system call each; all raise `OSError`."""

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
    """Operations on files by the operating system."""

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
    """Public files below `root`; `scratch` is on the same file system, and the writer's.

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


_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


def storage_error(message: str, error: OSError) -> StorageError:
    """The error of a storage for one of the system."""
    if error.errno in _FULL:
        return DiskFull(f"{message}: the disk is full")
    return StorageError(f"{message}: {error.strerror}")


@contextmanager
def _as_storage_error(message: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise storage_error(message, error) from error


_ANY_FILE = 0o666
_ANY_DIRECTORY = 0o777
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_EVIDENCE = ".evidence"


@contextmanager
def whole_or_gone(path: Path, scratch: Path | None = None) -> Iterator[None]:
    """Removes a file that could not be written whole, as on a full disk, and names it in the error.

    `scratch` is where it is written meanwhile, if that is somewhere else. Devices, pipes and links
    stay: they were not made here.
    """
    made = scratch or path
    try:
        yield
    except BaseException as error:
        if made.is_file() and not made.is_symlink():
            made.unlink()
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def replace_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Durably give `path` this content: after a crash it has the old or the new one.

    A `private` file is its owner's alone, as is what a crash leaves beside it: at no moment
    can others use either.
    """
    scratch = path.with_name(f"{path.name}.new")
    scratch.unlink(missing_ok=True)
    handle = os.open(scratch, _NEW_FILE, PRIVATE_FILE if private else _ANY_FILE)
    with whole_or_gone(path, scratch):
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    OsFiles().sync_directory(path.parent)


def make_directory(path: Path, *, private: bool = False) -> None:
    """Make a directory if there is none; a `private` one is its owner's alone from the start."""
    mode = PRIVATE_DIRECTORY if private else _ANY_DIRECTORY
    path.mkdir(mode, parents=True, exist_ok=True)


def remove_file(path: Path) -> None:
    """Durably remove a file, if it is there."""
    path.unlink(missing_ok=True)
    OsFiles().sync_directory(path.parent)


class EvidenceFolder:
    """Evidence in a directory: a file is named after its content.

    So no file ever replaces another one, also after a restart, and the same
    evidence is stored once. At most `most` files of one kind are kept, the first
    ones: whoever produces evidence on purpose does not fill the disk. In a `private` one,
    everything is the owner's alone.
    """

    def __init__(self, root: Path, most: int = 64, *, private: bool = False) -> None:
        self._root = root
        self._most = most
        self._private = private

    def keep(self, kind: str, data: bytes) -> Path | None:
        """Store durably; return the file, or None if there are enough. Raises `OSError`."""
        path = self._path(kind, data)
        if path.exists() and path.read_bytes() == data:
            return path
        if len(self._files(kind)) >= self._most:
            return None
        make_directory(self._root, private=self._private)
        replace_file(path, data, private=self._private)
        OsFiles().sync_directory(self._root.parent)
        return path

    def drop(self, kind: str, data: bytes) -> None:
        """Durably remove what turned out to show nothing, if it is there."""
        remove_file(self._path(kind, data))

    def read(self, kind: str) -> list[bytes]:
        """Read all evidence of this kind, in the order of the names."""
        return [path.read_bytes() for path in self._files(kind)]

    def _path(self, kind: str, data: bytes) -> Path:
        return self._root / f"{kind}-{hashlib.sha256(data).hexdigest()[:32]}{_EVIDENCE}"

    def _files(self, kind: str) -> list[Path]:
        return sorted(self._root.glob(f"{kind}-*{_EVIDENCE}"))
