"""Private weights widen the vector by one coordinate."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gopa
from commitments import ristretto255
from commitments.group import Stream
from gopa.aggregation.encoding import VOUCHED, Bounds, Encoded, Encoding, NoisySum
from gopa.aggregation.values import InvalidWeight, OutOfRange
from gopa.aggregation.weighting import (
    WeightedBall,
    WeightedRange,
    Weights,
    encoding_with,
    largest_weight,
)
from gopa.planning import Terms
from gopa.planning.request import widened_norm
from tests.aggregation.plans import planned, terms
from tests.randomness import seeded
from wire.domains import ROUNDING, stream_domain
from wire.errors import UsageError
from wire.secret import SecretBytes

VALUES = [np.array([0.1, 0.9]), np.array([0.5, 0.25]), np.array([1.0, 0.0])] * 2


WEIGHTS = [10, 0, 3.5, 7, 1, 9.99]


NARROW = terms(dimension=3, steps=1000)


BALL = planned(
    n=50, dimension=10, norm=str(widened_norm(1, (-1, 1))), range=(-1, 1), mode="signed"
).terms


def stream(seed: object) -> Stream:
    return ristretto255().stream(SecretBytes(seeded(repr(seed))(32)), stream_domain(ROUNDING))


def exact_sum(encoded: Encoded) -> NoisySum:
    rows = [row for row in encoded.rows if row is not None]
    return NoisySum(np.sum(rows, axis=0), len(rows), 0.0, encoded.exact)


def weighted(terms: Terms, weights: list[float], *, proved: bool = True) -> Encoding:
    checked = Weights.checked(weights, Decimal(10), terms.parties)
    return encoding_with(checked, terms, proved=proved)


def test_no_coordinate_exceeds_the_weight() -> None:
    """What parties prove in full mode, for every rounding."""
    for seed in range(300):
        encoded = weighted(NARROW, WEIGHTS).encode(VALUES, stream(seed), clip=False)
        for row in encoded.rows:
            assert row is not None
            assert ((row[:-1] >= 0) & (row[:-1] <= row[-1])).all()
            assert row[-1] <= NARROW.steps


def test_the_quotient_is_the_weighted_mean() -> None:
    encoded = weighted(NARROW, WEIGHTS).encode(VALUES, stream(1), clip=False)
    found = weighted(NARROW, WEIGHTS).decode(exact_sum(encoded))
    expected = np.average(VALUES, axis=0, weights=WEIGHTS)
    assert found.defined
    assert np.allclose(found.mean, expected, atol=5 * found.mean_deviation.max())
    assert found.mean_deviation.max() < 0.002
    totals = np.sum([w * v for w, v in zip(WEIGHTS, VALUES, strict=True)], axis=0)
    assert np.allclose(found.total, totals, atol=5 * found.total_deviation.max())
    assert found.weight is not None
    assert math.isclose(found.weight, sum(WEIGHTS), rel_tol=0.002)


@pytest.mark.parametrize("kind", ["range", "ball"])
def test_rows_are_unbiased(kind: str) -> None:
    """Means of 2,000 roundings; 5 deviations, thirteen numbers: one alarm in 130,000 runs."""
    terms = NARROW if kind == "range" else BALL
    parties = terms.parties
    weights = [3.7123] * parties
    value = np.linspace(0.123, 0.256, terms.dimension - 1)
    values = [value] * parties
    encoding = weighted(terms, weights, proved=False)
    assert isinstance(encoding, WeightedRange if kind == "range" else WeightedBall)
    rows: list[Any] = []
    for seed in range(2000 // parties):
        rows.extend(encoding.encode(values, stream((kind, seed)), clip=False).rows)
    mean = np.mean(rows, axis=0)
    unit = terms.steps / (1 if kind == "range" else 2)
    low = 0 if kind == "range" else -1
    share = 0.37123
    expected = np.append(unit * (share * value - low), terms.steps * share)
    assert (np.abs(mean - expected) <= 5 * np.std(rows, axis=0) / math.sqrt(len(rows))).all()
    assert (np.var(rows, axis=0) > 0).all()


def test_the_deviation_is_that_of_the_quotient() -> None:
    """Delta method against 4,000 draws of normal noise: within 5 % (z about 4.5)."""
    random = np.random.default_rng(7)
    encoding = weighted(NARROW, WEIGHTS)
    total = exact_sum(encoding.encode(VALUES, stream(2), clip=False))
    noise = 40.0**2
    found = encoding.decode(NoisySum(total.sums, total.count, noise, exact=False))
    means = []
    for _ in range(4000):
        blurred = total.sums + np.rint(random.normal(0, 40, 3)).astype(np.int64)
        means.append(encoding.decode(NoisySum(blurred, total.count, noise, exact=False)).mean)
    assert np.allclose(np.std(means, axis=0), found.mean_deviation, rtol=0.05)


@pytest.mark.parametrize("terms", [NARROW, BALL], ids=["range", "ball"])
def test_weights_that_vanish_in_the_noise_are_not_divided_by(terms: Terms) -> None:
    encoding = weighted(terms, [1.0] * terms.parties, proved=False)
    values = [np.full(terms.dimension - 1, 0.1)] * terms.parties
    total = exact_sum(encoding.encode(values, stream(3), clip=False))
    weight = float(total.sums[-1])
    clear = encoding.decode(NoisySum(total.sums, total.count, (weight / 6) ** 2, exact=False))
    assert clear.defined
    lost = encoding.decode(NoisySum(total.sums, total.count, (weight / 4.9) ** 2, exact=False))
    assert not lost.defined
    assert np.isnan(lost.mean).all()
    assert np.isfinite(lost.total).all()
    negative = encoding.decode(NoisySum(-total.sums, total.count, 1.0, exact=False))
    assert not negative.defined


def test_weighted_vectors_are_no_further_apart_than_the_plan_counts_on() -> None:
    """The farthest inputs: opposite vectors of length 1 and all weight against none."""
    bounds = Bounds.of(BALL)
    assert bounds.reach is not None
    count = BALL.parties
    axes = np.eye(9)
    opposite = [axes[0], -axes[0], axes[1]]
    values = (opposite * count)[:count]
    for weights in ([10.0] * count, ([10.0, 0.0, 5.0] * count)[:count]):
        rows = weighted(BALL, weights, proved=False).encode(values, stream(4), clip=False).rows
        for first in rows[:6]:
            for second in rows[:6]:
                assert first is not None
                assert second is not None
                assert int(np.sum((first - second) ** 2)) <= BALL.squared_sensitivity
    too_long = [np.full(9, 0.7)] * count
    with pytest.raises(OutOfRange):
        weighted(BALL, [10.0] * count, proved=False).encode(too_long, stream(5), clip=False)
    found = weighted(BALL, [10.0] * count, proved=False).encode(too_long, stream(5), clip=True)
    assert found.scaled == count


def test_weights_of_parties_without_a_value_do_not_count() -> None:
    values = [np.full(9, 0.1)] * BALL.parties
    encoding = weighted(BALL, [1.0] * BALL.parties, proved=False)
    rows = encoding.encode([None, *values[1:]], stream(6), clip=False).rows
    assert [row is None for row in rows] == [True] + [False] * (BALL.parties - 1)


def test_weighted_vectors_of_bounded_length_need_a_range_with_zero() -> None:
    far = planned(n=50, dimension=4, norm=3, range=(1, 9)).terms
    values = [np.ones(3)] * far.parties
    assert weighted(BALL, [1.0] * BALL.parties, proved=False)
    with pytest.raises(UsageError) as caught:
        weighted(far, [1.0] * far.parties, proved=False).encode(values, stream(7), clip=True)
    assert caught.value.field == "range"


def test_a_norm_and_proved_weights_do_not_go_together() -> None:
    assert isinstance(weighted(NARROW, WEIGHTS, proved=True), WeightedRange)
    with pytest.raises(UsageError):
        weighted(BALL, [1.0] * BALL.parties, proved=True)


@pytest.mark.parametrize("wrong", [-1, 10.001, math.nan, math.inf, "heavy", "1", None, 10**400])
def test_weights_outside_their_range_are_refused(wrong: Any) -> None:
    Weights.checked(WEIGHTS, Decimal(10), 6)
    with pytest.raises(InvalidWeight) as caught:
        Weights.checked([*WEIGHTS[:4], wrong, 1], Decimal(10), 6)
    assert caught.value.party == 4
    assert caught.value.field == "weights[4]"


def test_there_is_one_weight_for_each_party_and_a_coordinate_for_it() -> None:
    with pytest.raises(UsageError) as caught:
        Weights.checked(WEIGHTS[:5], Decimal(10), 6)
    assert caught.value.field == "weights"
    with pytest.raises(UsageError):
        weighted(terms(), WEIGHTS)


@pytest.mark.parametrize("wrong", [0, -3, "inf", "nan", "much"])
def test_the_largest_weight_is_a_number_above_zero(wrong: Any) -> None:
    assert largest_weight("2.5") == Decimal("2.5")
    with pytest.raises(UsageError) as caught:
        largest_weight(wrong)
    assert caught.value.field == "max_weight"


def test_the_widened_norm_is_rounded_up() -> None:
    norm = widened_norm("0.1", ("-0.1", "0.1"))
    assert Fraction(1, 50) < Fraction(norm) ** 2 < Fraction(1, 50) * Fraction("1.000000001")
    assert widened_norm(3, (0, 8)) >= 5


def plan(epsilon: float | None = 40.0) -> gopa.Plan:
    return gopa.plan(
        n=5, epsilon=epsilon, delta="1e-4" if epsilon else None, corrupt=1, dropout=0.0,
        dimension=2, range=(-1, 1), norm=0.1, rounds=2, least_chance=0, mode="signed",
    )  # fmt: skip


def test_the_caller_answers_for_long_vectors_and_the_result_says_so() -> None:
    vectors = [np.array([0.9, -0.9])] * 5
    with (
        gopa.LocalAggregator(plan(), mode="signed", seed=1) as held,
        pytest.raises(gopa.OutOfRange),
    ):
        held.average(vectors)
    with gopa.LocalAggregator(plan(), mode="signed", seed=1, vouched=True) as free:
        found = free.average(vectors)
    assert np.abs(found.mean - vectors[0]).max() < 6 * found.stderr[0]
    assert found.privacy is not None
    assert found.privacy.assumptions[0] == VOUCHED
    with gopa.LocalAggregator(plan(None), mode="off", seed=1, vouched=True) as exact:
        assert np.allclose(exact.average(vectors).mean, vectors[0], atol=1e-4)


def test_the_range_still_holds_and_weights_do_not_mix_with_it() -> None:
    with gopa.LocalAggregator(plan(), mode="off", seed=1, vouched=True) as free:
        assert free.average([np.ones(2)] * 5)
        with pytest.raises(gopa.OutOfRange):
            free.average([np.full(2, 1.1)] * 5)
    with pytest.raises(UsageError) as caught:
        gopa.LocalAggregator(plan(), mode="off", max_weight=2, vouched=True)
    assert caught.value.field == "vouched"
