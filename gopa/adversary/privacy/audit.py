"""Plays many games at once, with bounds that hold for all of them together.

It says how small an excess over a claim would be noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from gopa.accounting.gaussian import gaussian_mu
from gopa.adversary.privacy.bounds import Floats, delta_below
from gopa.adversary.privacy.claims import MeasuredView
from gopa.adversary.privacy.measuring import INTERVALS, Measurement, ViewClaim, measure
from gopa.adversary.privacy.views import World
from wire.errors import UsageError

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
    """Says of one view what was claimed and measured, and the excess that would have been noticed.

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
    """As many as take about a second, but enough to see something."""
    if world.numbers > _MOST_NUMBERS:
        message = (
            f"one view takes {world.numbers} random numbers, and {_MOST_NUMBERS} at most: "
            "audit a plan for fewer parties, or one with fewer coordinates"
        )
        raise UsageError(message, "plan")
    return min(_MOST_DRAWS, max(_FEWEST_DRAWS, _WORK // world.numbers))
