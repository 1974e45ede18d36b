"""Making inclusion and consistency proofs (RFC 6962, sections 2.1.1 and 2.1.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bulletin_board.tree.hashing import EMPTY_ROOT, node_hash
from wire.errors import UsageError

Node: TypeAlias = Callable[[int, int], bytes]
"""`node(height, i)` is the root of the leaves from i * 2^height to (i + 1) * 2^height."""


def tree_root(size: int, node: Node) -> bytes:
    """The root of the first `size` leaves."""
    return range_root(0, size, node) if size else EMPTY_ROOT


def inclusion_proof(
    index: int, size: int, node: Node, edge: dict[int, bytes] | None = None
) -> list[bytes]:
    """Siblings from the leaf upwards. Reads about log2(size) nodes.

    `edge` remembers the roots of what reaches to the end of the tree, by their first
    leaf, for further proofs in a tree of the same size: almost all proofs share them.
    """
    known = {} if edge is None else edge
    if not 0 <= index < size:
        raise UsageError(f"there is no leaf {index} in a tree of {size}")
    low, high = 0, size
    proof = []
    while high - low > 1:
        middle = low + split(high - low)
        if index < middle:
            if high < size:
                proof.append(range_root(middle, high, node))
            else:
                if middle not in known:
                    known[middle] = range_root(middle, high, node)
                proof.append(known[middle])
            high = middle
        else:
            proof.append(range_root(low, middle, node))
            low = middle
    return proof[::-1]


def consistency_proof(size1: int, size2: int, node: Node) -> list[bytes]:
    """Shows that the first `size1` of `size2` leaves are the older tree."""
    if not 0 < size1 <= size2:
        raise UsageError(f"there is no consistency proof from size {size1} to {size2}")
    low, high = 0, size2
    proof = []
    while high != size1:
        middle = low + split(high - low)
        if size1 <= middle:
            proof.append(range_root(middle, high, node))
            high = middle
        else:
            proof.append(range_root(low, middle, node))
            low = middle
    if low:  # otherwise this is the old root itself, which the verifier has
        proof.append(range_root(low, high, node))
    return proof[::-1]


def split(count: int) -> int:
    """The largest power of two below `count`."""
    return 1 << ((count - 1).bit_length() - 1)


def range_root(low: int, high: int, node: Node) -> bytes:
    """The root of leaves [low, high). `low` is a multiple of a power of two >= high - low."""
    peaks = []
    while low < high:
        height = (high - low).bit_length() - 1
        peaks.append(node(height, low >> height))
        low += 1 << height
    root = peaks.pop()
    while peaks:
        root = node_hash(peaks.pop(), root)
    return root
