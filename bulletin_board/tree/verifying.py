"""Verification of inclusion and consistency proofs (RFC 9162, sections 2.1.3.2 and 2.1.4.2).

The numbers at line ends are the steps of those sections; T1 to T4 in errors are
the rules of `specs/05-bulletin-board.md`, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from bulletin_board.tree.hashing import HASH_SIZE, node_hash
from wire.errors import InvalidProof


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
        if last == 0:
            raise InvalidProof("the proof is longer than the tree is high", "05-T1")
        if position & 1 or position == last:
            computed = node_hash(sibling, computed)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            computed = node_hash(computed, sibling)
        position, last = position >> 1, last >> 1
    if last != 0:
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
