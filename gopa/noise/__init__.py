"""Draws exact integers from seeds: noise of known laws, randomised answers, noise that cancels.

The same seed gives the same integers on every machine. A law knows its exact table, and what
that adds to delta:

    law = noise.discrete_laplace(Fraction(sensitivity) / Fraction(epsilon))
    noisy = values + law.draw(noise.subseed(seed, "noise", step), values.shape)
    delta = law.charged(values.size, epsilon)

Specification: `specs/15-noise.md`.
"""

from gopa.noise.cancelling import zero_sum
from gopa.noise.laws import TableLaw, discrete_laplace, rounded_gaussian
from gopa.noise.responses import (
    HadamardBit,
    RandomisedResponse,
    hadamard_bit,
    randomised_response,
)
from gopa.noise.seeds import subseed

__all__ = [
    "HadamardBit",
    "RandomisedResponse",
    "TableLaw",
    "discrete_laplace",
    "hadamard_bit",
    "randomised_response",
    "rounded_gaussian",
    "subseed",
    "zero_sum",
]
