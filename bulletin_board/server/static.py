"""The static side of the log: checkpoint, tiles, bundles."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bulletin_board.bundle import truncate_bundle
from bulletin_board.note import Checkpoint, Note
from bulletin_board.source import (
    CHECKPOINT,
    DirectorySource,
    MissingResource,
    Source,
    check_limit,
    resource_limit,
)
from bulletin_board.tree import HASH_SIZE, TILE_WIDTH, Bundle, Tile, parse_path

IMMUTABLE = "public, max-age=31536000, immutable"
MUTABLE = "no-cache"

TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"

_LOOKS = 5


class Resource(NamedTuple):
    """What to answer to a GET."""

    data: bytes
    media_type: str
    cache: str


def find_resource(path: str, source: Source) -> Resource:
    """The public file at `path` of a log that may be growing.

    A partial version that the log has outgrown is cut out of the newer one: its
    bytes are the beginning of the newer one's. Raises `MissingResource`.
    """
    if path == CHECKPOINT:
        return Resource(source.fetch(path, resource_limit(path)), TEXT, MUTABLE)
    wanted = parse_path(path)
    if wanted is None:
        raise MissingResource("no resource of a log has this path", path)
    try:
        data = source.fetch(wanted.path, resource_limit(wanted.path))
    except MissingResource:
        data = _outgrown(wanted, source)
    return Resource(data, BINARY, IMMUTABLE)


def _outgrown(wanted: Tile | Bundle, source: Source) -> bytes:
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


def _cut(wanted: Tile | Bundle, source: Source, size: int) -> bytes:
    level = wanted.level if isinstance(wanted, Tile) else 0
    hashes = (size >> 8 * level) - wanted.number * TILE_WIDTH
    width = min(TILE_WIDTH, hashes)
    if wanted.width >= width:
        raise MissingResource("the log does not have it", wanted.path)
    path = wanted._replace(width=width).path
    data = source.fetch(path, resource_limit(path))
    if isinstance(wanted, Tile):
        return data[: wanted.width * HASH_SIZE]
    return truncate_bundle(data, wanted.width)


def live_directory(root: Path) -> Source:
    """The public files of a log that another process may be writing now."""
    return OutgrownFiles(DirectorySource(root))


def _announced_size(source: Source) -> int:
    """The size in the newest checkpoint: a hint where to look, checked by whoever reads there."""
    data = source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))
    return Checkpoint.from_text(Note.parse(data).text).size


class OutgrownFiles:
    """A `Source` that also has the partial files of checkpoints that the log has outgrown."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def fetch(self, path: str, limit: int) -> bytes:
        return check_limit(find_resource(path, self._source).data, limit, path)
