"""However many parties join: interval bounds against single numbers, and drawn graphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gopa.graph import complete, complete_flow_energy, k_out_graph, worst_flow_energy
from gopa.planning import Plan, guarantee
from gopa.planning.neighbours import attendance as attendance_module
from gopa.planning.neighbours.attendance import (
    GRINDING,
    Attendance,
    _worst,
    never_above,
    recovery_failure,
    worst_energy,
    worst_tries,
)
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
    neighbourhood,
)
from tests.pace import examples
from tests.planning.samples import plan
from tests.randomness import seeded
from wire.errors import UsageError

SLACK = 1 + 1e-6


@st.composite
def ranges(draw: st.DrawFn) -> tuple[Population, list[Population]]:
    """A range of numbers of parties, and every single number in it."""
    fewest = draw(st.integers(12, 60))
    corrupt = draw(st.integers(1, fewest // 2))
    width = draw(st.integers(1, (fewest - corrupt - 1) // 2))
    low = fewest + draw(st.integers(0, 10))
    k = draw(st.integers(1, min(12, low - 2)))
    attendance = Attendance(fewest, low + width, corrupt, k, draw(st.integers(0, 6)))
    single = [attendance.population(n, n) for n in range(low, low + width + 1)]
    return attendance.population(low, low + width), single


@settings(deadline=None, max_examples=examples(25))
@given(ranges())
def test_a_range_is_no_better_than_any_number_in_it(
    drawn: tuple[Population, list[Population]],
) -> None:
    whole, single = drawn
    sizes = np.arange(2, whole.honest // 2 + 1, dtype=float)
    logs = (_log_few_neighbours_each, _log_few_crossing_edges, _log_nothing_between, _log_bad_sets)
    for one in single:
        own = sizes[: one.honest // 2 - 1]
        for part in logs:
            assert (part(one, own) <= part(whole, own) + 1e-6).all(), part.__name__
        for most in range(4):
            assert degree_tail(one, most) <= degree_tail(whole, most) * SLACK
        for size in (2, 3, 5):
            width = whole.fewest - size - 1
            assert _log_confined(one, size, width) <= _log_confined(whole, size, width) + 1e-6
        for size in (1, 2, 4):
            assert neighbourhood(one, size, 0.01) >= neighbourhood(whole, size, 0.01)
        assert disconnected(one) <= disconnected(whole) * SLACK
        for tau, tries in ((Fraction(1, 2), 1), (Fraction(3, 4), 2**20)):
            assert recovery_failure(one, tau, tries) <= recovery_failure(whole, tau, tries) * SLACK


@pytest.mark.parametrize("width", [0, 1])
def test_ranges_without_width_are_single_numbers(width: int) -> None:
    wide = Population(40, 30, 6, 2, 8, width)
    narrow = Population(40, 30, 6, 2, 8)
    assert (disconnected(wide) == disconnected(narrow)) == (width == 0)
    assert (wide.fewest, wide.fewest_others) == (30 - width, 39 - width)


@pytest.mark.parametrize("absent", [-1, 9, 15])
def test_ranges_stay_within_losses_and_half_of_the_honest(absent: int) -> None:
    Population(40, 30, 6, 2, 14, 14)
    with pytest.raises(UsageError):
        Population(40, 30, 6, 2, 8 if absent == 9 else 20, absent)


def test_no_end_of_the_range_is_the_worst() -> None:
    """Why the whole range is covered: the middle of it is worse than both ends."""
    attendance = Attendance(162, 200, 100, 63, 24)
    values = {n: disconnected(attendance.population(n, n)) for n in range(attendance.fewest, 201)}
    worst = max(values, key=values.__getitem__)
    assert 162 < worst < 200
    assert values[worst] > 1.5 * max(values[162], values[200])


@pytest.mark.thirds
@pytest.mark.parametrize(
    "attendance",
    [
        Attendance(162, 200, 100, 63, 24),
        Attendance(162, 200, 100, 55, 22),
        Attendance(920, 1000, 200, 22, 8),
        Attendance(41, 50, 10, 15, 6),
        Attendance(15, 20, 5, 14, 5),
        Attendance(300, 900, 100, 120, 60),
        Attendance(100, 100, 10, 9, 0),
    ],
    ids=str,
)
def test_the_worst_number_is_found_and_not_missed(
    attendance: Attendance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gopa.planning.neighbours.attendance._halvings", lambda _: 60)
    numbers = range(attendance.fewest_sparse, attendance.most + 1)
    exact = max(disconnected(attendance.population(n, n)) for n in numbers)
    assert never_above(attendance, "connection", exact * 1.02)
    assert not never_above(attendance, "connection", exact / SLACK)


@pytest.mark.parametrize(("tau", "tries"), [(Fraction(1, 2), 1), (Fraction(2, 3), 2**30)])
def test_the_worst_number_for_recovery(tau: Fraction, tries: int) -> None:
    attendance = Attendance(170, 200, 25, 30, 9)
    exact = max(recovery_failure(attendance.population(n, n), tau, tries) for n in range(170, 201))
    assert never_above(attendance, "recovery", exact * 1.06, tau, tries)
    assert not never_above(attendance, "recovery", exact / SLACK, tau, tries)


def test_flows_of_the_worst_number() -> None:
    attendance = Attendance(920, 1000, 200, 24, 8)
    found = worst_energy(attendance, 20, 3e-8)
    singles = [flow_bound(attendance.population(n, n), 20, 3e-8) for n in range(920, 1001, 7)]
    energies = [bound.energy for bound in singles if bound]
    assert found is not None
    assert len(energies) == len(singles)
    assert max(energies) * 0.9 <= found <= max(energies) * 1.3
    assert worst_energy(Attendance(920, 1000, 200, 4, 8), 20, 3e-8) is None


@pytest.mark.parametrize("parties", range(1, 8))
def test_flows_of_complete_graphs_are_exact(parties: int) -> None:
    for units in range(1, 20):
        exact = worst_flow_energy(complete(parties), units)
        assert complete_flow_energy(parties, units) == exact


def test_more_parties_in_a_complete_graph_need_no_more_flow() -> None:
    for units in (1, 7, 60, 2**40):
        energies = [complete_flow_energy(parties, units) for parties in range(2, 60)]
        assert energies == sorted(energies, reverse=True)


def test_complete_graphs_survive_everything() -> None:
    attendance = Attendance(5, 12, 3, 11, 7)
    assert not attendance.is_random
    assert never_above(attendance, "connection", 0.0)
    assert worst_energy(attendance, 9, 1e-9) == worst_flow_energy(complete(2), 9)


def test_small_groups_are_complete_where_few_join() -> None:
    """From 5 to 7 parties everybody is everybody's neighbour, with 8 somebody may not be."""
    attendance = Attendance(5, 8, 1, 6, 3)
    assert attendance.has_complete
    assert attendance.is_random
    assert attendance.fewest_sparse == 8
    single = attendance.population(8, 8)
    assert never_above(attendance, "connection", disconnected(single))
    assert not never_above(attendance, "connection", disconnected(single) / SLACK)
    bound = flow_bound(single, 4, 1e-6)
    assert bound is not None
    assert worst_energy(attendance, 4, 1e-6) == max(bound.energy, worst_flow_energy(complete(4), 4))


@pytest.mark.parametrize(("share", "threshold"), [(0.5, None), (0.2, "3/4")])
def test_the_whole_range_decides_and_not_the_typical_numbers(
    share: float, threshold: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A promise for all n parties is worth nothing if fewer may come."""

    def planned() -> Plan:
        return plan(
            n=200,
            epsilon=1,
            delta=1e-5,
            corrupt=share,
            dropout=0.1,
            mask="uniform",
            recovery=threshold,
            beacon="drand",
        )

    fair = planned()
    monkeypatch.setattr(Attendance, "typical", lambda self: (self.population(200, 200),))
    hasty = planned()
    assert hasty.beta * 3 <= 1e-6
    assert hasty.beta_recovery * 3 <= 5e-7
    assert abs(hasty.terms.k - fair.terms.k) <= 2


@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
@pytest.mark.parametrize(("n", "corrupt", "dropout"), [(6, 1, 0.05), (10, 3, 0.1), (20, 6, 0.1)])
def test_small_groups_have_plans(mask: str, n: int, corrupt: int, dropout: float) -> None:
    made = plan(n=n, epsilon=1, delta=1e-5, corrupt=corrupt, dropout=dropout, mask=mask)
    assert guarantee(made.terms).total <= 1e-5
    assert made.terms.choices(made.terms.survivors) < made.terms.survivors


def exactly(population: Population, tau: Fraction, tries: int) -> Fraction:
    """The failure of one party, summed over everything, in rational numbers."""
    others, k, corrupt = population.fewest_others, population.k, population.corrupt
    likely, rare = Fraction(k, others), Fraction(k, population.parties - 1)

    def binomial(trials: int, count: int, chance: Fraction) -> Fraction:
        return comb(trials, count) * chance**count * (1 - chance) ** (trials - count)

    total = Fraction(0)
    for own in range(max(0, k - population.fewest + 1), min(k, corrupt) + 1):
        chosen = Fraction(comb(corrupt, own) * comb(others - corrupt, k - own), comb(others, k))
        trials = population.fewest - 1 - (k - own)
        for joiners in range(trials + 1):
            failing = sum(
                binomial(corrupt - own, attackers, likely)
                for attackers in range(corrupt - own + 1)
                if own + attackers > tau * (k + attackers + joiners - population.loss)
            )
            total += chosen * binomial(trials, joiners, rare) * min(Fraction(1), tries * failing)
    return total


@pytest.mark.parametrize(
    "population",
    [
        Population(12, 8, 3),
        Population(14, 10, 5, 1, 3),
        Population(9, 6, 7, 2, 2),
        Population(14, 9, 4, 1, 4, 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("tau", [Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)], ids=str)
@pytest.mark.parametrize("tries", [1, 50])
def test_recovery_failures_are_exact(population: Population, tau: Fraction, tries: int) -> None:
    exact = float(population.honest * exactly(population, tau, tries))
    found = recovery_failure(population, tau, tries)
    assert min(1.0, exact) <= found * SLACK
    assert found <= exact * SLACK + 1e-30


@pytest.mark.parametrize("rare", [-0.5, -1.0, -3.0, -8.0])
def test_what_is_too_rare_to_look_into_counts_as_failure(
    rare: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With events called rare that are not, the bound only grows."""
    monkeypatch.setattr(attendance_module, "_RARE", rare)
    for tau in (Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)):
        for tries in (1, 50):
            population = Population(40, 30, 5)
            exact = float(population.honest * exactly(population, tau, tries))
            assert recovery_failure(population, tau, tries) >= min(1.0, exact)


def test_impossible_failures_are_not_called_impossible() -> None:
    assert 0 < recovery_failure(Population(40, 35, 20), Fraction(9, 10)) < 1e-40


def test_corrupt_parties_pick_the_best_of_many_draws() -> None:
    """Drawn graphs: corrupt choices are redrawn, and the worst draw for one party is kept."""
    population, tau, tries, runs = Population(24, 16, 4), Fraction(2, 3), 12, 120
    rng = seeded("grinding")
    bad = 0
    for _ in range(runs):
        honest = [rng(32) for _ in range(16)]
        worst = 0
        draws = [[*honest, *(rng(32) for _ in range(8))] for _ in range(tries)]
        for seeds in draws:
            around = k_out_graph(seeds, 24, 4).neighbours(0)
            worst |= int((around >= 16).sum()) >= int(tau * len(around)) + 1
        bad += worst
    each = recovery_failure(population, tau, tries) / population.honest
    alone = recovery_failure(population, tau) / population.honest
    assert bad / runs > 2 * alone
    assert bad / runs <= each + 4 * math.sqrt(each / runs)


def test_who_may_pick_coins() -> None:
    assert worst_tries("drand") == 1
    assert worst_tries("commit-reveal") == GRINDING >= 2**64


def test_corrupt_majorities_of_complete_graphs_open_everything() -> None:
    attendance = Attendance(9, 12, 4, 11, 3)
    assert never_above(attendance, "recovery", 0.0, Fraction(1, 2))
    assert not never_above(attendance, "recovery", 0.999, Fraction(2, 5))


def test_where_everybody_chooses_everybody_recovery_is_a_count() -> None:
    everybody = Population(9, 7, 8)
    assert recovery_failure(everybody, Fraction(1, 2)) < 1e-9
    assert recovery_failure(everybody, Fraction(1, 10)) == 1


def test_whoever_stops_halving_early_claims_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    attendance = Attendance(162, 200, 100, 63, 24)
    enough = _worst(attendance, disconnected)
    found = []
    for halvings in (0, 1, 2, 4):
        monkeypatch.setattr(attendance_module, "_halvings", lambda _, most=halvings: most)
        found.append(_worst(attendance, disconnected))
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] >= enough
    for joined in range(162, 201):
        assert disconnected(attendance.population(joined, joined)) <= found[-1] * SLACK


def test_hopeless_recovery_is_not_computed() -> None:
    assert recovery_failure(Population(60_000, 50_000, 30_000), Fraction(1, 2)) == 1


@pytest.mark.parametrize("bound", [disconnected, lambda p: recovery_failure(p, Fraction(2, 3))])
def test_wide_ranges_are_split(bound: Callable[[Population], float]) -> None:
    """The honest parties more than double from one end of the range to the other."""
    attendance = Attendance(60, 400, 20, 40, 5)
    found = _worst(attendance, bound)
    for joined in range(60, 401, 20):
        assert bound(attendance.population(joined, joined)) <= found * SLACK
