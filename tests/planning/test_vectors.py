"""Vectors: few shifts of a coordinate stand for all of them, whatever the law."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.accounting.convolution import Masses, convolve
from gopa.accounting.gaussian import gaussian_delta, renyi_mu, zcdp_delta
from gopa.planning import guarantee
from gopa.planning.noise.exposure import Coordinate, delta_of_vectors, noise_sum, shifts_up_to
from gopa.support.arrays import Floats
from tests.planning.samples import log_concave, plan, sum_of
from wire.errors import UsageError
from zkp.noise import GaussianTable, WeightedBits, irwin_hall

HUGE = {"epsilon": 4, "delta": 1e-5, "dropout": 0.02, "range": (-1, 1), "mask": "uniform"}


def log_moments(law: Floats, reach: int, order: float) -> list[float]:
    """By definition, for every shift up to `reach`, on the outcomes all of them can have."""
    moments = []
    for shift in range(reach + 1):
        terms = [
            order * math.log(law[k]) + (1 - order) * math.log(law[k - shift])
            for k in range(reach, len(law))
        ]
        largest = max(terms)
        moments.append(largest + math.log(math.fsum(math.exp(term - largest) for term in terms)))
    return moments


def laws() -> list[tuple[str, Floats, int]]:
    generator = np.random.default_rng(3)
    geometric = 0.9 ** np.abs(np.arange(-150, 151, dtype=float))
    return [
        ("uniforms", noise_sum(irwin_hall(12, 5), 6).values, 200),
        ("table", noise_sum(GaussianTable.with_scale(20, bits=60, rows=281), 3).values, 180),
        ("geometric", geometric / geometric.sum(), 120),
        ("random", sum_of(log_concave(generator, 30), 4).values, 100),
    ]


@pytest.mark.parametrize("order", [1.2, 3.0, 12.0])
@pytest.mark.parametrize(("law", "reach"), [one[1:] for one in laws()], ids=[o[0] for o in laws()])
def test_few_shifts_bound_all_of_them(law: Floats, reach: int, order: float) -> None:
    moments = log_moments(law, reach, order)
    coordinate = Coordinate(Masses(0, law), reach)
    rate, room = coordinate.rate(order), coordinate.rounding(order)
    assert len(shifts_up_to(reach)) < reach
    per_square = [moment / shift**2 for shift, moment in enumerate(moments) if shift]
    for shift in range(1, reach + 1):
        assert moments[shift] <= rate * shift**2 + room
        assert coordinate.log_moment(order, shift) == pytest.approx(moments[shift], abs=room)
    assert rate <= max(per_square) * 1.002 + room


@pytest.mark.parametrize(("law", "reach"), [one[1:] for one in laws()], ids=[o[0] for o in laws()])
def test_log_moments_are_convex(law: Floats, reach: int) -> None:
    moments = log_moments(law, reach, 2.5)
    assert moments[0] <= 1e-12
    assert (np.diff(moments, 2) >= -1e-12).all()


@given(st.integers(1, 10**6))
def test_shifts_lie_close_together_and_reach_the_end(reach: int) -> None:
    shifts = shifts_up_to(reach)
    assert (shifts[0], shifts[-1]) == (1, reach)
    for left, right in pairwise(shifts):
        assert left < right <= max(left + 1, 1.05 * left + 1)


def test_enclosures_widen_the_bound() -> None:
    noise = noise_sum(irwin_hall(12, 5), 6)
    bounds = [
        delta_of_vectors(Masses(noise.first, noise.values, error), 900, 30, 1.0, dimension=4)
        for error in (0.0, 1e-6, 1e-3)
    ]
    assert bounds == sorted(set(bounds))


@pytest.mark.parametrize("cut", [1e-5, 1e-10, 1e-26])
def test_tails_that_are_cut_do_not_spoil_the_order(cut: float) -> None:
    """Near the ends of narrow noise neither the smallest nor the largest move is the worst."""
    noise = noise_sum(irwin_hall(14, 6), 3, cut)
    found = delta_of_vectors(noise, 245_000, 350, 100.0, dimension=2, releases=2, narrow=True)
    outside = Coordinate(noise, 350).outside
    assert 4 * outside <= found <= 4 * outside + 1e-12


def test_many_coordinates_are_exactly_many_small_moves() -> None:
    """One step in each of M^2 coordinates is a product that can be evaluated."""
    noise = noise_sum(GaussianTable.with_scale(8), 40)
    squared = 900
    mu = math.sqrt(squared / noise.variance)
    for epsilon in (1.0, 2.0):
        found = delta_of_vectors(noise, squared, 30, epsilon, dimension=2000)
        assert gaussian_delta(epsilon, mu) <= found <= 1.05 * zcdp_delta(epsilon, mu * mu / 2)


@given(st.floats(0.01, 50), st.floats(-45, -1))
def test_renyi_mu_is_the_largest(epsilon: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    mu = renyi_mu(epsilon, delta)
    assert zcdp_delta(epsilon, mu * mu / 2) <= delta
    assert zcdp_delta(epsilon, (1.001 * mu) ** 2 / 2) > delta


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "dimension", "norm"), [(100, 100_000, 1), (100, 100_000, None), (1000, 100_000, 5)]
)
def test_a_hundred_thousand_coordinates(n: int, dimension: int, norm: int | None) -> None:
    made = plan(n=n, corrupt=0.1, dimension=dimension, norm=norm, **HUGE)
    assert isinstance(made.terms.noise, WeightedBits)
    assert guarantee(made.terms).total == made.total_delta <= 1e-5
    assert made.errors.curator < made.errors.planned < 3 * made.errors.curator
    with pytest.raises(UsageError) as caught:
        plan(n=n, corrupt=0.1, dimension=dimension, norm=norm, noise="binomial", **HUGE)
    assert caught.value.field == "noise"


@pytest.mark.slow
def test_grids_are_as_fine_as_noise_is_wide() -> None:
    wide = plan(n=1000, corrupt=0.1, dimension=40_000, norm=1, **HUGE).terms
    narrow = plan(n=1000, corrupt=0.1, dimension=40_000, norm=1, noise="gaussian", **HUGE).terms
    assert isinstance(wide.noise, WeightedBits)
    assert isinstance(narrow.noise, GaussianTable)
    assert narrow.steps < wide.steps


@pytest.mark.slow
def test_the_next_kind_is_taken_where_a_table_would_be_too_large() -> None:
    target = {"n": 20, "epsilon": "0.05", "delta": 1e-5}
    assert isinstance(plan(**target).terms.noise, WeightedBits)
    with pytest.raises(UsageError) as caught:
        plan(**target, noise="gaussian")
    assert caught.value.field == "noise"
    assert isinstance(plan(n=200, epsilon=1, delta=1e-5).terms.noise, GaussianTable)
    assert isinstance(plan(n=200, epsilon=1, delta=1e-5, dimension=2).terms.noise, WeightedBits)


@pytest.mark.parametrize(("left", "right"), [(9000, 4096), (5000, 4097), (12_289, 1024)])
def test_wide_sequences_convolve_like_loops(left: int, right: int) -> None:
    generator = np.random.default_rng(left)
    first, second = generator.random(left) ** 20, generator.random(right) ** 20
    assert np.allclose(convolve(first, second), np.convolve(first, second), rtol=1e-11, atol=0)
    assert np.array_equal(convolve(second, first), convolve(first, second))


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"dimension": 6, "norm": 1, "range": (-1, 1)}])
def test_epsilon_by_round_is_what_fewer_rounds_cost(more: dict[str, Any]) -> None:
    """Each number keeps delta by the accountant of receivers; a tenth less does not."""
    asked: dict[str, Any] = {"n": 20, "epsilon": 4, "delta": 1e-5, "rounds": 6, "corrupt": 2}
    found = plan(dropout=0, least_chance=0, **asked, **more)
    epsilons = found.epsilon_by_round()
    assert len(epsilons) == 6
    assert epsilons[-1] == pytest.approx(4, abs=1e-6)
    for rounds, each in enumerate(epsilons[:-1], 1):
        for part, kept in ((1 + 1e-9, True), (0.9, False)):
            terms = replace(found.terms, rounds=rounds, epsilon=Decimal(f"{each * part:.9f}"))
            assert (guarantee(terms).noise <= found.noise_delta * (1 + 1e-6)) is kept
