"""Simulated bounds, threshold recovery, and parties that read little."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gopa.graph import certified_spectrum, k_out_graph
from gopa.planning.estimate import clopper_pearson, estimate_disconnection
from gopa.planning.expansion import Population, disconnected
from gopa.planning.losses import honest_for_light_parties
from gopa.planning.recovery import recovery_failure
from tests.randomness import seeded
from wire.errors import UsageError


def test_clean_runs_bound_little() -> None:
    assert clopper_pearson(0, 100_000).bound == pytest.approx(4.6e-5, abs=0.05e-5)
    assert clopper_pearson(7, 7).bound == 1
    assert clopper_pearson(1, 100).bound > clopper_pearson(0, 100).bound
    for wrong in ((-1, 5), (6, 5), (0, 0)):
        with pytest.raises(UsageError):
            clopper_pearson(*wrong)


def test_simulation_and_analysis_agree() -> None:
    population = Population(30, 20, 3)
    estimate = estimate_disconnection(population, 400, seeded(0))
    assert estimate.method == "estimated"
    assert estimate.failures / estimate.runs <= disconnected(population)
    with pytest.raises(UsageError):
        estimate_disconnection(Population(30, 20, 3, 1), 1, seeded(0))


def test_recovery_failures_are_counted() -> None:
    population, tau, runs = Population(30, 24, 4), Fraction(1, 2), 600
    rng = seeded("recovery")
    bad = 0
    for _ in range(runs):
        graph = k_out_graph(rng(32), 30, 4)
        for party in range(24):
            around = graph.neighbours(party)
            bad += int((around >= 24).sum()) >= int(tau * len(around)) + 1
    expected = recovery_failure(population, tau)
    assert bad / runs == pytest.approx(expected, rel=0.15)
    large = recovery_failure(Population(1000, 700, 30), Fraction(2, 3))
    assert large < 1e-4
    assert recovery_failure(Population(1000, 700, 30, 5, 50), Fraction(2, 3)) > 10 * large
    for wrong in (Fraction(1), Fraction(0), 0.5):
        with pytest.raises(UsageError):
            recovery_failure(population, wrong)  # type: ignore[arg-type]


def test_light_parties_count_fewer() -> None:
    graph = k_out_graph(bytes(32), 300, 12)
    gap = certified_spectrum(graph, seeded(0)).low
    certain = honest_for_light_parties(280, 30, 2, 300, gap)
    assert 0 < certain < 250
    assert honest_for_light_parties(280, 30, 2, 300, 0.0) == 0


@pytest.mark.parametrize("seed", range(5))
def test_sets_that_lose_little_are_nearly_everybody(seed: int) -> None:
    """Peel any small set: what keeps all but `loss` neighbours outside is as large as stated."""
    graph = k_out_graph(seeded(seed)(32), 120, 10)
    gap = certified_spectrum(graph, seeded(seed)).low
    inside = np.ones(120, dtype=bool)
    inside[np.random.default_rng(seed).choice(120, 20, replace=False)] = False
    adjacency = graph.adjacency()
    for loss in (2, 4):
        acting = inside.copy()
        while True:
            crowded = acting & (adjacency @ (~acting).astype(float) > loss)
            if not crowded.any():
                break
            acting &= ~crowded
        if 2 * acting.sum() > 120:
            assert acting.sum() >= 120 - loss * 120 / gap
