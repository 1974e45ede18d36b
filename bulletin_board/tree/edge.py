"""The right edge of a growing tree: all that is needed to append and to compute the root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bulletin_board.tree.hashing import EMPTY_ROOT, node_hash
from bulletin_board.tree.tiles import TILE_HEIGHT, TILE_WIDTH, Tile, edge_tiles
from wire.errors import UsageError


class TileContent(NamedTuple):
    """A tile and its hashes."""

    tile: Tile
    hashes: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.hashes)


class RightEdge:
    """The partial tiles of a tree of `size` leaves. Memory grows with the height only.

    The caller vouches for the hashes given to the constructor: compare `root`
    with a verified checkpoint before trusting anything here.
    """

    def __init__(self, size: int = 0, partial: Iterable[TileContent] = ()) -> None:
        self.size = size
        self._levels: list[list[bytes]] = []
        contents = {content.tile: content.hashes for content in partial}
        if sorted(contents) != edge_tiles(size):
            raise UsageError(f"these are not the partial tiles of a tree of {size} leaves")
        for tile, hashes in contents.items():
            if len(hashes) != tile.width:
                raise UsageError(f"{tile.path} has {tile.width} hashes, not {len(hashes)}")
            self._level(tile.level).extend(hashes)

    def append(self, leaf: bytes) -> Iterator[TileContent]:
        """Add one leaf hash; yields the tiles that it completes, lowest level first.

        The iterator must be run to its end; `extend` does so.
        """
        self.size += 1
        level, carried = 0, leaf
        while True:
            hashes = self._level(level)
            hashes.append(carried)
            if len(hashes) < TILE_WIDTH:
                return
            full = tuple(hashes)
            hashes.clear()
            level += 1
            index = (self.size >> TILE_HEIGHT * level) - 1
            yield TileContent(Tile(level - 1, index, TILE_WIDTH), full)
            carried = tile_root(full)

    def extend(self, leaves: Iterable[bytes]) -> list[TileContent]:
        """Add leaf hashes; returns the tiles that they complete."""
        return [full for leaf in leaves for full in self.append(leaf)]

    def partial(self) -> list[TileContent]:
        """The partial tiles, lowest level first."""
        return [
            TileContent(tile, tuple(self._levels[tile.level])) for tile in edge_tiles(self.size)
        ]

    def root(self) -> bytes:
        """The root of all leaves so far."""
        root = b""
        for hashes in self._levels:
            for peak in reversed(_peaks(hashes)):
                root = node_hash(peak, root) if root else peak
        return root or EMPTY_ROOT

    def copy(self) -> RightEdge:
        """An edge that grows on its own."""
        return RightEdge(self.size, self.partial())

    def _level(self, level: int) -> list[bytes]:
        while len(self._levels) <= level:
            self._levels.append([])
        return self._levels[level]


def tile_root(hashes: Sequence[bytes]) -> bytes:
    """The root above a power of two of hashes, such as those of a full tile."""
    row = list(hashes)
    while len(row) > 1:
        row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
    return row[0]


def _peaks(hashes: Sequence[bytes]) -> list[bytes]:
    """Roots of the perfect subtrees over `hashes`, left to right."""
    peaks = []
    start = 0
    while count := len(hashes) - start:
        width = 1 << (count.bit_length() - 1)
        peaks.append(tile_root(hashes[start : start + width]))
        start += width
    return peaks
