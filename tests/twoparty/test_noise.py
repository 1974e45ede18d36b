"""Noise of circuits: exactly, over all coins, and by counts of real runs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gopa import UsageError, noise
from gopa.twoparty import (
    Builder,
    Circuit,
    Evaluator,
    Garbler,
    LaplaceNoise,
    RandomisedAnswer,
    comparison,
    concordance,
    distance,
    laplace_noise,
    randomised_answer,
)
from tests.randomness import seeded
from tests.twoparty.runs import Pair, pair
from wire.randomness import Rng


def over_all_coins(circuit: Circuit, mine: list[int], yours: list[int]) -> dict[int, int]:
    """How often each result occurs over all coins of one party, whatever those of the other are."""
    count = 1 << circuit.coins
    coins = (np.arange(count)[:, None] >> np.arange(circuit.coins) & 1).astype(np.bool_)
    other = np.broadcast_to(np.arange(circuit.coins) % 3 == 0, coins.shape)
    fixed = [np.tile(np.array(bits, np.bool_), (count, 1)) for bits in (mine, yours)]
    laws = []
    for garblers, evaluators in ((coins, other), (other, coins)):
        sides = np.hstack([fixed[0], garblers]), np.hstack([fixed[1], evaluators])
        values, counts = np.unique(circuit.compute(*sides), return_counts=True)
        laws.append(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    assert laws[0] == laws[1]
    return laws[0]


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 2.5])
@pytest.mark.parametrize("values", [2, 3, 5])
def test_answers_have_their_exact_chances(values: int, epsilon: float | Fraction) -> None:
    law = randomised_answer(values, epsilon, coins=14)
    for truth in range(values):
        build = Builder()
        word = build.word("garbler", (values - 1).bit_length())
        circuit = build.build(law.apply(build, word, 0, values)[0])
        bits = [truth >> place & 1 for place in range(len(word))]
        found = over_all_coins(circuit, bits, [])
        expected = dict.fromkeys(range(values), law.numerator)
        expected[truth] = (1 << 14) - (values - 1) * law.numerator
        assert found == expected


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(8)])
@pytest.mark.parametrize("values", [2, 3, 64])
def test_answers_keep_their_epsilon(values: int, epsilon: Fraction) -> None:
    """Rounded towards more noise, by less than one coin too much, and never past no answer."""
    for coins in (20, 60, 120) if epsilon > Fraction(1, 100) else (60, 120):
        law = randomised_answer(values, epsilon, coins=coins)
        low, high = enclosure(epsilon)
        assert law.other < law.keep <= low * law.other
        less = Fraction(law.numerator - 1, 1 << coins)
        assert 1 - (values - 1) * less > high * less


@pytest.mark.parametrize(
    ("values", "epsilon", "coins"),
    [(2, 1e-9, 20), (3, 1e-9, 20), (15, 0.05, 8), (34, 1e-9, 9), (64, 1, 9), (2, 40, 20)],
)
def test_chances_that_so_few_coins_cannot_give_are_refused(
    values: int, epsilon: float, coins: int
) -> None:
    """Rounded up, the others' chance may pass that of the truth: 4.5 times it in the third case."""
    assert randomised_answer(values, epsilon, coins=120).numerator >= 16
    with pytest.raises(UsageError) as caught:
        randomised_answer(values, epsilon, coins=coins)
    assert caught.value.field == "coins"


def enclosure(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """e^epsilon from below and above, by its series."""
    total = term = Fraction(1)
    for k in range(1, 120):
        term *= epsilon / k
        total += term
    return total, total + term


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20)])
def test_laplace_noise_has_its_exact_chances(scale: Fraction) -> None:
    law = LaplaceNoise(scale, 3, 4)
    circuit = distance(2, law)
    found = over_all_coins(circuit, [1, 1], [0, 0])  # the largest distance: |3 - 0|
    expected = {value: int(law.probability(value) * 2**16) for value in range(-8, 8)}
    assert sum(expected.values()) == 2**16
    assert found == {3 + value: count for value, count in expected.items() if count}
    assert law.probability(8) == law.probability(-9) == 0


@pytest.mark.parametrize("scale", [Fraction(1, 32), 1, 2.3, 100, 2**20, 2**32])
def test_laplace_noise_is_as_near_to_its_law_as_it_says(scale: float | Fraction) -> None:
    """The distance is added up where it can be; each chance is that of the bit it stands for."""
    for truncation in (Fraction(1, 2**20), Fraction(1, 2**40)):
        law = laplace_noise(scale, truncation=truncation)
        assert law.truncation <= truncation
        coarser = LaplaceNoise(law.scale, law.magnitude, law.coins - 1)
        assert coarser.truncation > truncation / 2
        powers = [1, *(2**place for place in range(law.magnitude))]
        for power, numerator in zip(powers, law.numerators, strict=True):
            exact = 1 / (1 + math.exp(min(700, power / float(scale))))
            assert math.isclose(numerator / 2**law.coins, exact, abs_tol=1e-12 + 2**-law.coins)


@pytest.mark.parametrize(
    ("law", "share"),
    [
        *((laplace_noise(scale, truncation=2**-20), 1e-4) for scale in (Fraction(1, 2), 1, 5)),
        (LaplaceNoise(Fraction(5), 4, 40), 0.999),  # cut off
        (LaplaceNoise(Fraction(2), 8, 9), 0.01),  # rounded
    ],
)
def test_the_distance_to_the_exact_table_is_within_the_truncation(
    law: LaplaceNoise, share: float
) -> None:
    whole = noise.discrete_laplace(law.scale)
    ends = range(-whole.largest - 2, whole.largest + 3)
    distance = sum((abs(law.probability(x) - whole.probability(x)) for x in ends), Fraction(0)) / 2
    assert 0 < distance <= law.truncation + whole.truncation
    assert distance > share * law.truncation


def test_what_is_charged() -> None:
    law = laplace_noise(2)
    assert law.charged(1) == 4 * law.truncation
    assert law.charged(0.5, 10) == 40 * law.truncation
    assert law.charged(1000) == 1
    assert law.charged(1) < Fraction(1, 2**38)
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(UsageError):
            law.charged(wrong)
    assert law.charged(1, 0) == 0
    draws: Any
    for draws in (-1, math.nan):
        with pytest.raises(UsageError):
            law.charged(1, draws)


def test_noise_that_cannot_be_is_refused() -> None:
    assert randomised_answer(2, 0.5) == randomised_answer(2, Fraction(1, 2))
    wrong: Any
    for same in (0.25, np.float32(0.25), np.float64(0.25), Fraction(1, 4)):
        allowed: Any = same
        assert laplace_noise(allowed) == laplace_noise(Fraction(1, 4))
    assert laplace_noise(0.1).scale == Fraction(1, 10)
    for wrong in (0, -1, math.nan, math.inf, 101, True, "1", None, 40):
        with pytest.raises(UsageError):
            randomised_answer(2, wrong)
    for wrong in (1, 65, 2.0, True, None):
        with pytest.raises(UsageError):
            randomised_answer(wrong, 1)
    for wrong in (7, 121, 20.0):
        with pytest.raises(UsageError):
            randomised_answer(2, 1, coins=wrong)
    for wrong in (0, -1, math.nan, math.inf, 2**33, "1", None):
        with pytest.raises(UsageError):
            laplace_noise(wrong)
    for wrong in (0, -1, 1, 2.0**-101, math.nan):
        with pytest.raises(UsageError):
            laplace_noise(1, truncation=wrong)
    for wrong in (1.0, "laplace", Fraction(1)):
        with pytest.raises(UsageError):
            comparison(4, wrong)
    for circuit, values in ((comparison, 2), (concordance, 3), (distance, 16)):
        assert circuit(4, randomised_answer(values, 1)).coins == 20
        with pytest.raises(UsageError):
            circuit(4, randomised_answer(values + 1, 1))


def counted(circuit: Circuit, mine: list[int], yours: list[int], runs: int) -> dict[int, int]:
    """How often real runs gave each result."""
    rng, found = seeded("counts"), dict[int, int]()
    for _ in range(runs):
        result, _ = pair(circuit, mine, yours, rng=rng).run()
        found[result] = found.get(result, 0) + 1
    return found


def stuck(seed: str) -> Rng:
    """A source whose coins, the first that a party draws, are always zero."""
    rng, first = seeded(seed), True

    def draw(count: int) -> bytes:
        nonlocal first
        drawn, first = bytes(count) if first else rng(count), False
        return drawn

    return draw


@pytest.mark.parametrize("role", ["garbler", "evaluator", "nobody"])
def test_the_coins_of_one_party_are_enough(role: str) -> None:
    circuit, results = comparison(2, randomised_answer(2, 0.01)), set()
    for run in range(16):
        rngs = [
            (seeded if side == role else stuck)(f"{side} {run}")
            for side in ("garbler", "evaluator")
        ]
        garbler = Garbler(circuit, [1], context=b"", rng=rngs[0])
        evaluator = Evaluator(circuit, [2], context=b"", rng=rngs[1])
        results.add(Pair(garbler, evaluator).run()[0])
    assert results == ({0, 1} if role != "nobody" else {0})


def fits(found: dict[int, int], exact: dict[int, Fraction]) -> float:
    """The p-value of a chi-square test; rare results count together."""
    runs = sum(found.values())
    assert set(found) <= set(exact)
    rare = {value for value, chance in exact.items() if chance * runs < 5}
    kept = [(found.get(value, 0), chance) for value, chance in exact.items() if value not in rare]
    left = runs - sum(count for count, _ in kept)
    counts = [*(count for count, _ in kept), left]
    chances = [float(chance * runs) for _, chance in kept]
    expected = [*chances, runs - sum(chances)]
    if expected[-1] < 1:
        counts, expected = counts[:-1], [each * sum(counts[:-1]) / sum(chances) for each in chances]
    return float(stats.chisquare(counts, expected).pvalue)


def answer_table(law: RandomisedAnswer, truth: int, low: int) -> dict[int, Fraction]:
    return {low + k: law.keep if low + k == truth else law.other for k in range(law.values)}


@pytest.mark.parametrize("runs", [40, pytest.param(5000, marks=pytest.mark.soak)])
def test_real_answers_follow_the_exact_law(runs: int) -> None:
    law = randomised_answer(2, 1)
    found = counted(comparison(4, law), [3], [5], runs)
    assert fits(found, answer_table(law, 1, 0)) > 1e-4
    assert fits(found, answer_table(law, 0, 0)) < 1e-4
    law = randomised_answer(3, 1)
    found = counted(concordance(3, law), [3, 1], [5, 0], runs)
    assert fits(found, answer_table(law, -1, -1)) > 1e-4


@pytest.mark.parametrize("runs", [25, pytest.param(5000, marks=pytest.mark.soak)])
def test_real_laplace_noise_follows_the_exact_law(runs: int) -> None:
    law = laplace_noise(2)
    found = counted(distance(4, law), [3], [9], runs)
    table = {6 + x: law.probability(x) for x in range(-64, 64)}
    assert fits(found, table) > 1e-4
    if runs > 1000:
        wider = laplace_noise(3)
        wrong = {6 + x: wider.probability(x) for x in range(-128, 128)}
        assert fits(found, wrong) < 1e-4
