"""Zero-knowledge proofs: transcripts, Sigma protocols and everything built on them.

Every proof is a pair `prove_x(statement, witness, transcript, rng=..)` and `verify_x(statement,
proof, transcript)`, which raises. Read `transcript`, `sigma`, `bits` (the argument behind ranges
and noise), `range`, `noise` (a file for each law), then `rows` (long vectors). A range:

    >>> import os
    >>> from zkp import RangeStatement, Transcript, prove_range, verify_range
    >>> from commitments import Pedersen, ristretto255
    >>> group = ristretto255()
    >>> secret = group.secret_scalars([42])
    >>> commitment, opening = Pedersen(group).commit_fresh(secret, rng=os.urandom)
    >>> statement = RangeStatement.up_to(commitment, 63)
    >>> proof = prove_range(statement, opening, Transcript(b"example"), rng=os.urandom)
    >>> verify_range(statement, proof, Transcript(b"example"))
    >>> verify_range(statement, proof, Transcript(b"another use"))
    Traceback (most recent call last):
    wire.errors.InvalidProof: ...

Specifications 02, 06, 07 and 14. `examples/prove_noise.py` proves a draw of noise.
"""

from zkp import sigma
from zkp.batch import ProofClaim, verify_batch
from zkp.noise import GaussianTable, WeightedBits, binomial, irwin_hall
from zkp.noise.gaussian_table import (
    GaussianNoiseStatement,
    NoiseSeeds,
    NoiseWitness,
    prove_gaussian_noise,
    verify_gaussian_noise,
)
from zkp.noise.weighted_bits import (
    WeightedNoisePlan,
    WeightedNoiseStatement,
    commit_weighted_noise,
    prove_weighted_noise,
    verify_weighted_noise,
)
from zkp.range import (
    Interval,
    LastLargestStatement,
    RangeStatement,
    VectorRangeStatement,
    prove_last_largest,
    prove_range,
    prove_vector_range,
    verify_last_largest,
    verify_range,
    verify_vector_range,
)
from zkp.transcript import Transcript

__all__ = [
    "GaussianNoiseStatement",
    "GaussianTable",
    "Interval",
    "LastLargestStatement",
    "NoiseSeeds",
    "NoiseWitness",
    "ProofClaim",
    "RangeStatement",
    "Transcript",
    "VectorRangeStatement",
    "WeightedBits",
    "WeightedNoisePlan",
    "WeightedNoiseStatement",
    "binomial",
    "commit_weighted_noise",
    "irwin_hall",
    "prove_gaussian_noise",
    "prove_last_largest",
    "prove_range",
    "prove_vector_range",
    "prove_weighted_noise",
    "sigma",
    "verify_batch",
    "verify_gaussian_noise",
    "verify_last_largest",
    "verify_range",
    "verify_vector_range",
    "verify_weighted_noise",
]
