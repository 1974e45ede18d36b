"""A likelihood-ratio test on simulated views: it must fail against plans, and beat broken ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import linalg, stats

from gopa.graph import Graph, k_out_graph
from gopa.planning import Plan
from tests.planning.classic import plan

CONFIDENCE = 1e-4
EPSILON, DELTA = 1.0, 0.02


@dataclass(frozen=True)
class World:
    """What the parties really run, which the adversary knows."""

    graph: Graph
    noise: tuple[int, ...]
    steps: int
    mask_deviation: float

    @property
    def noise_variance(self) -> float:
        values = np.arange(len(self.noise)) - len(self.noise) // 2
        return float(np.average(values**2, weights=np.asarray(self.noise, dtype=float)))


def planned(parties: int) -> tuple[Plan, World]:
    made = plan(
        n=parties,
        epsilon=EPSILON,
        delta=DELTA,
        dropout=0,
        objective="masks",
        charged=0,
        attempts=1,
    )
    graph = k_out_graph(bytes(32), parties, made.terms.k)
    terms = made.terms
    return made, World(graph, terms.noise.masses, terms.steps, terms.mask_deviation)


def statistic(world: World, party: int) -> tuple[np.ndarray, float]:
    """The best linear test of a change of this party: its weights, and the shift in deviations."""
    matrix = world.graph.laplacian().toarray() * world.mask_deviation**2
    matrix[np.diag_indices(world.graph.parties)] += world.noise_variance
    unit = np.zeros(world.graph.parties)
    unit[party] = 1
    weights = linalg.solve(matrix, unit, assume_a="pos")
    return weights, world.steps * math.sqrt(weights[party])


def views(world: World, weights: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The statistic of simulated views: table noise and rounded Gaussian masks."""
    generator = np.random.default_rng(seed)
    values = np.arange(len(world.noise)) - len(world.noise) // 2
    chances = np.asarray(world.noise, dtype=float) / sum(world.noise)
    first, second = world.graph.edges()
    differences = (weights[first] - weights[second]).astype(np.float32)
    found = np.empty(draws)
    for start in range(0, draws, 500):
        count = min(500, draws - start)
        noise = generator.choice(values, (count, world.graph.parties), p=chances)
        masks = generator.standard_normal((count, len(first)), dtype=np.float32)
        masks = np.rint(masks * np.float32(world.mask_deviation))
        found[start : start + count] = noise @ weights + masks @ differences
    return found


def proved_delta(world: World, draws: int) -> float:
    """A lower confidence bound on the delta that this adversary achieves."""
    party = int(np.argmin(world.graph.degrees))
    weights, mu = statistic(world, party)
    threshold = (EPSILON / mu + mu / 2) * math.sqrt(weights[party])
    moved = views(world, weights, draws, 1) + world.steps * weights[party] > threshold
    still = views(world, weights, draws, 2) > threshold
    low = stats.beta.ppf(CONFIDENCE, moved.sum(), draws - moved.sum() + 1)
    high = stats.beta.ppf(1 - CONFIDENCE, still.sum() + 1, draws - still.sum())
    return float(np.nan_to_num(low)) - math.exp(EPSILON) * float(high)


def broken(world: World) -> dict[str, World]:
    """Masks 20 times too small; one party cut off; half the noise."""
    party = int(np.argmin(world.graph.degrees))
    own = [(party, int(v)) for v in world.graph.neighbours(party)]
    thin = World(world.graph, world.noise, world.steps, world.mask_deviation / 20)
    apart = World(world.graph.without(own), world.noise, world.steps, world.mask_deviation)
    quiet = World(world.graph, world.noise, 2 * world.steps, 2 * world.mask_deviation)
    return {"thin masks": thin, "cut off": apart, "half the noise": quiet}


def check(parties: int, draws: int) -> None:
    made, world = planned(parties)
    claimed = made.total_delta
    assert claimed <= DELTA
    assert proved_delta(world, draws) <= claimed
    for name, weak in broken(world).items():
        assert proved_delta(weak, draws) > claimed, name


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(("parties", "draws"), [(50, 50_000), (300, 9_000)])
def test_plans_resist_and_broken_plans_fall(parties: int, draws: int) -> None:
    check(parties, draws)


@pytest.mark.soak
@pytest.mark.parametrize(("parties", "draws"), [(50, 1_000_000), (1000, 60_000)])
def test_plans_resist_many_views(parties: int, draws: int) -> None:
    check(parties, draws)
