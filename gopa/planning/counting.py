"""Bounds probabilities of rare events in random graphs, as logarithms rounded upwards."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.int64]

ROUNDING: Final = 1e-14
"""Relative error granted to gammaln, several times its documented error."""

_MOST_TERMS: Final = 500_000
_MOST_COUNTS: Final = 500_000
_ALMOST_ALL: Final = 0.999
"""A larger chance is taken as this one, whose complement a float still holds well."""


def log_choose(total: Floats | int, part: Floats | int) -> Floats:
    """Takes the logarithm of the number of ways to choose `part` of `total`; -inf for none.

    Rounded to nearest; callers add `log_slack` to what they build from it.
    """
    total_array = np.asarray(total, dtype=float)
    part_array = np.asarray(part, dtype=float)
    possible = (part_array >= 0) & (part_array <= total_array)
    safe_total = np.maximum(total_array, 0.0)
    safe_part = np.clip(part_array, 0.0, safe_total)
    value = gammaln(safe_total + 1) - gammaln(safe_part + 1) - gammaln(safe_total - safe_part + 1)
    return np.where(possible, value, -np.inf)


def log_avoiding(total: int, avoided: Floats | int, draws: int) -> Floats:
    """Bounds ln(C(total - avoided, draws) / C(total, draws)): all draws miss the avoided.

    A sum of logarithms of one sign has a small *relative* error, so the result may be
    multiplied by any number of parties and stays an upper bound; a difference of
    factorials may not. Long sums are replaced by their value at the mean, which is
    larger because ln(1 - a/x) is concave in x. At least -1e300, so that products with 0
    are 0.
    """
    missed = np.asarray(avoided, dtype=float)[..., None]
    if missed.size * draws <= _MOST_TERMS:
        left = total - np.arange(draws, dtype=float)
    else:
        left = np.array([total - (draws - 1) / 2])
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.minimum(missed / left, 1.0)).sum(axis=-1) * (draws / len(left))
    possible = missed[..., 0] <= total - draws
    return np.maximum(np.where(possible, logs * (1 - 1e-9), -np.inf), -1e300)


def log_slack(largest: int, terms: int) -> float:
    """Bounds the rounding of `terms` logarithms of factorials of numbers up to `largest`."""
    return float(terms * ROUNDING * (1 + gammaln(largest + 2.0)))


def log_sum(logs: Floats, axis: int = -1) -> Floats:
    """Takes the logarithm of a sum of exponentials; -inf for an empty or impossible sum."""
    top = np.max(logs, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(logs - safe), axis=axis)) + np.squeeze(safe, axis=axis)
    return np.asarray(total)


def log_at_most(population: int, marked: Floats | int, draws: int, most: int) -> Floats:
    """Computes ln P(at most `most` marked items among `draws` taken without replacement).

    Exact up to rounding; of too many cases together an upper bound, by Chernoff.
    """
    counts = np.arange(min(most, draws) + 1, dtype=float)
    if np.size(marked) * len(counts) > _MOST_COUNTS:
        chance = np.minimum(np.asarray(marked, dtype=float) / population, _ALMOST_ALL)
        sizes = np.full_like(chance, float(draws))
        return log_binomial_at_most(sizes, chance, np.full_like(chance, float(most)))
    marked_column = np.asarray(marked, dtype=float)[..., None]
    logs = (
        log_choose(marked_column, counts)
        + log_choose(population - marked_column, draws - counts)
        - log_choose(population, draws)
    )
    return np.minimum(log_sum(logs), 0.0)


def log_binomial_at_most(trials: Floats, chance: Floats, most: Floats) -> Floats:
    """Bounds ln P(Binomial <= most): exp(-trials KL), and 0 past the mean.

    It also bounds sums of hypergeometric counts with the same draws and chances, whose
    moment generating function is smaller (Hoeffding 1963, theorem 4).
    """
    share = np.clip(most / trials, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(share > 0, share * np.log(share / chance), 0.0)
        rest = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0.0)
    divergence = np.maximum(first + rest - 1e-12, 0.0)
    return np.where(share < chance, -trials * divergence, 0.0)
