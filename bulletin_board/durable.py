"""Files that outlive a loss of power: written aside, synced, named, and the name synced."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from bulletin_board.storage.files import OsFiles

_SUFFIX = ".evidence"


def replace_file(path: Path, data: bytes) -> None:
    """Durably give `path` this content: after a crash it has the old or the new one."""
    scratch = path.with_name(f"{path.name}.new")
    with scratch.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    OsFiles().sync_directory(path.parent)


def remove_file(path: Path) -> None:
    """Durably remove a file, if it is there."""
    path.unlink(missing_ok=True)
    OsFiles().sync_directory(path.parent)


class EvidenceFolder:
    """Evidence in a directory, append-only: a file is named after its content.

    So no file ever replaces another one, also after a restart, and the same
    evidence is stored once. At most `most` files of one kind are kept, the first
    ones: whoever produces evidence on purpose does not fill the disk.
    """

    def __init__(self, root: Path, most: int = 64) -> None:
        self._root = root
        self._most = most

    def keep(self, kind: str, data: bytes) -> Path | None:
        """Store durably; the file, or None if there are enough of this kind. Raises `OSError`."""
        path = self._root / f"{kind}-{hashlib.sha256(data).hexdigest()[:32]}{_SUFFIX}"
        if path.exists() and path.read_bytes() == data:
            return path
        if len(self._files(kind)) >= self._most:
            return None
        self._root.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
        OsFiles().sync_directory(self._root.parent)
        return path

    def read(self, kind: str) -> list[bytes]:
        """Everything of this kind, in the order of the names."""
        return [path.read_bytes() for path in self._files(kind)]

    def _files(self, kind: str) -> list[Path]:
        return sorted(self._root.glob(f"{kind}-*{_SUFFIX}"))
