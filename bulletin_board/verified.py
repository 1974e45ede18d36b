"""Tiles that belong to a verified checkpoint, from a source that nobody trusts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from bulletin_board.bundle import LARGEST_BUNDLE, decode_bundle, decode_tile
from bulletin_board.note import Checkpoint
from bulletin_board.source import LARGEST_TILE, Source
from bulletin_board.tree import (
    TILE_WIDTH,
    RightEdge,
    Tile,
    TileContent,
    TileNodes,
    bundle_at,
    consistency_proof,
    edge_tiles,
    inclusion_proof,
    leaf_hash,
    tile_at,
    tile_root,
)
from wire.errors import InvalidProof

_CACHED_TILES = 1_024


def load_edge(source: Source, checkpoint: Checkpoint) -> RightEdge:
    """The right edge of the checkpoint's tree; `InvalidProof` (05-L2) if it has another root."""
    contents = [
        TileContent(tile, decode_tile(source.fetch(tile.path, LARGEST_TILE), tile.width))
        for tile in edge_tiles(checkpoint.size)
    ]
    edge = RightEdge(checkpoint.size, contents)
    if edge.root() != checkpoint.root:
        raise InvalidProof("the partial tiles do not lead to the checkpoint's root", "05-L2")
    return edge


class VerifiedTiles:
    """Hashes, entries and proofs of one checkpoint's tree.

    Every tile is checked against its parent, up to the root, before anything is
    read from it. Memory is bounded: about 1,000 tiles are kept. Not thread-safe.
    """

    def __init__(
        self,
        source: Source,
        checkpoint: Checkpoint,
        edge: RightEdge | None = None,
        older: VerifiedTiles | None = None,
    ) -> None:
        """Reads the right edge now, unless the caller has it and has compared its root.

        `older` belongs to a tree of which the caller knows that this one extends it;
        what was computed for it is not computed again.
        """
        self._source = source
        self.size = checkpoint.size
        found = edge or load_edge(source, checkpoint)
        self._edge = {content.tile: content.hashes for content in found.partial()}
        self._full: OrderedDict[Tile, tuple[bytes, ...]] = OrderedDict()
        known = None if older is None else older.node
        self.node: TileNodes = TileNodes(self.size, self.hashes, known)
        self._ends: dict[int, bytes] = {}

    def hashes(self, tile: Tile) -> Sequence[bytes]:
        """The verified hashes of a tile of this tree."""
        if tile in self._edge:
            return self._edge[tile]
        if tile in self._full:
            self._full.move_to_end(tile)
            return self._full[tile]
        found = decode_tile(self._source.fetch(tile.path, LARGEST_TILE), tile.width)
        parent = tile_at(tile.level + 1, tile.number // TILE_WIDTH, self.size)
        if tile_root(found) != self.hashes(parent)[tile.number % TILE_WIDTH]:
            raise InvalidProof(f"{tile.path} does not belong to the checkpoint", "05-L2")
        self._full[tile] = found
        if len(self._full) > _CACHED_TILES:
            self._full.popitem(last=False)
        return found

    def bundle(self, number: int) -> list[bytes]:
        """The verified entries of one bundle."""
        bundle = bundle_at(number, self.size)
        data = self._source.fetch(bundle.path, LARGEST_BUNDLE)
        entries = decode_bundle(data, bundle.width)
        expected = self.hashes(tile_at(0, number, self.size))
        for offset, (entry, leaf) in enumerate(zip(entries, expected, strict=True)):
            if leaf_hash(entry) != leaf:
                index = number * TILE_WIDTH + offset
                raise InvalidProof(f"entry {index} is not the committed one", "05-L3")
        return entries

    def leaf(self, index: int) -> bytes:
        """The leaf hash at `index`."""
        return self.hashes(tile_at(0, index // TILE_WIDTH, self.size))[index % TILE_WIDTH]

    def inclusion_proof(self, index: int) -> list[bytes]:
        return inclusion_proof(index, self.size, self.node, self._ends)

    def consistency_proof(self, older: int) -> list[bytes]:
        """From the tree of size `older` to this one."""
        return consistency_proof(older, self.size, self.node)
