"""Composes mechanisms of which only epsilon and delta are known, by Kairouz, Oh and Viswanath.

Derivations: `specs/16-accounting.md`, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from gopa.accounting import checks
from wire.errors import UsageError

_MOST = 10**6


def optimal_delta(epsilon: float, count: int, total: float, delta: float = 0.0) -> float:
    """The least delta at `total` epsilon of `count` mechanisms, each (epsilon, delta)-private.

    Exact but for rounding, which goes upwards.
    """
    each = checks.positive(epsilon, "epsilon")
    times = checks.whole(count, 1, "count")
    if times > _MOST:
        raise UsageError(f"must be at most {_MOST:,}", "count")
    wanted = checks.not_negative(total, "total")
    chance = checks.probability(delta, "delta")
    # With binary randomised response `lies` of the answers are lies.
    lies = np.arange(times // 2 + 1, dtype=np.float64)
    losses = (times - 2 * lies) * each
    logs = gammaln(times + 1) - gammaln(lies + 1) - gammaln(times - lies + 1)
    logs = logs - lies * each - times * np.log1p(math.exp(-each))
    exceeding = -np.expm1(np.minimum(wanted - losses, 0.0))
    rounding = 1e-12 + 8e-16 * float(gammaln(times + 1) + times * (each + 1))
    finite = float((np.exp(logs) * exceeding).sum()) * (1 + rounding)
    kept = math.exp(times * math.log1p(-chance))
    return min(1.0, 1 - kept * (1 - finite)) if chance else min(1.0, finite)


def optimal_epsilon(epsilon: float, count: int, total_delta: float, delta: float = 0.0) -> float:
    """The least epsilon of `count` mechanisms, each (epsilon, delta)-private, at `total_delta`."""
    wanted = checks.probability(total_delta, "total_delta")
    low, high = 0.0, checks.whole(count, 1, "count") * checks.positive(epsilon, "epsilon")
    if optimal_delta(epsilon, count, high, delta) > wanted:
        raise UsageError("the mechanisms' own deltas exceed it: raise it", "total_delta")
    if optimal_delta(epsilon, count, low, delta) <= wanted:
        return low
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if optimal_delta(epsilon, count, middle, delta) <= wanted:
            high = middle
        else:
            low = middle
    return high


def composed_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """A bound in closed form for mechanisms of different epsilons, the least of three.

    Their sum, and two that hold with a chance of 1 - `delta` (theorem 3.5 of Kairouz et al.).
    `Loss.randomised_response` composed gives less.
    """
    each = [checks.positive(one, "epsilons") for one in epsilons]
    if not each:
        raise UsageError("there is at least one mechanism", "epsilons")
    chance = checks.probability(delta, "delta")
    plain = math.fsum(each)
    if chance == 0:
        return plain
    drift = math.fsum(one * math.tanh(one / 2) for one in each)
    squares = math.fsum(one * one for one in each)
    known = math.log(math.e + math.sqrt(squares) / chance)
    found = drift + math.sqrt(2 * squares * min(known, math.log(1 / chance)))
    return min(plain, found) * (1 + 1e-12)
