"""The chance of a result: against rounds played out, and what a plan makes of it."""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import gopa
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.graph import k_out_graph
from gopa.graph.flows import complete_flow_energy, detour_energy, worst_flow_energy
from gopa.graph.structure import from_edges
from gopa.planning import guarantee
from gopa.planning.neighbours.attendance import Attendance, _worst, never_above, worst_energy
from gopa.planning.neighbours.expansion import Population, degree_tail, disconnected, flow_bound
from gopa.planning.neighbours.liveness import Liveness, LivenessTerms, liveness
from gopa.planning.parameters import planned_late
from gopa.planning.result import attendance_of
from tests.planning.lists import Conditions, follow
from tests.planning.samples import plan
from wire.errors import UsageError

_PHASES = {
    "join": Phase.JOIN,
    "coins": Phase.COINS,
    "commit": Phase.COMMIT,
    "publish": Phase.PUBLISH,
    "rollback": Phase.ROLLBACK,
    "confirm": Phase.CONFIRM,
    "unmask": Phase.UNMASK,
    "recover": Phase.RECOVER,
}


def _played(terms: Terms, dropout: float, rounds: int, *, one_close: bool = False) -> float:
    """The part of rounds with a result, by the rules themselves: every list, every neighbour."""
    draws = random.Random(7)
    course = LivenessTerms.of(terms, one_close=one_close).course
    conditions = Conditions(terms, one_close, 8)
    done = 0
    for number in range(rounds):
        silent = {
            party: _PHASES[draws.choice(course.messages)]
            for party in range(terms.parties)
            if draws.random() < dropout
        }
        roll = [party for party in range(terms.parties) if silent.get(party) is not Phase.JOIN]
        withheld = sum(silent.get(party) is Phase.COINS for party in roll)
        members = [party for party in roll if silent.get(party) is not Phase.COINS]
        if len(roll) < terms.survivors or withheld > terms.loss:
            continue
        graph = k_out_graph(number.to_bytes(32, "big"), len(roll), min(terms.k, len(roll) - 1))
        places = {party: place for place, party in enumerate(roll)}
        kept = graph.induced(np.array([places[party] for party in members]))
        leaving = {at: silent[party] for at, party in enumerate(members) if party in silent}
        tighter = replace(terms, loss=terms.loss - withheld)
        done += follow(kept, leaving, replace(conditions, terms=tighter)).abort is None
    return done / rounds


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("target", "dropout"),
    [
        ({"n": 40, "recovery": "4/5"}, 0.05),
        ({"n": 40, "recovery": "4/5"}, 0.15),
        ({"n": 12, "recovery": "2/3"}, 0.1),
        ({"n": 40, "recovery": "4/5", "dimension": 5, "noise": "irwin-hall"}, 0.08),
        ({"n": 40}, 0.05),
        ({"n": 40}, 0.01),
        ({"n": 100, "recovery": "1/2", "beacon": "drand"}, 0.12),
    ],
)
def test_the_printed_chance_of_a_round_is_what_rounds_do(
    target: dict[str, Any], dropout: float
) -> None:
    made = plan(**{"epsilon": 1, "delta": "1e-6", "mask": "uniform", "corrupt": 0.1, **target})
    printed = liveness(LivenessTerms.of(made.terms), dropout).round
    played = _played(made.terms, dropout, 200)
    assert abs(printed - played) < 0.08, (printed, played)


def test_a_single_close_needs_no_confirmations() -> None:
    terms = plan(n=40, epsilon=1, delta="1e-6", corrupt=0.1).terms
    rules = LivenessTerms.of(terms)
    assert liveness(rules, 0.05).round < 0.6
    curious = replace(rules, one_close=True)
    assert liveness(curious, 0.05).round > 0.99


def test_nobody_fails_without_dropout() -> None:
    terms = plan(n=40, epsilon=1, delta="1e-6").terms
    assert liveness(LivenessTerms.of(terms), 0.0) == Liveness(0.0, 1.0, 1.0, 1.0)


def test_chances_move_as_they_should() -> None:
    rules = LivenessTerms.of(plan(n=40, epsilon=1, delta="1e-6", recovery="2/3").terms)
    worse = [liveness(rules, dropout).session for dropout in (0.02, 0.1, 0.2, 0.4)]
    assert worse == sorted(worse, reverse=True)
    bare = replace(rules, threshold=None, charged=0)
    assert liveness(bare, 0.05).session < liveness(rules, 0.05).session
    more = [liveness(replace(bare, charged=c, attempts=4), 0.05).session for c in range(4)]
    assert more == sorted(more)
    assert more[3] > more[0] + 0.1
    assert 1 < liveness(replace(bare, charged=3, attempts=4), 0.05).attempts < 4


@pytest.mark.slow
def test_withheld_nonces_end_large_rounds() -> None:
    large = plan(n=100_000, epsilon=1, delta="1e-7", recovery="2/3", mask="uniform", beacon="drand")
    assert large.liveness.round > 0.9
    nonces = replace(LivenessTerms.of(large.terms), beacon="commit-reveal")
    assert liveness(nonces, 0.05).round < 0.01


def test_unlikely_results_are_refused_and_rare_ones_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    target: dict[str, Any] = {"n": 200, "epsilon": 1, "delta": "1e-6", "recovery": None}
    assert gopa.plan(**{**target, "dropout": 0.0}).warnings == ()
    with pytest.raises(UsageError) as refused:
        gopa.plan(**target)
    assert refused.value.field == "least_chance"
    taken = gopa.plan(**target, least_chance=0)
    assert taken.liveness.session < 0.5
    assert taken.warnings
    caplog.clear()
    with caplog.at_level(logging.WARNING, "gopa.planning"):
        some = gopa.plan(**{**target, "n": 40, "charged": 1})
    assert 0.5 <= some.liveness.session < 0.9
    assert some.warnings
    assert len(caplog.records) == 1


@pytest.mark.parametrize("chance", [-0.1, 1.1, True, "0.5", float("nan")])
def test_the_least_chance_is_a_probability(chance: Any) -> None:
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=40, epsilon=1, delta="1e-6", least_chance=chance)
    assert refused.value.field == "least_chance"
    assert gopa.plan(n=40, epsilon=1, delta="1e-6", least_chance=1 / 2).liveness.session > 0.9


@pytest.mark.parametrize("parties", [20, 1000, 20_000])
@pytest.mark.parametrize("chance", [0.001, 0.02, 0.1])
def test_it_is_the_least_that_hardly_ever_ends_a_round(parties: int, chance: float) -> None:
    corrupt = parties // 10
    missing = planned_late(parties, corrupt, 0, chance) - corrupt
    honest = parties - corrupt
    assert binom.sf(missing, honest, chance) <= 1e-3
    assert missing == 0 or binom.sf(missing - 1, honest, chance) > 1e-3


def test_nobody_fails() -> None:
    assert planned_late(100, 10, 80, 0.0) == 10


def test_no_more_than_may_be_lost_at_all() -> None:
    """A plan that can lose fewer parties than are corrupt is ended by these anyway."""
    assert planned_late(1000, 100, 921, 0.01) == 79
    assert planned_late(10, 1, 10, 0.0) == 0


# The terms with which a fork in three and recovery showed a party's value: k, r and n_min as
# they were planned for 10 and 20 parties when r was counted once.
TEN = plan(n=10, epsilon=4, delta="1e-5", corrupt=1, dropout=0.1, mask="uniform").terms


TWENTY = plan(n=20, epsilon=2, delta="1e-5", corrupt=2, dropout=0.1, mask="uniform").terms


def _spent_once(terms: Terms, k: int, loss: int, survivors: int) -> Terms:
    return replace(
        terms,
        beta=Decimal("1e-8"),
        k=k,
        loss=loss,
        survivors=survivors,
        charged=0,
        threshold_numerator=1,
        threshold_denominator=2,
    )


@pytest.mark.parametrize(("terms", "k", "loss", "survivors"), [(TEN, 8, 5, 5), (TWENTY, 12, 8, 12)])
def test_terms_that_a_fork_in_three_broke_promise_nothing(
    terms: Terms, k: int, loss: int, survivors: int
) -> None:
    broken = _spent_once(terms, k, loss, survivors)
    assert guarantee(replace(broken, threshold_numerator=0, threshold_denominator=1)).graph < 1e-6
    assert guarantee(broken).total > 1000 * float(broken.delta)


@pytest.mark.parametrize(
    "target",
    [
        {"n": 10, "epsilon": 4, "delta": "1e-5", "corrupt": 1, "dropout": 0.1},
        {"n": 20, "epsilon": 2, "delta": "1e-5", "corrupt": 2, "dropout": 0.1},
        {"n": 200, "epsilon": 1, "delta": "1e-6", "corrupt": 20, "dropout": 0.2},
        {"n": 100, "epsilon": 1, "delta": "1e-6", "corrupt": 20, "mask": "gaussian"},
    ],
)
def test_plans_with_recovery_leave_a_mask_after_losing_r_twice(target: dict[str, Any]) -> None:
    terms = gopa.plan(recovery="1/2" if target["n"] != 100 else "2/3", **target).terms
    assert guarantee(terms).total <= terms.delta
    attendance = attendance_of(terms)
    assert attendance.complete_neighbours >= 1
    share = float(terms.delta) / (20 * terms.tries)
    for one in attendance.typical():
        lost = min(terms.loss, one.parties - terms.survivors)
        assert one.honest * degree_tail(one, 2 * lost) <= share


def test_a_recovered_party_needs_more_than_twice_r_neighbours() -> None:
    """The exact chance of the smallest degree decides, against the bound without recovery."""
    once = Population(200, 180, 20, loss=10, gone=20)
    twice = replace(once, opened=10)
    assert disconnected(once) < 1e-6 < disconnected(twice)
    assert disconnected(twice) >= 180 * degree_tail(once, 20)
    assert disconnected(twice) <= disconnected(once) + 180 * degree_tail(once, 20)


def test_a_range_with_recovery_is_no_better_than_its_numbers() -> None:
    attendance = Attendance(170, 200, 25, 40, 9, recovery=True)
    bound = _worst(attendance, disconnected)
    for joined in range(170, 201):
        assert bound >= disconnected(attendance.population(joined, joined)) * (1 - 1e-9)


@pytest.mark.parametrize(("loss", "kept"), [(0, 4), (1, 3), (3, 1), (4, 0), (5, -1)])
def test_complete_graphs_leave_what_a_party_cannot_have_opened(loss: int, kept: int) -> None:
    attendance = Attendance(5, 10, 1, 9, loss, recovery=True)
    assert attendance.complete_neighbours == kept
    assert never_above(attendance, "connection", 0.0) == (kept > 0)
    assert never_above(attendance, "connection", 1 - 1e-9) == (kept > 0)
    assert (worst_energy(attendance, 4, 1e-9) is None) == (kept < 1)
    alone = replace(attendance, recovery=False)
    assert never_above(alone, "connection", 0.0)
    assert worst_energy(alone, 4, 1e-9) == complete_flow_energy(4, 4)


@pytest.mark.parametrize("units", [1, 3, 8])
@pytest.mark.parametrize("neighbours", [1, 2, 4])
def test_flows_from_a_recovered_party_of_a_complete_graph(units: int, neighbours: int) -> None:
    """K is complete, the party has so many neighbours in it: no flow is dearer than the bound."""
    others = 5
    pairs = [*combinations(range(others), 2), *((v, others) for v in range(neighbours))]
    graph = from_edges(others + 1, pairs)
    bound = max(complete_flow_energy(others, units), detour_energy(neighbours, units))
    assert worst_flow_energy(graph, units) <= bound


@pytest.mark.slow
def test_flow_bounds_hold_for_whoever_opened_edges_itself() -> None:
    """Small graphs, every party in turn recovered with its worst edges opened."""
    population = Population(14, 14, 9, loss=1, gone=1, opened=1)
    bound = flow_bound(population, 2, 0.5)
    assert bound is not None
    plain = flow_bound(replace(population, opened=0), 2, 0.5)
    assert plain is not None
    assert plain.energy <= bound.energy
    within = 0
    for seed in range(5):
        graph = k_out_graph(bytes([seed]) * 32, 14, 9)
        if int(graph.degrees.min()) < 11:
            continue
        within += 1
        for party in range(14):
            ends = graph.neighbours(party).tolist()
            for gone, opened in ((ends[0], ends[1]), (ends[-1], ends[0])):
                edge = (min(party, opened), max(party, opened))
                left = graph.without([edge]).induced(np.delete(np.arange(14), gone))
                assert worst_flow_energy(left, 2) <= bound.energy
    assert within >= 1


def _recovering(**numbers: Any) -> Terms:
    base = plan(n=60, epsilon=1, delta="1e-5", corrupt=6, mask="uniform").terms
    return replace(base, threshold_numerator=1, threshold_denominator=2, **numbers)


@pytest.mark.parametrize(
    ("survivors", "charged", "attempts", "releases"),
    [
        (34, 0, 3, 1),  # 54 honest parties, 28 confirm: more than half
        (33, 0, 3, 2),  # 27 and 27
        (24, 0, 3, 3),
        (24, 0, 2, 2),  # never more than there are attempts
        (34, 1, 9, 3),
        (50, 1, 9, 2),
    ],
)
def test_releases_that_a_party_does_not_count_are_composed(
    survivors: int, charged: int, attempts: int, releases: int
) -> None:
    numbers = {"survivors": survivors, "loss": 5, "charged": charged, "attempts": attempts, "k": 59}
    terms = _recovering(**numbers)
    assert terms.composed == releases
    assert replace(terms, rounds=4).releases == 4 * releases
    without = replace(terms, threshold_numerator=0, threshold_denominator=1)
    assert without.composed == charged + 1
    assert guarantee(without).noise < 1
    if releases > charged + 1:
        assert guarantee(terms).noise > guarantee(without).noise
    else:
        assert guarantee(terms).noise == guarantee(without).noise


def test_plans_with_recovery_keep_more_than_half_of_the_honest_parties() -> None:
    for n, corrupt, dropout in ((10, 1, 0.1), (20, 2, 0.2), (200, 80, 0.2)):
        terms = gopa.plan(
            n=n, epsilon=4, delta="1e-5", corrupt=corrupt, dropout=dropout, least_chance=0
        ).terms
        assert terms.threshold is not None
        assert 2 * terms.survivors > n + corrupt
        assert terms.composed == terms.charged + 1 == 1
