"""The bit argument: hidden bits satisfy public linear constraints on committed values.

A `ConstraintShape` is the fixed part, made once and kept; a `BitStatement` adds what belongs to one
proof: one constant for each row, the commitments in the order of the constraints, and coefficients
that a `BitForm` leaves open. Read `shape`, `statement`, `witness`, `prover`, `verifier`;
`equations` gives what `verify` checks, for batches. A committed number has two bits, so it is
0 to 3:

    >>> import os
    >>> from zkp.bits import (
    ...     BitForm, BitStatement, CommittedValue, ConstraintShape, Openings, prove, verify,
    ... )
    >>> from commitments import Pedersen, ristretto255
    >>> from zkp.transcript import Transcript
    >>> group = ristretto255()
    >>> shape = ConstraintShape(group, 2, [CommittedValue(BitForm.weighted(0, [1, 2]))])
    >>> secret = group.secret_scalars([3])
    >>> commitment, opening = Pedersen(group).commit_fresh(secret, rng=os.urandom)
    >>> statement = BitStatement.of(shape, constants=[0], commitments=[commitment])
    >>> bits, openings = group.secret_scalars([1, 1]), Openings(commitments=[opening])
    >>> proof = prove(statement, bits, openings, Transcript(b"example"), rng=os.urandom)
    >>> verify(statement, proof, Transcript(b"example"))

Bits that must be fixed before the statement is known (before public coins, say) are committed first
with `commit_bits`, and proved with `prove_committed`. Specification: `specs/06-bit-argument.md`.
"""

from zkp.bits.layout import Layout, layout_of, proof_size
from zkp.bits.prover import prove, prove_committed
from zkp.bits.shape import (
    BitForm,
    CommittedValue,
    CommittedVector,
    Constraint,
    ConstraintShape,
    Public,
)
from zkp.bits.statement import BitStatement
from zkp.bits.verifier import equations, verify
from zkp.bits.witness import BitCommitment, Openings, commit_bits

__all__ = [
    "BitCommitment",
    "BitForm",
    "BitStatement",
    "CommittedValue",
    "CommittedVector",
    "Constraint",
    "ConstraintShape",
    "Layout",
    "Openings",
    "Public",
    "commit_bits",
    "equations",
    "layout_of",
    "proof_size",
    "prove",
    "prove_committed",
    "verify",
]
