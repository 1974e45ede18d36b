"""Proves that a log showed two histories: anyone who has its key can check it.

Weaker is a pair of checkpoints of which it was not shown that they belong to one history.
This proves nothing but that the log signed both. A network that hides tiles, a copy that
lags behind and a log that has forked and withholds the proof of it look the same. What
is kept here convicts a log that has forked as soon as anybody gets the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note import LARGEST_NOTE, SignedCheckpoint, VerifierKey, open_checkpoint
from bulletin_board.tree import old_root
from wire.codec import Codec, fixed, opaque, record, vector
from wire.errors import InvalidProof, Unattributed


@dataclass(frozen=True, slots=True)
class ForkEvidence:
    """Two signed checkpoints, and the newer tree's proof at the size of the older one."""

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
    if shown == older.root:  # nobody is accused of two checkpoints that agree
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


LONGEST_REQUEST = 1024


@dataclass(frozen=True, slots=True)
class UnprovenPair:
    """Two signed checkpoints, and the request whose answer would have shown they agree."""

    older: bytes
    newer: bytes
    request: bytes


UNPROVEN_PAIR: Codec[UnprovenPair] = record(
    UnprovenPair,
    older=opaque(1, LARGEST_NOTE),
    newer=opaque(1, LARGEST_NOTE),
    request=opaque(0, LONGEST_REQUEST),
)


class UnprovenHistory(Unattributed):
    """A signed checkpoint that was not shown to extend the one seen before.

    Proved: the log signed `older` and `newer`. Only suspected: that it has forked; the
    network or a cache may be at fault. `request` failed. The client believes neither
    more until a later answer shows that both belong to one log, or proves the fork.
    """

    def __init__(
        self, message: str, older: bytes = b"", newer: bytes = b"", request: str = ""
    ) -> None:
        super().__init__(message, older, newer, request)
        self.message = message
        self.older = older
        self.newer = newer
        self.request = request

    def __str__(self) -> str:
        return self.message

    @property
    def evidence(self) -> bytes:
        """The bytes that a client keeps: an `UnprovenPair`."""
        request = self.request.encode("utf-8", "replace")[:LONGEST_REQUEST]
        return UNPROVEN_PAIR.encode(UnprovenPair(self.older, self.newer, request))


class StaleMirror(UnprovenHistory):
    """A copy of the log that is older than what was seen, and cannot show that it agrees.

    Most likely it lags behind: wait until it has caught up, or ask the board itself.
    """


def open_pair(data: bytes, log: VerifierKey) -> tuple[SignedCheckpoint, SignedCheckpoint]:
    """The older and the newer checkpoint; raises `ProtocolError`s if the log did not sign both."""
    pair = UNPROVEN_PAIR.decode(data)
    return open_checkpoint(pair.older, log), open_checkpoint(pair.newer, log)
