"""One proof for many leaves of a tree: siblings that two of them share are sent once.

The hashes are those of the largest subtrees without any of the leaves, from left to
right. Rules T5 and T6 of `specs/05-bulletin-board.md`, section 1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bulletin_board.tree.hashing import HASH_SIZE, node_hash
from bulletin_board.tree.proving import Node, range_root, split
from wire.errors import InvalidProof, UsageError


def subset_proof(indexes: Sequence[int], size: int, node: Node) -> list[bytes]:
    """The proof for these leaves of a tree of `size`, in strictly increasing order."""
    if not indexes:
        return []
    if not _are_leaves(indexes, size):
        raise UsageError(f"increasing indexes of leaves of a tree of {size}", "indexes")
    proof: list[bytes] = []

    def visit(low: int, high: int, first: int, last: int) -> None:
        if first == last:
            proof.append(range_root(low, high, node))
        elif high - low > 1:
            middle = low + split(high - low)
            between = bisect_left(indexes, middle, first, last)
            visit(low, middle, first, between)
            visit(middle, high, between, last)

    visit(0, size, 0, len(indexes))
    return proof


def verify_subset(
    leaves: Sequence[tuple[int, bytes]], size: int, proof: Sequence[bytes], root: bytes
) -> None:
    """Return if the tree (size, root) has these leaf hashes at these indexes.

    Raises `InvalidProof` otherwise. No leaves need an empty proof, which shows nothing.
    `size` and `root` come from a verified checkpoint.
    """
    if any(len(item) != HASH_SIZE for item in (root, *proof, *(leaf for _, leaf in leaves))):
        raise InvalidProof(f"a hash has {HASH_SIZE} bytes", "05-T5")
    indexes = [index for index, _ in leaves]
    if not _are_leaves(indexes, size):
        raise InvalidProof(f"increasing indexes of leaves of a tree of {size}", "05-T5")
    rest = iter(proof)
    if leaves and _root(leaves, indexes, size, rest) != root:
        raise InvalidProof("the proof leads to another root", "05-T6")
    if next(rest, None) is not None:
        raise InvalidProof("the proof has more hashes than the shape demands", "05-T5")


def _root(
    leaves: Sequence[tuple[int, bytes]], indexes: Sequence[int], size: int, rest: Iterator[bytes]
) -> bytes:
    def visit(low: int, high: int, first: int, last: int) -> bytes:
        if first == last:
            found = next(rest, None)
            if found is None:
                raise InvalidProof("the proof has fewer hashes than the shape demands", "05-T5")
            return found
        if high - low == 1:
            return leaves[first][1]
        middle = low + split(high - low)
        between = bisect_left(indexes, middle, first, last)
        left = visit(low, middle, first, between)
        return node_hash(left, visit(middle, high, between, last))

    return visit(0, size, 0, len(leaves))


def _are_leaves(indexes: Sequence[int], size: int) -> bool:
    rising = all(a < b for a, b in pairwise(indexes))
    return rising and (not indexes or (indexes[0] >= 0 and indexes[-1] < size))
