"""Threshold recovery: could corrupt neighbours open a self-mask alone?

Specification: `specs/03-privacy.md`, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.planning.counting import Floats, log_choose, log_sum
from gopa.planning.expansion import Population
from gopa.planning.terms import BeaconKind
from wire.errors import UsageError

Counts: TypeAlias = npt.NDArray[np.int64]

_RARE = -120.0
"""Events of a smaller log-probability are not looked into but counted as failures."""

_MOST_CHOICES = 1_000

GRINDING: Final = 2**64
"""Logs that somebody is granted to try before the coins are fixed."""


def worst_tries(beacon: BeaconKind) -> int:
    """From how many draws corrupt parties' choices may be picked.

    With commit-reveal they follow from nonces that corrupt parties know and from a log
    that they can help to shape. A beacon that nobody knows when the list is closed
    leaves nothing to pick.
    """
    return 1 if beacon == "drand" else GRINDING


def recovery_failure(population: Population, tau: Fraction, tries: int = 1) -> float:
    """A bound on P(some honest party has at least floor(tau degree) + 1 corrupt neighbours).

    The choices of honest parties are random. Those of corrupt parties are the best of
    `tries` independent draws, picked without knowing the honest ones: whoever decides
    what a log looks like before its coins are fixed can try many logs. A party may lose
    `loss` neighbours before it deals shares, which lowers its threshold. For all honest
    parties at once, one attempt, every number of parties in the population's range;
    rounded upwards.
    """
    if type(tau) is not Fraction or not 0 < tau < 1:
        raise UsageError("the threshold is a Fraction between 0 and 1", "recovery")
    if population.k > _MOST_CHOICES:
        return 1.0  # it would take too long to show more
    logs = [math.log(population.k + 1) + _RARE]
    for own, chosen in _own_corrupt_choices(population):
        logs.append(chosen + _log_outvoted(population, own, tau, tries))
    total = float(log_sum(np.array(logs))) + population.slack
    return min(1.0, population.honest * math.exp(min(0.0, total)) * (1 + 1e-9))


def _own_corrupt_choices(population: Population) -> Iterator[tuple[int, float]]:
    """How many corrupt parties a party chooses, with log-probabilities that are not too small."""
    corrupt, others, k = population.corrupt, population.fewest_others, population.k
    counts = np.arange(max(0, k - (others - corrupt)), min(k, corrupt) + 1, dtype=float)
    logs = (
        log_choose(corrupt, counts)
        + log_choose(others - corrupt, k - counts)
        - log_choose(others, k)
    )
    for count, log in zip(counts.tolist(), logs.tolist(), strict=True):
        if log > _RARE:
            yield int(count), log


def _log_outvoted(population: Population, own: int, tau: Fraction, tries: int) -> float:
    """Log-probability of failure for a party that chose `own` corrupt parties.

    With z further corrupt and y further honest parties that chose it, it fails when
    own + z > tau (k + z + y - loss). Rare large y count like the largest one kept.
    """
    k = population.k
    joiners = _log_binomial(population.fewest - 1 - (k - own), k / (population.parties - 1))
    attackers = _log_binomial(population.corrupt - own, k / population.fewest_others)
    at_least = np.append(np.logaddexp.accumulate(attackers[::-1])[::-1], -np.inf)
    at_least = np.logaddexp(at_least, _RARE)
    needed = _needed(own, k - population.loss + np.arange(len(joiners)), tau)
    tails = at_least[np.clip(needed, 0, len(attackers))] + math.log(tries)
    tails = np.minimum(tails, 0.0)
    kept = float(log_sum(joiners + tails))
    return min(0.0, float(np.logaddexp(kept, _RARE + tails[-1])))


def _needed(own: int, others: Counts, tau: Fraction) -> Counts:
    """The smallest integers z with own + z > tau (others + z)."""
    part, whole = tau.numerator, tau.denominator
    return np.asarray((part * others - whole * own) // (whole - part) + 1)


def _log_binomial(trials: int, chance: float) -> Floats:
    """Logarithms of binomial masses, for counts that are exceeded only in rare events.

    By Bernstein's inequality mean + t is, if t^2 = 2 (mean + t / 3) |_RARE|.
    """
    mean = trials * chance
    spread = -_RARE / 3 + math.sqrt(_RARE * _RARE / 9 - 2 * _RARE * mean)
    most = min(trials, math.ceil(mean + spread))
    counts = np.arange(most + 1, dtype=float)
    if chance >= 1:
        return np.where(counts == trials, 0.0, -np.inf)
    logs = log_choose(trials, counts) + counts * math.log(chance)
    return np.asarray(logs + (trials - counts) * math.log1p(-chance))
