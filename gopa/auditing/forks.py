"""Evidence that a log signed two histories. `specs/11-audit.md`, [E5]."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from bulletin_board import SignedCheckpoint
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence
from bulletin_board.tree import consistency_proof, tree_root
from bulletin_board.tree.hashing import node_hash
from gopa.auditing.evidence import Evidence, Fork, Statement

Node = Callable[[int, int], bytes]


def fork_evidence(size: int, node: Node, older: SignedCheckpoint, newer: SignedCheckpoint) -> bytes:
    """Both checkpoints, and the proof that the newer tree has another root at the older size.

    `node` gives the nodes of the newer tree, which has `size` leaves.
    """
    proof: list[bytes] = []
    if 0 < older.size < size:
        proof = consistency_proof(older.size, size, node)
        if older.size & (older.size - 1) == 0:  # such proofs leave the old root out
            proof = [tree_root(older.size, node), *proof]
    return FORK_EVIDENCE.encode(ForkEvidence(older.to_bytes(), newer.to_bytes(), tuple(proof)))


def evidence_from_board(data: bytes) -> bytes:
    """What a client of the board has kept about a fork, as a file of evidence.

    Raises `MalformedMessage` for other bytes. Nothing is judged here.
    """
    FORK_EVIDENCE.decode(data)
    return Evidence(Statement(bytes(32), b"05-C4", 0), Fork(data)).to_bytes()


def nodes_above(leaf: Callable[[int], bytes]) -> Node:
    """The nodes of a tree whose leaf hashes are known."""

    @lru_cache(maxsize=4_096)
    def node(height: int, index: int) -> bytes:
        if not height:
            return leaf(index)
        return node_hash(node(height - 1, 2 * index), node(height - 1, 2 * index + 1))

    return node
