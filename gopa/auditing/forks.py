"""Shows that a log signed two histories, and who saw both. `specs/11-audit.md`, [E5]."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from bulletin_board import SignedCheckpoint, TrustPolicy
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence
from bulletin_board.note import VerifierKey, verify_note
from bulletin_board.tree import consistency_proof, node_hash, tree_root
from gopa.auditing.evidence import FORKED, Evidence, Fork
from gopa.auditing.report import AuditFault, Culprit
from gopa.auditing.tally import log_fault
from wire.errors import InvalidSignature

Node = Callable[[int, int], bytes]


def fork_evidence(size: int, node: Node, older: SignedCheckpoint, newer: SignedCheckpoint) -> bytes:
    """Joins both checkpoints with the proof that the newer tree has another root at the older size.

    `node` gives the nodes of the newer tree, which has `size` leaves.
    """
    proof: list[bytes] = []
    if 0 < older.size < size:
        proof = consistency_proof(older.size, size, node)
        if older.size & (older.size - 1) == 0:  # such proofs leave the old root out
            proof = [tree_root(older.size, node), *proof]
    return FORK_EVIDENCE.encode(ForkEvidence(older.to_bytes(), newer.to_bytes(), tuple(proof)))


def cosigners_of_both(
    policy: TrustPolicy, older: SignedCheckpoint, newer: SignedCheckpoint
) -> tuple[VerifierKey, ...]:
    """Names the witnesses of the policy that cosigned both checkpoints of a fork ([K3]).

    One good line convicts: a broken one beside it, which a board could add to its note, clears
    nobody.
    """
    both = [
        each.key
        for each in policy.witnesses.values()
        if _cosigned(older, each.key) and _cosigned(newer, each.key)
    ]
    return tuple(sorted(both, key=lambda key: (key.name, key.key.data)))


def _cosigned(signed: SignedCheckpoint, witness: VerifierKey) -> bool:
    for line in signed.note.signatures:
        with suppress(InvalidSignature):
            if verify_note(replace(signed.note, signatures=(line,)), [witness]):
                return True
    return False


def witness_faults(
    policy: TrustPolicy, older: SignedCheckpoint, newer: SignedCheckpoint
) -> list[AuditFault]:
    """Reports each witness that cosigned both checkpoints of a fork ([K3])."""
    return [
        log_fault(
            "05-W1",
            f"the witness {witness.name} cosigned both histories: it forgot one, or lied",
            check="1.5",
            culprit=Culprit.WITNESS,
            author=witness.key.data,
            expected="a witness cosigns nothing that does not continue what it has cosigned",
            proved=True,
        )
        for witness in cosigners_of_both(policy, older, newer)
    ]


def evidence_from_board(data: bytes) -> bytes:
    """Turns what a client of the board has kept about a fork into a file of evidence.

    Raises `MalformedMessage` for other bytes. Nothing is judged here.
    """
    FORK_EVIDENCE.decode(data)
    return Evidence(FORKED, Fork(data)).to_bytes()


def nodes_above(leaf: Callable[[int], bytes]) -> Node:
    """Computes the nodes of a tree whose leaf hashes are known."""

    @lru_cache(maxsize=4_096)
    def node(height: int, index: int) -> bytes:
        if not height:
            return leaf(index)
        return node_hash(node(height - 1, 2 * index), node(height - 1, 2 * index + 1))

    return node
