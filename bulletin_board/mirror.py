"""From an archive to a directory that any web server can serve."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bulletin_board.archive import ArchiveReader
from bulletin_board.bundle import encode_bundle
from bulletin_board.modes import write_public
from bulletin_board.source import CHECKPOINT
from bulletin_board.tree import RightEdge, TileContent, bundles, leaf_hash
from wire.errors import UsageError


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
