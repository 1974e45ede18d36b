"""Accounts for tokens that carry histograms: uniform reports of others hide whose is whose.

A report is uniform with some chance, whatever the value. Derivations:
`specs/13-network-dp.md`, section 5.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlog1py, xlogy

from gopa import UsageError
from gopa.accounting import Loss
from gopa.learning.checks import whole
from gopa.learning.network_dp.laws import colluder_chance, spacings
from gopa.support.arrays import Floats

_LEAST: Final = 1e-24
_ROUNDING: Final = 1e-14
_DEVIATIONS: Final = 10.0
_MOST: Final = 2000
"""Uniform reports beyond so many are not counted: fewer hide less."""

_WIDTH: Final = 0.5
"""Of groups of numbers of uniform reports, in deviations or as a part of the number."""


def uniform_chance(epsilon: float, values: int) -> float:
    """With this chance a report is uniform over all values: beta of randomised response."""
    if not 0 <= epsilon < math.inf:
        raise UsageError("at least 0 and finite", "epsilon")
    return whole(values, "values", 2) / (math.expm1(epsilon) + values)


def among_uniform(epsilon: float, values: int, added: int) -> Loss:
    """What a histogram tells of one report, x or y, among so many uniform ones.

    What is seen are the numbers of x and of y; a report of anything else is the same for both.
    """
    low = uniform_chance(epsilon, values) / values
    keep, rest = math.exp(epsilon) * low, max(0.0, 1 - (math.exp(epsilon) + 1) * low)
    fewest, chances = _binomial(min(added, _MOST), 2 / values)
    total = np.arange(fewest, fewest + len(chances) + 1)[:, None]
    reach = math.ceil(_DEVIATIONS * math.sqrt(total[-1, 0]) / 2) + 2
    ones = total // 2 + np.arange(-reach, reach + 1)
    alone, with_one = np.append(chances, 0.0)[:, None], np.insert(chances, 0, 0.0)[:, None]
    one, other = _halves(total - 1, ones - 1), _halves(total - 1, ones)
    same = rest * alone * _halves(total, ones)
    p = (same + with_one * (keep * one + low * other)).ravel()
    q = (same + with_one * (low * one + keep * other)).ravel()
    held = np.maximum(p, q) > _LEAST
    p, q = p[held], q[held]
    missing = max(0.0, 1 - float(p.sum()), 1 - float(q.sum()))
    return Loss.of_tables(p, q * (p.sum() / q.sum())).charged(missing + _ROUNDING)


def shuffled(epsilon: float, values: int, others: int) -> Loss:
    """What a histogram of reports tells of one of them, `others` being everybody else's."""
    beta = uniform_chance(epsilon, values)
    return _among(epsilon, values, *_binomial(min(others, 2 * _MOST), beta))


def ring_histogram(epsilon: float, values: int, users: int, rounds: int) -> Loss:
    """What one user of a ring learns of another one's reports."""
    edge = among_uniform(epsilon, values, added_reports(epsilon, values, users))
    if whole(rounds, "rounds") == 1:
        return edge
    return shuffled(epsilon, values, users - 2).repeated(rounds - 1).then(edge)


def added_reports(epsilon: float, values: int, users: int) -> int:
    """How many uniform reports stand for those of a whole round."""
    return math.ceil(uniform_chance(epsilon, values) * whole(users, "users", 2))


def walk_histogram(epsilon: float, values: int, users: int, cap: int, colluders: int = 1) -> Loss:
    """What colluders learn of a user's reports where the token walks on the complete graph.

    Until the token comes to one of them or to the user there are geometrically many uniform
    reports; between two colluders there are twice as many.
    """
    p = colluder_chance(users, colluders)
    seen = p / (p + (1 - p) * uniform_chance(epsilon, values))
    single, double = spacings(seen, colluders, _MOST + 1)
    first = _among(epsilon, values, 0, single)
    if whole(cap, "cap") == 1:
        return first
    return first.then(_among(epsilon, values, 0, double).repeated(cap - 1))


def _among(epsilon: float, values: int, fewest: int, chances: Floats) -> Loss:
    """One report among `fewest`, `fewest` + 1, .. uniform ones, by chance; how many is seen."""
    count = fewest + np.arange(len(chances), dtype=np.float64)
    if fewest:
        mean = float((count * chances).sum())
        spread = math.sqrt(max(float(((count - mean) ** 2 * chances).sum()), 1e-9))
        groups = np.floor((count - mean) / max(1.0, _WIDTH * spread))
    else:
        groups = np.floor(np.log1p(count) / _WIDTH)
    starts = np.flatnonzero(np.diff(groups, prepend=-np.inf))
    sums = np.add.reduceat(chances, starts)
    held = sums > 0
    # The fewest of a group stand for all of it.
    parts = [among_uniform(epsilon, values, int(count[each])) for each in starts[held]]
    return Loss.one_of(sums[held] / sums.sum(), parts).charged(_ROUNDING)


def _binomial(many: int, share: float) -> tuple[int, Floats]:
    """The least number of `many` that has a chance worth mentioning, and the chances from it on."""
    count = np.arange(whole(many, "others", 0) + 1, dtype=np.float64)
    found = np.exp(_choose(many, count) + xlogy(count, share) + xlog1py(many - count, -share))
    held = np.flatnonzero(found > _LEAST)
    return int(held[0]), found[held[0] : held[-1] + 1]


def _halves(total: npt.NDArray[np.int64], ones: npt.NDArray[np.int64]) -> Floats:
    """The chances of so many heads among fair coins; 0 outside."""
    inside = (total >= 0) & (ones >= 0) & (ones <= total)
    n, k = np.where(inside, total, 0), np.where(inside, ones, 0)
    return np.where(inside, np.exp(_choose(n, k) - n * math.log(2)), 0.0)


def _choose(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    many, some = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(many + 1) - gammaln(some + 1) - gammaln(many - some + 1))
