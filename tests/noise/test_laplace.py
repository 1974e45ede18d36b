"""Tables of the discrete Laplace law: right to the last bit, and together exactly that law."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as pairs
from typing import Any

import gmpy2  # type: ignore[import-untyped]  # it ships no types
import pytest

from commitments.reference.stream import ReferenceWideTable
from gopa.noise import discrete_laplace, laplace
from gopa.noise.laplace import BASE, TOTAL, laplace_bounds
from gopa.noise.laws import Digit
from zkp.noise import Enclosure

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
