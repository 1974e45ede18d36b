"""Proves in zero knowledge: transcripts, Sigma protocols and everything built on them."""

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
