"""Opens a transcript: an archive, a directory, an address, or an open reader.

All of them are a note and the entries under it ([I1] of `specs/11-audit.md`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from bulletin_board import Checkpoint, LogReader
from bulletin_board.archive import MAGIC, WHOLE_LOG, ArchiveParts
from bulletin_board.fsck import LogFiles, check_listing
from bulletin_board.reader import (
    CHECKPOINT,
    COSIGNED,
    DirectorySource,
    MissingResource,
    Source,
    resource_limit,
)
from wire.errors import GopaError, UsageError

_FAMILY: Final = b"gopa-archive/"
_SECONDS: Final = 60.0


class Unsupported(GopaError):
    """Reports a format of a version that this auditor does not know."""


class AuditedLog(Protocol):
    """Gives access to a log to be audited; nothing that it says of itself is believed."""

    name: str
    session: bytes
    note: bytes

    def bundles(self, checkpoint: Checkpoint) -> Iterator[list[bytes]]:
        """All entries, once; raises `ProtocolError`s, at the end too."""

    def check_strays(self, size: int) -> None:
        """Raises `ProtocolError` if there is something that a log of this size does not need."""

    def cosigned(self) -> bytes | None:
        """Another note of the log, which has cosignatures, if it keeps one."""


TranscriptLike: TypeAlias = str | Path | LogReader


def open_transcript(source: TranscriptLike, opened: ExitStack) -> AuditedLog:
    """Opens the transcript; what has to be closed is left to `opened`.

    Raises:
        UsageError: there is nothing of that name.
        Unsupported: an archive of another version.
        ProtocolError: what is there is no transcript, or cannot be had.
    """
    if isinstance(source, LogReader):
        return OpenLog(source)
    given: object = source
    if not isinstance(given, str | os.PathLike):
        message = "must be a file, a directory or an address of a log, or an open LogReader, not "
        raise UsageError(f"{message}{type(given).__name__}", "source")
    if "://" in str(source):
        return _at_address(str(source), opened)
    path = Path(source)
    if path.is_dir():
        public = path / "public"
        files = public if public.is_dir() else path
        if not (files / CHECKPOINT).is_file():
            raise UsageError(f"{path} holds no log: there is no file named {CHECKPOINT}", "source")
        return PublicLog(DirectorySource(files), str(source), files)
    try:
        stream = opened.enter_context(path.open("rb"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "source") from None
    magic = stream.peek(len(MAGIC))[: len(MAGIC)]
    if magic.startswith(_FAMILY) and len(magic) == len(MAGIC) and magic != MAGIC:
        raise Unsupported(f"an archive of version {_version(magic)}; known is {_version(MAGIC)}")
    return Archive(ArchiveParts(stream), str(source))


def _version(magic: bytes) -> str:
    return magic[len(_FAMILY) :].decode("ascii", "backslashreplace").strip()


class Archive:
    """Reads a `.gopa` file, once."""

    def __init__(self, parts: ArchiveParts, name: str) -> None:
        self._parts = parts
        self.name = name
        self.session = parts.header.session
        self.note = parts.note

    def bundles(self, checkpoint: Checkpoint) -> Iterator[list[bytes]]:
        return self._parts.bundles(checkpoint)

    def check_strays(self, size: int) -> None:
        """An archive has no place for any: bytes behind its end end `bundles`."""

    def cosigned(self) -> bytes | None:
        return None


class PublicLog:
    """Reads the public files of a board, in a directory or behind an address."""

    session = WHOLE_LOG

    def __init__(self, source: Source, name: str, root: Path | None = None) -> None:
        self._source = source
        self._root = root
        self.name = name
        self.note = source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))

    @property
    def source(self) -> Source:
        """The files themselves."""
        return self._source

    def bundles(self, checkpoint: Checkpoint) -> Iterator[list[bytes]]:
        return LogFiles(self._source, checkpoint).bundles()

    def check_strays(self, size: int) -> None:
        """Only a directory can be listed."""
        if self._root is not None:
            check_listing(self._root, size)

    def cosigned(self) -> bytes | None:
        if self._root is not None:
            return None
        try:
            return self._source.fetch(COSIGNED, resource_limit(CHECKPOINT))
        except MissingResource:
            return None


class OpenLog:
    """Reads through a reader that the caller has opened, which verifies every entry."""

    session = WHOLE_LOG

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self.name = "an open log"
        self.note = reader.signed.to_bytes()

    def bundles(self, checkpoint: Checkpoint) -> Iterator[list[bytes]]:
        if checkpoint != self._reader.signed.checkpoint:
            raise UsageError("the reader was opened for another checkpoint", "source")
        return self._reader.bundles()

    def check_strays(self, size: int) -> None:
        """A reader shows nothing but entries."""

    def cosigned(self) -> bytes | None:
        return None


def _at_address(url: str, opened: ExitStack) -> PublicLog:
    from bulletin_board.client.http import HttpTransport
    from bulletin_board.client.reading import HttpSource

    if not url.startswith(("http://", "https://")):
        raise UsageError("an address must begin with http:// or https://", "source")
    transport = HttpTransport(seconds=_SECONDS)
    opened.callback(transport.close)
    return PublicLog(HttpSource(url, transport), url)
