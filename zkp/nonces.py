"""Secret scalars that hide a witness (specification 02, F9), and the check that they did.

A prover whose nonces a fault replaced by zeros, or by others it used before, makes a proof
that verifies and tells the witness. So it draws them again from the same bytes when its
proof is finished, and compares them with those that went into it.
"""

from __future__ import annotations

from commitments.group import Group, SecretScalarVec
from wire.errors import ComputationFault
from wire.secret import Guarded
from zkp.vectors import constant


class NonceSource(Guarded):
    """Nonces that depend on a transcript, a label, fresh bytes and a witness; ever the same."""

    __slots__ = ("_count", "_fresh", "_group", "_session", "_witness")

    def __init__(
        self, group: Group, count: int, session: bytes, fresh: bytes, witness: SecretScalarVec
    ) -> None:
        """Use `Transcript.nonce_source`."""
        self._group = group
        self._count = count
        self._session = session
        self._fresh = fresh
        self._witness = witness

    def draw(self) -> SecretScalarVec:
        """The nonces; every call makes them anew."""
        return self._group.hedged_scalars(self._count, self._session, self._fresh, self._witness)

    def require_used(self, used: SecretScalarVec) -> None:
        """Raises `ComputationFault` unless these are the nonces."""
        require_equal(self._group, used, self.draw())


def require_equal(group: Group, left: SecretScalarVec, right: SecretScalarVec) -> None:
    """Raises `ComputationFault` unless both vectors are the same."""
    # Where they are, as they always should be, what is revealed is zeros.
    if len(left) != len(right) or (left - right).reveal() != constant(group, 0, len(left)):
        raise ComputationFault("the nonces of a proof are not those that were drawn for it")
