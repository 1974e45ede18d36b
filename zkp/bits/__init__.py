"""Proves that hidden bits satisfy public linear constraints on committed values: the bit argument.

Specification 06. How to use it:

    shape = ConstraintShape(group, bits, [Public(row), CommittedValue(row),
                                          CommittedVector(rows), ...])

is the fixed part, made once and kept (its digest stands for it in transcripts). A
`BitForm` holds fixed (position, coefficient) pairs and, in `varying`, positions whose
coefficients come with each statement.

    statement = BitStatement.of(shape, constants=[...], commitments=[...], vectors=[...],
                                varying=[...])

adds what belongs to one proof: one constant for each row (a vector constraint has as
many rows as its dimension), Pedersen commitments for the committed constraints, one
vector commitment for each vector constraint, the varying coefficients in the order of
the rows.

    proof = prove(statement, bits, Openings(commitments=[...], vectors=[...]),
                  transcript, rng=rng)
    verify(statement, proof, transcript)

Bits that must be fixed before the statement is known (before public coins, say) are
committed first; what is needed of the statement then is its `layout_of(bits,
dimensions)`:

    early = commit_bits(group, layout, bits, transcript, rng=rng)   # publish early.point
    proof = prove_committed(statement, early, openings, transcript, rng=rng)
    verify(statement, proof, transcript, committed=point)

`equations` gives what `verify` checks, for batches (`zkp.batch`). Bits are secret
vectors: `group.secret_scalars([0, 1, ...])`.
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
