"""What several connected honest parties give away about one of them, for a given noise law."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from gopa.planning.accountant import delta_of_rounds
from gopa.planning.noise_sum import noise_sum
from gopa.planning.vectors import delta_of_vectors
from zkp.noise_table import NoiseLaw

_CUT_SHARE: Final = 1e-9
"""Tails that hold this part of delta, shared by all parties, are counted as lost."""

NARROW: Final = 2**14
"""Sums of noise with at most so many outcomes are looked at in more than one order."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """The honest parties of one component, how far one input moves, and how often it is used.

    `epsilon` is where delta is asked for; `delta` says how small tails have to be to
    matter. `mask_mu` is the price of Gaussian masks, for the whole vector.
    """

    honest: int
    squared_sensitivity: int
    largest_coordinate: int
    dimension: int
    epsilon: float
    delta: float
    mask_mu: float
    releases: int


@lru_cache(maxsize=256)
def delta_of(exposure: Exposure, law: NoiseLaw) -> float:
    """An upper bound on delta: planned and verified by this one function."""
    noise = noise_sum(law, exposure.honest, exposure.delta * _CUT_SHARE / exposure.honest)
    # Everybody counts the same as lost, however they cut.
    noise = replace(noise, lost=max(noise.lost, 2 * _CUT_SHARE * exposure.delta))
    if exposure.dimension == 1:
        return delta_of_rounds(
            noise,
            math.isqrt(exposure.squared_sensitivity),
            exposure.epsilon,
            mask_mu=exposure.mask_mu,
            releases=exposure.releases,
        )
    return delta_of_vectors(
        noise,
        exposure.squared_sensitivity,
        exposure.largest_coordinate,
        exposure.epsilon,
        dimension=exposure.dimension,
        parties=exposure.honest,
        mask_mu=exposure.mask_mu,
        releases=exposure.releases,
        narrow=2 * exposure.honest * law.radius <= NARROW,
    )
