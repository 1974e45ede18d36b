"""Computes the hashes of a Merkle tree (RFC 6962), makes proofs about it and verifies them.

Inclusion and consistency proofs are made as RFC 6962 says in 2.1.1 and 2.1.2, and verified as RFC
9162 says in 2.1.3.2 and 2.1.4.2. A proof for many leaves sends siblings that two of them share
once: its hashes are those of the largest subtrees without any of the leaves, from left to right.
T1 to T6 in errors are the rules of `specs/05-bulletin-board.md`, section 1.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from wire.errors import InvalidProof, UsageError

HASH_SIZE = 32

EMPTY_ROOT = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """SHA-256(0x00 || entry). The prefix keeps a leaf from passing for a node."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two nodes to the one above: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


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


def subset_proof(
    indexes: Sequence[int], size: int, node: Node, sizes: Sequence[int] = ()
) -> list[bytes]:
    """The proof for these leaves of a tree of `size`, in strictly increasing order.

    It also shows which roots the tree had at `sizes`: increasing, above 0, at most `size`.
    """
    if not (indexes or sizes):
        return []
    if not _are_leaves(indexes, size):
        raise UsageError(f"increasing indexes of leaves of a tree of {size}", "indexes")
    if not _are_sizes(sizes, size):
        raise UsageError(f"increasing sizes from 1 to {size}", "sizes")
    proof: list[bytes] = []

    def visit(low: int, high: int) -> None:
        shown = bisect_left(indexes, high) - bisect_left(indexes, low)
        if not (shown or _between(sizes, low, high - 1)):
            proof.append(range_root(low, high, node))
        elif shown < high - low:  # else all leaves are shown, and nothing else is needed
            middle = low + split(high - low)
            visit(low, middle)
            visit(middle, high)

    visit(0, size)
    return proof


def verify_subset(
    leaves: Sequence[tuple[int, bytes]],
    size: int,
    proof: Sequence[bytes],
    root: bytes,
    sizes: Sequence[int] = (),
) -> tuple[bytes, ...]:
    """The roots at `sizes` of the tree (size, root), if it has these leaf hashes at these indexes.

    Raises `InvalidProof` if it has not. Without leaves and sizes the proof is empty, and shows
    nothing. `size` and `root` come from a verified checkpoint.
    """
    if any(len(item) != HASH_SIZE for item in (root, *proof, *(leaf for _, leaf in leaves))):
        raise InvalidProof(f"a hash has {HASH_SIZE} bytes", "05-T5")
    indexes = [index for index, _ in leaves]
    if not _are_leaves(indexes, size):
        raise InvalidProof(f"increasing indexes of leaves of a tree of {size}", "05-T5")
    if not _are_sizes(sizes, size):
        raise InvalidProof(f"increasing sizes from 1 to {size}", "05-T5")
    rest, found = iter(proof), tuple[bytes, ...]()
    if leaves or sizes:
        computed, found = _roots(dict(leaves), indexes, size, rest, sizes)
        if computed != root:
            raise InvalidProof("the proof leads to another root", "05-T6")
    if next(rest, None) is not None:
        raise InvalidProof("the proof has more hashes than the shape demands", "05-T5")
    return found


def _roots(
    leaves: Mapping[int, bytes],
    indexes: Sequence[int],
    size: int,
    rest: Iterator[bytes],
    sizes: Sequence[int],
) -> tuple[bytes, tuple[bytes, ...]]:
    """The root of the tree, and those that it had at `sizes`."""
    older = dict.fromkeys(sizes, b"")
    """What each smaller tree has of the subtrees that were visited last; in the end its root."""

    def visit(low: int, high: int) -> bytes:
        if not _is_split(low, high, indexes, sizes):
            found = next(rest, None)
            if found is None:
                raise InvalidProof("the proof has fewer hashes than the shape demands", "05-T5")
        elif high - low == 1:
            found = leaves[low]
        else:
            middle = low + split(high - low)
            left, right = visit(low, middle), visit(middle, high)
            for each in _between(sizes, middle, high):  # a smaller tree ends in the right half
                older[each] = node_hash(left, older[each])
            found = node_hash(left, right)
        if high in older:  # it ends here: all of this subtree belongs to it
            older[high] = found
        return found

    return visit(0, size), tuple(older.values())


def _is_split(low: int, high: int, indexes: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a leaf that is shown lies in [low, high), or a smaller tree ends inside."""
    leaf = bisect_left(indexes, low) < bisect_left(indexes, high)
    return leaf or bool(_between(sizes, low, high - 1))


def _between(sizes: Sequence[int], low: int, high: int) -> Sequence[int]:
    """The sizes above `low`, up to `high`."""
    return sizes[bisect_right(sizes, low) : bisect_right(sizes, high)]


def _are_sizes(sizes: Sequence[int], size: int) -> bool:
    rising = all(a < b for a, b in pairwise(sizes))
    return rising and (not sizes or (sizes[0] > 0 and sizes[-1] <= size))


def _are_leaves(indexes: Sequence[int], size: int) -> bool:
    rising = all(a < b for a, b in pairwise(indexes))
    return rising and (not indexes or (indexes[0] >= 0 and indexes[-1] < size))


def verify_inclusion(
    index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes
) -> None:
    """Return if `proof` shows that leaf `index` of the tree (size, root) is `leaf`.

    Raises `InvalidProof` otherwise. `size` and `root` come from a verified checkpoint.
    """
    _check_hashes([leaf, root, *proof], "05-T1")
    if not 0 <= index < size:
        raise InvalidProof(f"there is no leaf {index} in a tree of {size}", "05-T1")
    position, last, computed = index, size - 1, leaf
    for sibling in proof:
        if last == 0:  # with more hashes, an inner node could pass for a leaf
            raise InvalidProof("the proof is longer than the tree is high", "05-T1")
        if position & 1 or position == last:
            computed = node_hash(sibling, computed)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            computed = node_hash(computed, sibling)
        position, last = position >> 1, last >> 1
    if last != 0:  # with fewer hashes, too
        raise InvalidProof("the proof is shorter than the tree is high", "05-T1")
    if computed != root:
        raise InvalidProof("the proof leads to another root", "05-T2")


def verify_consistency(
    size1: int, size2: int, proof: Sequence[bytes], root1: bytes, root2: bytes
) -> None:
    """Return if `proof` shows that the tree (size1, root1) is a prefix of (size2, root2).

    Raises `InvalidProof` otherwise, and for size1 = 0: every tree extends the
    empty one, which proves nothing, so a caller must decide what it means.
    """
    if old_root(size1, size2, proof, root2, same=root1) != root1:
        raise InvalidProof("the older root is not in the newer tree", "05-T4")


def old_root(size1: int, size2: int, proof: Sequence[bytes], root2: bytes, *, same: bytes) -> bytes:
    """The only root of size `size1` that is consistent with (size2, root2), says `proof`.

    The proof of a power of two leaves the old root out: `same` stands in for it.
    Raises `InvalidProof` if the proof does not lead to `root2`.
    """
    if not 0 < size1 <= size2:
        raise InvalidProof(f"no consistency from size {size1} to {size2}", "05-T3")
    if size1 == size2:
        if proof:
            raise InvalidProof("equal sizes need an empty proof", "05-T3")
        return root2
    path = list(proof) if size1 & (size1 - 1) else [same, *proof]
    if not path:
        raise InvalidProof("the proof is empty", "05-T3")
    _check_hashes(path, "05-T3")
    older, newer = _walk(size1 - 1, size2 - 1, path)
    if newer != root2:
        raise InvalidProof("the proof leads to another root", "05-T4")
    return older


def _walk(position: int, last: int, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The roots of both trees. `position` and `last` are the indexes of their last leaves."""
    while position & 1:
        position, last = position >> 1, last >> 1
    older = newer = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise InvalidProof("the proof is longer than the tree is high", "05-T3")
        if position & 1 or position == last:
            older, newer = node_hash(sibling, older), node_hash(sibling, newer)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            newer = node_hash(newer, sibling)
        position, last = position >> 1, last >> 1
    if last != 0:
        raise InvalidProof("the proof is shorter than the tree is high", "05-T3")
    return older, newer


def _check_hashes(hashes: Sequence[bytes], check: str) -> None:
    if any(len(item) != HASH_SIZE for item in hashes):
        raise InvalidProof(f"a hash has {HASH_SIZE} bytes", check)
