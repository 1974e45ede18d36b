"""Two programs judge bounds on noise in long vectors, and what proofs give away, alike."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

import gopa
from gopa.contract.terms import Terms
from gopa.planning.row_noise import bounds_margin, chance_beyond, powers_of, shown_by_proofs
from gopa.planning.worth import Worth, judge
from tests.planning.random_terms import given
from zkp.noise import GaussianTable, binomial

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The second verifier's modules by name."""
    monkeypatch.syspath_prepend(str(ROOT / "specs" / "verifier"))
    return importlib.import_module


def read(terms: Terms) -> tuple[Any, Any]:
    """The terms and their law as the second verifier reads them."""
    from codec import Record

    return given(terms, Record)


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
def test_both_say_the_same(second: Any, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = terms_of(**ASKED[place])
    judged, rows = second("worth").judged, second("rows")
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
def test_bounds_of_sums_are_the_same(second: Any, exponent: int, dimension: int) -> None:
    for law in (GaussianTable(9, 1, bits=40, rows=31), binomial(8)):
        values, masses = powers_of(law, exponent)
        mean, top = dimension * float(values @ masses), dimension * float(values.max())
        for part in (0.1, 0.3):
            threshold = round(mean ** (1 - part) * top**part)
            pairs = list(zip(values.tolist(), masses.tolist(), strict=True))
            theirs = second("rows").beyond(threshold, dimension, pairs)
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
