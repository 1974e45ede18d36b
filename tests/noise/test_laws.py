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
from itertools import product as pairs
from pathlib import Path
from typing import Any

import gmpy2  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pytest

from commitments.reference.stream import ReferenceWideTable
from gopa import noise
from gopa.noise import TableLaw, discrete_laplace, laplace, rounded_gaussian, subseed
from gopa.noise.laplace import BASE, MOST_TOP_SCALE, TOTAL, laplace_bounds
from gopa.noise.laws import Digit
from gopa.rounds.masks import RoundedGaussian
from tests.group.backends import installed_groups
from tests.noise.samples import MILLION, SEED, UNLIKELY, excess, uniform
from wire import domains
from wire.domains import NOISE_DRAWS, NOISE_KEY, NOISE_SEED
from wire.errors import UsageError
from zkp.noise import Enclosure

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
    """The rules 15-N2 and 15-N5 in other words, with numbers of any size."""
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


WHOLE = [Fraction(1, 32), Fraction(1, 2), Fraction(1), Fraction(22, 7), Fraction(8)]


DIGITS = [Fraction(9), Fraction(1000, 3), Fraction(10**5), Fraction(2**32)]


def ratio(scale: Fraction) -> Any:
    return gmpy2.exp(-gmpy2.mpfr(scale.denominator) / scale.numerator)


def nearest(value: Any) -> int:
    return int(gmpy2.rint(value * TOTAL))


@pytest.mark.parametrize("scale", WHOLE, ids=str)
def test_bounds_are_the_nearest_integers(scale: Fraction) -> None:
    """By another library, to 500 bits; the table ends where bounds round to zero."""
    bounds = laplace_bounds(scale)
    with gmpy2.context(precision=500):
        r = ratio(scale)
        expected = [nearest(r**m / (1 + r)) for m in range(len(bounds) + 1, 0, -1)]
    assert [0, *bounds] == expected


@pytest.mark.parametrize("scale", DIGITS, ids=str)
def test_digits_are_differences_of_truncated_geometric_draws(scale: Fraction) -> None:
    """The closed form of their tails against the sums that it stands for."""
    bounds = laplace_bounds(scale, BASE)
    assert len(bounds) == BASE - 1
    with gmpy2.context(precision=500):
        r = ratio(scale)
        weights = [r**step for step in range(BASE)]
        total = sum(weights) ** 2
        tail = gmpy2.mpfr(0)
        for m in range(BASE - 1, 0, -1):
            tail += sum(weights[low] * weights[low + m] for low in range(BASE - m))
            assert bounds[BASE - 1 - m] == nearest(tail / total), m


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretends that exp(-1/scale) is 1/2, so that Fractions know every bound."""
    half = lambda _numerator, _denominator, precision: Enclosure(*[1 << precision - 1] * 2)  # noqa: E731
    monkeypatch.setattr(laplace, "exp_of_minus", half)


@pytest.mark.usefixtures("halves")
def test_a_whole_table_equals_fractions() -> None:
    bounds = laplace_bounds(Fraction(1))
    exact = [TOTAL * Fraction(2, 3) / 2**m for m in range(len(bounds), 0, -1)]
    assert list(bounds) == [int(bound + Fraction(1, 2)) for bound in exact]
    assert TOTAL * Fraction(2, 3) / 2 ** (len(bounds) + 1) < Fraction(1, 2)


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize("base", [2, 3, 4, 8])
def test_the_table_of_a_digit_equals_fractions(base: int) -> None:
    weights = [Fraction(1, 2**step) for step in range(base)]
    chances = [weight / sum(weights) for weight in weights]
    masses = dict.fromkeys(range(1 - base, base), Fraction(0))
    for (high, p), (low, q) in pairs(enumerate(chances), repeat=2):
        masses[high - low] += p * q
    digit = Digit(1, laplace_bounds(Fraction(1), base))
    for value, mass in masses.items():
        assert abs(Fraction(digit.mass(value), TOTAL) - mass) <= Fraction(1, TOTAL)


def test_undecided_bounds_ask_for_more_precision() -> None:
    """With hardly a bit to spare some enclosure leaves a choice."""
    assert laplace._decided(Fraction(5), None, 256) == laplace_bounds(Fraction(5))
    assert laplace._decided(Fraction(5), None, 130) is None
    assert laplace._decided(Fraction(10**5), BASE, 140) is None


@pytest.mark.parametrize("scale", [*WHOLE, Fraction(9), Fraction(21, 2)], ids=str)
def test_truncation_bounds_the_distance_to_the_true_law(scale: Fraction) -> None:
    """Over all values that the tables give, for laws of one digit and of two."""
    law = discrete_laplace(scale)
    with gmpy2.context(precision=500):
        r = ratio(scale)
        distance = gmpy2.mpfr(0)
        for value in range(law.largest + 1):
            p = law.probability(value)
            true = (1 - r) / (1 + r) * r**value
            distance += abs(gmpy2.mpfr(p.numerator) / p.denominator - true) * (2 if value else 1)
        distance += 2 * r ** (law.largest + 1) / (1 + r)
        assert 0 < distance / 2 <= gmpy2.mpfr(law.truncation.numerator) / law.truncation.denominator
    assert law.truncation < Fraction(1, 2**117)


def test_how_many_digits_a_law_has() -> None:
    sizes = {8: 1, 8.5: 2, 2048: 2, 2049: 3, 2**19: 3, 2**27: 4, 2**32: 5}
    assert {scale: len(discrete_laplace(scale).digits) for scale in sizes} == sizes
    assert discrete_laplace(2**32).largest < 2**39


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5)], ids=str)
def test_every_value_is_hit_by_exactly_its_mass(scale: Fraction) -> None:
    """The first and the last bytes of a value decide all others; far out some have none."""
    (digit,) = discrete_laplace(scale).digits
    table, start = ReferenceWideTable(digit.lower), 0
    for value in range(-digit.radius, digit.radius + 1):
        end = start + digit.mass(value)
        if end == start:
            continue
        ends = b"".join(y.to_bytes(16, "little") for y in (start, end - 1))
        assert list(table.draws(ends)) == [value] * 2
        start = end
    assert start == TOTAL


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(4), Fraction(9)], ids=str)
def test_what_is_charged_covers_the_exact_delta(scale: Fraction, shift: int) -> None:
    """Neighbours `shift` apart at epsilon = shift / scale, in Fractions over the whole table."""
    law, epsilon = discrete_laplace(scale), Fraction(shift) / scale
    with gmpy2.context(precision=500):
        factor = Fraction(
            int(gmpy2.exp(gmpy2.mpfr(shift) * scale.denominator / scale.numerator) * 2**400), 2**400
        )
    delta = sum(
        max(Fraction(0), law.probability(value) - factor * law.probability(value - shift))
        for value in range(-law.largest, law.largest + 1)
    )
    assert 0 < delta <= law.charged(1, float(epsilon))
    assert delta > law.truncation / 1000


PATHS: list[tuple[Any, ...]] = [
    (0,),
    (1,),
    (-1,),
    (255,),
    (-(2**15),),
    (2**15,),
    (10**5000,),
    ("1",),
    (b"1",),
    ("",),
    (b"",),
    ("", ""),
    ("ab",),
    ("a", "b"),
    ("a", b"b"),
    (1, 2),
    (12,),
    (2, 1),
    ("\ud800",),
    (b"\x01",),
    (b"\x01\x00\x00\x00\x00\x00\x00\x00\x01\x01",),
]


def test_paths_give_seeds_of_their_own() -> None:
    seeds = [subseed(*path) for path in PATHS]
    assert {len(seed) for seed in seeds} == {32}
    assert len(set(seeds)) == len(seeds)


def test_a_seed_by_the_rule() -> None:
    parts = [
        b"\x02" + (1).to_bytes(8) + b"a",
        b"\x01" + (2).to_bytes(8) + b"\x01\x00",
        b"\x03" + (1).to_bytes(8) + b"c",
    ]
    expected = hashlib.sha256(NOISE_SEED + (3).to_bytes(4) + b"".join(parts)).digest()
    assert subseed("a", 256, b"c") == expected
    assert subseed("a", np.int64(256), b"c") == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [None, 1.0, True, (1,), [b"a"], bytearray(1)], ids=repr)
def test_other_parts_are_refused(bad: Any) -> None:
    assert subseed(7, "a") != subseed(7)
    for path in ((bad,), (7, bad)):
        with pytest.raises(UsageError):
            subseed(*path)


ROOT = Path(__file__).resolve().parents[2]


TEXT = (ROOT / "specs" / "15-noise.md").read_text()


def test_labels_are_written_out() -> None:
    for label in (domains.NOISE_SEED, domains.NOISE_KEY, domains.NOISE_EDGE, domains.NOISE_DRAWS):
        assert f"`{label.decode()}`" in TEXT
    assert f"`{domains.EDGE_WORDS.decode()}`" in TEXT


def test_names_are_those_of_the_table() -> None:
    assert "`rounded-gaussian s`" in TEXT
    assert rounded_gaussian(50).name == "rounded-gaussian 50"
    assert "`discrete-laplace t`" in TEXT
    assert discrete_laplace(Fraction(14, 6)).name == "discrete-laplace 7/3"
    assert discrete_laplace(7.0).name == "discrete-laplace 7"


def test_digits_are_as_wide_as_it_says() -> None:
    assert f"-{BASE - 1} .. {BASE - 1}" in TEXT
    assert f"If t <= {MOST_TOP_SCALE} it is one digit" in TEXT
    assert "at most 710" in TEXT
    assert discrete_laplace(MOST_TOP_SCALE).largest == 710
    assert "|x| < 2^39" in TEXT
    assert 2**38 < discrete_laplace(2**32).largest < 2**39
