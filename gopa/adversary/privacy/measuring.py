"""What epsilon and delta are at least, from a game that is played many times.

A part of the views chooses among scores, thresholds and directions; the others count. So
the bounds are those of one fixed test, however much was tried to find it. Of many games at once
the bounds hold for all of them together, with how small an excess over a claim would be noticed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gopa.adversary.privacy.bounds import TrialCounts, delta_below, epsilon_below
from gopa.adversary.privacy.distinguishers import (
    Score,
    all_scores,
    best_test,
    require_enough,
    scores_for,
)
from gopa.adversary.privacy.scenarios import ReleaseScenario
from gopa.adversary.privacy.views import Law, Masks, World, views
from gopa.contract.terms import Terms
from gopa.planning.outcome import privacy
from gopa.planning.result import guarantee
from gopa.planning.target import float_below
from gopa.support.arrays import Floats

if TYPE_CHECKING:
    import numpy as np
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from gopa.accounting.gaussian import gaussian_mu
from wire.errors import UsageError

INTERVALS: Final = 4
"""Hits and alarms, for epsilon and for delta: so many bounds hold together."""

_CHOOSING: Final = 0.2


@dataclass(frozen=True, slots=True)
class ViewClaim:
    """What a plan claims of a view."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """Lower bounds that are all true, but with probability `risk`.

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


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredView:
    """A game, what the coalition has in it, and what is claimed of it."""

    name: str
    plan: str
    coalition: str
    world: World
    claim: ViewClaim


def claim_of(
    terms: Terms, scenarios: Sequence[ReleaseScenario], rng: np.random.Generator
) -> ViewClaim:
    """What is claimed of this coalition, at the epsilon of the terms.

    A coalition so small that it was fixed before the coins has the word of the terms. Where
    these are worth what they say, the account of the parties that are named counts if it is
    stricter, and alone if the graph fell to pieces: for such graphs beta pays. Larger
    coalitions have that account alone. Of a victim that is in no result the terms speak.
    """
    outcomes = [scenario.outcome(terms) for scenario in scenarios]
    last = scenarios[-1].outcome(terms, outcomes[:-1])
    claims = privacy.of(last, rng=rng.bytes).claims
    planned, named, word = claims[0].delta, claims[-1].delta, float_below(terms.delta)
    if any(scenario.victim in scenario.gone for scenario in scenarios):
        return ViewClaim(float_below(terms.promised_epsilon), min(planned, word))
    if any(len(scenario.corrupt) > terms.corrupt for scenario in scenarios):
        delta = named
    elif guarantee(terms).total > word:
        delta = word
    else:
        delta = min(planned, named) if all(map(_is_whole, scenarios)) else named
    return ViewClaim(float_below(terms.promised_epsilon), delta)


def _is_whole(scenario: ReleaseScenario) -> bool:
    """Whether the victim is connected with all honest parties of the result."""
    release = scenario.release()
    return len(release.members) == release.graph.parties


def world_of(terms: Terms, scenarios: Sequence[ReleaseScenario]) -> World:
    """The game of these releases, for the largest change that the terms allow."""
    return World(
        releases=tuple(scenario.release() for scenario in scenarios),
        noise=Law.of(terms.noise),
        masks=Masks(terms.mask_deviation),
        change=largest_change(terms),
    )


def largest_change(terms: Terms) -> tuple[int, ...]:
    """Steps by coordinate, up to the sensitivity in length, in as few coordinates as possible.

    How a change is spread hardly matters to noise that is nearly normal; coordinates that
    do not move need not be drawn.
    """
    full, rest = divmod(terms.squared_sensitivity, terms.steps**2)
    last = math.isqrt(rest)
    return (terms.steps,) * full + ((last,) if last and full < terms.dimension else ())


def plan_label(terms: Terms) -> str:
    """The terms in short."""
    masks = terms.mask if terms.mask == "uniform" else f"Gaussian {terms.mask_deviation}"
    size = "" if terms.dimension == 1 else f", {terms.dimension} coordinates"
    return f"n={terms.parties}, c={terms.corrupt}, k={terms.k}, {masks}{size}"


MOST: Final = 100.0
"""Larger excesses are not looked for."""

_THRESHOLDS: Final = np.linspace(-4.0, 8.0, 241)


def noticed(claim: ViewClaim, draws: int, risk: float) -> float:
    """The smallest excess for which expected counts contradict the claim.

    As a factor: noise so many times too small for the claim, or an input that may move so
    many times too far. A mechanism as strong as the claim and of normal noise stands for
    all others. About half of all runs notice this much, nearly all notice a little more.
    Infinite where not even `MOST` would be noticed.
    """
    if claim.delta >= 1:
        return float("inf")
    mu = gaussian_mu(claim.epsilon, max(claim.delta, 1e-12))
    low, high = 1.0, MOST
    if not _seen(mu * high, claim, draws, risk):
        return float("inf")
    for _ in range(20):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if _seen(mu * middle, claim, draws, risk) else (middle, high)
    return high


def _seen(mu: float, claim: ViewClaim, draws: int, risk: float) -> bool:
    thresholds: Floats = _THRESHOLDS + mu / 2
    hits, alarms = draws * ndtr(mu - thresholds), draws * ndtr(-thresholds)
    bounds = delta_below(hits, alarms, draws, claim.epsilon, risk / INTERVALS)
    return bool(bounds.max() > claim.delta)


CONFIDENCE: Final = 0.999

_MOST_DRAWS: Final = 200_000
_FEWEST_DRAWS: Final = 2_000
_WORK: Final = 20_000_000
_MOST_NUMBERS: Final = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ViewResult:
    """What was claimed and measured of one view, and the excess that would have been noticed.

    `noticed` is a factor: noise so many times too small, or more, would have been found.
    """

    view: MeasuredView
    measured: Measurement
    noticed: float

    @property
    def inside(self) -> bool:
        """Nothing contradicts the claim."""
        return self.measured.inside


def measure_all(
    views: Sequence[MeasuredView],
    rng: np.random.Generator,
    *,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
) -> Iterator[ViewResult]:
    """A row for each view, in order. With this confidence *all* their bounds hold.

    `draws` views of each input, or as many as take about a second.

    Raises:
        UsageError: too few draws, no confidence between 0 and 1, or a plan so large that
            no sample of it is drawn in minutes.
    """
    if not 0 < confidence < 1:
        raise UsageError("above 0 and below 1", "confidence")
    risk = (1 - confidence) / max(1, len(views))
    for view in views:
        count = draws_for(view.world) if draws is None else draws
        found = measure(view.world, view.claim, count, risk, rng)
        yield ViewResult(view, found, noticed(view.claim, found.draws, risk))


def draws_for(world: World) -> int:
    """The number of draws that take about a second, but enough to see something."""
    if world.numbers > _MOST_NUMBERS:
        message = (
            f"one view takes {world.numbers} random numbers, and {_MOST_NUMBERS} at most: "
            "audit a plan for fewer parties, or one with fewer coordinates"
        )
        raise UsageError(message, "plan")
    return min(_MOST_DRAWS, max(_FEWEST_DRAWS, _WORK // world.numbers))
