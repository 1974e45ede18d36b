"""Exact integers from seeds: noise of known laws, randomised answers, noise that cancels.

The same seed gives the same integers on every machine. A law knows its exact table, and what that
adds to delta. Read `seeds`, `laws` (`laplace` has the tables of one), `responses`, `cancelling`.

    >>> from gopa.noise import discrete_laplace, subseed
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> law = discrete_laplace(Fraction(3))
    >>> seed = bytes(32)  # of os.urandom(32) outside examples
    >>> noisy = np.arange(4) + law.draw(subseed(seed, "noise", 1), (4,))
    >>> bool((noisy == np.arange(4) + law.draw(subseed(seed, "noise", 1), (4,))).all())
    True
    >>> 0 <= law.charged(4, epsilon=1) < 1e-9
    True

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
