"""The numbers of the published table and corollary, computed."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betaincinv

from bench.thesis import (
    Reading,
    Setting,
    complete_row,
    path_row,
    simulated_row,
    theorem_row,
    worst_spread,
)
from gopa.accounting.gaussian import central_deviation
from gopa.graph import complete, k_out_graph, ring, spread_energy
from gopa.planning.neighbours.attendance import recovery_failure
from gopa.planning.neighbours.expansion import Population, disconnected
from tests.planning.continuous import (
    sufficient_mask_deviation,
    theta,
    theta_from_gap,
    theta_from_spread,
    worst_theta,
)
from tests.randomness import seeded
from wire.errors import UsageError
from wire.randomness import Rng, draw

N, EPSILON = 10_000, 0.1


@pytest.mark.parametrize(
    ("rho", "reading", "k", "deviation"),
    [
        (1.0, "printed", 105, 44.72),
        (0.5, "printed", 192, 45.99),
        (0.5, "published", 203, 34.42),
    ],
)
def test_theorem_rows(rho: float, reading: Reading, k: int, deviation: float) -> None:
    row = theorem_row(Setting(N, rho, EPSILON, reading))
    assert row.k == k
    assert row.mask_deviation == pytest.approx(deviation, abs=0.005)


@pytest.mark.parametrize(("rho", "whole", "line"), [(1.0, 1.627, 9392.0), (0.5, 2.117, 6112.4)])
def test_complete_graph_and_path(rho: float, whole: float, line: float) -> None:
    setting = Setting(N, rho, EPSILON)
    assert complete_row(setting).mask_deviation == pytest.approx(whole, abs=0.0005)
    assert path_row(setting).mask_deviation == pytest.approx(line, abs=0.05)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(
    ("rho", "k", "published", "graphs"), [(1.0, 20, 34.7, 2), (0.5, 40, 28.4, 4)]
)
def test_simulated_rows_are_near(rho: float, k: int, published: float, graphs: int) -> None:
    """A tenth of the runs; the full number is `test_simulated_rows`."""
    row = simulated_row(Setting(N, rho, EPSILON, "published"), k, seeded(k), graphs=graphs)
    assert row.mask_deviation == pytest.approx(published, rel=0.12)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("rho", "k", "published", "graphs"), [(1.0, 20, 34.7, 10), (0.5, 40, 28.4, 20)]
)
def test_simulated_rows(rho: float, k: int, published: float, graphs: int) -> None:
    """100,000 pairs of a graph and a party, as in the paper; the median of nine such runs.

    The worst spread is nearly one over a small integer, so one run may be a step away.
    """
    setting = Setting(N, rho, EPSILON, "published")
    runs = [simulated_row(setting, k, seeded(f"{k}/{run}"), graphs=graphs) for run in range(9)]
    found = statistics.median(row.mask_deviation for row in runs)
    assert found == pytest.approx(published, rel=0.08)


def test_the_worst_party_is_among_the_candidates() -> None:
    graph = k_out_graph(bytes(32), 200, 4)
    every = max(spread_energy(graph, party).high for party in range(200))
    assert worst_spread(graph, 20) == pytest.approx(every, rel=1e-6)


def test_the_sum_noise_and_its_tight_need() -> None:
    setting = Setting(N, 1.0, EPSILON)
    assert setting.sum_deviation == pytest.approx(61.1, abs=0.05)
    assert central_deviation(EPSILON, setting.delta) == pytest.approx(41.33, abs=0.005)


@pytest.mark.parametrize(
    ("rho", "gap", "deviation"),
    [
        (1.0, 1.34, 48.5),
        (1.0, 9.6, 18.1),
        (1.0, 23.3, 11.6),
        (1.0, 164, 4.4),
        (0.5, 3.7, 26.4),
        (0.5, 7.2, 19.0),
        (0.5, 19.7, 11.4),
        (0.5, 21.5, 10.9),
        (0.5, 160, 4.0),
    ],
)
def test_gaps_and_the_masks_they_ask_for(rho: float, gap: float, deviation: float) -> None:
    setting = Setting(N, rho, EPSILON)
    found = sufficient_mask_deviation(
        setting.honest, setting.noise_variance, gap, EPSILON, setting.delta
    )
    assert found == pytest.approx(deviation, rel=0.01)


def test_no_mask_makes_up_for_too_little_noise() -> None:
    enough = sufficient_mask_deviation(100, 1e6, 10.0, EPSILON, 1e-8)
    assert enough >= 0
    with pytest.raises(UsageError):
        sufficient_mask_deviation(100, 1.0, 10.0, EPSILON, 1e-8)
    assert worst_theta(ring(50), 2.0, 5.0) > 0
    with pytest.raises(UsageError):
        worst_theta(ring(2_501), 2.0, 5.0)


def test_theta_three_ways() -> None:
    graph = k_out_graph(bytes(32), 60, 3)
    dense = worst_theta(graph, 2.0, 5.0)
    each = [theta(graph, party, 2.0, 5.0) for party in range(60)]
    assert max(each) == pytest.approx(dense, rel=1e-6)
    for party in range(0, 60, 7):
        spread = spread_energy(graph, party).high
        assert each[party] <= theta_from_spread(60, 2.0, spread, 5.0) * (1 + 1e-9)
    assert worst_theta(complete(7), 2.0, 5.0) == pytest.approx(theta_from_gap(7, 2.0, 7, 5.0))


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
