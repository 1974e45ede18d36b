"""The law of the sum of many parties' noise, enclosed."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from gopa.planning.convolution import UNIT_ROUNDOFF, Masses
from wire.errors import UsageError
from zkp.noise_table import NoiseLaw

NEGLIGIBLE: Final = 1e-26
"""Tail mass left out at each doubling; what it adds up to is added to delta."""

MOST_PARTIES: Final = 2_000_000


def single(law: NoiseLaw) -> Masses:
    """One party's noise: the exact integers of the law, each rounded once."""
    total = law.total
    values = np.array([mass / total for mass in law.masses])
    return Masses(-law.radius, values, 2 * UNIT_ROUNDOFF, 0.0)


@lru_cache(maxsize=32)
def noise_sum(law: NoiseLaw, parties: int, cut: float = NEGLIGIBLE) -> Masses:
    """The noise of `parties` honest parties together, by direct positive convolutions."""
    if type(parties) is not int or not 1 <= parties <= MOST_PARTIES:
        raise UsageError(f"between 1 and {MOST_PARTIES} honest parties", "parties")
    return single(law).times(parties, cut=cut)
