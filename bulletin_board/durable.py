"""Files that outlive a loss of power: written aside, synced, named, and the name synced."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from bulletin_board.storage.files import OsFiles

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700

_ANY_FILE = 0o666
_ANY_DIRECTORY = 0o777
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_SUFFIX = ".evidence"


def replace_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Durably give `path` this content: after a crash it has the old or the new one.

    A `private` file is its owner's alone, as is what a crash leaves beside it: at no moment
    can others use either.
    """
    scratch = path.with_name(f"{path.name}.new")
    scratch.unlink(missing_ok=True)
    handle = os.open(scratch, _FLAGS, PRIVATE_FILE if private else _ANY_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    OsFiles().sync_directory(path.parent)


def make_directory(path: Path, *, private: bool = False) -> None:
    """A directory, if it is not there; a `private` one is its owner's alone from the start."""
    mode = PRIVATE_DIRECTORY if private else _ANY_DIRECTORY
    path.mkdir(mode, parents=True, exist_ok=True)


def remove_file(path: Path) -> None:
    """Durably remove a file, if it is there."""
    path.unlink(missing_ok=True)
    OsFiles().sync_directory(path.parent)


class EvidenceFolder:
    """Evidence in a directory, append-only: a file is named after its content.

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
        """Store durably; the file, or None if there are enough of this kind. Raises `OSError`."""
        path = self._root / f"{kind}-{hashlib.sha256(data).hexdigest()[:32]}{_SUFFIX}"
        if path.exists() and path.read_bytes() == data:
            return path
        if len(self._files(kind)) >= self._most:
            return None
        make_directory(self._root, private=self._private)
        replace_file(path, data, private=self._private)
        OsFiles().sync_directory(self._root.parent)
        return path

    def read(self, kind: str) -> list[bytes]:
        """Everything of this kind, in the order of the names."""
        return [path.read_bytes() for path in self._files(kind)]

    def _files(self, kind: str) -> list[Path]:
        return sorted(self._root.glob(f"{kind}-*{_SUFFIX}"))
