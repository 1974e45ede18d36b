"""Averages, sums, counts and weighted means where vectors are proved row by row."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from commitments import ristretto255
from gopa import LocalAggregator, UsageError
from gopa.aggregation.encoding import Bounds, NoisySum, Plain
from gopa.aggregation.engine import fresh_stream
from gopa.aggregation.histograms import OneHot
from gopa.aggregation.values import OutOfRange
from gopa.aggregation.variances import Moments
from gopa.aggregation.weighting import WeightedRows, Weights
from gopa.contract.row_terms import origin, sums_of_positions, weighted_length
from gopa.planning import Plan, Terms
from gopa.support.wording import ROW_MODES, summaries_of
from tests.randomness import seeded
from wire.domains import ROUNDING

EXACT: dict[str, Any] = {"epsilon": None, "path": "rows", "corrupt": 1}
NOISY: dict[str, Any] = EXACT | {"epsilon": 8, "delta": "1e-6"}
VECTORS = np.random.default_rng(3).normal(size=(6, 5))
UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1)[:, None]
STREAM = fresh_stream(ristretto255(), seeded("rows"), ROUNDING)


@lru_cache(maxsize=16)
def planned(**asked: Any) -> Plan:
    return gopa.plan(**{"n": 6, "least_chance": 0, **EXACT, **asked})


def test_an_average_of_vectors_as_long_as_the_norm() -> None:
    found = gopa.average(list(UNIT), norm=1, range=(-1, 1), **EXACT)
    assert np.allclose(found.mean, UNIT.mean(axis=0), atol=6 * found.stderr.max())
    assert np.allclose(found.sum, UNIT.sum(axis=0), atol=6 * found.sum_stderr.max())
    assert found.stderr.max() < 1e-3
    assert (found.clipped, found.scaled, found.count) == (0, 0, 6)


@pytest.mark.slow
def test_an_audit_of_an_exact_average_claims_lengths_alone(tmp_path: Path) -> None:
    found = gopa.average(list(UNIT), norm=1, range=(-1, 1), **EXACT)
    anchors = found.transcript.anchors(tmp_path / "anchors.txt")
    report = gopa.audit(found.transcript.archive(tmp_path / "exact.gopa"), anchors=anchors)
    assert summaries_of(exact=True, in_rows=True)["VALID"] in report.summary
    assert "in the range" not in report.summary
    assert "noise that" not in report.summary


@pytest.mark.parametrize("span", [(-3, 3), (0, 3), (100, 103)])
def test_an_average_of_numbers_in_a_range_wherever_it_lies(span: tuple[int, int]) -> None:
    """Lengths are from the middle of the box, and an estimate is none of that."""
    corners = np.where(VECTORS > 0, span[1], span[0]).astype(float)
    found = gopa.average([*corners[:5], None], range=span, **EXACT)
    assert np.allclose(found.mean, corners[:5].mean(axis=0), atol=1e-9)
    assert np.allclose(found.sum, corners[:5].sum(axis=0), atol=1e-9)


def test_a_norm_in_a_range_that_begins_at_zero() -> None:
    vectors = abs(UNIT)
    found = gopa.sum(list(vectors), norm=1, range=(0, 1), **EXACT)
    assert np.allclose(found.value, vectors.sum(axis=0), atol=6 * found.sum_stderr.max())


def test_integers_are_not_rounded() -> None:
    vectors = [[3, 0, -4, 0]] * 6
    found = gopa.average(vectors, norm=5, range=(-5, 5), integers=True, **EXACT)
    assert found.mean == [3, 0, -4, 0]
    with pytest.raises(OutOfRange, match="longer than the plan allows"):
        gopa.average([[3, 0, -4, 1]] * 6, norm=5, range=(-5, 5), integers=True, **EXACT)


def test_counts_of_single_bins() -> None:
    found = gopa.histogram([1, 1, 2, 5, 6, 7], range=(0, 8), bins=4, **EXACT)
    assert found.counts.tolist() == [2, 1, 1, 2]


def test_a_variance_is_of_two_numbers_in_a_box() -> None:
    values = [10, 12, 17, 18, 11, 10.0]
    found = gopa.variance(values, range=(10, 18), **EXACT)
    assert found.variance == pytest.approx(np.var(values), abs=6 * found.variance_stderr)
    assert found.variance_stderr < 0.1


WEIGHTS = [1.0, 2, 0, 3, 2, 1]


@pytest.mark.parametrize("norm", [1, 2])
def test_weighted_means_of_vectors(norm: float) -> None:
    asked: dict[str, Any] = {"weights": WEIGHTS, "max_weight": 3, "norm": norm}
    found = gopa.average(list(UNIT), range=(-1, 1), **asked, **EXACT)
    mean = np.average(UNIT, axis=0, weights=WEIGHTS)
    assert np.allclose(found.mean, mean, atol=6 * found.stderr.max())
    assert found.weight == pytest.approx(9, abs=0.01)
    assert np.allclose(found.sum, 9 * mean, atol=6 * found.sum_stderr.max())


def test_a_plan_that_is_given_takes_weights_too() -> None:
    made = planned(dimension=6, norm=1, weighted=True)
    mean = np.average(UNIT, axis=0, weights=WEIGHTS)
    for mode in ("full", "off"):
        found = gopa.average(list(UNIT), made, weights=WEIGHTS, max_weight=3, mode=mode)
        assert np.allclose(found.mean, mean, atol=6 * found.stderr.max())


def test_weighted_means_in_a_range_far_from_zero() -> None:
    vectors = np.clip(VECTORS, -1, 1) + 50
    asked: dict[str, Any] = {"weights": WEIGHTS, "max_weight": 3, "range": (49, 51)}
    found = gopa.average(list(vectors), **asked, **EXACT)
    mean = np.average(vectors, axis=0, weights=WEIGHTS)
    assert np.allclose(found.mean, mean, atol=6 * found.stderr.max())
    assert np.allclose(found.sum, 9 * mean, atol=6 * found.sum_stderr.max())
    assert found.stderr.max() < 0.01
    beyond = [vectors[0] + 2, *vectors[1:]]
    with pytest.raises(OutOfRange, match="outside of the range from 49 to 51"):
        gopa.average(beyond, **asked, **EXACT)
    assert gopa.average(beyond, clip=True, **asked, **EXACT).clipped > 0


def test_clipping_is_told() -> None:
    long = [3 * UNIT[0], *UNIT[1:]]
    with pytest.raises(OutOfRange, match=r"longer than the plan allows \(1\)") as caught:
        gopa.average(long, norm=1, range=(-1, 1), **EXACT)
    assert caught.value.party == 0
    found = gopa.average(long, norm=1, range=(-1, 1), clip=True, **EXACT)
    assert found.scaled == 1
    assert np.allclose(found.mean, UNIT.mean(axis=0), atol=6 * found.stderr.max())
    weighted: dict[str, Any] = {"weights": WEIGHTS, "max_weight": 3, "norm": 1, "range": (-3, 3)}
    with pytest.raises(OutOfRange, match="whatever its weight"):
        gopa.average(long, **weighted, **EXACT)
    assert gopa.average(long, clip=True, **weighted, **EXACT).scaled == 1


def rounded(terms: Terms, vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bounds = Bounds.of(terms)
    return bounds.round(vector, STREAM) - origin(terms)


def test_a_vector_is_rounded_again_while_that_made_it_too_long() -> None:
    """With a bound that half of all roundings exceed, none does."""
    terms = planned(dimension=5, norm=1, range=(-1, 1), steps=64).terms
    vector = UNIT[0] * (1 - 1e-9)
    lengths = [int(np.sum(rounded(terms, vector) ** 2)) for _ in range(200)]
    middle = sorted(lengths)[100]
    assert max(lengths) > middle
    tight = replace(terms, squared_norm=middle)
    again = [int(np.sum(rounded(tight, vector) ** 2)) for _ in range(200)]
    assert max(again) == middle


def test_weighted_vectors_are_rounded_to_what_is_proved_of_them() -> None:
    terms = planned(dimension=6, norm=1, range=(-1, 1), weighted=True).terms
    allowed = weighted_length(terms)
    weights = Weights.checked([0, 0.001, 0.2, 0.5, 0.9, 1], terms.high, 6)
    encoded = WeightedRows(terms, weights).encode(list(UNIT), STREAM, clip=False)
    for row in encoded.rows:
        assert row is not None
        *vector, weight = row.tolist()
        square = sum((each - origin(terms)) ** 2 for each in vector)
        assert square + weight**2 <= terms.squared_norm
        reach = allowed.numerator * weight + allowed.rounding
        assert allowed.denominator**2 * square <= reach**2


def test_every_vector_of_floats_that_was_scaled_to_the_norm_is_admitted() -> None:
    source = np.random.default_rng(5)
    for steps in (64, 2**12, 2**20, 2**29):
        terms = planned(dimension=5, norm=0.3, range=(-1, 1), steps=steps).terms
        bounds, plain = Bounds.of(terms), Plain(terms)
        for vector in source.normal(size=(20, 5)):
            short = vector / np.linalg.norm(vector) * 0.3
            encoded = plain.encode([short, *[None] * 5], STREAM, clip=False)
            assert encoded.scaled == 0
            assert np.linalg.norm(short) <= bounds.longest(5)
            assert bounds.longest(5) == pytest.approx(terms.longest * bounds.grid.step)
            with pytest.raises(OutOfRange):
                plain.encode([short * (1 + 30 / steps), *[None] * 5], STREAM, clip=False)


@pytest.mark.slow
def test_noise_is_added_and_what_liars_may_do_with_theirs_is_said() -> None:
    found = gopa.average(list(UNIT), norm=1, range=(-1, 1), **NOISY)
    assert np.all(abs(found.mean - UNIT.mean(axis=0)) < 6 * found.stderr)
    assert found.stderr.min() > 0.05
    text = str(found)
    assert ROW_MODES["full"] in text
    assert "noise    isotropic, law not proved for liars: along a direction" in text
    assert "inputs in range" not in text
    assert json.loads(found.to_json())["noise_of_liars"] == found.noise_of_liars
    bits = gopa.average([1.0] * 6, epsilon=None, corrupt=1)
    assert bits.noise_of_liars == ""
    assert "liars" not in str(bits)
    exact = gopa.average(list(UNIT), norm=1, range=(-1, 1), **EXACT)
    assert "may move one coordinate, at random, by one step" in str(exact)


def test_sums_of_positions_begin_where_the_grid_does() -> None:
    box = planned(dimension=5, range=(100, 103)).terms
    assert sums_of_positions(box, [0, -3], 4) == [2 * box.steps, 2 * box.steps - 3]
    weighted = planned(dimension=6, norm=1, weighted=True).terms
    assert sums_of_positions(weighted, [0, 7], 4) == [2 * weighted.steps, 7]
    assert sums_of_positions(replace(box, squared_norm=0), [5], 4) == [5]
    estimate = Plain(box).decode(NoisySum(np.array([2 * box.steps] * 5), 4, 0.0, exact=True))
    assert np.allclose(estimate.mean, 101.5)


def test_what_does_not_fit_says_what_to_change() -> None:
    terms = planned(dimension=5, norm=1, range=(-1, 1)).terms
    assert Plain(terms).terms is terms
    with pytest.raises(UsageError, match='plan with path="bits"') as caught:
        LocalAggregator(terms, vouched=True).average(list(UNIT))
    assert caught.value.field == "vouched"
    with pytest.raises(UsageError, match="plan without weighted=True"):
        LocalAggregator(planned(dimension=6, norm=1, weighted=True))
    with pytest.raises(UsageError, match="plan with weighted=True"):
        LocalAggregator(planned(dimension=6, norm=1, range=(-1, 1)), max_weight=1)
    short = planned(dimension=4, norm="0.8", range=(0, 1)).terms
    single = planned(dimension=4, norm="0.8", range=(0, 1), integers=True).terms
    assert OneHot(single, (0, 1, 2, 3, 4)).terms is single
    with pytest.raises(UsageError, match="norm of at least 1, or integers=True"):
        OneHot(short, (0, 1, 2, 3, 4))
    assert Moments(planned(dimension=2, range=(0, 1)).terms)
    with pytest.raises(UsageError, match="without a norm"):
        Moments(planned(dimension=2, range=(0, 1), norm="0.6").terms)


def test_a_box_admits_its_corners_and_nothing_beyond() -> None:
    terms = planned(dimension=7, range=(0, 1)).terms
    corner = Plain(terms).encode([np.ones(7), *[None] * 5], STREAM, clip=False).rows[0]
    assert corner is not None
    assert int(np.sum((corner - origin(terms)) ** 2)) <= terms.squared_norm
    assert math.isinf(Bounds.of(terms).longest(7))
    with pytest.raises(OutOfRange):
        Plain(terms).encode([np.full(7, 1.01), *[None] * 5], STREAM, clip=False)
