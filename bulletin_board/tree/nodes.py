"""Nodes of a tree, computed from its tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bulletin_board.tree.hashing import node_hash
from bulletin_board.tree.tiles import TILE_HEIGHT, TILE_WIDTH, Tile, tile_at

_MOST_REMEMBERED = 100_000

FetchTile = Callable[[Tile], Sequence[bytes]]


class TileNodes:
    """A `Node` function over tiles. Trusts `fetch` to return the hashes of the tree.

    Remembers the inner nodes it computed, so that many proofs about one tree
    share their work, and forgets them all when they become too many.
    """

    def __init__(self, size: int, fetch: FetchTile, older: TileNodes | None = None) -> None:
        """`older` are the nodes of a tree that this one extends: none of them ever changes."""
        self.size = size
        self._fetch = fetch
        self._tiles: dict[tuple[int, int], Sequence[bytes]] = {}
        self.inner: dict[tuple[int, int], bytes] = {} if older is None else older.inner

    def __call__(self, height: int, index: int) -> bytes:
        """The node above the leaves from index * 2^height to (index + 1) * 2^height."""
        level, above = divmod(height, TILE_HEIGHT)
        if above == 0:
            return self._tile(level, index // TILE_WIDTH)[index % TILE_WIDTH]
        known = self.inner.get((height, index))
        if known is None:
            known = node_hash(self(height - 1, 2 * index), self(height - 1, 2 * index + 1))
            if len(self.inner) > _MOST_REMEMBERED:
                self.inner.clear()
                self._tiles.clear()
            self.inner[height, index] = known
        return known

    def _tile(self, level: int, index: int) -> Sequence[bytes]:
        known = self._tiles.get((level, index))
        if known is None:
            known = self._fetch(tile_at(level, index, self.size))
            self._tiles[level, index] = known
        return known
