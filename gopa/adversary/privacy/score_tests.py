"""Chooses the best of many tests on one sample, so that another sample may count for it alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.adversary.privacy.bounds import Floats, TrialCounts
from gopa.adversary.privacy.distinguishers import CERTAIN
from wire.errors import UsageError

FEWEST_DRAWS: Final = 100

_RANKS: Final = 400

Worth = Callable[[Floats, Floats, float], Floats]
"""The bound that hits and alarms out of so many draws give."""


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Says "moved" where sign * score reaches a threshold; with -1, that it did not move.

    A claim is about both orders of two inputs, so hits may be counted among either.
    """

    score: int
    sign: int
    threshold: float

    def counts(self, moved: Floats, still: Floats) -> TrialCounts:
        yes, no = (moved, still) if self.sign == 1 else (still, moved)
        hits = self.sign * yes[self.score] >= self.threshold
        alarms = self.sign * no[self.score] >= self.threshold
        return TrialCounts(int(hits.sum()), int(alarms.sum()), yes.shape[1])


def best_test(moved: Floats, still: Floats, counted: int, worth: Worth) -> ScoreTest:
    """The test that would give the best bound if the rates of this sample were the true ones."""
    best, found = -math.inf, ScoreTest(0, 1, math.inf)
    for score in range(len(moved)):
        for sign, yes, no in ((1, moved, still), (-1, still, moved)):
            right, wrong = np.sort(sign * yes[score]), np.sort(sign * no[score])
            cuts = _cuts(right, wrong)
            hits, alarms = (
                (len(each) - np.searchsorted(each, cuts)).astype(np.float64)
                for each in (right, wrong)
            )
            # One more false alarm than was seen: the best of many cuts was lucky.
            scale = counted / len(right)
            values = worth(hits * scale, np.minimum((alarms + 1.0) * scale, counted), counted)
            place = int(np.argmax(values))
            if values[place] > best:
                best, found = float(values[place]), ScoreTest(score, sign, float(cuts[place]))
    return found


def _cuts(right: Floats, wrong: Floats) -> Floats:
    """Thresholds at ranks of both samples, closer together towards the top."""
    ranks = np.unique(np.geomspace(1, len(right), _RANKS).astype(np.int64))
    return np.unique(np.concatenate([right[-ranks], wrong[-ranks], [CERTAIN / 2]]))


def require_enough(draws: int, risk: float) -> None:
    """Refuses too few draws, and a risk that is no probability."""
    if draws < FEWEST_DRAWS:
        raise UsageError(f"must be at least {FEWEST_DRAWS} views", "draws")
    if not 0 < risk < 1:
        raise UsageError("must be a probability above 0 and below 1", "confidence")
