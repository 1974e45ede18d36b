"""Laws of noise: drawn as the specification says, distributed as their closed forms say."""

from __future__ import annotations

import hashlib
import math
import multiprocessing
import os
import pickle
import warnings
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gopa import noise
from gopa.noise import TableLaw, discrete_laplace, rounded_gaussian
from gopa.noise.laplace import TOTAL
from gopa.rounds.masks import RoundedGaussian
from tests.group.backends import installed_groups
from tests.noise.samples import MILLION, SEED, UNLIKELY, excess, uniform
from wire.domains import NOISE_DRAWS, NOISE_KEY
from wire.errors import UsageError

LAWS = [
    rounded_gaussian(1),
    rounded_gaussian(50),
    discrete_laplace(Fraction(1, 2)),
    discrete_laplace(Fraction(7, 3)),
    discrete_laplace(100),
    discrete_laplace(70_000),
]
laws = pytest.mark.parametrize("law", LAWS, ids=str)


def from_the_specification(law: TableLaw, seed: bytes, count: int) -> list[int]:
    """The rules [N2] and [N5] in other words, with numbers of any size."""
    key = hashlib.sha256(NOISE_KEY + seed + law.name.encode()).digest()
    draws = uniform(key, NOISE_DRAWS, count * len(law.digits))
    values = [0] * count
    for place, digit in enumerate(law.digits):
        bounds = [*digit.lower, *(TOTAL - bound for bound in reversed(digit.lower))]
        for i, y in enumerate(draws[place * count : (place + 1) * count]):
            values[i] += digit.weight * (bisect_right(bounds, y) - digit.radius)
    return values


@laws
def test_draws_are_those_of_the_specification_on_every_backend(law: TableLaw) -> None:
    expected = from_the_specification(law, SEED, 700)
    for group in installed_groups():
        drawn = law.draw(SEED, 700, group=group)
        assert drawn.tolist() == expected
        assert drawn.dtype == np.int64
    assert law.draw(SEED, (7, 100)).tolist() == np.reshape(expected, (7, 100)).tolist()


KNOWN = {
    "rounded-gaussian 50": [-57, 43, -21, -15, 24, 22],
    "discrete-laplace 7/3": [-1, -4, -3, 0, 1, 2],
    "discrete-laplace 70000": [79150, -126145, -3143, 4571, 68798, 34445],
}


@pytest.mark.parametrize("law", [law for law in LAWS if law.name in KNOWN], ids=str)
def test_known_answers(law: TableLaw) -> None:
    assert law.draw(SEED, 6).tolist() == KNOWN[law.name]


def below_gaussian(deviation: int) -> Callable[[float], float]:
    return lambda x: 0.5 * math.erfc(-x / deviation / math.sqrt(2))


def below_laplace(scale: float) -> Callable[[float], float]:
    def below(x: float) -> float:
        steps = math.ceil(abs(x))
        tail = math.exp(-steps / scale) / (1 + math.exp(-1 / scale))
        return tail if x < 0 else 1 - tail

    return below


def ends_of(scale: float) -> list[int]:
    """At most forty cells, with at least a few hundred of a million draws in each."""
    return [round(scale * (place - 20) / 4) for place in range(1, 40)]


@pytest.mark.parametrize("deviation", [2, 50, 3000])
def test_a_million_gaussian_draws(deviation: int) -> None:
    below, ends = below_gaussian(deviation), ends_of(deviation * 0.75)
    drawn = rounded_gaussian(deviation).draw(SEED, MILLION)
    assert excess(drawn, below, ends) < UNLIKELY
    assert excess(drawn // 2, below, ends) > UNLIKELY
    almost = rounded_gaussian(deviation + max(1, deviation // 50)).draw(SEED, MILLION)
    assert excess(almost, below, ends) > UNLIKELY


@pytest.mark.parametrize("scale", [1.5, 8, 9, 100, 70_000, 2.5e9])
def test_a_million_laplace_draws(scale: float) -> None:
    """Of one digit and of several: their sum has the law of the closed form."""
    below, ends = below_laplace(scale), ends_of(scale)
    drawn = discrete_laplace(scale).draw(SEED, MILLION)
    assert excess(drawn, below, ends) < UNLIKELY
    assert excess(drawn // 2, below, ends) > UNLIKELY
    almost = discrete_laplace(scale * 1.02).draw(SEED, MILLION)
    assert excess(almost, below, ends) > UNLIKELY


def test_low_digits_of_a_million_draws_are_right() -> None:
    """Residues modulo the base, where a digit that is not independent of the others would show."""
    scale, base = 100, 256
    r = math.exp(-1 / scale)
    chances = np.array([r**k + r ** (base - k) for k in range(base)]) * (1 - r) / (1 + r)
    chances /= 1 - r**base
    chances[0] = (1 - r) / (1 + r) * (1 + 2 * r**base / (1 - r**base))
    counts = np.bincount(discrete_laplace(scale).draw(SEED, MILLION) % base, minlength=base)
    statistic = float(((counts - MILLION * chances) ** 2 / (MILLION * chances)).sum())
    assert (statistic - base) / math.sqrt(2 * base) < UNLIKELY


@laws
def test_the_exact_variance_is_that_of_the_probabilities(law: TableLaw) -> None:
    if law.largest < 2000:
        values = range(-law.largest, law.largest + 1)
        assert sum(law.probability(value) for value in values) == 1
        assert sum(law.probability(value) * value**2 for value in values) == law.variance
    drawn = law.draw(SEED, MILLION).astype(float)
    assert np.var(drawn) == pytest.approx(float(law.variance), rel=0.02)
    assert abs(drawn).max() <= law.largest
    assert law.probability(law.largest + 1) == 0
    assert law.probability(5) == law.probability(-5)


def test_gaussian_masks_have_the_same_table() -> None:
    law = rounded_gaussian(50)
    assert [digit.lower for digit in law.digits] == [RoundedGaussian(50).lower]
    assert law.largest == RoundedGaussian(50).radius
    assert law.truncation < Fraction(1, 2**108)


def test_what_is_charged() -> None:
    law = rounded_gaussian(50)
    assert law.charged(0, 1) == 0
    assert law.charged(1, 0) == 2 * law.truncation
    for epsilon in (0.01, 1, 3.7, 20):
        exact = (1 + math.exp(epsilon)) * 1000 * float(law.truncation)
        assert exact <= float(law.charged(1000, epsilon)) < 100 * exact
    assert law.charged(1, 10**9) == law.charged(10**40, 1) == law.charged(1, math.inf) == 1
    bad: list[tuple[Any, Any]] = [(-1, 1), (1.5, 1), (True, 1), (1, -1), (1, math.nan), (1, "1")]
    for draws, epsilon in bad:
        with pytest.raises(UsageError):
            law.charged(draws, epsilon)


def test_laws_and_seeds_give_draws_of_their_own() -> None:
    """Two widths from one seed would otherwise rise and fall together."""
    other = noise.subseed(SEED, 1)
    drawn = [discrete_laplace(scale).draw(SEED, 20_000) for scale in (100, 101)]
    drawn.append(discrete_laplace(100).draw(other, 20_000))
    drawn.append(rounded_gaussian(100).draw(SEED, 20_000))
    correlations = np.corrcoef(drawn)
    assert abs(correlations - np.eye(4)).max() < 0.04


def digests() -> list[str]:
    made = [law.draw(SEED, 1000) for law in LAWS]
    made.append(noise.randomised_response(5, 1).report(np.arange(1000) % 5, SEED))
    return [hashlib.sha256(array.tobytes()).hexdigest() for array in made]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process_draws_the_same(method: str) -> None:
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        # From Python 3.12 on: forking beside threads is what is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(1, mp_context=context) as executor:
            assert executor.submit(digests).result() == digests()


@laws
def test_laws_travel(law: TableLaw) -> None:
    again = pickle.loads(pickle.dumps(law))  # noqa: S301
    assert again.draw(SEED, 50).tolist() == law.draw(SEED, 50).tolist()
    assert repr(again) == repr(law) == f"<{law.name}>"


def test_floats_mean_the_decimals_that_they_are_written_as() -> None:
    tenths: list[Any] = [0.1, Fraction(1, 10), np.float32(0.1)]
    names = {discrete_laplace(tenth).name for tenth in tenths}
    assert names == {"discrete-laplace 1/10"}
    assert discrete_laplace(np.int64(3)) is discrete_laplace(3)  # type: ignore[arg-type]
    assert rounded_gaussian(np.int64(50)) is rounded_gaussian(50)  # type: ignore[arg-type]


BAD_SCALES: list[Any] = [0, -1, 0.03, 2**33, math.nan, math.inf, "5", None, True, 1j, [5]]
BAD_DEVIATIONS: list[Any] = [0, -1, 2**16 + 1, 50.0, "50", None, True, Fraction(50)]


@pytest.mark.parametrize("bad", BAD_SCALES, ids=repr)
def test_other_scales_are_refused(bad: Any) -> None:
    assert discrete_laplace(Fraction(1, 32)).largest == 2
    with pytest.raises(UsageError) as caught:
        discrete_laplace(bad)
    assert caught.value.field == "scale"


@pytest.mark.parametrize("bad", BAD_DEVIATIONS, ids=repr)
def test_other_deviations_are_refused(bad: Any) -> None:
    """Also those that equal one which was accepted before."""
    assert rounded_gaussian(1).largest == rounded_gaussian(1).digits[0].radius
    assert rounded_gaussian(50).variance > 2500
    with pytest.raises(UsageError) as caught:
        rounded_gaussian(bad)
    assert caught.value.field == "deviation"


@pytest.mark.parametrize("bad", [-1, 2.0, (3, -1), "3", None, True, [3], (2**20, 2**20)], ids=repr)
def test_other_shapes_are_refused(bad: Any) -> None:
    law = discrete_laplace(3)
    assert law.draw(SEED, ()).shape == ()
    assert law.draw(SEED, (2, 0, 3)).shape == (2, 0, 3)
    assert law.draw(SEED, np.int64(3)).shape == (3,)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        law.draw(SEED, bad)
    assert caught.value.field == "shape"


@pytest.mark.parametrize("bad", [b"", bytes(31), bytes(33), "0" * 32, 7, None, bytearray(32)])
def test_other_seeds_are_refused(bad: Any) -> None:
    assert rounded_gaussian(3).draw(os.urandom(32), 3).shape == (3,)
    with pytest.raises(UsageError) as caught:
        rounded_gaussian(3).draw(bad, 3)
    assert caught.value.field == "seed"
