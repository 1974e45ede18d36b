"""Randomised answers: exactly as private as asked for, and exactly as often right as they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pytest

from gopa.noise import HadamardBit, RandomisedResponse, hadamard_bit, randomised_response, responses
from gopa.noise.laplace import TOTAL
from tests.group.backends import installed_groups
from tests.noise.samples import MILLION, SEED, UNLIKELY
from wire.errors import UsageError
from zkp.noise import Enclosure, exp_of_minus

VALUES = [2, 3, 4, 5, 9, 10, 64, 1001]
EPSILONS = [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(5), Fraction(80)]


def offsets(response: RandomisedResponse) -> list[int]:
    """The masses of every report less the truth, modulo the number of values, by enumeration."""
    law = responses._offsets("test", response.values, response.epsilon)
    masses = [0] * response.values
    (digit,) = law.digits
    for draw in range(-digit.radius, digit.radius + 1):
        masses[draw % response.values] += digit.mass(draw)
    return masses


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_local_privacy_by_enumeration(values: int, epsilon: Fraction) -> None:
    """All reports of all truths: the chances of one report differ by exp(epsilon) at most."""
    response = RandomisedResponse(values, epsilon)
    masses = offsets(response)
    assert sum(masses) == TOTAL
    assert [Fraction(mass, TOTAL) for mass in masses[1:]] == [response.other] * (values - 1)
    assert Fraction(masses[0], TOTAL) == response.keep >= response.other
    with gmpy2.context(precision=400):
        factor = gmpy2.exp(gmpy2.mpfr(epsilon.numerator) / epsilon.denominator)
        assert masses[0] <= factor * masses[1]
        # With one step less for each of the others the bound would not hold.
        less = masses[1] - (1 if values % 2 else 2)
        assert TOTAL - (values - 1) * less > factor * less
        ideal = 1 / (factor + values - 1)
        distance = (values - 1) * (gmpy2.mpfr(masses[1]) / TOTAL - ideal)
        bound = response.truncation
        assert 0 <= distance <= gmpy2.mpfr(bound.numerator) / bound.denominator


def test_an_undecided_table_asks_for_more_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = responses._other.__wrapped__(5, Fraction(1))

    def blurred(numerator: int, denominator: int, precision: int) -> Enclosure:
        low, high = exp_of_minus(numerator, denominator, precision)
        return Enclosure(low, high + (1 << 200) * (precision < 500))

    monkeypatch.setattr(responses, "exp_of_minus", blurred)
    assert responses._other.__wrapped__(5, Fraction(1)) == expected


@pytest.mark.parametrize("values", [2, 3, 10, 64])
def test_a_million_reports(values: int) -> None:
    """Chi-square over all pairs of truth and report; a report of half the privacy is noticed."""
    truth = np.arange(MILLION) % values
    response = randomised_response(values, 1)
    assert deviation(response, truth, response.report(truth, SEED)) < UNLIKELY
    weaker = randomised_response(values, 2).report(truth, SEED)
    assert deviation(response, truth, weaker) > UNLIKELY


def deviation(response: RandomisedResponse, truth: Any, reports: Any) -> float:
    k = response.values
    counts = np.bincount(truth * k + reports, minlength=k * k).reshape(k, k)
    means = np.full((k, k), float(response.other)) * len(truth) / k
    np.fill_diagonal(means, float(response.keep) * len(truth) / k)
    freedom = k * (k - 1)
    return float(((counts - means) ** 2 / means).sum() - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("values", [2, 7, 8])
def test_backends_agree_and_the_truth_only_moves_reports(values: int) -> None:
    """So nothing but the sum of truth and offset depends on the truth."""
    truth = np.arange(300).reshape(3, 100) % values
    response = randomised_response(values, 0.5)
    zero = response.report(np.zeros_like(truth), SEED)
    for group in installed_groups():
        reports = response.report(truth, SEED, group=group)
        assert reports.tolist() == ((truth + zero) % values).tolist()
    assert truth.max() < values
    assert response.report(truth.tolist(), SEED).tolist() == reports.tolist()
    assert response.report(truth.astype(np.uint8), SEED).tolist() == reports.tolist()
    assert response.report(values - 1, SEED).shape == ()
    assert response.report([], SEED).shape == (0,)


def test_signs_are_those_of_the_matrix() -> None:
    """With a large epsilon every sign is true: the matrix of Sylvester, and large indices."""
    matrix = np.array([[1]])
    for _ in range(5):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    sure = hadamard_bit(100)
    assert (sure.report(np.arange(32)[:, None], np.arange(32), SEED) == matrix).all()
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 2**63 - 1, (2, 200), endpoint=True)
    expected = [
        1 - 2 * ((int(i) & int(j)).bit_count() % 2) for i, j in zip(rows, columns, strict=True)
    ]
    assert sure.report(rows, columns, SEED).tolist() == expected
    assert sure.report(2**63 - 1, 1, SEED).item() == -1


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_a_million_signs(epsilon: float) -> None:
    bit, columns = hadamard_bit(epsilon), np.arange(MILLION)
    reports = bit.report(5, columns, SEED)
    true = hadamard_bit(100).report(5, columns, SEED)
    kept, keep = float(np.mean(reports == true)), float(bit.keep)
    assert keep == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert abs(kept - keep) < 4.5 * math.sqrt(keep * (1 - keep) / MILLION)
    assert set(np.unique(reports)) == {-1, 1}


def test_bits_and_responses_have_flips_of_their_own() -> None:
    """One seed for both would give away how often both were flipped together."""
    zeros = np.zeros(10_000, dtype=np.int64)
    flips = hadamard_bit(1).report(zeros, 0, SEED) < 0
    others = randomised_response(2, 1).report(zeros, SEED)
    assert abs(np.corrcoef(flips, others)[0, 1]) < 0.05
    assert hadamard_bit(1).truncation == randomised_response(2, 1).truncation > 0


@pytest.mark.parametrize("bad", [0, -1, 1e-10, 101, math.nan, math.inf, "1", None, True], ids=repr)
def test_other_epsilons_are_refused(bad: Any) -> None:
    assert randomised_response(3, np.float64(0.5)).epsilon == hadamard_bit(0.5).epsilon
    calls: list[Callable[[], object]] = [
        lambda: randomised_response(3, bad),
        lambda: hadamard_bit(bad),
    ]
    for call in calls:
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.field == "epsilon"
    calls = [lambda: RandomisedResponse(3, bad), lambda: HadamardBit(bad)]
    for direct in calls:
        with pytest.raises(UsageError):
            direct()


@pytest.mark.parametrize("bad", [1, 0, -3, 2**20 + 1, 3.0, "3", None, True], ids=repr)
def test_other_numbers_of_values_are_refused(bad: Any) -> None:
    assert randomised_response(np.int64(3), 1).values == 3  # type: ignore[arg-type]
    calls: list[Callable[[], object]] = [
        lambda: randomised_response(bad, 1),
        lambda: RandomisedResponse(bad, Fraction(1)),
    ]
    for call in calls:
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.field == "values"


BAD_TRUTHS: list[Any] = [
    [3],
    [-1],
    [0.0],
    [True],
    ["1"],
    [None],
    [2**70],
    [[1], [1, 2]],
    [math.nan],
]


@pytest.mark.parametrize("bad", BAD_TRUTHS, ids=repr)
def test_other_truths_are_refused(bad: Any) -> None:
    response, bit = randomised_response(3, 1), hadamard_bit(1)
    assert response.report([2], SEED).shape == bit.report([2], [2], SEED).shape == (1,)
    with pytest.raises(UsageError) as caught:
        response.report(bad, SEED)
    assert caught.value.field == "truth"
    if bad != [3]:
        with pytest.raises(UsageError) as caught:
            bit.report([1], bad, SEED)
        assert caught.value.field == "columns"


def test_shapes_that_do_not_fit_are_refused() -> None:
    assert hadamard_bit(1).report(np.zeros((2, 1), int), np.zeros(3, int), SEED).shape == (2, 3)
    with pytest.raises(UsageError):
        hadamard_bit(1).report(np.zeros(2, int), np.zeros(3, int), SEED)
