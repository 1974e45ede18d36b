"""What a plan's terms are worth: recomputed by whoever receives them, and for fewer parties.

A party does not trust a manifest's arithmetic, and fewer parties may join than were
planned for. The same corrupt parties among fewer then make the graph worse, before any
loss is counted. Specification: `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from gopa.planning.accountant import delta_of_rounds, delta_of_vectors
from gopa.planning.expansion import Population, disconnected, flow_bound
from gopa.planning.noise_sum import noise_sum
from gopa.planning.result import Terms, float_below
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Delta from noise and masks over all releases, and beta for each of `tries` attempts."""

    noise: float
    beta: float
    tries: int

    @property
    def total(self) -> float:
        """Delta of everything, at most 1."""
        return min(1.0, self.noise + self.beta * self.tries)


NOTHING = Guarantee(1.0, 1.0, 1)


@lru_cache(maxsize=64)
def guarantee(terms: Terms, joined: int | None = None) -> Guarantee:
    """What the terms give when `joined` parties choose neighbours; as planned by default.

    The corrupt parties are as many as planned, and removals may leave the planned number
    of survivors. Where nothing can be shown delta is 1. Parties call this before the
    coins of a round are known and go on only if `total` is within their own limit. That
    vectors stay within the terms' squared sensitivity has to be enforced elsewhere.
    """
    parties = terms.parties if joined is None else joined
    if type(parties) is not int or parties < 0:
        raise UsageError("a number of parties that joined", "joined")
    if parties < terms.survivors or terms.honest < 2 or terms.k >= parties:
        return NOTHING
    if terms.dimension == 1 and terms.squared_sensitivity < terms.steps**2:
        return NOTHING
    gone = parties - terms.survivors
    honest = parties - terms.corrupt
    population = Population(parties, honest, terms.k, min(terms.loss, gone), gone)
    energy, beta = 0, disconnected(population) if terms.mask == "uniform" else _beta(terms)
    if terms.mask == "gaussian":
        bound = flow_bound(population, units_of(terms), beta)
        if bound is None:
            return NOTHING
        energy = bound.energy
    noise = delta_of_component(terms, terms.honest, energy, terms.releases)
    return Guarantee(noise, beta, terms.attempts * terms.rounds)


def _beta(terms: Terms) -> float:
    """The share of delta that the terms set aside for graphs; any share gives a bound."""
    return min(max(float(terms.beta), 1e-300), 0.5)


def units_of(terms: Terms) -> int:
    """Unit shifts a flow carries at once: all steps for scalars, one for a coordinate."""
    return math.isqrt(terms.squared_sensitivity) if terms.dimension == 1 else 1


@lru_cache(maxsize=256)
def delta_of_component(terms: Terms, parties: int, energy: int, releases: int) -> float:
    """Delta when `parties` honest parties are connected by masks with this flow energy."""
    squared = energy if terms.dimension == 1 else energy * terms.squared_sensitivity
    if squared and terms.mask_deviation < 1:
        return 1.0
    mu = math.sqrt(squared) * (1 + 1e-12) / terms.mask_deviation if squared else 0.0
    epsilon = float_below(terms.epsilon)
    noise = noise_sum(terms.noise, parties)
    if terms.dimension == 1:
        shift = units_of(terms)
        return delta_of_rounds(noise, shift, epsilon, mask_mu=mu, releases=releases)
    return delta_of_vectors(
        noise,
        terms.squared_sensitivity,
        terms.steps,
        epsilon,
        dimension=terms.dimension,
        mask_mu=mu,
        releases=releases,
    )
