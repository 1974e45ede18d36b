"""Weighted means of ranges aside of zero, where lengths are proved from the middle."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import gopa
from commitments import ristretto255
from gopa.aggregation.encoding import Encoded, NoisySum
from gopa.aggregation.engine import fresh_stream
from gopa.aggregation.values import OutOfRange
from gopa.aggregation.weighting import WeightedRows, Weights, encoding_with
from gopa.auditing.described import estimates_of
from gopa.contract.row_terms import middle, origin, sums_of_positions
from gopa.planning import Plan
from tests.contract.samples import row_manifest
from tests.randomness import seeded
from wire.domains import ROUNDING

PARTIES, WIDTH = 12, 24
SPAN, MOST = (170, 190), 10
SOURCE = np.random.default_rng(11)
HEIGHTS = SOURCE.integers(0, 161, (PARTIES, WIDTH)) / 8 + 170
WEIGHTS = [0.0, 10.0, *SOURCE.integers(1, 10, PARTIES - 2).tolist()]
MEAN = np.average(HEIGHTS, axis=0, weights=WEIGHTS)


@lru_cache(maxsize=8)
def planned(**asked: Any) -> Plan:
    given = {"n": PARTIES, "epsilon": None, "dimension": WIDTH + 1, "range": SPAN, "corrupt": 1}
    return gopa.plan(**{**given, "weighted": True, "least_chance": 0, **asked})


def encoding(plan: Plan, weights: list[float] = WEIGHTS) -> WeightedRows:
    return WeightedRows(plan.terms, Weights.checked(weights, Decimal(MOST), plan.terms.parties))


def encoded(plan: Plan, seed: object, values: Any = HEIGHTS) -> Encoded:
    stream = fresh_stream(ristretto255(), seeded(repr(seed)), ROUNDING)
    return encoding(plan).encode(list(values), stream, clip=False)


def summed(rows: Encoded, noise: Any = 0, variance: float = 0.0) -> NoisySum:
    found = [row for row in rows.rows if row is not None]
    return NoisySum(np.sum(found, axis=0) + noise, len(found), len(found) * variance, exact=False)


def test_a_range_aside_of_zero_has_rows_and_a_ball_around_its_middle() -> None:
    found, around = planned(), planned(range=(-10, 10))
    assert (found.path, found.terms.steps) == ("rows", around.terms.steps)
    assert middle(found.terms) == 180
    assert found.terms.high - 180 == around.terms.high
    moved = replace(found.terms, low=around.terms.low, high=around.terms.high)
    assert moved == around.terms
    said = {reason.name: reason.why for reason in found.reasons}
    assert "from the middle of the range, 180" in said["length"]
    assert "middle" not in {reason.name: reason.why for reason in around.reasons}["length"]


def test_a_mean_on_the_grid_is_exact() -> None:
    """The corner is a point of the grid, and so is every number times its weight."""
    plan = planned(range=(175, 185), dimension=WIDTH + 2, steps=10_000)
    assert plan.terms.high - plan.terms.low == 50
    values = [180 + np.where(np.arange(WIDTH + 1) % (party + 2), -5, 5) for party in range(PARTIES)]
    rows = encoded(plan, "exact", values)
    total = summed(rows)
    terms = plan.terms
    assert total.sums[-1] == 1000 * sum(WEIGHTS)
    expected = sum(w * (v - 180) for w, v in zip(WEIGHTS, values, strict=True)) * 20
    assert (total.sums[:-1] - PARTIES * origin(terms) == expected).all()
    mean = np.average(values, axis=0, weights=WEIGHTS)
    assert np.allclose(encoding(plan).decode(total).mean, mean, rtol=1e-14, atol=0)


@pytest.mark.slow
def test_a_session_of_this_process_finds_the_mean() -> None:
    asked: dict[str, Any] = {"weights": WEIGHTS, "max_weight": MOST}
    found = gopa.average(list(HEIGHTS), range=SPAN, epsilon=None, corrupt=1, **asked)
    given = gopa.average(list(HEIGHTS), planned(), **asked)
    for each in (found, given):
        assert np.allclose(each.mean, MEAN, atol=6 * each.stderr.max())
        assert each.stderr.max() < 0.02
        assert each.weight == pytest.approx(sum(WEIGHTS), abs=0.05)
        assert "lengths of vectors" in str(each)
    with pytest.raises(OutOfRange, match="outside of the range from 170 to 190"):
        gopa.average([HEIGHTS[0] + 30, *HEIGHTS[1:]], range=SPAN, epsilon=None, corrupt=1, **asked)


def test_means_have_the_error_that_they_state() -> None:
    """Rounding and noise, 400 times: no bias beyond 5 deviations, and a spread of one."""
    plan, source = planned(epsilon=8, delta="1e-6", n=40), np.random.default_rng(2)
    variance = float(plan.terms.noise.variance)
    values = SOURCE.uniform(*SPAN, (40, WIDTH))
    weights = source.uniform(0, MOST, 40).tolist()
    mean, of = np.average(values, axis=0, weights=weights), encoding(plan, weights)
    stream = fresh_stream(ristretto255(), seeded("errors"), ROUNDING)
    apart = []
    for _ in range(400):
        noise = np.rint(source.normal(0, math.sqrt(40 * variance), WIDTH + 1)).astype(np.int64)
        found = of.decode(summed(of.encode(list(values), stream, clip=False), noise, variance))
        apart.append((found.mean - mean) / found.mean_deviation)
    assert np.abs(np.mean(apart, axis=0)).max() < 5 / math.sqrt(400)
    assert np.std(apart) == pytest.approx(1, abs=0.05)


def test_an_audit_computes_the_same_mean() -> None:
    plan = planned()
    total = summed(encoded(plan, "audit"))
    manifest = row_manifest(plan.terms, weighted=True, word_width=64)
    lengths = [each - PARTIES * origin(plan.terms) for each in total.sums[:-1].tolist()]
    sums = [*lengths, int(total.sums[-1])]
    assert sums_of_positions(plan.terms, sums, PARTIES) == total.sums.tolist()
    found = estimates_of(manifest, _Findings(sums, tuple(range(PARTIES))))  # type: ignore[arg-type]
    own = encoding(plan).decode(total)
    assert [float(each) for each in found.mean] == pytest.approx(own.mean.tolist(), abs=1e-8)
    errors = own.mean_deviation.tolist()
    assert [float(each) for each in found.stderr] == pytest.approx(errors, rel=1e-9)


class _Findings:
    """Is as much of the findings of a round as estimates are made of."""

    graph = None

    def __init__(self, sums: list[int], final: tuple[int, ...]) -> None:
        self.sums, self.final = sums, final


@pytest.mark.parametrize(
    "span", [("1000000.1", "1000001.1"), ("-0.3", "0.7"), ("-1e9", "-999999999.9"), ("0", "1e-9")]
)
def test_corners_are_admitted_although_floats_are_coarse(span: tuple[str, str]) -> None:
    plan = planned(range=span, dimension=26)
    ends = np.array([[float(each)] * 25 for each in span])
    values = [ends[party % 2] for party in range(PARTIES)]
    found = encoding(plan).decode(summed(encoded(plan, span, values)))
    mean = np.average(values, axis=0, weights=WEIGHTS)
    assert np.allclose(found.mean, mean, rtol=0, atol=6 * found.mean_deviation.max())
    far = [values[0] + (values[1] - values[0]) * 1.1, *values[1:]]
    far[0] = values[1] + (values[1] - values[0])
    with pytest.raises(OutOfRange, match="longer than the plan allows"):
        encoded(plan, "far", far)


def test_what_is_too_long_by_coarse_floats_alone_is_shortened() -> None:
    """Here floats are as far apart as the range is wide: no rounding would make that short."""
    plan = planned(range=(8 * 10**15, 8 * 10**15 + 1), dimension=101)
    values = [np.full(100, 8e15 + 1)] * PARTIES
    with_all = encoding(plan, [10.0] * PARTIES)
    stream = fresh_stream(ristretto255(), seeded("coarse"), ROUNDING)
    found = with_all.encode(values, stream, clip=False)
    assert not found.scaled
    for row in found.rows:
        assert row is not None
        beside = [each - origin(plan.terms) for each in row[:-1].tolist()]
        assert sum(each**2 for each in beside) + row[-1] ** 2 <= plan.terms.squared_norm
    with pytest.raises(OutOfRange):
        with_all.encode([values[0] + 2, *values[1:]], stream, clip=False)
    assert with_all.encode([values[0] + 2, *values[1:]], stream, clip=True).scaled


def test_a_middle_of_many_digits_is_rounded_and_the_ball_has_room() -> None:
    low, high = Decimal("0.1234567890123456789012345"), Decimal("1.1")
    terms = planned(range=(low, high), dimension=3).terms
    length = (terms.high - terms.low) / 2
    corner = max(Fraction(high) - middle(terms), middle(terms) - Fraction(low))
    assert len(terms.low.as_tuple().digits) <= 40
    assert middle(terms) != (Fraction(low) + Fraction(high)) / 2
    assert 2 * corner**2 <= Fraction(length) ** 2


@pytest.mark.parametrize("dimension", [2, 25])
def test_an_answer_is_no_worse_than_with_bits(dimension: int) -> None:
    """All have the largest weight and the middle of the range: the error that each path states."""
    asked = {"n": 50, "epsilon": 20, "delta": "1e-6", "dimension": dimension}
    heavy, errors = Weights.checked([MOST] * 50, Decimal(MOST), 50), {}
    for path in ("rows", "bits"):
        terms = planned(**asked, path=path).terms
        sums = np.array([25 * terms.steps] * (dimension - 1) + [50 * terms.steps])
        total = NoisySum(sums, 50, 50 * float(terms.noise.variance), exact=False)
        found = encoding_with(heavy, terms, proved=True).decode(total)
        assert np.allclose(found.mean, 180)
        errors[path] = float(found.mean_deviation.max())
    assert errors["rows"] < 1.01 * errors["bits"]
