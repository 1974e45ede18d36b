"""Plays a game many times and says what epsilon and delta are at least.

A part of the views chooses among scores, thresholds and directions; the others count. So
the bounds are those of one fixed test, however much was tried to find it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.adversary.privacy.bounds import Floats, TrialCounts, delta_below, epsilon_below
from gopa.adversary.privacy.distinguishers import CERTAIN, Score, all_scores, scores_for
from gopa.adversary.privacy.views import World, views
from wire.errors import UsageError

FEWEST_DRAWS: Final = 100
INTERVALS: Final = 4
"""Hits and alarms, for epsilon and for delta: so many bounds hold together."""

_CHOOSING: Final = 0.2
_RANKS: Final = 400

Worth = Callable[[Floats, Floats, float], Floats]
"""The bound that hits and alarms out of so many draws give."""


@dataclass(frozen=True, slots=True)
class ViewClaim:
    """States what a plan claims of a view."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """Holds lower bounds that are all true, but with probability `risk`.

    `epsilon` is at the claimed delta, `delta` at the claimed epsilon. `draws` is how many
    views of each input were counted, `test` the score that did best.
    """

    claim: ViewClaim
    epsilon: float
    delta: float
    draws: int
    risk: float
    test: str
    for_epsilon: TrialCounts
    for_delta: TrialCounts

    @property
    def inside(self) -> bool:
        """Nothing that was measured contradicts the claim. It is no proof of it."""
        return self.epsilon <= self.claim.epsilon and self.delta <= self.claim.delta


@dataclass(frozen=True, slots=True)
class _Test:
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


def measure(
    world: World, claim: ViewClaim, draws: int, risk: float, rng: np.random.Generator
) -> Measurement:
    """Draws `draws` views of each input and counts what the best test finds.

    Raises:
        UsageError: too few draws, or a risk that is no probability.
    """
    if draws < FEWEST_DRAWS:
        raise UsageError(f"must be at least {FEWEST_DRAWS} views", "draws")
    if not 0 < risk < 1:
        raise UsageError("must be a probability above 0 and below 1", "confidence")
    scores = scores_for(world)
    choosing = max(1, round(draws * _CHOOSING))
    samples = [_scored(world, scores, draws, rng, moved=moved) for moved in (True, False)]
    moved, still = (each[:, :choosing] for each in samples)
    share = risk / INTERVALS
    counted = draws - choosing

    def epsilon(hits: Floats, alarms: Floats, n: float) -> Floats:
        return epsilon_below(hits, alarms, n, claim.delta, share)

    def delta(hits: Floats, alarms: Floats, n: float) -> Floats:
        return delta_below(hits, alarms, n, claim.epsilon, share)

    tests = [_chosen(moved, still, counted, worth) for worth in (epsilon, delta)]
    moved, still = (each[:, choosing:] for each in samples)
    for_epsilon, for_delta = (test.counts(moved, still) for test in tests)
    return Measurement(
        claim=claim,
        epsilon=for_epsilon.epsilon(claim.delta, share),
        delta=for_delta.delta(claim.epsilon, share),
        draws=counted,
        risk=risk,
        test=scores[tests[0].score].name,
        for_epsilon=for_epsilon,
        for_delta=for_delta,
    )


def _scored(
    world: World, scores: Sequence[Score], draws: int, rng: np.random.Generator, *, moved: bool
) -> Floats:
    parts = [all_scores(scores, each) for each in views(world, draws, rng, moved=moved)]
    return np.concatenate(parts, axis=1)


def _chosen(moved: Floats, still: Floats, counted: int, worth: Worth) -> _Test:
    """The test that would give the best bound if the rates of this sample were the true ones."""
    best, found = -math.inf, _Test(0, 1, math.inf)
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
                best, found = float(values[place]), _Test(score, sign, float(cuts[place]))
    return found


def _cuts(right: Floats, wrong: Floats) -> Floats:
    """Thresholds at ranks of both samples, closer together towards the top."""
    ranks = np.unique(np.geomspace(1, len(right), _RANKS).astype(np.int64))
    return np.unique(np.concatenate([right[-ranks], wrong[-ranks], [CERTAIN / 2]]))
