"""Checking many batchable proofs at once, and naming the bad ones (specification 02, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from commitments.group import Group, ScalarVec
from wire.domains import SIGMA_BATCH_WEIGHTS
from wire.errors import InvalidProof, UsageError
from wire.randomness import Rng, draw
from zkp.sigma.batch_equation import weighted_sum
from zkp.sigma.batch_items import Decoded, Item, assemble, decode_where_possible
from zkp.sigma.narg import Form, proof_length, require_bytes, verify_narg
from zkp.sigma.proof import bind_proof, bind_statement
from zkp.sigma.statement import Statement, count
from zkp.sponge import DuplexSponge, derive_session_id
from zkp.transcript import Transcript

_WEIGHT_SIZE: Final = 16
_SEED_SIZE: Final = 32


class BatchVerifier:
    """Collects proofs in batchable form and checks them together.

    `verify` accepts a batch with a false proof with probability at most 2^-128
    for each attempt, whoever chose the proofs: the weights depend on every byte
    of the batch and on fresh randomness drawn after the last proof was added.
    """

    def __init__(self, group: Group, *, rng: Rng) -> None:
        self._group = group
        self._rng = rng
        self._items: list[Item] = []
        self._refused: list[int] = []

    def __len__(self) -> int:
        return len(self._items) + len(self._refused)

    def add(self, statement: Statement, proof: bytes, transcript: Transcript) -> int:
        """Queue one proof; returns its position.

        The transcript continues as after `zkp.sigma.verify`. A proof that cannot be
        right is queued too, as a culprit, and its transcript is spent.
        """
        if not self._well_formed(statement, proof):
            return self._refuse()
        session_id = bind_statement(transcript, statement, Form.BATCHABLE)
        bind_proof(transcript, proof)
        return self._queue(session_id, statement, proof)

    def add_narg(self, session_id: bytes, statement: Statement, proof: bytes) -> int:
        """Queue one proof under an explicit session identifier, as `verify_narg` takes it."""
        if not self._well_formed(statement, proof):
            return self._refuse()
        return self._queue(session_id, statement, proof)

    def verify(self) -> None:
        """Check everything queued so far. An empty batch holds.

        Raises:
            InvalidProof: `culprits` has the positions of exactly the bad proofs.
        """
        decoded, undecodable = decode_where_possible(self._group, self._items)  # B3
        search = _Search(self._group, decoded, self._rng)
        culprits = self._refused + undecodable + search.culprits(range(len(decoded.items)))
        if culprits:
            raise InvalidProof("proofs of the batch do not hold", "02-B5", tuple(sorted(culprits)))

    def _well_formed(self, statement: Statement, proof: bytes) -> bool:
        if statement.group != self._group:
            raise UsageError("every statement of a batch is over the group of the batch")
        require_bytes(proof)
        if statement.violation:  # B1
            return False
        return len(proof) == proof_length(Form.BATCHABLE, statement)  # B2

    def _refuse(self) -> int:
        self._refused.append(len(self))
        return len(self) - 1

    def _queue(self, session_id: bytes, statement: Statement, proof: bytes) -> int:
        self._items.append(Item(len(self), session_id, statement, proof, count(statement)))
        return len(self) - 1


class _Search:
    """Finds the bad proofs among decoded ones by halving."""

    def __init__(self, group: Group, decoded: Decoded, rng: Rng) -> None:
        self._group = group
        self._rng = rng
        self._items = decoded.items
        self._pool, self._claims = assemble(group, decoded)
        self._bindings = [item.binding for item in decoded.items]

    def culprits(self, indices: Sequence[int]) -> list[int]:
        """The positions of the bad proofs among these."""
        if not indices:
            return []
        if len(indices) == 1:
            item = self._items[indices[0]]
            return [] if _holds_alone(item) else [item.position]
        if self._hold(indices):
            return []
        middle = len(indices) // 2
        return self.culprits(indices[:middle]) + self.culprits(indices[middle:])

    def _hold(self, indices: Sequence[int]) -> bool:
        claims = [claim for i in indices for claim in self._claims[i]]
        total = sum(claim.relation.shape.equation_count for claim in claims)
        weights = self._weights(indices, total)
        return weighted_sum(self._pool, claims, weights).is_identity()  # B4

    def _weights(self, indices: Sequence[int], n: int) -> ScalarVec:
        """Weights of 128 bits, never the same for two calls or two batches.

        They depend on responses as well as commitments: a prover that knew the
        weights before choosing its responses could let errors cancel.
        """
        sponge = DuplexSponge(derive_session_id(SIGMA_BATCH_WEIGHTS))
        sponge.absorb(draw(self._rng, _SEED_SIZE) + len(indices).to_bytes(4, "little"))
        sponge.absorb(b"".join(self._bindings[i] for i in indices))
        return self._group.reduce_scalars(sponge.squeeze(_WEIGHT_SIZE * n), _WEIGHT_SIZE)


def _holds_alone(item: Item) -> bool:
    """The exact check, so that nobody is named by a coin toss."""
    try:
        verify_narg(Form.BATCHABLE, item.session_id, item.statement, item.proof)
    except InvalidProof:
        return False
    return True
