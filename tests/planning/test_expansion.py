"""Analytic bounds on bad graphs, against graphs that were drawn."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb
from statistics import mean

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from gopa.contract.beacon import joint_coins
from gopa.contract.terms import Terms, coin_choices, log2_of, subsets
from gopa.graph import Graph, from_edges, k_out_graph, worst_flow_energy
from gopa.planning.neighbours import expansion
from gopa.planning.neighbours.expansion import (
    Population,
    _log_bad_sets,
    _log_confined,
    _log_few_crossing_edges,
    _log_few_neighbours_each,
    _log_nothing_between,
    degree_tail,
    disconnected,
    flow_bound,
    log_at_most,
    log_avoiding,
    log_binomial_at_most,
    log_slack,
    neighbourhood,
)
from tests.contract.samples import terms
from tests.randomness import seeded
from wire.errors import UsageError


def honest_graph(population: Population, seed: bytes) -> Graph:
    graph = k_out_graph(seed, population.parties, population.k)
    return graph.induced(np.arange(population.honest))


def some_exclusion_disconnects(graph: Graph, loss: int) -> bool:
    """Every set of excluded parties that costs no survivor more than `loss` neighbours."""
    everybody = range(graph.parties)
    for size in range(graph.parties - 1):
        for gone in combinations(everybody, size):
            keep = [party for party in everybody if party not in gone]
            lost = [len(set(map(int, graph.neighbours(u))) & set(gone)) for u in keep]
            if max(lost) <= loss and not graph.induced(keep).is_connected():
                return True
    return False


def test_the_documented_isolation_probability() -> None:
    assert degree_tail(Population(10_000, 5_000, 10), 0) == pytest.approx(6.5e-6, abs=0.05e-6)


def test_degree_tails_are_exact() -> None:
    """All choices of four parties, two of them picked each, party 3 corrupt."""
    population = Population(4, 3, 2)
    picks = list(combinations(range(3), 2))
    low = 0
    for first in picks:
        for second in picks:
            for third in picks:
                chosen = {0: {(c + 1) for c in first}, 1: {c + (c >= 1) for c in second}}
                chosen[2] = {c + (c >= 2) for c in third}
                neighbours = {v for v in (1, 2) if v in chosen[0] or 0 in chosen[v]}
                low += len(neighbours) <= 1
    assert degree_tail(population, 1) == pytest.approx(low / len(picks) ** 3, rel=1e-9)


def test_degree_tails_of_many_choices_are_bounds_and_nearly_exact() -> None:
    population = Population(3000, 2400, 900, loss=0)
    for most in (1150, 1200, 1250):
        chosen = np.arange(601, most + 1)
        own = hypergeom(2999, 2399, 900).logpmf(chosen)
        exact = float(np.exp(own + binom(2399 - chosen, 900 / 2999).logcdf(most - chosen)).sum())
        assert exact <= degree_tail(population, most) <= 2 * exact


def test_nothing_is_shown_for_more_choices_than_can_be_looked_into() -> None:
    assert degree_tail(Population(100_000, 90_000, 2_000), 0) < 1
    assert degree_tail(Population(100_000, 90_000, 2_001), 0) == 1


def test_too_many_cases_are_bounded_by_chernoff(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = np.array([40.0, 60.0, 99.0])
    exact = log_at_most(100, marked, 20, 5)
    monkeypatch.setattr(expansion, "_MOST_COUNTS", 0)
    bound = log_at_most(100, marked, 20, 5)
    assert (exact <= bound).all()
    assert (bound < 0).all()


@pytest.mark.parametrize("absent", [0, 1, 3])
@pytest.mark.parametrize("most", [0, 2, 4])
def test_degree_tails_of_ranges_take_the_worse_end_of_each_factor(absent: int, most: int) -> None:
    population = Population(14, 10, 4, 1, 4, absent)
    others, honest, chance = 13 - absent, 9 - absent, Fraction(4, 13)
    exact = Fraction(0)
    for own in range(min(4, honest, most) + 1):
        chosen = Fraction(comb(honest, own) * comb(others - honest, 4 - own), comb(others, 4))
        trials = honest - own
        for more in range(min(trials, most - own) + 1):
            joined = comb(trials, more) * chance**more * (1 - chance) ** (trials - more)
            exact += chosen * joined
    assert float(exact) <= degree_tail(population, most) <= float(exact) * (1 + 1e-6)


@pytest.mark.parametrize(
    "population", [Population(11, 8, 4, 0, 2, 1), Population(13, 9, 4)], ids=str
)
def test_every_size_of_a_cut_off_set_counts(population: Population) -> None:
    assert population.slack > 0
    sizes = np.arange(2, population.honest // 2 + 1, dtype=float)
    larger = float(np.exp(_log_bad_sets(population, sizes)).sum())
    each = np.exp(_log_bad_sets(population, sizes))
    assert each.min() > 1e-6 * larger
    single = population.honest * degree_tail(population, population.loss)
    assert disconnected(population) == pytest.approx(min(1.0, single + larger), rel=1e-6)


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("population", "draws"),
    [
        (Population(12, 9, 2), 500),
        (Population(12, 8, 3), 500),
        (Population(10, 7, 4, 1, 5), 60),
        (Population(9, 7, 5, 1, 5), 60),
        pytest.param(Population(12, 9, 2), 15_000, marks=pytest.mark.soak),
        pytest.param(Population(12, 8, 3), 15_000, marks=pytest.mark.soak),
        pytest.param(Population(10, 7, 4, 1, 5), 3_000, marks=pytest.mark.soak),
        pytest.param(Population(9, 7, 5, 1, 5), 3_000, marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_disconnection_is_no_likelier_than_the_bound(population: Population, draws: int) -> None:
    rng = seeded(str(population))
    bad = sum(
        some_exclusion_disconnects(honest_graph(population, rng(32)), population.loss)
        if population.loss
        else not honest_graph(population, rng(32)).is_connected()
        for _ in range(draws)
    )
    bound = disconnected(population)
    assert bad / draws <= bound + 4 * math.sqrt(bound / draws) + 1e-9
    assert bound < 1 or population.loss


def test_isolated_parties_make_most_of_the_bound() -> None:
    population = Population(10_000, 5_000, 22)
    assert disconnected(population) == pytest.approx(5_000 * degree_tail(population, 0), rel=1e-3)


@pytest.mark.thirds
@pytest.mark.parametrize("size", [1, 2, 3])
def test_neighbourhoods_are_at_least_as_large_as_stated(size: int) -> None:
    population = Population(24, 20, 5)
    stated = neighbourhood(population, size, 0.05)
    assert stated >= 1
    rng = seeded(size)
    small = 0
    for _ in range(100):
        graph = honest_graph(population, rng(32))
        sets = combinations(range(20), size)
        outer = (
            len({int(v) for u in chosen for v in graph.neighbours(u)} - set(chosen))
            for chosen in sets
        )
        small += min(outer) < stated
    assert small / 100 <= 0.05 + 3 * math.sqrt(0.05 / 100)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(
    ("k", "units"), [(4, 1), (4, 5), (8, 4), pytest.param(8, 8, marks=pytest.mark.soak)]
)
def test_flows_are_no_larger_than_their_bound(k: int, units: int) -> None:
    population = Population(22, 19, k)
    bound = flow_bound(population, units, 0.2)
    assert bound is not None
    rng = seeded(k * units)
    large = sum(
        worst_flow_energy(honest_graph(population, rng(32)), units) > bound.energy for _ in range(8)
    )
    assert large <= 5


@pytest.mark.slow
def test_exclusions_within_the_loss_bound_keep_the_flow_bound() -> None:
    population = Population(26, 24, 14, 2, 4)
    bound = flow_bound(population, 3, 0.2)
    assert bound is not None
    graph = honest_graph(population, bytes(32))
    for gone in list(combinations(range(24), 2))[::120]:
        keep = [party for party in range(24) if party not in gone]
        assert worst_flow_energy(graph.induced(keep), 3) <= bound.energy


def test_two_cliques_joined_by_an_edge_stall() -> None:
    cliques = [pair for base in (0, 10) for pair in combinations(range(base, base + 10), 2)]
    graph = from_edges(20, [*cliques, (0, 10)])
    assert worst_flow_energy(graph, 6) >= 36
    assert flow_bound(Population(10_000, 5_000, 4), 20, 1e-9) is None


def test_more_choices_help() -> None:
    values = [disconnected(Population(1000, 700, k)) for k in (10, 15, 20, 30)]
    assert values == sorted(values, reverse=True)
    energies = [flow_bound(Population(1000, 700, k), 10, 1e-6) for k in (20, 30, 60)]
    found = [bound.energy for bound in energies if bound]
    assert len(found) == 3
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("most", [0, 2, 5])
def test_hypergeometric_tails(most: int) -> None:
    exact = sum(Fraction(comb(13, x) * comb(27, 9 - x), comb(40, 9)) for x in range(most + 1))
    assert math.exp(float(log_at_most(40, 13, 9, most))) == pytest.approx(float(exact), rel=1e-9)
    sums = np.array([5.0]), np.array([13 / 40]), np.array([float(most)])
    assert math.exp(float(log_binomial_at_most(sums[0] * 9, sums[1], sums[2])[0])) <= 1


@pytest.mark.parametrize(
    ("total", "draws"), [(40, 9), (9_999, 40), (999_999, 30)], ids=lambda n: f"{n}"
)
@pytest.mark.parametrize("most_terms", [4_000_000, 0], ids=["exact", "mean"])
def test_products_of_avoidances_stay_upper_bounds(
    total: int, draws: int, most_terms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Multiplied by a million parties: differences of factorials would lose to rounding."""
    monkeypatch.setattr(expansion, "_MOST_TERMS", most_terms)
    for avoided in (1, 2, 5, 20, total - draws):
        exact = math.fsum(math.log1p(-avoided / (total - i)) for i in range(draws))
        found = float(log_avoiding(total, avoided, draws))
        assert exact * (1 - 1e-13) <= found <= 0
        if most_terms or avoided <= 20 < total // 100:
            assert found == pytest.approx(exact, rel=1e-5)
    assert float(log_avoiding(total, total - draws + 1, draws)) <= -1e300


@pytest.mark.parametrize("numbers", [(10, 1, 3, 0, 0), (10, 5, 10, 0, 0), (10, 5, 3, -1, 0)])
def test_nonsense_is_refused(numbers: tuple[int, int, int, int, int]) -> None:
    Population(10, 5, 3, 0, 0)
    with pytest.raises(UsageError):
        Population(*numbers)


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


def some_terms(parties: int, corrupt: int, loss: int, attempts: int) -> Terms:
    return replace(
        terms(),
        parties=parties,
        corrupt=corrupt,
        survivors=parties - loss,
        loss=loss,
        k=parties - 1,
        attempts=attempts,
        beacon="commit-reveal",
    )


@pytest.mark.parametrize(("parties", "corrupt", "loss"), [(5, 1, 2), (7, 3, 2), (8, 3, 3)])
@pytest.mark.parametrize("attempts", [2, 3])
def test_every_choice_is_counted_and_none_twice(
    parties: int, corrupt: int, loss: int, attempts: int
) -> None:
    """All coins that come of leaving nonces out, in every attempt and branch, are different.

    Branches need other honest parties each; without organiser and board there is one.
    """

    def coins(who: range, leaves: int) -> set[bytes]:
        found = set()
        for attempt, leaf in product(range(attempts), range(leaves)):
            nonces = [bytes([attempt, party]).rjust(32, b"\0") for party in range(parties)]
            for count in range(loss + 1):
                for out in combinations(who, min(count, len(who))):
                    left = [each for u, each in enumerate(nonces) if u not in out]
                    found.add(joint_coins(bytes(32), attempt + 1, bytes([leaf]) * 32, left))
        return found

    agreed = some_terms(parties, corrupt, loss, attempts)
    counted, leaves = coin_choices(agreed), 2
    assert leaves * agreed.honest <= parties - corrupt < (leaves + 1) * agreed.honest
    assert counted.helped == len(coins(range(parties), leaves))
    assert counted.alone == len(coins(range(corrupt), 1))
    assert math.isclose(float(counted.helped_bits), math.log2(len(coins(range(parties), leaves))))


@pytest.mark.parametrize(("size", "most"), [(0, 3), (4, 9), (100, 17), (1000, 60), (4000, 37)])
def test_subsets_against_integers(size: int, most: int) -> None:
    exact = sum(math.comb(size, taken) for taken in range(most + 1))
    if exact < 10**60:
        assert subsets(size, most) == exact
    assert abs(float(log2_of(subsets(size, most))) - math.log2(exact)) < 1e-9


def test_nobody_chooses_values_of_drand() -> None:
    drand = replace(some_terms(9, 2, 2, 4), beacon="drand")
    assert coin_choices(drand).helped == coin_choices(drand).alone == 4
    forked = coin_choices(replace(drand, survivors=5))
    assert forked.helped == 8
    assert forked.alone == 4


def test_the_shift_bounds_the_best_of_so_many() -> None:
    """For Gaussian noise: the mean of the largest of N is below, and not far below."""
    counted = coin_choices(some_terms(7, 3, 2, 2))
    samples = int(counted.helped)
    rows = [_normals(seed, samples) for seed in range(400)]
    best = mean(map(max, rows))
    assert 0.7 * counted.shift < best < counted.shift


def _normals(seed: int, count: int) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.gauss(0, 1) for _ in range(count)]
