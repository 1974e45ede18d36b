"""Statistics by sums: exact ones are those of all rows, noise is what is claimed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gopa import UsageError, WeightTooSmall
from gopa.learning import Outcome, Privacy, Table, Users, iid
from gopa.learning.federated import contingency_table, histogram, mean, quantiles, variance
from gopa.learning.federated.row_sums import RowSums
from gopa.learning.federated.setting import Setting
from tests.learning.federated.problems import OFF, RECORD, USER

RNG = np.random.default_rng(5)
ROWS = np.round(RNG.normal(2, 1, (300, 2)), 3)
LABELS = RNG.integers(0, 3, 300)
PROBLEM: Users = iid(Table(ROWS, LABELS, "made up"), 30, 1)
EDGES = [-1.0, 1.0, 2.0, 5.0]
EXACT: dict[str, Any] = {"privacy": None, "seed": 1, **OFF}


def test_means_and_variances_are_those_of_all_rows() -> None:
    found = variance(PROBLEM, low=[-2, -3], high=6, **EXACT).model
    assert np.allclose(found["mean"], ROWS.mean(axis=0), atol=1e-5)
    assert np.allclose(found["variance"], ROWS.var(axis=0), atol=1e-5)
    assert found["rows"] == pytest.approx(300, abs=1e-4)
    outcome = mean(PROBLEM, low=[-2, -3], high=6, **EXACT)
    assert np.allclose(outcome.model["mean"], ROWS.mean(axis=0), atol=1e-5)
    assert outcome.warnings == ()
    narrow = mean(PROBLEM, low=1, high=3, **EXACT)
    assert np.allclose(narrow.model["mean"], np.clip(ROWS, 1, 3).mean(axis=0), atol=1e-5)
    assert narrow.warnings == ("rows outside of the range were moved to its ends",)


def test_histograms_and_tables_count_all_rows() -> None:
    outcome = histogram(PROBLEM, edges=EDGES, column=1, **EXACT)
    assert np.allclose(outcome.model["counts"], np.histogram(ROWS[:, 1], EDGES)[0], atol=1e-4)
    assert ("do not count" in str(outcome)) == bool((np.abs(ROWS[:, 1] - 2) > 3).any())
    last = histogram(PROBLEM, edges=[0, ROWS[:, 0].max()], **EXACT)
    assert round(float(last.model["counts"][0])) == (ROWS[:, 0] >= 0).sum()
    high = replace(PROBLEM, table=replace(PROBLEM.table, features=(ROWS > 2).astype(float)))
    table = contingency_table(high, columns=(0, -1), categories=([1, 0], [0, 1, 2]), **EXACT)
    expected = [
        [((ROWS[:, 0] > 2) == one) & (each == LABELS) for each in range(3)] for one in (1, 0)
    ]
    assert np.allclose(table.model["counts"], np.sum(expected, axis=2), atol=1e-4)
    part = contingency_table(high, columns=(0, -1), categories=([1], [0, 1, 2]), **EXACT)
    assert part.warnings == ("rows that are in none of the cells do not count",)


def test_quantiles_are_as_fine_as_the_halving() -> None:
    at = [0.1, 0.5, 0.9, 1.0]
    found = quantiles(PROBLEM, at=at, low=-2, high=6, levels=8, **EXACT).model["quantiles"]
    assert np.abs(found - np.quantile(ROWS[:, 0], at)).max() < 3 * 8 / 2**8
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("privacy", [USER, RECORD], ids=["user", "record"])
def test_noise_is_what_is_claimed_and_records_cost_less(privacy: Privacy) -> None:
    asked: dict[str, Any] = {"privacy": privacy, "most_rows": 10, **OFF}
    truth = np.histogram(ROWS[:, 0], EDGES)[0]
    scores = []
    for seed in range(20):
        model = histogram(PROBLEM, edges=EDGES, seed=seed, **asked).model
        scores.append((model["counts"] - truth) / model["stderr"])
    assert abs(np.mean(scores)) < 4 / math.sqrt(60)
    assert 0.75 < np.std(scores) < 1.25
    one = histogram(PROBLEM, edges=EDGES, seed=1, **asked)
    assert one.spent.within(privacy)
    other = replace(privacy, unit="record" if privacy.unit == "user" else "user")
    two = histogram(PROBLEM, edges=EDGES, seed=1, **{**asked, "privacy": other})
    more, less = sorted([one.model["stderr"], two.model["stderr"]])[::-1]
    assert more / less == pytest.approx(10, rel=0.15)


def row_sums(diameter: float, unit: Any) -> RowSums:
    asked = Privacy(8.0, 1e-4, unit=unit)
    setting = Setting(asked, 1, 4, "off", {"corrupt": 1, "dropout": 0.0})
    return RowSums("sums", setting, PROBLEM, width=2, diameter=diameter)


def test_no_user_and_no_record_moves_a_sum_by_more_than_noise_is_made_for() -> None:
    """Squared distances on the grid stay within the plan's, and come near it."""
    rng = np.random.default_rng(3)
    for unit in ("user", "record"):
        sums = row_sums(2 * math.sqrt(2), unit)
        farthest = 0.0
        for _ in range(400):
            rows, other = (np.repeat(rng.choice([-1.0, 1.0], (1, 2)), 4, axis=0) for _ in range(2))
            other = other[: rng.integers(0, 5)]
            if unit == "record":
                other = np.concatenate([-rows[:1], rows[1:]])
            apart = sums.vector(rows) - sums.vector(other)
            farthest = max(farthest, float(np.linalg.norm(apart)))
        terms = sums.session.terms
        allowed = math.sqrt(terms.squared_sensitivity) * 2 / terms.steps
        assert 0.8 * allowed < farthest < allowed


def test_rows_that_may_be_none_are_not_divided_by() -> None:
    few = iid(Table(ROWS[:6], LABELS[:6], "few"), 6, 1)
    with pytest.raises(WeightTooSmall) as caught:
        mean(few, low=-2, high=6, privacy=Privacy(1.0, 1e-5), seed=1, most_rows=9, **OFF)
    assert caught.value.result.count == 6


WRONG: list[tuple[Callable[..., Outcome], dict[str, Any], dict[str, Any], str]] = [
    (mean, {"low": 0, "high": 1}, {"low": 2}, "high"),
    (mean, {"low": 0, "high": 1}, {"low": [0, 0, 0]}, "low"),
    (mean, {"low": 0, "high": 1}, {"high": math.inf}, "high"),
    (mean, {"low": 0, "high": 1}, {"privacy": USER}, "most_rows"),
    (mean, {"low": 0, "high": 1}, {"most_rows": 0}, "most_rows"),
    (histogram, {"edges": EDGES}, {"edges": [1, 1]}, "edges"),
    (histogram, {"edges": EDGES}, {"edges": [1]}, "edges"),
    (histogram, {"edges": EDGES}, {"column": 2}, "column"),
    (quantiles, {"at": [0.5], "low": 0, "high": 1}, {"at": [1.5]}, "at"),
    (quantiles, {"at": [0.5], "low": 0, "high": 1}, {"low": 1}, "high"),
    (quantiles, {"at": [0.5], "low": 0, "high": 1}, {"levels": 0}, "levels"),
    (
        contingency_table,
        {"columns": (0, -1), "categories": ([0, 1], [0])},
        {"categories": ([0, 0], [0])},
        "categories",
    ),
]


@pytest.mark.parametrize(("ask", "right", "changes", "field"), WRONG)
def test_mistakes_are_named(
    ask: Callable[..., Outcome], right: dict[str, Any], changes: dict[str, Any], field: str
) -> None:
    assert ask(PROBLEM, **EXACT, **right)
    with pytest.raises(UsageError) as caught:
        ask(PROBLEM, **{**EXACT, **right, **changes})
    assert caught.value.field == field
