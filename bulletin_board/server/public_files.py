"""The public files of a log over HTTP: checkpoint, tiles, bundles.

Answers are sent without holding more of them than a fixed number of bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send  # noqa: TC002 - a light module

from bulletin_board.note import Checkpoint, SignedNote
from bulletin_board.reader import (
    CHECKPOINT,
    DirectorySource,
    MissingResource,
    PartialFiles,
    Source,
    check_limit,
    resource_limit,
)
from bulletin_board.tree import HASH_SIZE, TILE_WIDTH, Bundle, Tile, parse_path, truncate_bundle

Reading = Callable[[Callable[[], bytes]], Awaitable[bytes]]
"""Lets a thread read."""


class PiecesResponse(Response):
    """A file sent in pieces: each is read when the peer has read the one before.

    However many peers read slowly, they hold a piece each, and keep nobody else from reading.
    """

    def __init__(
        self, pieces: ResourceInPieces, first: bytes, headers: dict[str, str], reading: Reading
    ) -> None:
        super().__init__(None, 200, headers, pieces.media_type)
        self.headers["content-length"] = str(pieces.length)
        self._pieces, self._first, self._reading = pieces, first, reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            await send({"type": "http.response.body", "body": self._first, "more_body": True})
            sent = len(self._first)
            while sent < self._pieces.length:
                piece = self._pieces.quick_part(sent, PIECE)
                if not piece:  # a disk may take long: it keeps a thread waiting, and no other peer
                    piece = await self._reading(partial(self._pieces.part, sent, PIECE))
                if not piece:
                    raise MissingResource("it was cut off while it was read")
                sent += len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class SendingBudget:
    """The bytes of answers on their way to readers, bounded. Used by one event loop."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, size: int) -> bool:
        """Whether `size` bytes more may be held; if so, `give` them back."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give(self, size: int) -> None:
        self._left += size


class BudgetedResponse(Response):
    """A body whose bytes were taken from a budget, and go back to it afterwards.

    It is sent in pieces, each when the peer has read the one before: a peer that
    does not read is noticed by its connection and cut off.
    """

    def __init__(
        self, body: bytes, headers: dict[str, str], media_type: str, held: SendingBudget
    ) -> None:
        super().__init__(body, 200, headers, media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        body = memoryview(self.body)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            pieces = range(0, len(body), PIECE) if scope["method"] != "HEAD" else ()
            for start in pieces:
                piece = bytes(body[start : start + PIECE])
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._held.give(len(body))


IMMUTABLE = "public, max-age=31536000, immutable"
MUTABLE = "no-cache"

TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"

_LOOKS = 5


PIECE = 65_536
"""Bytes of a file that are held for one reader."""


class PublicResource(NamedTuple):
    """What to answer to a GET."""

    data: bytes
    media_type: str
    cache: str


def find_resource(path: str, source: Source) -> PublicResource:
    """The public file at `path` of a log that may be growing.

    A partial version that the log has outgrown is cut out of the newer one: its
    bytes are the beginning of the newer one's. Raises `MissingResource`.
    """
    if path == CHECKPOINT:
        return PublicResource(source.fetch(path, resource_limit(path)), TEXT, MUTABLE)
    wanted = parse_path(path)
    if wanted is None:
        raise MissingResource("no resource of a log has this path", path)
    try:
        data = source.fetch(wanted.path, resource_limit(wanted.path))
    except MissingResource:
        _, data = _outgrown(wanted, source)
    return PublicResource(data, BINARY, IMMUTABLE)


def _outgrown(wanted: Tile | Bundle, source: Source) -> tuple[str, bytes]:
    """Ask the published checkpoint where to look, again if the log grew meanwhile.

    The writer's own count is no guide: it changes after the files have.
    """
    size = _announced_size(source)
    for _ in range(_LOOKS):
        try:
            return _cut(wanted, source, size)
        except MissingResource:
            before, size = size, _announced_size(source)
            if size == before:
                raise
    raise MissingResource("the log grows too fast: ask again", wanted.path)


def _cut(wanted: Tile | Bundle, source: Source, size: int) -> tuple[str, bytes]:
    """The file that the log has instead, and what of it was asked for."""
    level = wanted.level if isinstance(wanted, Tile) else 0
    hashes = (size >> 8 * level) - wanted.number * TILE_WIDTH
    width = min(TILE_WIDTH, hashes)
    if wanted.width >= width:
        raise MissingResource("the log does not have it", wanted.path)
    path = wanted._replace(width=width).path
    data = source.fetch(path, resource_limit(path))
    if isinstance(wanted, Tile):
        return path, data[: wanted.width * HASH_SIZE]
    return path, truncate_bundle(data, wanted.width)


class ResourceInPieces:
    """The resource at a path, a bundle in parts: it can have 16 MB.

    `wanted` is None for the checkpoint. `begin_quickly` comes first, and `begin` if that finds
    nothing.
    """

    def __init__(self, path: str, source: PartialFiles) -> None:
        self.wanted = parse_path(path)
        self.media_type, self.cache = BINARY, IMMUTABLE
        self.length = 0
        self._path, self._source = path, source
        self._file = path

    def begin_quickly(self) -> bytes:
        """What `begin` returns if no disk has to be waited for; empty if it may have to be."""
        if self.wanted is None and self._path != CHECKPOINT:
            raise MissingResource("no resource of a log has this path", self._path)
        try:
            data, self.length = self._source.quick_part(self._path, 0, PIECE)
        except MissingResource:
            return b""
        if self.length > resource_limit(self._path):
            return b""  # whoever reads all of it says what is wrong
        if self.wanted is None:
            self.media_type, self.cache = TEXT, MUTABLE
        return data if len(data) == self.length or isinstance(self.wanted, Bundle) else b""

    def begin(self) -> bytes:
        """The first piece, or all that is no bundle. Raises `MissingResource`."""
        if isinstance(self.wanted, Bundle):
            self._locate(self.wanted)
            return self.part(0, PIECE)
        found = find_resource(self._path, self._source)
        self.media_type, self.cache, self.length = found.media_type, found.cache, len(found.data)
        return found.data

    def part(self, start: int, size: int) -> bytes:
        """A piece of the resource from `start` on; raises `MissingResource`."""
        size = min(size, self.length - start)
        for _ in range(_LOOKS):
            try:
                return self._source.part(self._file, start, size)
            except MissingResource:
                if isinstance(self.wanted, Bundle):  # the log has outgrown the file since
                    self._locate(self.wanted)
        raise MissingResource("the log grows too fast: ask again", self._path)

    def quick_part(self, start: int, size: int) -> bytes:
        """The beginning of `part` that needs no waiting for a disk, maybe nothing."""
        try:
            return self._source.quick_part(self._file, start, min(size, self.length - start))[0]
        except MissingResource:
            return b""

    def _locate(self, wanted: Bundle) -> None:
        """Which file begins with the bundle, and where in it the bundle ends."""
        try:
            self._file, self.length = wanted.path, self._source.size(wanted.path)
        except MissingResource:
            self._file, data = _outgrown(wanted, self._source)
            self.length = len(data)


def live_directory(root: Path) -> Source:
    """The public files of a log that another process may be writing now."""
    return OutgrownFiles(DirectorySource(root))


def _announced_size(source: Source) -> int:
    """The size in the newest checkpoint: a hint where to look, checked by whoever reads there."""
    data = source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))
    return Checkpoint.from_text(SignedNote.parse(data).text).size


class OutgrownFiles:
    """Public files, also partial ones of checkpoints that the log has outgrown."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def fetch(self, path: str, limit: int) -> bytes:
        return check_limit(find_resource(path, self._source).data, limit, path)
