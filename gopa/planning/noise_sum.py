"""Encloses the law of the sum of many parties' noise.

Specification: `specs/03-privacy.md`, section 9.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from gopa.accounting.convolution import UNIT_ROUNDOFF, Masses
from gopa.contract.terms import MOST_PARTIES, check_integer
from wire.errors import UsageError
from zkp.noise import NoiseLaw

NEGLIGIBLE: Final = 1e-26
"""Tail mass left out at each doubling; what it adds up to is added to delta."""

MOST_VARIANCE: Final = 2**26
"""A wider sum would take too long, and who receives terms has to evaluate it."""


def single(law: NoiseLaw) -> Masses:
    """Gives one party's noise: the exact integers of the law, each rounded once."""
    total = law.total
    values = np.array([mass / total for mass in law.masses])
    return Masses(-law.radius, values, 2 * UNIT_ROUNDOFF, 0.0)


def most_summed(law: NoiseLaw) -> int:
    """Says of how many parties noise is summed up; what holds for them holds for more."""
    return math.floor(MOST_VARIANCE / law.variance)


@lru_cache(maxsize=16)
def noise_sum(law: NoiseLaw, parties: int, cut: float = NEGLIGIBLE) -> Masses:
    """Encloses the noise of `parties` honest parties together, by direct positive convolutions."""
    check_integer(parties, 1, MOST_PARTIES, "parties")
    if parties > most_summed(law):
        raise UsageError("this sum takes too long to account for: use a coarser grid", "noise")
    return single(law).times(parties, cut=cut)
