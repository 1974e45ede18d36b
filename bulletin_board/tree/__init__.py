"""The Merkle tree of RFC 6962: hashes, proofs, tiles. Pure: no files, no clock.

Specification: `specs/05-bulletin-board.md`, section 1.
"""

from bulletin_board.tree.edge import RightEdge, TileContent, tile_root
from bulletin_board.tree.hashing import EMPTY_ROOT, HASH_SIZE, leaf_hash, node_hash
from bulletin_board.tree.proving import (
    Node,
    consistency_proof,
    inclusion_proof,
    subset_proof,
    tree_root,
    verify_subset,
)
from bulletin_board.tree.tiles import (
    TILE_WIDTH,
    Bundle,
    Tile,
    TileNodes,
    bundle_at,
    bundles,
    edge_tiles,
    is_resource,
    parse_path,
    resources,
    tile_at,
    tiles,
)
from bulletin_board.tree.verifying import old_root, verify_consistency, verify_inclusion

__all__ = [
    "EMPTY_ROOT",
    "HASH_SIZE",
    "TILE_WIDTH",
    "Bundle",
    "Node",
    "RightEdge",
    "Tile",
    "TileContent",
    "TileNodes",
    "bundle_at",
    "bundles",
    "consistency_proof",
    "edge_tiles",
    "inclusion_proof",
    "is_resource",
    "leaf_hash",
    "node_hash",
    "old_root",
    "parse_path",
    "resources",
    "subset_proof",
    "tile_at",
    "tile_root",
    "tiles",
    "tree_root",
    "verify_consistency",
    "verify_inclusion",
    "verify_subset",
]
