"""Scores are likelihood ratios: compared with sums over everything that can happen."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gopa.adversary.privacy.distinguishers import CERTAIN, Score, scores_for
from gopa.adversary.privacy.measuring import ViewClaim, measure
from gopa.adversary.privacy.scenarios import ReleaseScenario
from gopa.adversary.privacy.views import Law, Masks, Release, World, views
from gopa.graph import complete, from_edges
from gopa.planning.noise.exposure import noise_sum, theorem_d
from tests.planning.continuous import theta
from zkp.noise import GaussianTable, binomial

LAW = binomial(4)
NOISE = Law.of(LAW)
STEP = 2


def score(world: World, name: str) -> Score:
    return next(each for each in scores_for(world) if each.name == name)


def words(*values: int) -> list[np.ndarray]:
    """One view: one release, one coordinate."""
    return [np.array(values, dtype=np.int64).reshape(-1, 1, 1).view(np.uint64)]


def log_ratio(moved: float, still: float) -> float:
    if moved and still:
        return math.log(moved / still)
    return CERTAIN * ((moved > 0) - (still > 0))


def test_the_score_of_a_total_is_that_of_all_noises_that_make_it() -> None:
    world = World((Release(complete(3), 0),), NOISE, Masks(0), (STEP,))
    total = score(world, "total")
    chances = dict(zip(NOISE.support.tolist(), NOISE.chances.tolist(), strict=True))
    sums: dict[int, float] = {}
    for noises in itertools.product(chances, repeat=3):
        chance = math.prod(chances[noise] for noise in noises)
        sums[sum(noises)] = sums.get(sum(noises), 0.0) + chance
    for value in range(-7, 10):
        expected = log_ratio(sums.get(value - STEP, 0.0), sums.get(value, 0.0))
        shares = (10**15 + value, -(10**15) - 12345, 12345)
        assert total.of(words(*shares))[0] == pytest.approx(expected, abs=1e-9)


def test_two_parties_and_a_gaussian_mask_have_the_exact_ratio() -> None:
    world = World((Release(complete(2), 0),), NOISE, Masks(2), (STEP,))
    pair, mask = score(world, "whole view"), Masks(2).law()

    def chance(own: int, other: int) -> float:
        found = 0.0
        for first, second in itertools.product(NOISE.support.tolist(), repeat=2):
            if own - first == second - other:
                at = np.array([first]), np.array([second]), np.array([own - first])
                found += float(NOISE.at(at[0])[0] * NOISE.at(at[1])[0] * mask.at(at[2])[0])
        return found

    for own, other in itertools.product(range(-6, 9), range(-6, 7)):
        expected = log_ratio(chance(own - STEP, other), chance(own, other))
        assert pair.of(words(own, other))[0] == pytest.approx(expected, abs=1e-9)


def test_linear_scores_attain_the_continuous_curve() -> None:
    """Shift and deviation of the score are those of a normal view: d^2 theta (03-V8)."""
    graph = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)])
    noise = Law.of(GaussianTable.with_scale("4", bits=30, rows=41))
    world = World((Release(graph, 1),), noise, Masks(9), (7,))
    whole, rng = score(world, "whole view"), np.random.default_rng(2)
    still, moved = (
        np.concatenate([whole.of(each) for each in views(world, 60_000, rng, moved=moved)])
        for moved in (False, True)
    )
    shift = (moved.mean() - still.mean()) / still.std()
    assert shift**2 == pytest.approx(49 * theta(graph, 1, noise.variance, 81.0), rel=0.03)


def test_a_total_is_no_better_than_the_whole_view_and_not_worse_with_wide_masks() -> None:
    claim, rng = ViewClaim(1.0, 0.05), np.random.default_rng(4)
    noise = Law.of(GaussianTable.with_scale("4", bits=30, rows=41))
    narrow, wide = (
        World((Release(complete(4), 0),), noise, Masks(deviation), (7,)) for deviation in (1, 900)
    )
    assert measure(narrow, claim, 20_000, 1e-3, rng).test == "whole view"
    assert measure(narrow, claim, 20_000, 1e-3, rng).delta > (
        measure(wide, claim, 20_000, 1e-3, rng).delta
    )


def test_measured_delta_comes_close_to_theorem_d() -> None:
    """With uniform masks the theorem is an equality: most of it is found, and never more."""
    law = GaussianTable.with_scale("4", bits=30, rows=41)
    scenario = ReleaseScenario(complete(6), 5, frozenset({0, 1, 2}))
    world = World((scenario.release(),), Law.of(law), Masks(0), (6,))
    exact = theorem_d(noise_sum(law, 3), 6, 1.0)
    found = measure(world, ViewClaim(1.0, exact), 200_000, 1e-4, np.random.default_rng(5))
    assert found.inside
    assert 0.75 * exact < found.delta <= exact
    assert found.test == "total"
