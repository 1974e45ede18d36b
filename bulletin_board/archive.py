r"""A whole log in one file, for an audit offline. `specs/05-bulletin-board.md`, section 7.

    "gopa-archive/v1\\n"  header  checkpoint  bundle 0  bundle 1  ...  end

Each part is a length in four bytes and its content. The number and the bounds
of the parts follow from the checkpoint, which comes first, so a reader needs
one bundle of memory and no seeking. There are no names or paths in it.

An archive can be unpacked to a directory that any web server can serve.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bulletin_board.note import LARGEST_NOTE, Checkpoint, SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import CHECKPOINT, LogReader
from bulletin_board.storage.files import write_public
from bulletin_board.tree import (
    LARGEST_BUNDLE,
    RightEdge,
    TileContent,
    bundles,
    decode_bundle,
    encode_bundle,
    leaf_hash,
)
from wire.codec import Codec, fixed, opaque, record
from wire.errors import InvalidProof, MalformedMessage, UsageError

MAGIC = b"gopa-archive/v1\n"
WHOLE_LOG = bytes(32)


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """What the archive was made for. Nothing here is trusted: keys come from outside.

    `session` is the session of interest, or zeros. An archive always holds the
    whole log: an entry left out could not be shown to belong to another session.
    """

    session: bytes
    log: bytes


HEADER: Codec[ArchiveHeader] = record(ArchiveHeader, session=fixed(32), log=opaque(0, 1024))


def write_archive(reader: LogReader, out: BinaryIO, session: bytes = WHOLE_LOG) -> None:
    """Write the log up to the reader's checkpoint. The same log gives the same bytes."""
    digest = hashlib.sha256(MAGIC)
    out.write(MAGIC)

    def part(content: bytes) -> None:
        framed = len(content).to_bytes(4) + content
        digest.update(framed)
        out.write(framed)

    part(HEADER.encode(ArchiveHeader(session, reader.signed.checkpoint.origin.encode())))
    part(reader.signed.to_bytes())
    for entries in reader.bundles():
        part(encode_bundle(entries))
    out.write(digest.digest())


class ArchiveParts:
    """The parts of an archive, read as a stream; the caller judges the checkpoint.

    `bundles` hands out entries before the root over all of them is known: a
    caller believes none until the iterator has ended without an error.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Read up to the checkpoint; `MalformedMessage` if there is none."""
        self._stream = stream
        self._digest = hashlib.sha256(MAGIC)
        if self._start() != MAGIC:
            raise MalformedMessage("this is not a .gopa file")
        self.header = HEADER.decode(self._part(HEADER.max_size, "header"))
        self.note = self._part(LARGEST_NOTE, "checkpoint")

    def bundles(self, checkpoint: Checkpoint) -> Iterator[list[bytes]]:
        """Read all entries, in lists of up to 256. May be run once."""
        if self.header.log != checkpoint.origin.encode():
            raise MalformedMessage("the header names another log", "header")
        edge = RightEdge()
        for bundle in bundles(checkpoint.size):
            data = self._part(LARGEST_BUNDLE, bundle.path)
            entries = decode_bundle(data, bundle.width)
            edge.extend(map(leaf_hash, entries))
            yield entries
        if edge.root() != checkpoint.root:
            raise InvalidProof("the entries do not lead to the checkpoint's root", "05-A3")
        if self._take(32) != self._digest.digest():
            raise MalformedMessage("the archive is damaged", "end")
        if self._stream.read(1):  # two archives of one log would differ in what nobody verified
            raise MalformedMessage("bytes after the end of the archive", "end")

    def _start(self) -> bytes:
        """The first bytes; too few of them are no start of an archive either."""
        try:
            return self._take(len(MAGIC))
        except MalformedMessage:
            return b""

    def _part(self, limit: int, name: str) -> bytes:
        head = self._take(4)
        size = int.from_bytes(head)
        if size > limit:
            raise MalformedMessage(f"{size} bytes where at most {limit} are allowed", name)
        content = self._take(size)
        self._digest.update(head + content)
        return content

    def _take(self, size: int) -> bytes:
        """Exactly `size` bytes; memory grows with the bytes that come, not with `size`."""
        parts = []
        missing = size
        while missing:
            data = self._stream.read(min(missing, 65_536))
            if not data:
                raise MalformedMessage(f"the archive ends {missing} bytes too early", "archive")
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)


class ArchiveReader:
    """An archive read as a stream under a trust policy, and verified on the way.

    `entries` hands out entries before the root over all of them is known: a
    caller believes none until the iterator has ended without an error.
    """

    def __init__(self, stream: BinaryIO, policy: TrustPolicy) -> None:
        """Read up to the checkpoint; raises `ProtocolError`s if it does not hold."""
        self._parts = ArchiveParts(stream)
        self.header = self._parts.header
        self.signed: SignedCheckpoint = policy.open(self._parts.note)
        # Nothing signs the header: it must not show people another log than the one archived.
        if self.header.log != self.signed.checkpoint.origin.encode():
            raise MalformedMessage("the header names another log", "header")

    def bundles(self) -> Iterator[list[bytes]]:
        """Read all entries, in lists of up to 256. May be run once."""
        yield from self._parts.bundles(self.signed.checkpoint)

    def entries(self) -> Iterator[bytes]:
        """Read all entries in order. May be run once."""
        for entries in self.bundles():
            yield from entries


def write_mirror(archive: ArchiveReader, root: Path) -> None:
    """Write the public files of the archived log into a new or empty directory.

    The checkpoint is written last, and only if everything verified: a directory
    without it is no log. Raises `ProtocolError`s from the archive, `UsageError`
    if the directory is in use.
    """
    if root.exists() and any(root.iterdir()):
        raise UsageError(f"{root} is not empty: choose a new directory")
    edge = RightEdge()
    for bundle, entries in zip(bundles(archive.signed.size), archive.bundles(), strict=True):
        write_public(root / bundle.path, encode_bundle(entries))
        _write_tiles(root, edge.extend(map(leaf_hash, entries)))
    _write_tiles(root, edge.partial())
    write_public(root / CHECKPOINT, archive.signed.to_bytes())


def _write_tiles(root: Path, contents: Iterable[TileContent]) -> None:
    for content in contents:
        write_public(root / content.tile.path, content.data)
