"""One call: a plan, a round, a result."""

from __future__ import annotations

import asyncio
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gopa
from gopa import UsageError
from gopa.aggregation.histograms import OneHot
from gopa.aggregation.options import AggregationRequest
from gopa.aggregation.values import InvalidValue, InvalidWeight, OutOfRange
from gopa.aggregation.variances import HALF_DISTANCE, Moments
from tests.aggregation.plans import planned, terms
from tests.aggregation.test_weighting import stream

TARGET: dict[str, Any] = {"epsilon": 4, "delta": "1e-5", "mode": "off", "seed": 3}
RANDOM = np.random.default_rng(11)
VALUES = RANDOM.random(60).tolist()


def test_an_average_from_keywords() -> None:
    result = gopa.average(VALUES, **TARGET)
    assert abs(result.mean - np.mean(VALUES)) < 5 * result.stderr
    assert result.stderr < 0.05
    assert result.mode == "off"


def test_an_average_in_full_mode_has_a_statement_and_a_transcript() -> None:
    result = gopa.average(VALUES[:10], epsilon=4, delta="1e-5", seed=3)
    assert result.mode == "full"
    assert result.privacy is not None
    assert result.privacy.epsilon == 4
    assert result.transcript.check().complete


def test_a_plan_may_be_given_and_says_it_all() -> None:
    plan = planned(n=60, epsilon=4)
    result = gopa.average(VALUES, plan, mode="off", seed=3)
    assert result.mean == gopa.average(VALUES, plan, mode="off", seed=3).mean
    with pytest.raises(UsageError) as caught:
        gopa.average(VALUES, plan, epsilon=4)
    assert caught.value.field == "epsilon"


@pytest.mark.parametrize("missing", ["epsilon", "delta"])
def test_without_a_plan_there_is_a_target(missing: str) -> None:
    target = {name: value for name, value in TARGET.items() if name != missing}
    with pytest.raises(UsageError) as caught:
        gopa.average(VALUES, **target)
    assert caught.value.field == ("plan" if missing == "epsilon" else "delta")


def test_unknown_keywords_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        gopa.average(VALUES, **{**TARGET, "epsilom": 3})
    assert caught.value.field == "epsilom"


def test_sums_over_a_range() -> None:
    values = [int(value * 10) for value in VALUES]
    result = gopa.sum(values, range=(0, 10), integers=True, **TARGET)
    assert abs(result.sum - sum(values)) < 5 * result.sum_stderr
    assert result.rounding == 0


def test_a_weighted_average_plans_one_coordinate_more() -> None:
    weights = (10 * RANDOM.random(60)).tolist()
    result = gopa.average(VALUES, weights=weights, max_weight=10, **TARGET)
    assert abs(result.mean - np.average(VALUES, weights=weights)) < 5 * result.stderr
    assert result.weight is not None


def test_weighted_vectors_of_bounded_length() -> None:
    vectors = [vector / np.linalg.norm(vector) for vector in RANDOM.normal(size=(60, 12))]
    weights = RANDOM.random(60).tolist()
    target = {**TARGET, "epsilon": 20}
    result = gopa.average(
        vectors, range=(-1, 1), norm=1.0001, weights=weights, max_weight=1, **target
    )
    off = (result.mean - np.average(vectors, axis=0, weights=weights)) / result.stderr
    assert np.abs(off).max() < 5


def test_masks_that_stay_in_the_sum_are_gaussian_and_small() -> None:
    asked = AggregationRequest.of(None, {**TARGET, "trust": "honest-but-curious"})
    made = asked.plan(n=60, range=(0, 1), dimension=1)
    assert made.terms.mask == "gaussian"
    finer = planned(n=60, epsilon=4, mask="gaussian")
    assert made.terms.mask_deviation < finer.terms.mask_deviation / 2
    assert (
        AggregationRequest.of(None, TARGET).plan(n=60, range=(0, 1), dimension=1).terms.mask
        == "uniform"
    )


def test_the_async_twins() -> None:
    async def all_of_them() -> Any:
        short: dict[str, Any] = {**TARGET, "seed": 9}
        return await asyncio.gather(
            gopa.average_async(VALUES, **short),
            gopa.sum_async(VALUES, **short),
            gopa.histogram_async(VALUES, 3, range=(0, 1), **short),
            gopa.variance_async(VALUES, **short),
        )

    average, total, histogram, variance = asyncio.run(all_of_them())
    short: dict[str, Any] = {**TARGET, "seed": 9}
    assert average.mean == gopa.average(VALUES, **short).mean
    assert total.sum == gopa.sum(VALUES, **short).sum
    expected = gopa.histogram(VALUES, 3, range=(0, 1), **short).counts
    assert histogram.counts.tolist() == expected.tolist()
    assert variance.variance == gopa.variance(VALUES, **short).variance


def test_a_histogram_counts_every_value_once() -> None:
    result = gopa.histogram(VALUES, 5, range=(0, 1), **TARGET)
    expected, edges = np.histogram(VALUES, 5, (0, 1))
    assert np.allclose(result.edges, edges)
    assert np.abs((result.counts - expected) / result.sum_stderr).max() < 5
    assert np.allclose(result.counts, result.sum)
    assert result.rounding == 0
    assert str(result).startswith("counts")


def test_the_noise_of_a_histogram_is_that_of_its_sensitivity() -> None:
    """The squared sensitivity is 2 steps^2 whatever the number of bins, up to rounding up."""
    for bins in (2, 5, 40):
        made = AggregationRequest.of(None, TARGET).plan(
            n=60, range=(0, 1), dimension=bins, norm="0.70710678118654752441", integers=True
        )
        steps = made.terms.steps
        assert 2 * steps**2 <= made.terms.squared_sensitivity <= 2 * steps**2 + 1
        OneHot(made.terms, tuple(range(bins + 1)))


def test_bins_hold_their_lower_edge_and_the_last_one_both() -> None:
    edges = [0.0, 1.0, 2.0, 4.0]
    values = [0.0, 1.0, 1.0, 2.0, 4.0, 3.0]
    law = terms(dimension=3)
    rows = OneHot(law, tuple(edges)).encode(values, None, clip=False).rows  # type: ignore[arg-type]
    assert [int(np.argmax(row)) for row in rows if row is not None] == [0, 1, 1, 2, 2, 2]
    assert all(row is not None and row.sum() == law.steps for row in rows)


def test_values_in_no_bin_are_refused_or_counted_at_the_ends() -> None:
    encoding = OneHot(terms(dimension=2), (0.0, 1.0, 2.0))
    values = [-3.0, 0.5, 1.5, 7.0, 1.0, 2.0]
    with pytest.raises(gopa.OutOfRange) as caught:
        encoding.encode(values, None, clip=False)  # type: ignore[arg-type]
    assert caught.value.party == 0
    found = encoding.encode(values, None, clip=True)  # type: ignore[arg-type]
    assert found.clipped == 2
    assert [int(np.argmax(row)) for row in found.rows if row is not None] == [0, 0, 1, 1, 1, 1]
    for wrong in (math.nan, math.inf, np.array([0.5, 1.5])):
        with pytest.raises(gopa.InvalidValue) as refused:
            encoding.encode([wrong, *values[1:]], None, clip=True)  # type: ignore[arg-type]
        assert refused.value.party == 0


def test_parties_without_a_value_have_no_row() -> None:
    """A row of zeros would be a value."""
    values = [0.5, None, 0.25, 0.75, None, 1.0]
    histogram = OneHot(terms(dimension=2), (0.0, 0.5, 1.0))
    for encoding in (histogram, Moments(terms(dimension=2))):
        rows = encoding.encode(values, stream("rows"), clip=False).rows
        assert [row is None for row in rows] == [value is None for value in values]


BINS: dict[str, dict[str, Any]] = {
    "one bin": {"bins": 1, "range": (0, 1)},
    "no bin": {"bins": 0, "range": (0, 1)},
    "a negative number": {"bins": -4, "range": (0, 1)},
    "no range": {"bins": 4},
    "edges and a range": {"bins": [0, 1, 2], "range": (0, 1)},
    "edges that fall": {"bins": [0, 2, 1]},
    "equal edges": {"bins": [0, 1, 1]},
    "one edge": {"bins": [0]},
    "an infinite edge": {"bins": [0, 1, math.inf]},
    "a range that falls": {"bins": 4, "range": (1, 0)},
}


@pytest.mark.parametrize("wrong", BINS.values(), ids=BINS)
def test_bins_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    gopa.histogram(VALUES, [0, 0.5, 1], **TARGET)
    with pytest.raises(UsageError) as caught:
        gopa.histogram(VALUES, **wrong, **TARGET)
    assert caught.value.field in {"bins", "range"}


def test_a_plan_for_a_histogram_has_its_dimension_range_and_sensitivity() -> None:
    OneHot(terms(dimension=3), (0, 1, 2, 3))
    short = terms(dimension=3, squared_sensitivity=19_999)
    for wrong in (terms(dimension=4), terms(dimension=3, high=Decimal(2)), short):
        with pytest.raises(UsageError) as caught:
            OneHot(wrong, (0, 1, 2, 3))
        assert caught.value.field == "plan"


def test_a_variance_and_its_mean() -> None:
    values = (10 + 4 * RANDOM.random(300)).tolist()
    result = gopa.variance(values, range=(8, 16), **TARGET)
    assert abs(result.variance - np.var(values)) < 5 * result.variance_stderr
    assert abs(result.mean - np.mean(values)) < 5 * result.stderr
    assert result.variance_stderr < 0.5
    assert result.variance == result.estimate
    assert not result.floored


def test_a_negative_variance_is_floored_and_says_so() -> None:
    values = [0.5] * 60
    found = [gopa.variance(values, **{**TARGET, "seed": seed, "epsilon": 1}) for seed in range(12)]
    floored = [result for result in found if result.floored]
    assert 0 < len(floored) < len(found)
    for result in found:
        assert result.variance == max(result.estimate, 0.0)
        assert result.floored == (result.estimate < 0)
        assert ("negative" in str(result)) == result.floored


def test_the_sensitivity_of_a_number_and_its_square() -> None:
    """No pair on a fine grid is further apart than the constant says, and one comes close."""
    c = np.linspace(-1, 1, 2001)
    apart = ((c[:, None] - c) / 2) ** 2 + (c[:, None] ** 2 - c**2) ** 2
    bound = 4 * float(HALF_DISTANCE) ** 2
    assert bound * (1 - 1e-5) < apart.max() <= bound
    exact = (Fraction(3, 2) - Fraction(353_553_390_593, 10**12)) ** 2
    exact *= Fraction(1, 4) + (Fraction(1, 2) + Fraction(353_553_390_594, 10**12)) ** 2
    assert exact < (2 * HALF_DISTANCE) ** 2


def test_rows_of_a_variance_stay_within_the_sensitivity_of_the_plan() -> None:
    made = AggregationRequest.of(None, TARGET).plan(
        n=60, range=(0, 1), dimension=2, norm="0.567044"
    )
    assert made.terms.squared_sensitivity < 2 * made.terms.steps**2
    steps = made.terms.steps
    positions = [Fraction(i, 200) for i in range(201)]
    pairs = [(p * steps, (2 * p - 1) ** 2 * steps) for p in positions]
    low = np.array([[math.floor(x) for x in pair] for pair in pairs])
    high = np.array([[math.ceil(x) for x in pair] for pair in pairs])
    apart = np.maximum(high[:, None] - low, high - low[:, None])
    assert (apart**2).sum(axis=2).max() <= made.terms.squared_sensitivity
    Moments(made.terms)


def test_a_plan_for_a_variance_has_its_dimension_and_sensitivity() -> None:
    Moments(terms(dimension=2))
    for wrong in (terms(dimension=3), terms(dimension=2, squared_sensitivity=12_861)):
        with pytest.raises(UsageError) as caught:
            Moments(wrong)
        assert caught.value.field == "plan"


KEYED = dict.fromkeys(range(10), 0.5)
"""Reads like a list where it is only counted and numbered: its keys would be averaged."""


@pytest.mark.parametrize(
    "given",
    [KEYED, {0.5, 0.25, 0.75}, "0101", b"0101", (x for x in VALUES), None, 7, np.array(0.5)],
    ids=["dict", "set", "text", "bytes", "generator", "none", "number", "array of none"],
)
def test_what_is_no_list_of_parties_is_refused(given: Any) -> None:
    asked: dict[str, Any] = {**TARGET, "range": (0, 10)}
    halves: Any = np.array([0.5] * 10)
    for call in (gopa.average, gopa.sum, gopa.variance):
        call(halves, **asked)
        with pytest.raises(UsageError) as caught:
            call(given, **asked)
        assert caught.value.field == "values"
    with pytest.raises(UsageError) as caught:
        gopa.histogram(given, 4, **asked)
    assert caught.value.field == "values"
    with pytest.raises(UsageError) as caught:
        gopa.average([0.5] * 10, weights=given, max_weight=9, **asked)
    assert caught.value.field == "weights"


def test_somebody_has_a_value() -> None:
    for call in (gopa.average, gopa.variance):
        with pytest.raises(UsageError) as caught:
            call([None] * 10, **TARGET)
        assert caught.value.field == "values"
    with pytest.raises(UsageError) as caught:
        gopa.histogram([None] * 10, 4, range=(0, 1), **TARGET)
    assert caught.value.field == "values"


@pytest.mark.parametrize(
    "span",
    [("low", 1), (0,), (0, 1, 2), 5, "01", (None, 1), (True, False), (0, math.nan), (0, math.inf)],
    ids=str,
)
def test_what_is_no_range_is_refused(span: Any) -> None:
    norm = {"norm": 1, "weights": [1] * 10, "max_weight": 1, "mode": "off"}
    vectors: Any = [np.array([0.1, 0.2])] * 10
    for call, options in ((gopa.average, {}), (gopa.variance, {}), (gopa.average, norm)):
        with pytest.raises(UsageError) as caught:
            call(vectors if options else VALUES[:10], range=span, **{**TARGET, **options})
        assert caught.value.field == "range"
    with pytest.raises(UsageError) as caught:
        gopa.histogram(VALUES[:10], 4, range=span, **TARGET)
    assert caught.value.field in {"range", "bins"}


def test_inputs_are_looked_at_before_a_plan_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning takes seconds, and what is no number stays none."""
    vectors: list[Any] = [np.array([0.1, 0.2])] * 10
    weighted: dict[str, Any] = {"weights": [1] * 10, "max_weight": 1, "epsilon": 16}
    target = TARGET | weighted
    assert gopa.average(vectors, **target).count == 10
    monkeypatch.setattr("gopa.aggregation.options.plan", None)
    for wrong, error in (
        (np.array([0.1, math.nan]), InvalidValue),
        (np.array([0.1, 2]), OutOfRange),
        (np.array([0.1]), InvalidValue),
    ):
        with pytest.raises(error):
            gopa.average([*vectors[1:], wrong], **TARGET)
    with pytest.raises(InvalidWeight):
        gopa.average(vectors, **target | {"weights": [2] * 10})


def test_a_norm_that_is_no_number_is_refused() -> None:
    values = [np.array([0.1, 0.2])] * 10
    with pytest.raises(UsageError) as caught:
        gopa.average(values, norm="long", weights=[1] * 10, max_weight=1, **TARGET)
    assert caught.value.field == "norm"


@pytest.mark.parametrize(
    "bins", [None, 2.5, "3", b"3", [0, "middle", 1], [0, None, 1], 0, 1, 10**12], ids=str
)
def test_what_is_no_number_of_bins_and_no_edges_is_refused(bins: Any) -> None:
    with pytest.raises(UsageError) as caught:
        gopa.histogram(VALUES[:10], bins, range=(0, 1) if type(bins) is int else None, **TARGET)
    assert caught.value.field == "bins"


def test_settings_are_not_guessed() -> None:
    """Text is true in Python: `clip="no"` would clip."""
    gopa.average(VALUES[:10], clip=False, progress=None, **TARGET)
    wrong: list[tuple[str, Any]] = [("clip", "no"), ("progress", "no"), ("script", lambda _: None)]
    for field, value in wrong:
        options: dict[str, Any] = {**TARGET, field: value}
        with pytest.raises(UsageError) as caught:
            gopa.average(VALUES[:10], **options)
        assert caught.value.field == field
