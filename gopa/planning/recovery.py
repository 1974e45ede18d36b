"""Threshold recovery: could corrupt neighbours open a self-mask alone?

Specification: `specs/03-privacy.md`, section 8.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.stats import binom, hypergeom

from gopa.planning.expansion import Population
from wire.errors import UsageError


def recovery_failure(population: Population, tau: Fraction) -> float:
    """A bound on P(some honest party has at least floor(tau degree) + 1 corrupt neighbours).

    Corrupt parties' choices come from their own committed seeds, so they are as random as
    everybody's. A party may lose `loss` honest neighbours before it deals shares, which
    lowers its threshold. For all honest parties at once, one attempt; rounded upwards.
    """
    if type(tau) is not Fraction or not 0 < tau < 1:
        raise UsageError("the threshold is a Fraction between 0 and 1", "tau")
    corrupt = population.parties - population.honest
    others, k = population.parties - 1, population.k
    chance = k / others
    total = 0.0
    for own in range(min(k, corrupt) + 1):
        chosen = float(hypergeom(others, corrupt, k).pmf(own))
        more = np.arange(corrupt - own + 1)
        weights = binom(corrupt - own, chance).pmf(more)
        # Failure: own + z > tau (k + z + y - loss), y honest parties that chose this one.
        numerator, denominator = tau.numerator, tau.denominator
        most = -(-denominator * (own + more) // numerator) - 1 - k - more + population.loss
        honest = binom(population.honest - 1 - (k - own), chance).cdf(most)
        total += chosen * float((weights * honest).sum())
    return min(1.0, population.honest * total * (1 + 1e-9) + math.ulp(1.0))
