"""Plays a game many times and says what epsilon and delta are at least.

A part of the views chooses among scores, thresholds and directions; the others count. So
the bounds are those of one fixed test, however much was tried to find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.adversary.privacy.bounds import Floats, TrialCounts, delta_below, epsilon_below
from gopa.adversary.privacy.distinguishers import Score, all_scores, scores_for
from gopa.adversary.privacy.score_tests import best_test, require_enough
from gopa.adversary.privacy.views import World, views

INTERVALS: Final = 4
"""Hits and alarms, for epsilon and for delta: so many bounds hold together."""

_CHOOSING: Final = 0.2


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


def measure(
    world: World, claim: ViewClaim, draws: int, risk: float, rng: np.random.Generator
) -> Measurement:
    """Draws `draws` views of each input and counts what the best test finds.

    Raises:
        UsageError: too few draws, or a risk that is no probability.
    """
    require_enough(draws, risk)
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

    tests = [best_test(moved, still, counted, worth) for worth in (epsilon, delta)]
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
