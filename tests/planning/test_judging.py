"""Judging terms: the same answer from two programs, a band between answers, and what it costs."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.terms import HARD, costs
from gopa.accounting.convolution import Masses, convolve
from gopa.accounting.distribution import LossDistribution
from gopa.contract.terms import Terms
from gopa.planning import plan
from gopa.planning.expansion import (
    Population,
    _log_bad_runs,
    _log_few_crossing_edges,
    runs_of_sizes,
)
from gopa.planning.worth import Worth, judge
from tests.planning.judged import explain_judgement
from tests.planning.random_terms import given
from tests.planning.terms_vectors import ONLY_JUST, cases, limits
from tests.planning.worst_terms import all_terms

ROOT = Path(__file__).parents[2]


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the second verifier."""
    monkeypatch.syspath_prepend(str(ROOT / "specs" / "verifier"))
    return importlib.import_module("worth")


FILE = json.loads((ROOT / "specs" / "vectors" / "terms.json").read_text())["terms"]
NAMES = [record["name"] for record in FILE]


@cache
def all_named() -> dict[str, Terms]:
    """The terms of the file, made anew: that takes time, so none are made for a list of names."""
    return cases() | limits()


@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES)
def test_the_second_verifier_agrees(second: Any, name: str) -> None:
    terms = all_named()[name]
    from codec import Record

    found = explain_judgement(terms)
    record, law = given(terms, Record)
    chance = min(0.5, max(float(terms.beta), 1e-300))
    for factor, ours in ((0.999, found.strict), (1.001, found.generous)):
        theirs = second.worth(record, law, chance * factor)
        assert abs(theirs - ours) <= 1e-4 * float(terms.delta)
    assert second.judged(record, law) == found.worth.value


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
    first, second = made.random(left), made.random(right)
    plain = convolve(first, second)
    assert np.allclose(plain, np.convolve(first, second), rtol=1e-12)
    for same in (first, first + first[::-1]):
        assert np.allclose(convolve(same, same), np.convolve(same, same), rtol=1e-12)
    first, second = first + first[::-1], second + second[::-1]
    assert np.allclose(convolve(first, second), np.convolve(first, second), rtol=1e-12)


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
