"""People see the digits of a number that its error leaves known."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from gopa.support.rounding import known, listed, plus_minus, rounded, short


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (37.4, 19, ("40", "19")),
        (-37.4, 19, ("-40", "19")),
        (-3, 19, ("0", "19")),
        (0.62138, 0.02234, ("0.62", "0.022")),
        (0.62138, 0.2, ("0.6", "0.2")),
        (1_234_567, 1_900, ("1235000", "1900")),
        ("7.1875", "0.87512345678", ("7.2", "0.88")),
        (Decimal("99.7"), Decimal("9.97"), ("100", "10")),
        (0.0001234, 9.96e-6, ("0.00012", "0.00001")),
    ],
)
def test_a_value_is_rounded_to_the_first_digit_of_its_error(
    value: float | str | Decimal, error: float | str | Decimal, shown: tuple[str, str]
) -> None:
    assert known(value, error) == shown


@pytest.mark.parametrize("error", [0, -1, math.nan, math.inf, "", "x", 1e-300])
def test_without_a_usable_error_six_digits_stay(error: float | str) -> None:
    assert known(5.123456789, error)[0] == "5.12346"


@pytest.mark.parametrize("value", ["no number", "1" * 65, "nan"])
def test_what_is_no_number_is_shown_as_it_is(value: str) -> None:
    assert known(value, 1)[0] == value


def test_thousands_are_set_apart_where_asked() -> None:
    assert rounded(1_234_567, 1_900, grouped=True) == ("1,235,000", "1,900")


def test_numbers_are_listed_with_their_errors() -> None:
    assert plus_minus(37.4, 19) == "40 +- 19"
    assert plus_minus("37.4", "") == "37.4"
    assert listed([37.4], [19]) == "40 +- 19"
    assert listed([37.4, 61], [19, 19]) == "40, 60, each +- 19"
    assert listed([37.4, 61], [19, 3]) == "40 +- 19, 61 +- 3"
    assert listed(["1", "2"], ["", ""]) == "1, 2"
    assert listed([1] * 7, [0.5] * 7).endswith(".. 7 numbers, each +- 0.5")


def test_a_number_alone_is_short() -> None:
    assert (short(0.000057712345, 3), short("12.50"), short(-0.0)) == ("5.77e-05", "12.5", "0")
