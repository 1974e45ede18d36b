"""Two programs judge terms by one text: numbers one by one, vectors in rows, and what they cost."""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import gopa
from bench.terms import HARD, UNKNOWN, costs
from gopa.accounting.convolution import Masses, convolve
from gopa.accounting.distribution import LossDistribution
from gopa.contract.terms import Terms
from gopa.graph.flows import flow_levels
from gopa.planning import plan
from gopa.planning.neighbours.expansion import (
    Population,
    _log_bad_runs,
    _log_few_crossing_edges,
    runs_of_sizes,
)
from gopa.planning.noise.exposure import Coordinate, granted_rounding, noise_sum
from gopa.planning.noise.rows import bounds_margin, chance_beyond, powers_of, shown_by_proofs
from gopa.planning.result import Worth, judge
from tests.planning.samples import explain_judgement
from tests.planning.terms_vectors import COMPLETE, LONG, ONLY_JUST, SPARSE, cases, limits
from tests.planning.worst_terms import LAWS, all_terms, compared, given, honest_at_the_limit
from wire.errors import UsageError
from zkp.noise import GaussianTable, binomial, irwin_hall

ROOT: Final = Path(__file__).parents[2]


FEW: Final = 120


MANY: Final = 4000


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The second verifier's judge."""
    monkeypatch.syspath_prepend(str(ROOT / "specs" / "verifier"))
    return importlib.import_module("worth")


def read(terms: Terms) -> tuple[Any, Any]:
    """The terms and their law as the second verifier reads them."""
    from codec import Record

    return given(terms, Record)


MASKS: Final = replace(
    SPARSE, parties=400, corrupt=10, survivors=398, loss=2, k=60, mask="gaussian",
    mask_deviation=2**16, beta=Decimal("1e-6"),
)  # fmt: skip


def test_levels_are_few_however_many_units() -> None:
    assert flow_levels(5) == list(range(6))
    assert flow_levels(16) == list(range(17))
    assert flow_levels(100) == [*range(17), 32, 64, 100]
    assert len(flow_levels(2**40)) <= 53


@pytest.mark.parametrize("units", [1, 15, 16, 17, 31, 33, 40, 100, 1000, 3000, 2**20 - 1, 2**40])
def test_levels_of_flows_are_the_same(second: Any, units: int) -> None:
    terms = replace(MASKS, steps=units, squared_sensitivity=units**2)
    begun = time.process_time()
    found = explain_judgement(terms).energies
    chances = [1e-6 * factor for factor in (0.999, 1.001)]
    assert found == tuple(second.energy(read(terms)[0], chance) for chance in chances)
    assert min(found) > 0
    assert time.process_time() - begun < 5  # all divisors of 2^40 would take hours


@pytest.mark.parametrize("beta", ["0.4", "0.5", "0.9"])
def test_terms_are_charged_what_they_grant(second: Any, beta: str) -> None:
    # With drand and so few missing there is one graph, and one beta.
    terms = replace(SPARSE, beta=Decimal(beta), attempts=1, delta=Decimal("0.6"), beacon="drand")
    assert terms.tries == 1
    found = explain_judgement(terms)
    assert found.worth is Worth.KEPT
    assert found.strict == pytest.approx(min(0.5, float(beta)), abs=0.001)
    record, law = read(terms)
    assert second.judged(record, law) == "kept"
    assert second.worth(record, law, 0.4) == pytest.approx(found.strict, rel=1e-9, abs=0)


EDGED: Final = {
    "a table that ends at four deviations": replace(
        COMPLETE, corrupt=1, loss=0, dimension=2, steps=1, squared_sensitivity=2, rounds=100,
        attempts=1, noise=GaussianTable(64, 1, bits=20, rows=13), epsilon=Decimal(2),
        delta=Decimal("1e-9"), parties=12, survivors=12, k=11,
    ),
    "few short sums": replace(
        COMPLETE, corrupt=1, loss=0, dimension=50, steps=3, squared_sensitivity=9, rounds=100,
        attempts=1, noise=irwin_hall(4, 5), epsilon=Decimal(1), parties=12, survivors=12, k=11,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGED)
def test_the_middle_of_a_law_with_edges_is_not_left_out(second: Any, name: str) -> None:
    """At high orders the terms of a moment fall from the edge on and rise again."""
    terms = EDGED[name]
    found = explain_judgement(terms)
    assert second.worth(*read(terms), 1e-300) == pytest.approx(found.strict, rel=1e-3, abs=0)
    kept = replace(terms, delta=Decimal(f"{1.01 * found.strict:.6e}"))
    broken = replace(terms, delta=Decimal(f"{0.99 * found.strict:.6e}"))
    assert (second.judged(*read(kept)), explain_judgement(kept).worth) == ("kept", Worth.KEPT)
    answers = second.judged(*read(broken)), explain_judgement(broken).worth
    assert answers == ("broken", Worth.BROKEN)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("rounds", [2, 3, 7, 50])
def test_noise_that_hides_next_to_nothing_is_broken(second: Any, rounds: int) -> None:
    """Nearly all of a release is lost for certain, and little is left to be composed."""
    for parties in (4, 7):
        for steps in (1, 9, 30, 58):
            terms = replace(
                COMPLETE, parties=parties, corrupt=2, survivors=parties, loss=0, k=parties - 1,
                steps=steps, squared_sensitivity=steps**2, noise=binomial(8), rounds=rounds,
                attempts=1, epsilon=Decimal(1), delta=Decimal("0.001"),
            )  # fmt: skip
            assert explain_judgement(terms).worth is Worth.BROKEN
            assert second.judged(*read(terms)) == "broken"


@pytest.mark.parametrize("units", [1, 2, 7, 100, 2**40])
@pytest.mark.parametrize("honest", [2, 3, 9])
def test_units_on_a_complete_graph_go_where_they_cost_least(
    second: Any, units: int, honest: int
) -> None:
    terms = replace(
        COMPLETE, parties=honest + 1, corrupt=1, survivors=honest + 1, loss=0, k=honest,
        mask="gaussian", mask_deviation=1000, steps=units, squared_sensitivity=units**2,
    )  # fmt: skip
    found = explain_judgement(terms).energies
    assert found == (second.energy(read(terms)[0], 1e-9),) * 2
    assert min(found) > 0


def test_no_recovery_is_judged_by_more_releases_than_there_are(second: Any) -> None:
    """Each release is confirmed by most of the honest, each of whom counts C + 1 of them."""
    recovering = replace(
        COMPLETE, parties=12, corrupt=1, survivors=8, loss=2, k=11, charged=1, attempts=8,
        threshold_numerator=2, threshold_denominator=3, delta=Decimal("0.1"), epsilon=Decimal(6),
    )  # fmt: skip
    for attempts, releases in ((8, 3), (3, 3), (2, 2)):
        terms = replace(recovering, attempts=attempts)
        assert terms.releases == second.composed(read(terms)[0]) == releases
    without = replace(recovering, threshold_numerator=0, threshold_denominator=1)
    assert without.releases == second.composed(read(without)[0]) == 2


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", LAWS)
def test_what_is_granted_for_rounding_is_more_than_rounding(name: str) -> None:
    law = LAWS[name]
    for parties in {2, min(100, most := honest_at_the_limit(law)), min(20_000, most)}:
        coordinate = Coordinate(noise_sum(law, parties, 1e-29 / parties), 1)
        for order in (1.07, 1.5, 20.0, 1e6):
            assert coordinate.rounding(order) <= (2 * order - 1) * granted_rounding(parties)


def test_rounding_of_long_vectors_is_the_same_for_everybody(second: Any) -> None:
    """A hundred thousand coordinates and a thousand rounds multiply it by 10^8."""
    noise = GaussianTable.with_scale(8, bits=48, rows=113)
    terms = replace(
        LONG, parties=62, survivors=62, corrupt=2, k=61, loss=0, beta=Decimal(0), noise=noise,
        dimension=2**17, steps=1, squared_sensitivity=1, rounds=1000, attempts=1,
        epsilon=Decimal("0.6"), delta=Decimal("0.5"),
    )  # fmt: skip
    found = explain_judgement(terms)
    short = explain_judgement(replace(terms, dimension=2)).strict
    assert 1 > found.strict > 1.01 * short > 0
    record, law = read(terms)
    assert second.worth(record, law, 1e-300) == pytest.approx(found.strict, rel=1e-5, abs=0)


def test_moments_have_a_middle_behind_an_end_that_falls(second: Any) -> None:
    """At a high order the ends of a law and its middle both count."""
    noise = GaussianTable.with_scale(4, bits=48, rows=57)
    terms = replace(
        COMPLETE, parties=210, corrupt=1, survivors=210, k=209, loss=0, beta=Decimal(0),
        noise=noise, dimension=2, steps=1, squared_sensitivity=1, attempts=1,
        epsilon=Decimal("0.1"), delta=Decimal("1.082654415960e-9"),
    )  # fmt: skip
    found = explain_judgement(terms)
    record, law = read(terms)
    assert second.worth(record, law, 1e-300) == pytest.approx(found.strict, rel=1e-6, abs=0)
    assert found.strict > 2 * float(terms.delta)
    assert second.judged(record, law) == found.worth.value


def test_plans_of_too_many_coordinates_are_refused() -> None:
    asked: dict[str, Any] = {"n": 60, "epsilon": 1, "delta": "1e-6", "norm": 1}
    assert plan(dimension=10_000, **asked).terms.dimension == 10_000
    with pytest.raises(UsageError) as refused:
        plan(dimension=2**20, rounds=10_000, **asked | {"n": 2000})
    assert refused.value.field == "dimension"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "count"),
    [
        ("fewer", 10),
        *(pytest.param(f"many {part}", 500, marks=pytest.mark.soak) for part in range(8)),
    ],
)
def test_two_judges_never_contradict_each_other(second: Any, seed: str, count: int) -> None:
    from codec import Record

    seen = compared(seed, count, second, Record)
    assert sum(seen.values()) == count
    for answer in Worth:
        assert seen[answer.value, answer.value] > 0
    same = sum(number for (ours, theirs), number in seen.items() if ours == theirs)
    assert same >= 0.95 * count  # the others are at the end of a band, or cost too much


@pytest.mark.parametrize(
    "name",
    [*HARD, *(pytest.param(name, marks=pytest.mark.soak) for name in all_terms())],
)
def test_the_worst_terms_cost_the_second_judge_little(name: str) -> None:
    (found,) = costs("second verifier", [name])
    assert found.seconds < 3  # other processes may share the core's caches
    assert found.megabytes < 200
    assert found.answer in {*(each.value for each in Worth), UNKNOWN}


@pytest.fixture
def second_rows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The second verifier's modules by name."""
    monkeypatch.syspath_prepend(str(ROOT / "specs" / "verifier"))
    return importlib.import_module


def remembering(margin: Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """The same function, which knows its last answer."""
    known: dict[tuple[int, int], float] = {}

    def last(record: Any, law: Any) -> float:
        asked = id(record), id(law)
        if asked not in known:
            known.clear()
            known[asked] = margin(record, law)
        return known[asked]

    return last


@lru_cache
def terms_of(**asked: Any) -> Terms:
    target: dict[str, Any] = {"n": 1000, "epsilon": 8, "delta": "1e-6", "norm": 1}
    target["range"] = (-1, 1)
    return gopa.plan(path="rows", least_chance=0, **target | asked).terms


ASKED: Final[list[dict[str, Any]]] = [
    {"dimension": 1000},
    {"dimension": 1000, "n": 20},
    {"dimension": 40, "weighted": True},
    {"dimension": 1000, "epsilon": None},
    {"dimension": 2, "n": 60, "norm": None, "integers": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ASKED)))
def test_both_say_the_same(second_rows: Any, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = terms_of(**ASKED[place])
    judged, rows = second_rows("worth").judged, second_rows("rows")
    # The margin takes seconds there, and is asked for again by the judge of the same terms.
    monkeypatch.setattr(rows, "margin", remembering(rows.margin))
    assert judge(terms) is Worth.KEPT
    square, spike = terms.noise_square, terms.spike
    changes: list[dict[str, Any]] = [{}, {"spike": spike + 1 + spike // 8}]
    changes += [{"noise_square": square * 9 // 10}, {"noise_square": square * 3 // 2}]
    answers = set()
    for change in changes:
        changed = replace(terms, **change)
        record, law = read(changed)
        assert rows.margin(record, law) == pytest.approx(bounds_margin(changed), abs=1e-6)
        assert rows.charged(record, law) == pytest.approx(shown_by_proofs(changed), rel=1e-9, abs=0)
        assert judged(record, law) == judge(changed).value
        answers.add(judge(changed))
    assert Worth.BROKEN in answers


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [2, 8])
@pytest.mark.parametrize("dimension", [2, 30, 3000])
def test_bounds_of_sums_are_the_same(second_rows: Any, exponent: int, dimension: int) -> None:
    for law in (GaussianTable(9, 1, bits=40, rows=31), binomial(8)):
        values, masses = powers_of(law, exponent)
        mean, top = dimension * float(values @ masses), dimension * float(values.max())
        for part in (0.1, 0.3):
            threshold = round(mean ** (1 - part) * top**part)
            pairs = list(zip(values.tolist(), masses.tolist(), strict=True))
            theirs = second_rows("rows").beyond(threshold, dimension, pairs)
            ours = chance_beyond(float(threshold), dimension, values, masses)
            assert theirs == pytest.approx(ours, rel=1e-6, abs=2**-90)


def exactly(threshold: int, dimension: int, exponent: int) -> float:
    """P(sum >= threshold) for draws of -2 .. 2 with weights 1, 4, 6, 4, 1: every number of each."""
    found = 0.0
    for ones, twos in product(range(dimension + 1), repeat=2):
        zeros = dimension - ones - twos
        if zeros >= 0 and ones + twos * 2**exponent >= threshold:
            ways = math.comb(dimension, ones) * math.comb(dimension - ones, twos)
            found += ways * 6.0**zeros * 8.0**ones * 2.0**twos / 16.0**dimension
    return found


@pytest.mark.parametrize("exponent", [2, 8])
@pytest.mark.parametrize("dimension", [2, 20, 60])
def test_bounds_of_a_small_law_are_close_to_its_chances(exponent: int, dimension: int) -> None:
    """Exactly, down to a chance of 2^-80: never less, and as much more as smoothing costs."""
    values, masses = powers_of(binomial(4), exponent)
    compared = 0
    for share in range(5, 100, 5):
        threshold = dimension * 2**exponent * share // 100
        chance = exactly(threshold, dimension, exponent)
        if chance < 0.1 and threshold:
            bound = chance_beyond(float(threshold), dimension, values, masses)
            assert chance * (1 - 1e-9) <= bound + 1e-26
            # The sum is an integer, and smoothing adds less than a two-hundredth of it.
            less = exactly(math.floor(threshold * 0.995), dimension, exponent)
            assert bound <= 1.1 * less + 1e-24
            compared += 1
    assert compared > 2


ROOT_JUDGING = Path(__file__).parents[2]


@pytest.fixture
def second_judging(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the second verifier."""
    monkeypatch.syspath_prepend(str(ROOT_JUDGING / "specs" / "verifier"))
    return importlib.import_module("worth")


FILE = json.loads((ROOT_JUDGING / "specs" / "vectors" / "terms.json").read_text())["terms"]


NAMES = [record["name"] for record in FILE]


@cache
def all_named() -> dict[str, Terms]:
    """The terms of the file, made anew: that takes time, so none are made for a list of names."""
    return cases() | limits()


@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES)
def test_the_second_verifier_agrees(second_judging: Any, name: str) -> None:
    terms = all_named()[name]
    from codec import Record

    found = explain_judgement(terms)
    record, law = given(terms, Record)
    chance = min(0.5, max(float(terms.beta), 1e-300))
    for factor, ours in ((0.999, found.strict), (1.001, found.generous)):
        theirs = second_judging.worth(record, law, chance * factor)
        assert abs(theirs - ours) <= 1e-4 * float(terms.delta)
    assert second_judging.judged(record, law) == found.worth.value


def test_the_file_has_every_answer() -> None:
    assert list(all_named()) == NAMES
    for name in ONLY_JUST:
        answers = [record["answer"] for record in FILE if record["name"].startswith(f"{name}, ")]
        assert answers == ["kept", "too close to say", "too close to say", "broken"]
    assert {record["answer"] for record in FILE} == {each.value for each in Worth}


def test_between_two_answers_there_is_a_band() -> None:
    terms = cases()["complete graph"]
    holds = Decimal(explain_judgement(cases()["claims exactly what it has"]).strict)
    answers = [
        judge(replace(terms, delta=(holds * Decimal(factor)).normalize().__round__(18)))
        for factor in ("0.9", "0.998", "0.9995", "1.0005", "1.002", "1.1")
    ]
    assert answers[0] is answers[1] is Worth.BROKEN
    assert answers[2] is answers[3] is Worth.UNDECIDED
    assert answers[4] is answers[5] is Worth.KEPT


@pytest.mark.thirds
@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
@pytest.mark.parametrize("n", [30, 1000, 100_000])
def test_what_planners_make_is_kept(n: int, mask: Any) -> None:
    terms = plan(n=n, epsilon=2, delta="1e-6", corrupt=0.1, mask=mask).terms
    assert judge(terms) is Worth.KEPT
    assert judge(replace(terms, delta=terms.delta / 2)) is Worth.BROKEN


def test_bounds_over_runs_are_above_those_of_every_size() -> None:
    population = Population(6000, 5400, 20, 7, 300)
    runs = runs_of_sizes(2700)
    assert runs[0][0] == 513
    assert runs[-1][1] == 2700
    assert all(left[1] + 1 == right[0] for left, right in pairwise(runs))
    bounds = _log_bad_runs(population, 2700)
    for (first, last), bound in zip(runs, bounds, strict=True):
        sizes = np.arange(first, last + 1, dtype=float)
        # Smaller bounds on single sizes count too, but none for less than what is not looked into.
        assert np.logaddexp.reduce(_log_few_crossing_edges(population, sizes)) <= bound


@pytest.mark.parametrize(
    ("left", "right"), [(1025, 1025), (5001, 2049), (4096, 4096), (3000, 1500)]
)
def test_half_of_a_symmetric_convolution_is_enough(left: int, right: int) -> None:
    made = np.random.default_rng(left)
    first, second_judging = made.random(left), made.random(right)
    plain = convolve(first, second_judging)
    assert np.allclose(plain, np.convolve(first, second_judging), rtol=1e-12)
    for same in (first, first + first[::-1]):
        assert np.allclose(convolve(same, same), np.convolve(same, same), rtol=1e-12)
    first, second_judging = first + first[::-1], second_judging + second_judging[::-1]
    assert np.allclose(
        convolve(first, second_judging), np.convolve(first, second_judging), rtol=1e-12
    )


def test_losses_that_are_all_negligible_are_composed() -> None:
    """Where nearly all losses are infinite what is left is cut, and nothing is convolved."""
    rare = LossDistribution(0.1, Masses(0, np.full(3, 1e-27)), infinite=1 - 1e-9)
    assert rare.delta(1.0) > 0.99
    assert rare.repeated(7).delta(1.0) == pytest.approx(1)


@pytest.mark.parametrize("name", HARD)
def test_hard_terms_cost_little(name: str) -> None:
    (found,) = costs("package", [name])
    assert found.seconds < 2  # half of it where no other process shares the core
    assert found.megabytes < 200


@pytest.mark.soak
@pytest.mark.parametrize("name", all_terms())
def test_the_worst_terms_cost_a_second(name: str) -> None:
    (found,) = costs("package", [name])
    assert found.seconds < 1.5
    assert found.megabytes < 200
