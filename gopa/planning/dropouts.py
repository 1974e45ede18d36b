"""Computes how many neighbours may drop out, and how many parties must remain then."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlog1py, xlogy

Floats: TypeAlias = npt.NDArray[np.float64]

PEELED: Final = 1e-3
"""The planned chance that a party loses more neighbours than allowed and is removed."""

STUCK: Final = 1e-2
"""The planned chance that a round ends because some party misses more than allowed at confirm."""

DEVIATIONS: Final = 4.0

_MOST_COVERED: Final = 200
"""Loss bounds do not allow for more withheld nonces than that: k would be in the thousands."""


@dataclass(frozen=True, slots=True)
class PlannedLosses:
    """Says which losses a plan bears: liveness; the privacy bound holds whatever they are."""

    loss: int
    survivors: int


@dataclass(frozen=True, slots=True)
class Course:
    """What a round asks of its parties: which messages they owe, one after the other."""

    coins: bool
    recovery: bool
    one_close: bool = False

    @property
    def messages(self) -> tuple[str, ...]:
        """In order; a party that fails is silent from one of them on."""
        coins = ("coins",) if self.coins else ()
        late = () if self.one_close else ("rollback", "confirm", "unmask")
        return (
            "join",
            *coins,
            "commit",
            "publish",
            *late,
            *(("recover",) if self.recovery else ()),
        )

    def share(self, *names: str) -> float:
        """The part of all failures that come before one of these messages."""
        return sum(name in self.messages for name in names) / len(self.messages)


def plan_losses(
    parties: int, k: int, dropout: float, course: Course, fewest: int = 0
) -> PlannedLosses:
    """Loss bound and smallest number of survivors for independent dropouts.

    A party has k neighbours it chose and about k that chose it; a sum of both, each
    missing with probability `dropout`, stays below the loss bound except with probability
    `PEELED`. So does, for all parties at once except with probability `STUCK`, the sum of
    withheld nonces and of neighbours that fail before confirm. The bound cannot exceed the
    number of parties that may be missing. Survivors allow for four deviations and for the
    removed parties, and are at least `fewest`. Parties that never join are missing too.
    """
    if dropout == 0:
        return PlannedLosses(0, parties)
    spread = math.sqrt(parties * dropout * (1 - dropout))
    missing = parties * dropout + DEVIATIONS * spread + 2 * PEELED * parties
    survivors = max(fewest, math.floor(parties - missing), 0)
    loss = max(_loss_bound(parties, k, dropout), _missing_bound(parties, k, dropout, course))
    return PlannedLosses(min(loss, parties - survivors), survivors)


@lru_cache(maxsize=4096)
def _loss_bound(parties: int, k: int, dropout: float) -> int:
    """Smallest r with P(lost > r) <= PEELED."""
    return _exceeded(_lost_neighbours(parties, k, dropout), PEELED)


@lru_cache(maxsize=4096)
def _missing_bound(parties: int, k: int, dropout: float, course: Course) -> int:
    """Smallest r with P(withheld + lost before confirm > r) <= STUCK / parties, or PEELED."""
    late = dropout * course.share("commit", "publish", "rollback", "confirm")
    found = _lost_neighbours(parties, k, late)
    withheld = dropout * course.share("coins")
    if 0 < parties * withheld <= _MOST_COVERED:
        most = math.ceil(parties * withheld + 12 * math.sqrt(parties * withheld + 1))
        found = np.convolve(found, _binomial(parties, withheld, min(parties, most)))
    return _exceeded(found, min(PEELED, STUCK / parties))


def _lost_neighbours(parties: int, k: int, chance: float) -> Floats:
    """How many neighbours fail; in-degrees as a binomial of the whole roster."""
    own = _binomial(k, chance, k)
    most = min(parties - 1, 4 * k + 40)
    incoming = _binomial(parties - 1, k * chance / (parties - 1), most)
    return np.convolve(own, incoming)


def _exceeded(masses: Floats, chance: float) -> int:
    """The smallest count that is exceeded with at most this chance."""
    above = np.cumsum(masses[::-1])[::-1]
    return max(0, int(np.searchsorted(-above, -chance, side="left")) - 1)


def _binomial(trials: int, chance: float, most: int) -> Floats:
    """The probabilities of 0, 1, .., `most` hits."""
    hits = np.arange(most + 1)
    ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
    found: Floats = np.exp(ways + xlogy(hits, chance) + xlog1py(trials - hits, -chance))
    return found
