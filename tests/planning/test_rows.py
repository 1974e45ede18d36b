"""Plans whose vectors have proofs of length: their bounds, their judge, and what they say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import gopa
from gopa.cli.plan import plan as command
from gopa.contract.lengths import longest_input, word_width
from gopa.contract.row_terms import origin, require_rows
from gopa.planning import Plan, Terms, guarantee
from gopa.planning.noise.rows import bounds_margin, charged_for_proofs, shown_by_proofs
from gopa.planning.outcome import LENGTH_UNPROVED
from gopa.planning.planner import MOST_NOISE
from gopa.planning.result import Worth, judge
from gopa.planning.target import ROWS_FROM, TOLERANCE
from tests.protocol.simulation.row_worlds import MANY_ROWS
from wire.errors import UsageError
from zkp.noise import NoNoise

TARGET: dict[str, Any] = {"epsilon": 8, "delta": "1e-6", "path": "rows", "least_chance": 0}
NORM: dict[str, Any] = {"dimension": 100, "norm": 1, "range": (-1, 1)}


@lru_cache
def made(n: int = 100, **asked: Any) -> Plan:
    return gopa.plan(n=n, **TARGET | asked)


def a_plan() -> Plan:
    return made(**NORM)


ASKED: dict[str, dict[str, Any]] = {
    "a norm": NORM,
    "a norm in two coordinates": NORM | {"dimension": 2},
    "few parties": NORM | {"n": 20},
    "many parties, of whom more collude than may be missing": NORM | {"n": 1000},
    "nobody fails": NORM | {"dropout": 0},
    "a box": {"dimension": 100},
    "a box beside zero": {"dimension": 7, "range": (3, 4)},
    "a norm that is no bound": {"dimension": 100, "norm": 100},
    "a range in thirds": NORM | {"range": (-1, 2)},
    "integers": {"dimension": 10, "range": (-3, 5), "norm": 4, "integers": True},
    "counts": {"dimension": 10, "norm": "0.70711", "integers": True},
    "weights": NORM | {"weighted": True},
    "weights in a box": {"dimension": 30, "range": (-2, 1), "weighted": True},
    "an exact sum": NORM | {"epsilon": None, "delta": None},
    "an exact sum in a box": {"dimension": 100, "epsilon": None, "delta": None},
    "an exact weighted sum": NORM | {"epsilon": None, "delta": None, "weighted": True},
    "several rounds": NORM | {"rounds": 2},
    "no recovery": NORM | {"recovery": None, "charged": 1},
    "drand": NORM | {"beacon": "drand"},
}


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in list(ASKED)[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a norm", *SLOW])
def test_terms_are_those_of_a_manifest_with_rows(name: str) -> None:
    asked = ASKED[name]
    plan = made(**asked)
    terms = plan.terms
    width = word_width(terms.parties, terms.squared_norm, terms.noise_square, terms.spike)
    require_rows(terms, weighted="weighted" in asked, word_width=width)
    assert plan.path == "rows"
    assert judge(terms) is Worth.KEPT
    assert plan.total_delta == guarantee(terms).total <= terms.delta
    assert terms.mask == "uniform"


@pytest.mark.slow
def test_lengths_are_measured_from_where_the_plan_says() -> None:
    assert origin(made(**ASKED["a norm"]).terms) == made(**ASKED["a norm"]).terms.steps // 2
    thirds = made(**ASKED["a range in thirds"]).terms
    assert origin(thirds) * 3 == thirds.steps
    box = made(**ASKED["a box beside zero"]).terms
    assert origin(box) * 2 == box.steps
    assert 4 * box.squared_norm == box.squared_sensitivity == 7 * box.steps**2
    assert not made(**ASKED["a norm that is no bound"]).terms.bounds_length
    counts = made(**ASKED["counts"]).terms
    assert origin(counts) == 0
    assert counts.squared_sensitivity == 2 * counts.squared_norm == 2 * counts.steps**2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a norm", "a norm in two coordinates", "a range in thirds"])
def test_every_vector_of_the_norm_is_admitted(name: str) -> None:
    terms = made(**ASKED[name]).terms
    steps = terms.steps / float(terms.high - terms.low)
    assert longest_input(terms.squared_norm, terms.dimension) >= steps * (1 - 1e-4)
    assert 4 * terms.squared_norm == terms.squared_sensitivity


@pytest.mark.slow
def test_one_coordinate_may_have_all_of_the_length() -> None:
    terms = a_plan().terms
    assert terms.largest_coordinate == 2 * math.isqrt(terms.squared_norm) > terms.steps
    for boxed in ("a box", "counts"):
        found = made(**ASKED[boxed]).terms
        assert found.largest_coordinate == found.steps
    assert replace(terms, squared_norm=0).largest_coordinate == terms.steps


@pytest.mark.parametrize("squared", [1, 2, 3, 4, 5, 8, 26, 39])
def test_two_inputs_are_twice_the_root_apart_and_a_coordinate_twice_its_integer(
    squared: int,
) -> None:
    """Of vectors of integers, by enumeration: twice the integer root bounds no length (14-U3)."""
    reach = math.isqrt(squared)
    ends = range(-reach, reach + 1)
    inside = [(x, y) for x in ends for y in ends if x * x + y * y <= squared]
    apart = max((a - c) ** 2 + (b - d) ** 2 for a, b in inside for c, d in inside)
    longest = max(x * x + y * y for x, y in inside)
    assert apart == 4 * longest <= 4 * squared
    assert (apart > (2 * reach) ** 2) is (longest > reach**2)
    terms = replace(MANY_ROWS, squared_norm=squared)
    assert max(a - c for a, _ in inside for c, _ in inside) == 2 * reach == terms.largest_coordinate


@pytest.mark.slow
def test_the_grid_is_as_fine_as_noise_of_that_law_allows() -> None:
    terms = a_plan().terms
    finer = gopa.plan(n=100, **TARGET, **NORM, steps=terms.steps + 8).terms
    assert finer.noise.variance > terms.noise.variance


@pytest.mark.slow
def test_rounding_costs_little() -> None:
    """Where laws are wide enough vectors grow by two hundredths at most."""
    for dimension in (10, 100_000):
        terms = made(1000, dimension=dimension, norm=1, range=(-1, 1)).terms
        assert math.sqrt(terms.squared_sensitivity) / terms.steps < 1.02


@pytest.mark.slow
def test_an_epsilon_costs_less_error_than_with_bits() -> None:
    asked: dict[str, Any] = {"n": 100, "epsilon": 8, "delta": "1e-6", "dimension": 1000}
    asked |= {"norm": 1, "range": (-1, 1)}
    bits = gopa.plan(path="bits", **asked)
    assert bits.path == "bits"
    assert gopa.plan(path="rows", **asked).errors.planned < 0.95 * bits.errors.planned


@pytest.mark.slow
def test_proofs_are_charged() -> None:
    """14-U2 by hand; nearly all of it is the chance to draw noise anew."""
    terms = a_plan().terms
    entries = 128  # 100 coordinates in four rows of 32
    distance = math.sqrt(entries * terms.squared_norm) + math.sqrt(entries * terms.noise_square)
    distance = 360 * (distance + entries * 100) / 2**112 + 2**-64
    by_hand = (1 + math.exp(8)) * 100 * 3 * distance
    assert shown_by_proofs(terms) == pytest.approx(by_hand, rel=1e-9, abs=0)
    assert guarantee(terms).proofs == shown_by_proofs(terms) == a_plan().proofs_delta
    assert shown_by_proofs(replace(terms, squared_norm=0)) == 0
    exact = made(**ASKED["an exact sum"]).terms
    assert shown_by_proofs(exact) < 2**-64
    # 14-U2's own example: 2^-52 (1 + e^epsilon) for 1,000 parties and 100,000 coordinates.
    found = charged_for_proofs(100_000, 1000, 3, 1.0, 2**34, 2**40)
    assert found / (1 + math.e) == pytest.approx(2**-52.45, rel=0.01, abs=0)


def test_what_proofs_give_away_counts_with_the_rest() -> None:
    terms = a_plan().terms
    assert judge(terms) is Worth.KEPT
    # So many attempts of so many rounds that the noise alone would do.
    tight = replace(terms, delta=Decimal(str(guarantee(terms).total * 0.998)))
    assert judge(tight) is Worth.BROKEN
    found = guarantee(replace(terms, epsilon=Decimal(30)))
    assert found.noise < 1e-9 < found.proofs
    assert found.total >= found.proofs


def judged(**changes: Any) -> Worth:
    return judge(replace(a_plan().terms, **changes))


def test_bounds_on_noise_are_judged() -> None:
    """Tight bounds make parties draw anew too often, wide ones are there for liars only."""
    terms = a_plan().terms
    square, spike = terms.noise_square, terms.spike
    assert judged() is Worth.KEPT
    assert judged(noise_square=square * 99 // 100) is Worth.BROKEN
    assert judged(noise_square=square * 6 // 5) is Worth.BROKEN
    assert judged(spike=spike * 98 // 100) is Worth.BROKEN
    assert judged(spike=spike * 11 // 10) is Worth.BROKEN
    assert abs(float(bounds_margin(terms))) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("field", ["noise_square", "spike"])
def test_between_the_answers_is_a_band(field: str) -> None:
    """From kept to broken no answer is skipped, on either side."""
    value = getattr(a_plan().terms, field)
    for far in (0.9, 1.3):
        answers = [
            judged(**{field: round(value * (1 + (far - 1) * part))})
            for part in np.geomspace(1e-4, 1, 25).tolist()
        ]
        order = [Worth.KEPT, Worth.UNDECIDED, Worth.BROKEN]
        places = [order.index(each) for each in answers]
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, 2)


def test_the_margin_is_that_of_the_logarithm() -> None:
    terms = a_plan().terms
    rare = [
        bounds_margin(replace(terms, noise_square=terms.noise_square - each)) for each in range(9)
    ]
    assert rare == sorted(rare, reverse=True)
    assert float(TOLERANCE) < bounds_margin(terms) < 4 * float(TOLERANCE)


@pytest.mark.slow
def test_bounds_of_a_law_that_never_reaches_them() -> None:
    """Few coordinates with little noise: all squares fit, so the bound is the largest sum."""
    terms = made(dimension=2, range=(0, 1), epsilon=10, integers=True).terms
    assert judge(terms) is Worth.KEPT
    assert terms.noise_square <= 2 * terms.noise.radius**2
    assert judge(replace(terms, noise_square=2 * terms.noise.radius**2 + 1)) is Worth.BROKEN


def test_nobody_draws_for_an_exact_sum() -> None:
    terms = made(**ASKED["an exact sum"]).terms
    assert (terms.noise, terms.noise_square, terms.spike) == (NoNoise(), 1, 1)
    assert judge(terms) is Worth.KEPT
    assert judge(replace(terms, noise_square=2)) is Worth.BROKEN
    assert judge(replace(terms, spike=2)) is Worth.BROKEN


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "one number": ("path", {}),
    "signed mode": ("path", NORM | {"mode": "signed"}),
    "Gaussian masks": ("mask", NORM | {"mask": "gaussian"}),
    "a range without zero": ("range", NORM | {"range": (1, 2)}),
    "weighted integers": ("integers", NORM | {"weighted": True, "integers": True}),
    "a norm that is far below the range": ("epsilon", NORM | {"norm": 1e-12}),
    "an end that puts zero beside every grid": ("range", NORM | {"range": (-1, "0.7654321234567")}),
    "zero beside the grid": ("steps", NORM | {"steps": 301}),
    "a delta that proofs exceed": ("delta", NORM | {"delta": "1e-17"}),
    "noise that no law has": ("noise", NORM | {"dimension": 2**20, "epsilon": 0.1}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_plan_is_refused(name: str) -> None:
    field, asked = REFUSED[name]
    a_plan()
    with pytest.raises(UsageError) as refused:
        gopa.plan(**{"n": 100} | TARGET | asked)
    assert refused.value.field == field


def test_the_largest_weight_allows_the_corner_of_the_range() -> None:
    """With six digits, rounded up: a whole root would be up to two fifths too long."""
    for dimension, length in ((2, "1"), (3, "1.41422"), (5, "2"), (11, "3.16228")):
        made = gopa.plan(**EXACT | {"dimension": dimension, "weighted": True, "range": (-1, 1)})
        assert (made.path, made.terms.high) == ("rows", Decimal(length))
        assert 0 <= made.terms.high**2 - (dimension - 1) < Decimal("1e-4")


def test_weights_need_lengths() -> None:
    """Bits prove of weighted numbers where they lie, and mode signed proves nothing."""
    asked: dict[str, Any] = {"n": 100, "epsilon": 1, "delta": "1e-6", "weighted": True} | NORM
    ways: tuple[dict[str, Any], ...] = ({"noise": "irwin-hall"}, {"path": "bits"})
    for more in ways:
        assert gopa.plan(**asked | {"norm": None, **more}).path == "bits"
        with pytest.raises(UsageError, match="no length") as refused:
            gopa.plan(**asked | more)
        assert refused.value.field == "norm"
    signed = gopa.plan(mode="signed", **asked).terms
    wider = asked | {"weighted": False, "norm": math.sqrt(2)}
    assert signed == gopa.plan(mode="signed", **wider).terms
    with pytest.raises(UsageError, match="beside it"):
        gopa.plan(n=100, epsilon=None, weighted=True)


@pytest.mark.slow
def test_explanations_say_what_is_not_proved() -> None:
    said = {reason.name: reason for reason in a_plan().reasons}
    assert said["path"].value == "rows"
    liars = said["noise of liars"]
    assert "not proved" in liars.value
    assert "10 liars" in liars.why
    assert "2^53 choices" in liars.why
    assert "at 1 point" in said["late losses"].why
    assert "from proofs" in said["delta"].why
    assert "unproved" not in a_plan().explain()
    assert "does not" not in said["length"].why
    box = {reason.name: reason.why for reason in made(**ASKED["a box"]).reasons}
    assert "10 times as far" in box["length"]
    exact = {reason.name: reason.why for reason in made(**ASKED["an exact sum"]).reasons}
    assert "by one step" in exact["noise of liars"]


def test_bits_say_what_they_said() -> None:
    plan = gopa.plan(n=100, epsilon=1, delta="1e-6", path="bits", **NORM)
    said = {reason.name: reason.why for reason in plan.reasons}
    assert "not the length" in said["length"]
    assert said["path"].endswith("lengths are not proved: asked for")
    assert (plan.path, plan.proofs_delta) == ("bits", 0.0)
    assert LENGTH_UNPROVED


@pytest.mark.slow
def test_the_command_plans_rows() -> None:
    given = ["-n", "100", "--epsilon", "8", "--delta", "1e-6", "--dimension", "100", "--norm", "1"]
    given += ["--low=-1", "--path", "rows", "--json"]
    found = CliRunner().invoke(command, given)
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    assert record["path"] == "rows"
    assert record["delta"]["proofs"] == a_plan().proofs_delta
    assert Terms(**a_terms(record["terms"])) == a_plan().terms
    narrow = CliRunner().invoke(command, [*given[:-1], "--weighted"])
    assert narrow.exit_code == 0, narrow.output
    assert "noise of liars" in narrow.stdout


def a_terms(record: dict[str, Any]) -> dict[str, Any]:
    decimals = {"low", "high", "epsilon", "delta", "beta"}
    found = {name: Decimal(v) if name in decimals else v for name, v in record.items()}
    return found | {"noise": a_plan().terms.noise}


EXACT: dict[str, Any] = {"n": 100, "epsilon": None}
COUNTS: dict[str, Any] = {"integers": True, "norm": "0.70710679"}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "a norm": ("rows", {"dimension": 2} | NORM),
    "a norm of integers": ("rows", {"dimension": 2, "integers": True, "norm": 1}),
    "private weights": ("rows", {"dimension": 2, "weighted": True, "range": (-1, 1)}),
    "private weights, aside of zero": ("rows", {"dimension": 2, "weighted": True}),
    "weights and a path": ("bits", {"dimension": 2, "weighted": True, "path": "bits"}),
    "many numbers": ("rows", {"dimension": ROWS_FROM}),
    "few numbers": ("bits", {"dimension": ROWS_FROM - 1}),
    "many bins": ("rows", {"dimension": ROWS_FROM} | COUNTS),
    "few bins": ("bits", {"dimension": ROWS_FROM - 1} | COUNTS),
    "one number": ("bits", {}),
    "mode signed": ("bits", {"mode": "signed", "dimension": 2} | NORM),
    "a path that is named": ("bits", {"dimension": 2, "path": "bits"} | NORM),
    "the other path": ("rows", {"dimension": 2, "path": "rows"}),
    "Gaussian masks": ("bits", {"epsilon": 8, "delta": "1e-6", "mask": "gaussian"} | NORM),
    "a range without zero": ("bits", {"dimension": 3, "norm": 1, "range": (1, 2)}),
    "a law that is named": ("bits", {"epsilon": 8, "delta": "1e-6", "noise": "binomial"} | NORM),
}


@pytest.mark.parametrize("name", WAYS)
def test_which_path_a_vector_takes_unasked(name: str) -> None:
    path, asked = WAYS[name]
    made = gopa.plan(**EXACT | {"least_chance": 0} | asked)
    assert made.path == path
    said = {reason.name: reason for reason in made.reasons}
    proved = made.terms.dimension > 1 and asked.get("mode") != "signed"
    assert ("path" in said) == proved
    if proved:
        assert said["path"].value == path
        assert "not proved" in said["path"].why


def test_plans_say_why_they_have_bits() -> None:
    asked: dict[str, Any] = {"n": 100, "epsilon": 8, "delta": "1e-6"} | NORM | {"dimension": 30}
    for more in ({"path": "bits"}, {"noise": "irwin-hall"}, {"mask": "gaussian"}):
        found = gopa.plan(**asked | more)
        said = {reason.name: reason.why for reason in found.reasons}
        assert ("no plan here" in said["path"]) == ("mask" in more)
        assert ("asked for" in said["path"]) == ("path" in more)
        assert "not the length" in said["length"]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_an_epsilon_that_proofs_do_not_bear_is_kept_by_a_smaller_one(weighted: bool) -> None:
    """The largest of which proofs take no more than half of delta; a tenth more would be."""
    asked: dict[str, Any] = {"n": 100, "delta": "1e-6", **NORM, "weighted": weighted}
    found = gopa.plan(epsilon=60, **asked)
    kept = found.terms.promised_epsilon
    assert (found.path, found.wished) == ("rows", Decimal(60))
    assert judge(found.terms) is Worth.KEPT
    assert found.terms == gopa.plan(epsilon=kept, **asked).terms
    assert gopa.plan(epsilon=kept, **asked).wished is None
    assert gopa.plan(epsilon=kept + Decimal("0.1"), **asked).terms == found.terms
    said = {reason.name: reason for reason in found.reasons}
    assert said["epsilon"].value == str(kept)
    assert "60 was asked for" in said["epsilon"].why
    assert found.proofs_delta < 0.5e-6 < found.proofs_delta * math.exp(0.2)


@pytest.mark.slow
def test_bits_are_taken_where_rows_lose_too_much() -> None:
    """With so small a delta rows keep an epsilon of 2.4, and several times the error of bits."""
    asked: dict[str, Any] = {"n": 20, "epsilon": 8, "delta": "1e-16"} | NORM
    rows, bits = gopa.plan(**asked, path="rows"), gopa.plan(**asked)
    assert (rows.path, bits.path) == ("rows", "bits")
    assert rows.wished == 8
    assert rows.errors.planned > MOST_NOISE * bits.errors.planned
    said = {reason.name: reason.why for reason in bits.reasons}
    assert f"an epsilon of {rows.terms.epsilon} at most" in said["path"]


def test_a_norm_that_the_range_keeps_anyway_is_left_out() -> None:
    """Noise for vectors as long as that would drown those that are there."""
    for weighted in (False, True):
        asked: dict[str, Any] = EXACT | {"dimension": 26, "range": (-1, 1), "weighted": weighted}
        plain, corner = gopa.plan(**asked), 5 if weighted else math.sqrt(26) + 1e-9
        for norm in (1e9, corner):
            found = gopa.plan(**asked, norm=norm)
            assert found.terms == plain.terms
            assert "norm" in {reason.name for reason in found.reasons}
        short = gopa.plan(**asked, norm=corner - 0.1)
        assert short.terms != plain.terms
        assert "norm" not in {reason.name for reason in short.reasons}
    for wrong in ("1e999999999", "nan", "inf", -1, 0):
        with pytest.raises(UsageError) as refused:
            gopa.plan(**asked, norm=wrong)
        assert refused.value.field == "norm"


def test_steps_that_are_too_few_for_weights_are_refused() -> None:
    asked: dict[str, Any] = EXACT | {"dimension": 2, "weighted": True, "range": (170, 190)}
    assert gopa.plan(**asked, steps=30).terms.steps == 30
    for steps in (2, 10, 28, 31):
        with pytest.raises(UsageError) as refused:
            gopa.plan(**asked, steps=steps)
        assert refused.value.field == "steps"


def test_noise_and_path_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="leave one") as refused:
        gopa.plan(n=100, epsilon=8, delta="1e-6", **NORM, noise="binomial", path="rows")
    assert refused.value.field == "path"
