"""How small an excess over a claim would be noticed."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtr

from gopa.adversary.privacy.bounds import Floats, delta_below
from gopa.adversary.privacy.measuring import INTERVALS, Claim
from gopa.planning.gaussian import gaussian_mu

MOST: Final = 100.0
"""Larger excesses are not looked for."""

_THRESHOLDS: Final = np.linspace(-4.0, 8.0, 241)


def noticed(claim: Claim, draws: int, risk: float) -> float:
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


def _seen(mu: float, claim: Claim, draws: int, risk: float) -> bool:
    thresholds: Floats = _THRESHOLDS + mu / 2
    hits, alarms = draws * ndtr(mu - thresholds), draws * ndtr(-thresholds)
    bounds = delta_below(hits, alarms, draws, claim.epsilon, risk / INTERVALS)
    return bool(bounds.max() > claim.delta)
