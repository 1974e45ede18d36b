"""From entries to public files."""

from __future__ import annotations

from collections.abc import Sequence

from bulletin_board.bundle import decode_tile, encode_bundle
from bulletin_board.note import SignedCheckpoint
from bulletin_board.source import CHECKPOINT, LARGEST_TILE, Source, resource_limit
from bulletin_board.storage import Inconsistent, PublicFiles
from bulletin_board.tree import (
    TILE_WIDTH,
    Bundle,
    RightEdge,
    Tile,
    TileContent,
    bundle_at,
    edge_tiles,
    leaf_hash,
    tile_root,
)


def write_entries(public: PublicFiles, edge: RightEdge, entries: Sequence[bytes]) -> None:
    """Write the tiles and bundles that `entries` change; `edge` grows by them.

    The entries in front of them in their first bundle are read back. May be
    repeated after a crash: the same bytes are written again.
    """
    start = edge.size
    contents = edge.extend(map(leaf_hash, entries)) + edge.partial()
    files = {content.tile.path: content.data for content in contents}
    public.write(files | _bundles(public, start, entries))


def publish(public: PublicFiles, signed: SignedCheckpoint, older: int) -> None:
    """Show the checkpoint, then remove the partial files of the tree of size `older`."""
    public.write({CHECKPOINT: signed.to_bytes()})
    public.remove(superseded(older, signed.size))


def boundary(size: int) -> int:
    """The largest multiple of 256 up to `size`: entries below it fill whole bundles."""
    return size - size % TILE_WIDTH


def boundary_edge(source: Source, size: int) -> RightEdge:
    """The right edge at a multiple of 256, computed from full tiles alone.

    Partial tiles vanish when the log grows; full ones are written once. The
    caller compares what grows out of this edge with a signed root.
    """
    if size % TILE_WIDTH:
        raise Inconsistent(f"{size} entries do not fill whole bundles")
    contents = []
    for tile in edge_tiles(size):
        first = tile.number * TILE_WIDTH
        below = [Tile(tile.level - 1, first + i, TILE_WIDTH) for i in range(tile.width)]
        roots = (
            tile_root(decode_tile(source.fetch(full.path, LARGEST_TILE), TILE_WIDTH))
            for full in below
        )
        contents.append(TileContent(tile, tuple(roots)))
    return RightEdge(size, contents)


def _bundles(source: Source, start: int, entries: Sequence[bytes]) -> dict[str, bytes]:
    files = {}
    size = start + len(entries)
    number, used = divmod(start, TILE_WIDTH)
    head = b""
    if used:
        path = bundle_at(number, start).path
        head = source.fetch(path, resource_limit(path))
    position = 0
    while position < len(entries):
        bundle = bundle_at(number, size)
        stop = position + bundle.width - used
        files[bundle.path] = head + encode_bundle(entries[position:stop])
        number, used, head, position = number + 1, 0, b"", stop
    return files


def superseded(older: int, size: int) -> list[str]:
    """Partial files of the older tree that the newer one replaces."""
    old = [tile.path for tile in edge_tiles(older)]
    if older % TILE_WIDTH:
        old.append(Bundle(older // TILE_WIDTH, older % TILE_WIDTH).path)
    kept = {tile.path for tile in edge_tiles(size)}
    kept |= {bundle_at(size // TILE_WIDTH, size).path} if size % TILE_WIDTH else set()
    return [path for path in old if path not in kept]
