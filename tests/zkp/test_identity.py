"""A commitment that is the identity is refused by every kind of proof, alone and in batches.

The identity opens to zero with blinding zero, for everybody: a proof about it holds, if
nobody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest

from commitments import Commitment, Opening, Pedersen, VectorPedersen
from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.noise_samples import transcript
from wire.errors import InvalidProof, UsageError
from zkp import (
    Interval,
    RangeStatement,
    VectorRangeStatement,
    bits,
    prove_range,
    prove_vector_range,
    verify_range,
    verify_vector_range,
)
from zkp.batch import ProofClaim, verify_batch
from zkp.range import LastLargestStatement, prove_last_largest, verify_last_largest

BOX = Interval(0, 6)


@dataclass(frozen=True)
class Kind:
    """How a statement about one commitment is made, proved and verified."""

    dimension: int
    state: Callable[[Commitment], Any]
    prove_by: Callable[..., bytes]
    verify_by: Callable[..., None]

    def prove(self, statement: Any, opening: Opening) -> bytes:
        return self.prove_by(statement, opening, transcript(), rng=seeded(1))

    def verify(self, statement: Any, proof: bytes) -> None:
        self.verify_by(statement, proof, transcript())


KINDS = {
    "range": Kind(0, lambda one: RangeStatement(one, (BOX,)), prove_range, verify_range),
    "vector range": Kind(
        2, lambda one: VectorRangeStatement(one, BOX), prove_vector_range, verify_vector_range
    ),
    "last largest": Kind(
        2, lambda one: LastLargestStatement(one, 6), prove_last_largest, verify_last_largest
    ),
}


def committed(group: Group, kind: Kind, blinding: int) -> tuple[Any, Opening]:
    """A statement about zeros behind this blinding: the identity where it is zero."""
    key = VectorPedersen(group, kind.dimension) if kind.dimension else Pedersen(group)
    values = group.secret_scalars([0] * max(kind.dimension, 1))
    blindings = group.secret_scalars([blinding])
    commitment = (
        key.commit(values, blindings[0])
        if isinstance(key, VectorPedersen)
        else key.commit(values, blindings)
    )
    return kind.state(commitment), Opening(key, values, blindings)


@pytest.mark.parametrize("name", KINDS)
def test_the_identity_is_refused(group: Group, name: str) -> None:
    """Also with a proof of a prover that does not look, for a verifier that does not, and ours."""
    kind = KINDS[name]
    honest, opening = committed(group, kind, 5)
    good = kind.prove(honest, opening)
    kind.verify(honest, good)
    empty, zeros = committed(group, kind, 0)
    with pytest.raises(UsageError):
        kind.prove(empty, zeros)
    with mock.patch.object(bits.BitStatement, "has_identity", new=False):
        forged = kind.prove(empty, zeros)
        kind.verify(empty, forged)
    for proof in (good, forged):
        with pytest.raises(InvalidProof) as refused:
            kind.verify(empty, proof)
        assert refused.value.check == "06-A2"
    claims = [ProofClaim(honest, good, transcript()), ProofClaim(empty, forged, transcript())]
    with pytest.raises(InvalidProof) as culprits:
        verify_batch(claims, rng=seeded(1))
    assert culprits.value.culprits == (1,)
