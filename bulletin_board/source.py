"""Where a reader gets the public files of a log from."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from bulletin_board.bundle import LARGEST_BUNDLE
from bulletin_board.note.signed import LARGEST_NOTE
from bulletin_board.tree import HASH_SIZE, TILE_WIDTH
from wire.errors import MalformedMessage, Unattributed

CHECKPOINT = "checkpoint"
COSIGNED = "v1/cosigned"
"""The newest checkpoint with a quorum; a log that grows fast is always ahead of its witnesses."""
LARGEST_TILE = TILE_WIDTH * HASH_SIZE

_ANY = 2**63
_T = TypeVar("_T")


class MissingResource(Unattributed):
    """The log does not serve something that its checkpoint commits to.

    Nobody is proved faulty: a network may hide it. `path` says what is missing.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Source(Protocol):
    """Public files by path. Nothing it returns is trusted."""

    def fetch(self, path: str, limit: int) -> bytes:
        """At most `limit` bytes.

        Raises `MissingResource` if there is no such file and `MalformedMessage`
        if it is larger; never reads more than limit + 1 bytes.
        """


def resource_limit(path: str) -> int:
    """The most bytes that a public file of a log can have."""
    if path == CHECKPOINT:
        return LARGEST_NOTE
    return LARGEST_BUNDLE if path.startswith("tile/entries/") else LARGEST_TILE


class Files(Source, Protocol):
    """A source whose files can be read in parts."""

    def size(self, path: str) -> int:
        """How many bytes the file has; raises `MissingResource`."""

    def part(self, path: str, start: int, size: int) -> bytes:
        """At most `size` bytes of the file from `start` on; raises `MissingResource`."""


class MemorySource:
    """Public files in a mapping."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def fetch(self, path: str, limit: int) -> bytes:
        data = self._files.get(path)
        if data is None:
            raise MissingResource("not there", path)
        return check_limit(data, limit, path)

    def size(self, path: str) -> int:
        return len(self.fetch(path, _ANY))

    def part(self, path: str, start: int, size: int) -> bytes:
        return self.fetch(path, _ANY)[start : start + size]


class DirectorySource:
    """Public files below a directory. Paths are made by this package, never received."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def fetch(self, path: str, limit: int) -> bytes:
        return check_limit(self._read(path, lambda file: file.read(limit + 1)), limit, path)

    def size(self, path: str) -> int:
        return self._read(path, lambda file: os.fstat(file.fileno()).st_size)

    def part(self, path: str, start: int, size: int) -> bytes:
        def read(file: BinaryIO) -> bytes:
            file.seek(start)
            return file.read(size)

        return self._read(path, read)

    def _read(self, path: str, work: Callable[[BinaryIO], _T]) -> _T:
        try:
            # A pipe among the files must not keep a reader waiting for ever.
            with open(self._root / path, "rb", opener=_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise MissingResource("not a file", path)
                return work(file)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise MissingResource("not there", path) from None
        except OSError as error:
            raise MissingResource(f"cannot be read ({error.strerror})", path) from None


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_limit(data: bytes, limit: int, path: str) -> bytes:
    """The data, or `MalformedMessage` if it is longer than `limit`."""
    if len(data) > limit:
        raise MalformedMessage(f"more than {limit} bytes", path)
    return data
