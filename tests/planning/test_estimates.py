"""Simulated bounds, and threshold recovery."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gopa.graph import k_out_graph
from gopa.planning.attendance import recovery_failure
from gopa.planning.expansion import Population, disconnected
from tests.planning.estimates import clopper_pearson, estimate_disconnection
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
