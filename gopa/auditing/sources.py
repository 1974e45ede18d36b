"""Where a log comes from (archive, directory, address or reader), and which session of it is meant.

A transcript is a note and the entries under it: 11-I1. The session is chosen by 11-I7.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
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
from gopa.contract.framing import Assembler, Message, Posted
from gopa.contract.manifest import VERSION, session_id
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules.ledger import MOST_TRIED
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


MOST_CANDIDATES: Final = 256
MOST_ENTRIES: Final = 1_024
"""Of a session before its manifest is whole; the largest one takes 560."""
MOST_BYTES: Final = 256 << 20
"""Of what may be manifests of all sessions together."""


@dataclass(slots=True)
class _Candidate:
    """A session whose manifest has not come yet."""

    assembler: Assembler = field(default_factory=Assembler)
    entries: list[Posted] = field(default_factory=list)
    authors: set[bytes] = field(default_factory=set)
    size: int = 0

    def may_begin(self, posted: Posted) -> bool:
        """Whether the entry may be part of a manifest that the rules would take (04-S1)."""
        entry = posted.entry
        if (entry.phase, entry.round) != (Phase.ORGANISER, 0):
            return False
        # Authors who begin a manifest and never end it would take all memory.
        if len(self.authors) < MOST_TRIED:
            self.authors.add(entry.author.data)
        return entry.author.data in self.authors


@dataclass(slots=True)
class SessionChoice:
    """Hands on the entries of one session, in order.

    The one that is `wanted`; or that whose manifest has the hash `manifest`; or the
    first in the log. `found` has all sessions whose manifests were seen, with their
    hashes: a caller that named none refuses a log with several. Memory is bounded: of
    sessions without manifests so many are followed and no more, and of these entries
    only bodies are kept that may be part of a manifest.
    """

    wanted: bytes | None
    manifest: bytes | None
    found: dict[bytes, bytes] = field(default_factory=dict)
    chosen: bytes | None = None
    _candidates: dict[bytes, _Candidate] = field(default_factory=dict)
    _held: int = 0

    def __post_init__(self) -> None:
        self.chosen = self.wanted

    @property
    def ambiguous(self) -> bool:
        """Whether nothing but the order of the log decided, and there are several."""
        return self.wanted is None and self.manifest is None and len(self.found) > 1

    def require_one(self) -> None:
        """Raises `UsageError`, which lists them, if the reader has to name one of several."""
        if self.ambiguous:
            listed = ", ".join(each.hex() for each in sorted(self.found))
            message = f"the log holds several sessions: name one of {listed}"
            raise UsageError(message, "session")

    def take(self, posted: Posted) -> list[Posted]:
        """The entries to judge now: those of the session that are known to be its own."""
        session = posted.entry.session
        if self.wanted not in {None, session}:
            return []
        if session in self.found:
            return [posted] if session == self.chosen else []
        waiting = self._follow(session, posted)
        return [posted] if self.wanted == session else waiting

    def _follow(self, session: bytes, posted: Posted) -> list[Posted]:
        candidate = self._candidates.get(session)
        if candidate is None:
            # Anybody may write ids of sessions that do not exist: so many are followed, no more.
            if len(self._candidates) == MOST_CANDIDATES:
                return []
            candidate = self._candidates[session] = _Candidate()
        entry = posted.entry
        of_manifest = candidate.may_begin(posted)
        if not of_manifest:
            posted = replace(posted, entry=replace(entry, body=b""))
        size = len(posted.entry.body)
        if len(candidate.entries) == MOST_ENTRIES or self._held + size > MOST_BYTES:
            return []
        candidate.entries.append(posted)
        candidate.size += size
        self._held += size
        if not of_manifest:
            return []
        for item in candidate.assembler.observe(posted):
            if isinstance(item, Message) and _is_manifest(item, session):
                return self._found(session, item.body)
        return []

    def _found(self, session: bytes, body: bytes) -> list[Posted]:
        version = int.from_bytes(body[:2])
        digest = sha256(body).digest()
        self.found[session] = digest
        candidate = self._candidates.pop(session)
        self._held -= candidate.size
        if self.chosen is None and self.manifest in {None, digest}:
            self.chosen = session
        if version != VERSION and session == self.chosen:
            raise Unsupported(f"a manifest of version {version}; known is {VERSION}")
        return candidate.entries if session == self.chosen else []


def _is_manifest(message: Message, session: bytes) -> bool:
    return (
        # The id is a hash of the manifest: an attacker cannot put another one under the same id.
        message.seq == 0 and message.kind == Kind.MANIFEST and session_id(message.body) == session
    )
