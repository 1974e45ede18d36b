"""Proof that a log showed two histories, checkable by anyone who has its key."""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note import SignedCheckpoint, VerifierKey, open_checkpoint
from bulletin_board.note.signed import LARGEST_NOTE
from bulletin_board.tree import old_root
from wire.codec import Codec, fixed, opaque, record, vector
from wire.errors import InvalidProof


@dataclass(frozen=True, slots=True)
class ForkEvidence:
    """Two signed checkpoints, and a proof from the newer tree at the size of the older one."""

    older: bytes
    newer: bytes
    proof: tuple[bytes, ...]


FORK_EVIDENCE: Codec[ForkEvidence] = record(
    ForkEvidence,
    older=opaque(1, LARGEST_NOTE),
    newer=opaque(1, LARGEST_NOTE),
    proof=vector(fixed(32), 0, 63),
)


def verify_fork(evidence: bytes, log: VerifierKey) -> tuple[SignedCheckpoint, SignedCheckpoint]:
    """Return both checkpoints if they prove that `log` forked, raise `ProtocolError` otherwise.

    Both are signed by the log; the proof leads from some root at the older size
    to the newer root; that root is not the one that the log had signed. Since a
    tree has one root at each size, no honest log signs both.
    """
    decoded = FORK_EVIDENCE.decode(evidence)
    older, newer = open_checkpoint(decoded.older, log), open_checkpoint(decoded.newer, log)
    shown = shown_root(older, newer, decoded.proof)
    if shown == older.root:
        raise InvalidProof("the two checkpoints agree", "05-C4")
    return older, newer


def shown_root(older: SignedCheckpoint, newer: SignedCheckpoint, proof: tuple[bytes, ...]) -> bytes:
    """The root at the older size inside the newer tree, as the proof shows it.

    The proof of a power of two leaves this root out; evidence then carries it
    in front of the others.
    """
    size = older.size
    if size & (size - 1) == 0 and 0 < size < newer.size:
        if not proof:
            raise InvalidProof("the proof is empty", "05-C4")
        return old_root(size, newer.size, proof[1:], newer.root, same=proof[0])
    return old_root(size, newer.size, proof, newer.root, same=newer.root)
