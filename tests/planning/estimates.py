"""Bounds on beta from simulation: always labelled estimated, never mixed with proved ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from gopa.graph.structure import k_out_graph
from gopa.planning.expansion import Population
from wire.errors import UsageError
from wire.randomness import Rng, draw


@dataclass(frozen=True, slots=True)
class Estimate:
    """beta is at most `bound`, with the stated confidence in the simulation."""

    bound: float
    failures: int
    runs: int
    confidence: float
    method: str = "estimated"


def clopper_pearson(failures: int, runs: int, confidence: float = 0.99) -> Estimate:
    """The exact one-sided upper bound on a probability that failed so often in so many runs."""
    if not 0 <= failures <= runs or runs < 1 or not 0 < confidence < 1:
        raise UsageError("failures among at least one run, and a confidence between 0 and 1")
    if failures == runs:
        return Estimate(1.0, failures, runs, confidence)
    bound = float(betaincinv(failures + 1, runs - failures, confidence)) * (1 + 1e-9)
    return Estimate(bound, failures, runs, confidence)


def estimate_disconnection(
    population: Population, runs: int, rng: Rng, confidence: float = 0.99
) -> Estimate:
    """How often a drawn graph of the honest parties falls apart, when nobody is removed."""
    if population.loss or population.gone:
        raise UsageError("removals after seeing the graph cannot be simulated: use the bound")
    honest = np.arange(population.honest)
    failures = 0
    for _ in range(runs):
        graph = k_out_graph(draw(rng, 32), population.parties, population.k)
        failures += not graph.induced(honest).is_connected()
    return clopper_pearson(failures, runs, confidence)
