"""The Merkle tree of RFC 6962: hashes, proofs, tiles. Pure: no files, no clock.

Read `merkle` (proofs), then `tiles` (how a tree lies in files, and its older roots).

    >>> from bulletin_board.tree import leaf_hash, node_hash, verify_inclusion
    >>> leaves = [leaf_hash(entry) for entry in (b"a", b"b", b"c")]
    >>> root = node_hash(node_hash(leaves[0], leaves[1]), leaves[2])
    >>> verify_inclusion(2, 3, leaves[2], [node_hash(leaves[0], leaves[1])], root)

Specification: `specs/05-bulletin-board.md`, section 1.
"""

from bulletin_board.tree.merkle import (
    EMPTY_ROOT,
    HASH_SIZE,
    Node,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    old_root,
    subset_proof,
    tree_root,
    verify_consistency,
    verify_inclusion,
    verify_subset,
)
from bulletin_board.tree.tiles import (
    LARGEST_BUNDLE,
    TILE_WIDTH,
    Bundle,
    PastRoots,
    RightEdge,
    Tile,
    TileContent,
    TileNodes,
    bundle_at,
    bundles,
    decode_bundle,
    decode_tile,
    edge_tiles,
    encode_bundle,
    is_resource,
    parse_path,
    resources,
    tile_at,
    tile_root,
    tiles,
    truncate_bundle,
)

__all__ = [
    "EMPTY_ROOT",
    "HASH_SIZE",
    "LARGEST_BUNDLE",
    "TILE_WIDTH",
    "Bundle",
    "Node",
    "PastRoots",
    "RightEdge",
    "Tile",
    "TileContent",
    "TileNodes",
    "bundle_at",
    "bundles",
    "consistency_proof",
    "decode_bundle",
    "decode_tile",
    "edge_tiles",
    "encode_bundle",
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
    "truncate_bundle",
    "verify_consistency",
    "verify_inclusion",
    "verify_subset",
]
