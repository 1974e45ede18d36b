"""Ranges, norms and bins of single columns, and what is said of each of them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gopa
from gopa import OutOfRange, UsageError
from gopa.aggregation.columns import Columns

TARGET: dict[str, Any] = {"epsilon": 4, "delta": 1e-6, "mode": "off", "seed": 7}
LOUD = {**TARGET, "epsilon": 90, "delta": 1e-3}
RANGES = {"days": (0, 30), "rate": (0, 1)}


def table(parties: int = 40) -> pd.DataFrame:
    drawn = np.random.default_rng(5)
    days, rate = drawn.uniform(2, 12, parties), drawn.uniform(0.05, 0.2, parties)
    return pd.DataFrame({"days": days, "rate": rate})


def test_the_error_of_a_column_is_in_proportion_to_its_own_range() -> None:
    frame = table()
    one = gopa.average(frame, range=(0, 30), **TARGET)
    own = gopa.average(frame, range=RANGES, **TARGET)
    assert one.stderr["days"] == one.stderr["rate"]
    assert own.stderr["days"] == pytest.approx(30 * own.stderr["rate"])
    assert own.stderr["days"] == pytest.approx(one.stderr["days"], rel=0.1)
    assert float(frame["rate"].mean()) == pytest.approx(
        own.value["rate"], abs=5 * own.stderr["rate"]
    )
    assert own.sum["rate"] == pytest.approx(40 * own.mean["rate"])


@pytest.mark.slow
def test_means_of_columns_are_right_within_their_errors() -> None:
    frame, seeds = table(60), range(40)
    found = [gopa.average(frame, range=RANGES, **{**TARGET, "seed": seed}) for seed in seeds]
    for name in RANGES:
        off = [(each.mean[name] - frame[name].mean()) / each.stderr[name] for each in found]
        assert abs(np.mean(off)) < 5 / math.sqrt(len(off))
        assert 0.5 < np.std(off) < 1.6


@pytest.mark.parametrize("mode", ["off", "signed", "full"])
def test_every_mode_takes_ranges_of_columns(mode: str) -> None:
    frame = table(10)
    result = gopa.average(frame, range=RANGES, **{**LOUD, "mode": mode})
    for name in RANGES:
        assert abs(result.mean[name] - frame[name].mean()) < 6 * result.stderr[name]


@pytest.mark.slow
def test_weighted_means_of_columns() -> None:
    frame, weights = table(60), [1.0, 3.0] * 30
    for mode in ("off", "signed"):
        options = {**LOUD, "mode": mode, "weights": weights, "max_weight": 3}
        result = gopa.average(frame, range=RANGES, **options)
        expected = np.average(frame, axis=0, weights=weights)
        for name, truth in zip(frame, expected, strict=True):
            assert abs(result.mean[name] - truth) < 6 * result.stderr[name]
            total = truth * sum(weights)
            assert abs(result.sum[name] - total) < 6 * result.sum_stderr[name]


@pytest.mark.parametrize("span", [(-30, 0), (30, 40)], ids=str)
def test_weighted_sums_of_columns_have_the_error_of_one_range(span: tuple[int, int]) -> None:
    """The noise of the weight is in the sum of a stretched column, and in that of its middle."""
    days, weights = [span[0] + 5.0] * 40, [1.0, 2.0] * 20
    asked = {**TARGET, "weights": weights, "max_weight": 2}
    alone = gopa.average(days, range=span, **asked)
    found = gopa.average([{"days": each} for each in days], range={"days": span}, **asked)
    assert found.sum_stderr["days"] == pytest.approx(alone.sum_stderr, rel=1e-9)
    assert found.stderr["days"] == pytest.approx(alone.stderr, rel=0.2)


def test_columns_of_vectors_have_norms() -> None:
    drawn = np.random.default_rng(2)
    vectors = drawn.normal(size=(40, 20))
    vectors *= 2 / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [{"step": vector, "loss": 0.25} for vector in vectors]
    result = gopa.average(rows, range=(0, 1), norm={"step": 2}, **LOUD)
    off = np.abs(result.mean["step"] - vectors.mean(axis=0)) / result.stderr["step"]
    assert off.max() < 6
    assert result.scaled == 0
    assert result.stderr["step"][0] == pytest.approx(4 * result.stderr["loss"])
    longer = [{**row, "step": row["step"] * 1.01} for row in rows]
    with pytest.raises(OutOfRange) as caught:
        gopa.average(longer, range=(0, 1), norm={"step": 2}, **LOUD)
    assert caught.value.coordinate == "['step']"
    clipped = gopa.average(longer, range=(0, 1), norm={"step": 2}, clip=True, **LOUD)
    assert clipped.scaled == 40
    assert np.abs(clipped.mean["step"] - result.mean["step"]).max() < 6 * result.stderr["step"][0]


def test_no_two_stretched_rows_are_farther_apart_than_the_plan_says() -> None:
    rows = [{"a": 30.0, "v": np.array([2.0, 0])}, {"a": 0.0, "v": np.array([-2.0, 0])}]
    columns = Columns.of(rows[0], {"a": (0, 30)}, {"v": 2})
    from gopa.aggregation.values import Structure

    structure = Structure.of(rows[0])
    first, second = (columns.stretched(row, structure, 0, clip=False).vector for row in rows)
    assert np.linalg.norm(first - second) == pytest.approx(2 * math.sqrt(2))
    assert columns.norm is not None
    assert Decimal(2).sqrt() <= columns.norm
    assert Columns.of({"a": 1.0}, {"a": (0, 30)}, None).norm is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"range": {"days": (0, 30)}}, "range"),
        ({"range": {**RANGES, "rates": (0, 1)}}, "range"),
        ({"range": {**RANGES, "rate": (1, 0)}}, "range"),
        ({"range": {**RANGES, "rate": (0, math.inf)}}, "range"),
        ({"range": {**RANGES, "rate": (-1e308, 1e308)}}, "range"),
        ({"range": {**RANGES, "rate": (10**16, 10**16 + 1)}, "clip": True}, "range"),
        ({"range": {"days": (0, 30)}, "norm": {"rate": "1e400"}}, "norm"),
        ({"norm": 3}, "norm"),
        ({"norm": {"rate": 3}}, "norm"),
        ({"norm": {"width": 3}}, "norm"),
        ({"range": (0, 30), "norm": {"rate": 0}}, "norm"),
        ({"integers": True}, "integers"),
        ({"values": [0.5] * 40}, "range"),
        ({"values": [None] * 40}, "values"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_columns_is_refused(change: dict[str, Any], field: str) -> None:
    asked: dict[str, Any] = {"values": table(), "range": RANGES, **TARGET}
    gopa.average(**asked)
    with pytest.raises(UsageError) as caught:
        gopa.average(**{**asked, **change})
    assert caught.value.field == field


def test_a_number_outside_of_its_own_column_is_named() -> None:
    frame = table()
    gopa.average(frame, range=RANGES, **TARGET)
    frame.loc[3, "rate"] = 1.5  # which the range of the days would hold
    with pytest.raises(OutOfRange) as caught:
        gopa.average(frame, range=RANGES, **TARGET)
    assert (caught.value.party, caught.value.coordinate) == (3, "['rate']")
    assert gopa.average(frame, range=RANGES, clip=True, **TARGET).clipped == 1


def test_a_plan_that_is_given_has_the_range_of_stretched_columns() -> None:
    asked: dict[str, Any] = {"n": 40, "epsilon": 4, "delta": 1e-6, "dimension": 2, "mode": "off"}
    fitting = gopa.plan(range=(-1, 1), **asked)
    result = gopa.average(table(), fitting, range=RANGES, mode="off", seed=1)
    assert result.mean["days"] == pytest.approx(7, abs=6 * result.stderr["days"])
    others: list[dict[str, Any]] = [
        {"range": (0, 1)},
        {"range": (-2, 2)},
        {"range": (-1, 1), "norm": 1},
    ]
    for other in others:
        with pytest.raises(UsageError) as caught:
            gopa.average(table(), gopa.plan(**{**asked, **other}), range=RANGES, mode="off")
        assert caught.value.field == "plan"


def test_parties_without_a_row_stay_out() -> None:
    rows = [None if party % 5 == 0 else {"a": 10.0, "b": 0.5} for party in range(40)]
    result = gopa.average(rows, range={"a": (0, 20), "b": (0, 1)}, **LOUD)
    assert result.count == 32
    assert abs(result.mean["a"] - 10) < 6 * result.stderr["a"]


def test_columns_keep_their_names_in_print_and_warnings() -> None:
    result = gopa.average(table(), range={"days": (0, 30), "rate": (0, 3)}, **TARGET)
    head = str(result).splitlines()[0]
    assert "days " in head
    assert "rate " in head
    assert list(result.value) == ["days", "rate"]
    (warning,) = result.warnings
    assert "rate" in warning


def test_histograms_of_columns_share_one_epsilon() -> None:
    people = [{"age": float(7 * person % 90), "smokes": person % 2} for person in range(90)]
    bins: dict[str, Any] = {"age": 3, "smokes": [0, 0.5, 1]}
    target = {**TARGET, "epsilon": 2}
    found = gopa.histograms(people, bins, range={"age": (0, 90)}, **target)
    assert list(found) == ["age", "smokes"]
    truth = {name: np.histogram([p[name] for p in people], found[name].edges)[0] for name in bins}
    for name, histogram in found.items():
        assert histogram.counts.shape == truth[name].shape
        assert np.abs((histogram.counts - truth[name]) / histogram.sum_stderr).max() < 6
    alone = gopa.histogram([p["age"] for p in people], 3, range=(0, 90), **target)
    ratio = found["age"].sum_stderr[0] / alone.sum_stderr[0]
    assert 1.1 < ratio < 1.6  # the noise of both columns pays for two


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"bins": {"age": 3, "weight": 4}}, "bins"),
        ({"range": {"age": (0, 90), "smokes": (0, 1)}}, "range"),
        ({"range": None}, "range"),
        ({"range": (0, 90)}, "range"),
        ({"bins": {}, "range": None}, "bins"),
        ({"table": [1.0] * 30}, "table"),
        ({"table": [{"age": 40.0}] * 29 + [{"smokes": 1}]}, "values[29]"),
        ({"table": [{"age": 40.0}] * 29 + [40.0]}, "values[29]"),
    ],
    ids=str,
)
def test_bins_of_columns_that_do_not_fit_are_refused(change: dict[str, Any], field: str) -> None:
    asked: dict[str, Any] = {
        "table": [{"age": 40.0, "smokes": 1}] * 30,
        "bins": {"age": 3},
        "range": {"age": (0, 90)},
        **TARGET,
    }
    gopa.histograms(**asked)
    with pytest.raises(UsageError) as caught:
        gopa.histograms(**{**asked, **change})
    assert caught.value.field == field


def test_no_column_is_counted_where_another_one_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released: list[Any] = []
    aggregate = gopa.LocalAggregator.aggregate

    def counted(self: gopa.LocalAggregator, *asked: Any) -> Any:
        released.append(asked)
        return aggregate(self, *asked)

    monkeypatch.setattr(gopa.LocalAggregator, "aggregate", counted)
    people: list[Any] = [{"age": 40.0, "smokes": 1}] * 30
    bins: dict[str, Any] = {"age": [0, 50, 90], "smokes": [0, 0.5, 1]}
    gopa.histograms(people, bins, **TARGET)
    assert len(released) == 2
    with pytest.raises(OutOfRange) as caught:
        gopa.histograms([*people[:29], {"age": 40.0, "smokes": 2}], bins, **TARGET)
    assert (caught.value.party, caught.value.coordinate) == (29, "['smokes']")
    assert len(released) == 2
