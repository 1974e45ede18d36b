"""Rounding to the grid is exact and unbiased."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gopa
from commitments import ristretto255
from commitments.group import Stream
from gopa.aggregation.encoding import Bounds, Encoded, NoisySum
from gopa.aggregation.engine import fresh_stream
from gopa.aggregation.grid import Grid, round_exactly
from gopa.aggregation.values import InvalidValue, OutOfRange, Structure
from gopa.aggregation.weighting import WeightedRows, Weights, encoding_with
from gopa.auditing.described import estimates_of
from gopa.contract.row_terms import middle, origin, sums_of_positions
from gopa.planning import Plan
from gopa.support.arrays import Floats
from tests.aggregation.plans import planned, terms
from tests.contract.samples import row_manifest
from tests.randomness import seeded
from wire.domains import ROUNDING, stream_domain
from wire.secret import SecretBytes

GROUP = ristretto255()


DECIMALS = st.decimals(-1000, 1000, places=3)


WORDS = 2**64


def stream(seed: int | str) -> Stream:
    return GROUP.stream(SecretBytes(seeded(seed)(32)), stream_domain(ROUNDING))


def rounded_slowly(grid: Grid, values: Floats, words: Stream) -> list[int]:
    """The definition: floor(t + V) with V from 64 bits, which decide nearly always."""
    found = []
    drawn = words.bits(64, len(values))
    for value, word in zip(values, drawn, strict=True):
        position = grid.position(float(value))
        low = math.floor(position + Fraction(word, WORDS))
        assert low == math.ceil(position + Fraction(word + 1, WORDS)) - 1
        found.append(low)
    return found


@given(
    st.tuples(DECIMALS, DECIMALS).filter(lambda ends: ends[0] < ends[1]),
    st.integers(1, 2**40),
    st.integers(0, 2**32),
)
def test_the_fast_way_decides_as_the_definition(
    ends: tuple[Decimal, Decimal], steps: int, seed: int
) -> None:
    grid = Grid(*ends, steps)
    low, high = grid.ends
    values = np.clip(np.random.default_rng(seed).uniform(low, high, 20), low, high)
    values[:2] = low, high
    found = grid.round(values, stream(seed)).tolist()
    assert found == rounded_slowly(grid, values, stream(seed))
    assert found[0] == 0
    assert found[1] == steps


@given(st.decimals(1, 10**12, places=2), st.integers(0, 2**32))
def test_ranges_far_from_zero_are_decided_exactly(offset: Decimal, seed: int) -> None:
    grid = Grid(offset, offset + Decimal("0.01"), 1000)
    low, high = grid.ends
    values = np.clip(np.random.default_rng(seed).uniform(low, high, 10), low, high)
    assert grid.round(values, stream(seed)).tolist() == rounded_slowly(grid, values, stream(seed))


def test_floats_equal_to_an_end_are_that_end() -> None:
    """0.1 as a float is above one tenth, 0.3 is below three tenths."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert Fraction(0.3) < Fraction(3, 10)
    grid = Grid(Decimal("-0.1"), Decimal("0.1"), 7)
    ends = np.array([-0.1, 0.1] * 500)
    assert set(grid.round(ends, stream(1)).tolist()) == {0, 7}
    assert grid.position(0.1) == 7
    assert grid.position(-0.1) == 0
    assert 6 < Grid(Decimal("-0.3"), Decimal("0.3"), 7).position(0.3) <= 7


class Chosen:
    """A stream that says what it is told."""

    def __init__(self, *data: bytes) -> None:
        self._data = list(data)

    def bytes(self, n: int) -> bytes:
        assert n == 8
        return self._data.pop(0)


def test_bits_are_drawn_until_the_decision_is_made() -> None:
    third = Fraction(1, 3)
    undecided = (2 * WORDS) // 3  # the first 64 bits of 2/3: 1/3 + V is 1 within 2^-64
    up = Chosen((WORDS - 1).to_bytes(8, "little"))
    down = Chosen((0).to_bytes(8, "little"))
    assert round_exactly(third, undecided, up) == 1  # type: ignore[arg-type]
    assert round_exactly(third, undecided, down) == 0  # type: ignore[arg-type]
    again = (2 * WORDS // 3).to_bytes(8, "little")
    longer = Chosen(again, again, (0).to_bytes(8, "little"))
    assert round_exactly(third, undecided, longer) == 0  # type: ignore[arg-type]
    assert round_exactly(third, undecided - 1, Chosen()) == 0  # type: ignore[arg-type]
    assert round_exactly(third, undecided + 1, Chosen()) == 1  # type: ignore[arg-type]


def test_positions_on_the_grid_never_move() -> None:
    values = np.arange(-3.0, 4.0)
    grid = Grid(Decimal(-3), Decimal(3), 60)
    for seed in range(200):
        assert grid.round(values, stream(seed)).tolist() == [10 * i for i in range(7)]


def test_rounding_is_unbiased() -> None:
    """Each count of upward moves is binomial; one false alarm in about 3,000 runs (z < 4 of 8)."""
    grid = Grid(Decimal(0), Decimal(1), 10)
    draws = 40_000
    for seed, value in enumerate([0.01, 0.049, 0.1, 0.25, 0.333, 0.5, 0.97, 0.999]):
        position = grid.position(value)
        up = position - math.floor(position)
        moved = grid.round(np.full(draws, value), stream(seed)) - math.floor(position)
        assert set(moved.tolist()) <= {0, 1}
        expected = float(draws * up)
        deviation = math.sqrt(expected * (1 - float(up)))
        assert abs(int(moved.sum()) - expected) <= 4 * deviation


@pytest.mark.parametrize(
    ("ends", "steps", "rounded"),
    [((0, 1), 8, 1), ((0, 2), 8, 1), ((0, 3), 8, 5), (("0.5", 2), 6, 5), ((-2, 2), 4, 1)],
    ids=str,
)
def test_integers_are_counted_as_exact_only_where_the_grid_holds_them(
    ends: tuple[object, object], steps: int, rounded: int
) -> None:
    grid = Grid(Decimal(str(ends[0])), Decimal(str(ends[1])), steps)
    values = np.array([1.0, 1.0, 1.0, 1.0, 0.75])
    assert grid.count_rounded(values) == rounded


BOX = Structure.of(np.zeros(4))


PLAN = planned(n=50, dimension=4, norm=1, range=(-1, 1))


WITH_NORM: dict[str, Any] = {"n": 50, "dimension": 4, "norm": 1, "range": (-1, 1)}


def test_values_at_both_ends_pass_and_those_beyond_do_not() -> None:
    bounds = Bounds(Grid(Decimal("-0.1"), Decimal("0.3"), 10), None)
    values = np.array([-0.1, 0.3, 0.0, 0.1])
    assert bounds.admit(values, BOX, 2, clip=False).values is values
    for wrong in (math.nextafter(-0.1, -1), math.nextafter(0.3, 1), 17.25):
        with pytest.raises(OutOfRange) as caught:
            bounds.admit(np.array([0.0, 0.1, wrong, wrong]), BOX, 2, clip=False)
        assert (caught.value.party, caught.value.coordinate) == (2, "[2]")
        assert caught.value.field == "values[2][2]"
        assert isinstance(caught.value, InvalidValue)


def test_errors_name_no_value_and_survive_pickling() -> None:
    bounds = Bounds(Grid(Decimal(0), Decimal(1), 10), None)
    with pytest.raises(OutOfRange) as caught:
        bounds.admit(np.array([0, 0, 0, 123.456]), BOX, 5, clip=False)
    assert "123" not in str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert type(copy) is OutOfRange
    assert (copy.party, copy.coordinate, str(copy)) == (5, "[3]", str(caught.value))


def test_clipping_moves_to_the_nearest_end_and_counts() -> None:
    bounds = Bounds(Grid(Decimal(0), Decimal(1), 10), None)
    admitted = bounds.admit(np.array([-5.0, 0.5, 1.5, 1.0]), BOX, 0, clip=True)
    assert admitted.values.tolist() == [0.0, 0.5, 1.0, 1.0]
    assert (admitted.clipped, admitted.scaled) == (2, False)


@pytest.mark.parametrize("integers", [False, True])
def test_a_vector_as_long_as_the_plan_says_passes(integers: bool) -> None:
    norm = 5 if integers else 1
    plan = planned(**{**WITH_NORM, "norm": norm, "range": (-norm, norm), "integers": integers})
    bounds = Bounds.of(plan.terms)
    longest = np.array([3.0, 0.0, 4.0, 0.0]) * (norm / 5)
    assert not bounds.admit(longest, BOX, 0, clip=False).scaled
    with pytest.raises(OutOfRange) as caught:
        bounds.admit(longest * 1.2, BOX, 7, clip=False)
    assert caught.value.party == 7
    if integers:
        with pytest.raises(OutOfRange):
            bounds.admit(longest + np.array([1.0, 0, 0, 0]), BOX, 7, clip=False)


@given(st.integers(0, 2**32), st.booleans())
def test_admitted_vectors_are_never_further_apart_than_the_plan_counts_on(
    seed: int, opposite: bool
) -> None:
    """Whatever the rounding: every coordinate may move by one step, outwards."""
    bounds = Bounds.of(PLAN.terms)
    random = np.random.default_rng(seed)
    first = random.normal(size=4)
    raw = (first, -first if opposite else random.normal(size=4))
    scales = 10 ** random.uniform(-2, 2, 2)
    longer = [vector * scale for vector, scale in zip(raw, scales, strict=True)]
    pair = [bounds.admit(vector, BOX, 0, clip=True).values for vector in longer]
    steps = [np.array([float(bounds.grid.position(x)) for x in vector]) for vector in pair]
    one, other = (np.stack([np.floor(each), np.ceil(each)]) for each in steps)
    apart = np.maximum(one[1] - other[0], other[1] - one[0])
    assert float(np.sum(apart**2)) <= PLAN.terms.squared_sensitivity


def test_shortening_keeps_the_direction_and_is_counted() -> None:
    bounds = Bounds.of(PLAN.terms)
    vector = np.array([3.0, -4.0, 12.0, 84.0])
    admitted = bounds.admit(vector, BOX, 0, clip=True)
    assert admitted.scaled
    assert admitted.clipped == 0
    assert np.allclose(admitted.values / np.linalg.norm(admitted.values), vector / 85)
    assert math.isclose(float(np.linalg.norm(admitted.values)), bounds.longest(4), rel_tol=1e-9)
    assert 1 <= bounds.longest(4) < 1.02


def test_vectors_are_not_shortened_towards_a_forbidden_zero() -> None:
    plan = planned(n=50, dimension=4, norm=3, range=(1, 9))
    bounds = Bounds.of(plan.terms)
    assert bounds.reach is not None
    bounds.admit(np.array([1.0, 1.0, 1.0, 1.0]), BOX, 0, clip=True)
    with pytest.raises(OutOfRange):
        bounds.admit(np.array([5.0, 5.0, 5.0, 5.0]), BOX, 0, clip=True)


def test_what_stands_beside_a_vector_may_leave_it_no_room() -> None:
    bounds = Bounds.of(PLAN.terms)
    vector = np.full(4, 0.9)
    admitted = bounds.admit(vector, BOX, 0, clip=True, beside=0.5)
    whole = math.hypot(float(np.linalg.norm(admitted.values)), 0.5)
    assert math.isclose(whole, bounds.longest(5), rel_tol=1e-9)
    with pytest.raises(OutOfRange) as caught:
        bounds.admit(vector, BOX, 2, clip=True, beside=1.5)
    assert caught.value.party == 2


def test_a_plan_without_a_norm_bounds_no_length() -> None:
    bounds = Bounds.of(terms(dimension=4))
    assert bounds.reach is None
    assert bounds.longest(4) == math.inf
    bounds.admit(np.ones(4), BOX, 0, clip=False)


PARTIES, WIDTH = 12, 24


SPAN, MOST = (170, 190), 10


SOURCE = np.random.default_rng(11)


HEIGHTS = SOURCE.integers(0, 161, (PARTIES, WIDTH)) / 8 + 170


WEIGHTS = [0.0, 10.0, *SOURCE.integers(1, 10, PARTIES - 2).tolist()]


MEAN = np.average(HEIGHTS, axis=0, weights=WEIGHTS)


@lru_cache(maxsize=8)
def planned_centre(**asked: Any) -> Plan:
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
    found, around = planned_centre(), planned_centre(range=(-10, 10))
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
    plan = planned_centre(range=(175, 185), dimension=WIDTH + 2, steps=10_000)
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
    given = gopa.average(list(HEIGHTS), planned_centre(), **asked)
    for each in (found, given):
        assert np.allclose(each.mean, MEAN, atol=6 * each.stderr.max())
        assert each.stderr.max() < 0.02
        assert each.weight == pytest.approx(sum(WEIGHTS), abs=0.05)
        assert "lengths of vectors" in str(each)
    with pytest.raises(OutOfRange, match="outside of the range from 170 to 190"):
        gopa.average([HEIGHTS[0] + 30, *HEIGHTS[1:]], range=SPAN, epsilon=None, corrupt=1, **asked)


def test_means_have_the_error_that_they_state() -> None:
    """Rounding and noise, 200 times: no bias beyond 5 deviations, and a spread of one."""
    plan, source = planned_centre(epsilon=8, delta="1e-6", n=40), np.random.default_rng(2)
    variance = float(plan.terms.noise.variance)
    values = SOURCE.uniform(*SPAN, (40, WIDTH))
    weights = source.uniform(0, MOST, 40).tolist()
    mean, of = np.average(values, axis=0, weights=weights), encoding(plan, weights)
    stream = fresh_stream(ristretto255(), seeded("errors"), ROUNDING)
    apart = []
    for _ in range(200):
        noise = np.rint(source.normal(0, math.sqrt(40 * variance), WIDTH + 1)).astype(np.int64)
        found = of.decode(summed(of.encode(list(values), stream, clip=False), noise, variance))
        apart.append((found.mean - mean) / found.mean_deviation)
    assert np.abs(np.mean(apart, axis=0)).max() < 5 / math.sqrt(200)
    assert np.std(apart) == pytest.approx(1, abs=0.05)


def test_an_audit_computes_the_same_mean() -> None:
    plan = planned_centre()
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
    plan = planned_centre(range=span, dimension=26)
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
    plan = planned_centre(range=(8 * 10**15, 8 * 10**15 + 1), dimension=101)
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
    terms = planned_centre(range=(low, high), dimension=3).terms
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
        terms = planned_centre(**asked, path=path).terms
        sums = np.array([25 * terms.steps] * (dimension - 1) + [50 * terms.steps])
        total = NoisySum(sums, 50, 50 * float(terms.noise.variance), exact=False)
        found = encoding_with(heavy, terms, proved=True).decode(total)
        assert np.allclose(found.mean, 180)
        errors[path] = float(found.mean_deviation.max())
    assert errors["rows"] < 1.01 * errors["bits"]
