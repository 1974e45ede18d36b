"""The bounds of section 8 of the specification, transcribed naively in rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from gopa.planning import expansion
from gopa.planning.expansion import (
    Population,
    _log_bad_sets,
    _log_confined,
    _log_few_crossing_edges,
    _log_few_neighbours_each,
    _log_nothing_between,
    flow_bound,
    log_slack,
    neighbourhood,
)

POPULATIONS = (
    Population(12, 9, 3),
    Population(20, 15, 6, 2, 4),
    Population(20, 15, 6, 2, 4, 2),
    Population(31, 20, 9, 4, 9, 5),
    Population(40, 39, 5, 1, 3, 1),
)
NEAR = 1e-6


def cases() -> list[tuple[Population, int]]:
    return [(one, size) for one in POPULATIONS for size in range(2, one.honest // 2 + 1)]


def misses(among: int, avoided: int, k: int) -> Fraction:
    """All of k choices miss the avoided ones."""
    return Fraction(comb(among - avoided, k), comb(among, k)) if avoided <= among else Fraction(0)


def binomial_at_most(trials: int, chance: Fraction, most: int) -> Fraction:
    return sum(
        (
            comb(trials, count) * chance**count * (1 - chance) ** (trials - count)
            for count in range(min(trials, most) + 1)
        ),
        Fraction(0),
    )


def logarithm(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator) if value else -math.inf


def single(log: np.ndarray) -> float:
    return float(log[0])


@pytest.mark.parametrize(("one", "size"), cases(), ids=str)
def test_few_neighbours_each(one: Population, size: int) -> None:
    """Exact without losses; with them Chernoff's bound stands for the outsiders' choices."""
    found = single(_log_few_neighbours_each(one, np.array([float(size)])))
    others, outside = one.fewest_others, one.fewest - size
    own = sum(
        Fraction(comb(outside, count) * comb(others - outside, one.k - count), comb(others, one.k))
        for count in range(min(one.loss, one.k) + 1)
    )
    ways = comb(one.honest, size)
    if one.loss == 0:
        foreign = misses(one.parties - 1, size, one.k) ** outside
        assert found == pytest.approx(logarithm(ways * own**size * foreign), abs=NEAR)
        return
    chance = Fraction(size, one.parties - 1)
    foreign = binomial_at_most(one.k * outside, chance, one.loss * size)
    assert found >= logarithm(ways * own**size * foreign)
    assert found <= logarithm(ways * own**size) + size * log_slack(40, 12) + NEAR


@pytest.mark.parametrize(("one", "size"), cases(), ids=str)
def test_few_crossing_edges(one: Population, size: int) -> None:
    found = single(_log_few_crossing_edges(one, np.array([float(size)])))
    chance = 1 - (1 - Fraction(one.k, one.parties - 1)) ** 2
    pairs = size * (one.fewest - size)
    ways = comb(one.honest, size)
    assert found >= logarithm(ways * binomial_at_most(pairs, chance, one.loss * size))
    assert found <= math.log(ways) + NEAR
    if one.loss == 0:
        assert found == pytest.approx(logarithm(ways * (1 - chance) ** pairs), abs=NEAR)


@pytest.mark.parametrize(("one", "size"), cases(), ids=str)
def test_nothing_between(one: Population, size: int) -> None:
    found = single(_log_nothing_between(one, np.array([float(size)])))
    rest = max(size, one.honest - one.gone - size)
    others = one.parties - 1
    ways = comb(one.honest, size) * comb(one.honest - size, rest)
    both = misses(others, rest, one.k) ** size * misses(others, size, one.k) ** rest
    if both:
        assert found == pytest.approx(logarithm(ways * both), abs=NEAR)
    assert found >= logarithm(ways * both)
    best = single(_log_bad_sets(one, np.array([float(size)])))
    assert best <= found


@pytest.mark.parametrize(("one", "size"), cases(), ids=str)
def test_confined_neighbourhoods(one: Population, size: int) -> None:
    for width in range(one.fewest - size):
        found = _log_confined(one, size, width)
        rest = one.fewest - size - width
        ways = comb(one.honest, size) * comb(one.honest - size, width)
        own = misses(one.fewest_others, rest, one.k) ** size
        foreign = misses(one.parties - 1, size, one.k) ** rest
        exact = logarithm(ways * own * foreign)
        assert found >= exact
        if exact > -1e3:
            assert found == pytest.approx(exact, abs=NEAR)


@pytest.mark.parametrize("units", [1, 12, 60])
def test_flow_bounds_spend_no_more_chance_than_they_state(
    units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: dict[int, float] = {}

    def recorded(population: Population, size: int, chance: float) -> int:
        spent[size] = spent.get(size, 0.0) + chance
        return neighbourhood(population, size, chance)

    monkeypatch.setattr(expansion, "neighbourhood", recorded)
    assert flow_bound(Population(1000, 700, 40, 3, 40), units, 1e-6) is not None
    assert 1 in spent
    assert sum(spent.values()) <= 1e-6 * (1 + 1e-9)


def test_flow_bounds_in_several_steps() -> None:
    """Eight units among twelve: one step to 4 parties, the next past edges of one unit each.

    In the sparser graph every party has more than a quarter of the others around it, and
    two steps are needed to pass half of them.
    """
    crowded = flow_bound(Population(12, 12, 11), 8, 1e-9)
    assert crowded is not None
    assert crowded.energy == 8 * 2 * (1 + 3)
    sparse = Population(1000, 990, 200)
    assert 990 / 4 < neighbourhood(sparse, 1, 1e-9) < 990 / 2
    bound = flow_bound(sparse, 1, 1e-9)
    assert bound is not None
    assert bound.energy == 2 * 2


def test_flow_bounds_by_hand() -> None:
    """In a complete graph one step of drop 1 from either end reaches more than half."""
    for population in (Population(11, 10, 10), Population(20, 16, 19)):
        bound = flow_bound(population, 1, 1e-9)
        assert bound is not None
        assert bound.energy == 2


@pytest.mark.parametrize("chance", [0.5, 1e-2, 1e-6])
@pytest.mark.parametrize("one", POPULATIONS, ids=str)
def test_neighbourhoods_are_the_largest_that_are_shown(one: Population, chance: float) -> None:
    for size in range(2, one.honest // 2):
        budget = math.log(chance) - one.slack
        shown = 0
        while shown < one.fewest - size and _log_confined(one, size, shown) <= budget:
            shown += 1
        assert neighbourhood(one, size, chance) == shown
