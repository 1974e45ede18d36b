"""How many neighbours may disappear, and how many parties must remain, when some drop out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlog1py, xlogy

PEELED: Final = 1e-3
"""The planned chance that a party loses more neighbours than allowed and is removed."""

DEVIATIONS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Losses:
    """Liveness, not privacy: whatever these are, the privacy bound holds."""

    loss: int
    survivors: int


def plan_losses(parties: int, k: int, dropout: float) -> Losses:
    """Loss bound and smallest number of survivors for independent dropouts.

    A party has k neighbours it chose and about k that chose it; a sum of both, each
    missing with probability `dropout`, stays below the loss bound except with probability
    `PEELED`, and cannot exceed the number of parties that may be missing. Survivors allow
    for four deviations and for the removed parties. Parties that never join are missing too.
    """
    if dropout == 0:
        return Losses(0, parties)
    spread = math.sqrt(parties * dropout * (1 - dropout))
    missing = parties * dropout + DEVIATIONS * spread + 2 * PEELED * parties
    survivors = max(0, math.floor(parties - missing))
    return Losses(min(_loss_bound(parties, k, dropout), parties - survivors), survivors)


@lru_cache(maxsize=4096)
def _loss_bound(parties: int, k: int, dropout: float) -> int:
    """Smallest r with P(lost > r) <= PEELED; in-degrees as a binomial of the whole roster."""
    own = _binomial(k, dropout, k)
    most = min(parties - 1, 4 * k + 40)
    incoming = _binomial(parties - 1, k * dropout / (parties - 1), most)
    within = np.cumsum(np.convolve(own, incoming)[: most + 1])
    return min(parties - 1, int(np.searchsorted(within, 1 - PEELED)))


def _binomial(trials: int, chance: float, most: int) -> npt.NDArray[np.float64]:
    """The probabilities of 0, 1, .., `most` hits."""
    hits = np.arange(most + 1)
    ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
    found: npt.NDArray[np.float64] = np.exp(
        ways + xlogy(hits, chance) + xlog1py(trials - hits, -chance)
    )
    return found
