"""Theorem D against complete enumeration of the adversary's view."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import linalg, stats

from gopa.graph import Graph, complete, from_edges, k_out_graph, ring, worst_flow_energy
from gopa.planning import Plan
from gopa.planning.noise.exposure import noise_sum, theorem_d
from tests.planning.exact import (
    Floats,
    delta_of_view,
    gaussian_masks,
    noise_view,
    uniform_masks,
    with_masks,
)
from tests.planning.samples import log_concave, masses_of, plan, sum_of
from zkp.noise import GaussianTable

NUMERICAL = 1e-11


UNIFORM_CASES, GAUSSIAN_CASES = 240, 120


def path(parties: int) -> Graph:
    return from_edges(parties, [(u, u + 1) for u in range(parties - 1)])


def star(parties: int) -> Graph:
    return from_edges(parties, [(0, u) for u in range(1, parties)])


def random_graph(generator: np.random.Generator, parties: int) -> Graph:
    if parties == 1:
        return from_edges(1, [])
    kinds = [path, star, complete] + ([ring] if parties > 2 else [])
    return kinds[generator.integers(len(kinds))](parties)


def worst_delta(view: Floats, parties: int, shift: int, epsilon: float) -> float:
    return max(
        delta_of_view(view, party, sign * move, epsilon)
        for party in range(parties)
        for move in range(1, shift + 1)
        for sign in (1, -1)
    )


@pytest.mark.parametrize("seed", range(0, UNIFORM_CASES, 40))
def test_uniform_masks_reveal_no_more_than_the_bound(seed: int) -> None:
    for case in range(seed, seed + 40):
        generator = np.random.default_rng(case)
        parties = int(generator.integers(1, 5))
        radius = int(generator.integers(1, 4 if parties < 4 else 2))
        shift = int(generator.integers(1, radius + 2))
        epsilon = float(generator.uniform(0.05, 2))
        law = log_concave(generator, radius)
        width = 2 * (parties * radius + shift) + 1
        graph = random_graph(generator, parties)
        view = with_masks(noise_view(law, parties, width), graph, uniform_masks(width))
        exact = worst_delta(view, parties, shift, epsilon)
        bound = theorem_d(sum_of(law, parties), shift, epsilon)
        assert exact <= bound + NUMERICAL
        assert bound <= exact + NUMERICAL  # with uniform masks the theorem is an equality


@pytest.mark.parametrize("seed", range(0, GAUSSIAN_CASES, 20))
def test_gaussian_masks_reveal_no_more_than_the_bound(seed: int) -> None:
    for case in range(seed, seed + 20):
        generator = np.random.default_rng(10_000 + case)
        parties = int(generator.choice([1, 2, 2, 3, 3, 3, 4]))
        radius = 1 if parties == 4 else int(generator.integers(1, 3))
        shift = int(generator.integers(1, 3))
        epsilon = float(generator.uniform(0.05, 2))
        deviation = float(generator.uniform(0.4, 0.6 if parties == 4 else 1.4))
        law = log_concave(generator, radius)
        graph = path(4) if parties == 4 else random_graph(generator, parties)
        masks = gaussian_masks(deviation)
        most = int(graph.degrees.max()) * max(masks)
        width = 2 * (most + radius + shift) + 1
        view = with_masks(noise_view(law, parties, width), graph, masks)
        exact = worst_delta(view, parties, shift, epsilon)
        mask_mu = math.sqrt(worst_flow_energy(graph, shift)) / deviation
        bound = theorem_d(sum_of(law, parties), shift, epsilon, mask_mu=mask_mu)
        assert exact <= bound + NUMERICAL


def test_the_documented_numbers() -> None:
    table = GaussianTable.with_scale(8)
    assert theorem_d(noise_sum(table, 1000), 59, 1.0) == pytest.approx(7.338e-7, rel=1e-4)
    assert theorem_d(noise_sum(table, 10_000), 19, 0.1) == pytest.approx(6.875e-8, rel=1e-4)


@pytest.mark.parametrize(
    ("parties", "epsilon", "delta", "steps", "scale"),
    [
        (1000, 1.0, 1e-6, 60, "8.016"),
        (10_000, 0.1, 1e-7, 20, "8.266"),
        (20, 1.0, 1e-5, 9, "7.508"),
        (100, 0.1, 1e-5, 3, "9.225"),
    ],
)
def test_adapted_scales_meet_their_targets_and_no_thousandth_less_does(
    parties: int, epsilon: float, delta: float, steps: int, scale: str
) -> None:
    table = GaussianTable.with_scale(scale)
    assert theorem_d(noise_sum(table, parties), steps, epsilon) <= delta
    smaller = GaussianTable.with_scale(f"{float(scale) - 0.002:.3f}", rows=table.rows)
    assert theorem_d(noise_sum(smaller, parties), steps, epsilon) > delta


def test_asymmetric_noise_needs_both_directions() -> None:
    """One direction alone would claim a delta that the other shift exceeds."""
    law = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    epsilon = 0.7
    exact = [delta_of_view(noise_view(law, 1, 15), 0, sign, epsilon) for sign in (1, -1)]
    one_sided = float(
        np.maximum(np.insert(law, 0, 0) - math.exp(epsilon) * np.append(law, 0), 0).sum()
    )
    assert one_sided < max(exact) - 0.05
    for turned in (law, law[::-1]):
        assert theorem_d(masses_of(turned), 1, epsilon) >= max(exact) - NUMERICAL


def test_components_count_alone() -> None:
    """Two pairs hide a party among two, not among four."""
    law = np.array([1.0, 2.0, 4.0, 2.0, 1.0]) / 10
    epsilon, width = 0.5, 2 * (8 + 1) + 1
    pairs = from_edges(4, [(0, 1), (2, 3)])
    two = with_masks(noise_view(law, 2, width), from_edges(2, [(0, 1)]), uniform_masks(width))
    exact = worst_delta(two, 2, 1, epsilon)
    assert not pairs.is_connected()
    assert exact > theorem_d(sum_of(law, 4), 1, epsilon) + 0.01
    assert exact <= theorem_d(sum_of(law, 2), 1, epsilon) + NUMERICAL


def test_a_curious_centre_takes_a_star_apart() -> None:
    """Without its centre a star is single parties; the whole star's bound does not hold."""
    law = np.array([1.0, 2.0, 4.0, 2.0, 1.0]) / 10
    epsilon = 0.5
    leaves = star(4).induced([1, 2, 3])
    assert leaves.edge_count == 0
    view = with_masks(noise_view(law, 3, 9), leaves, uniform_masks(9))
    exact = worst_delta(view, 3, 1, epsilon)
    assert exact > theorem_d(sum_of(law, 3), 1, epsilon) + 0.01
    assert exact <= theorem_d(sum_of(law, 1), 1, epsilon) + NUMERICAL


def test_more_noise_and_smaller_shifts_never_cost_privacy() -> None:
    table = GaussianTable.with_scale(2, bits=30, rows=17)
    bounds = [theorem_d(noise_sum(table, parties), 3, 0.5) for parties in (1, 2, 5, 20)]
    assert bounds == sorted(bounds, reverse=True)
    shifts = [theorem_d(noise_sum(table, 5), shift, 0.5) for shift in range(5)]
    assert shifts == sorted(shifts)
    assert shifts[0] == 0
    masks = [theorem_d(noise_sum(table, 5), 3, 0.5, mask_mu=mu) for mu in (0, 0.01, 0.1, 1)]
    assert masks == sorted(masks)


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
