"""Intervals of integers around real numbers that no machine may round differently.

An enclosure `(low, high)` at precision P says low <= value * 2^P <= high. Every
operation rounds the lower end down and the upper end up. There are no floats: two
machines compute the same integers, and a decision taken from an enclosure is a proof.
"""

from __future__ import annotations

from typing import NamedTuple


class Enclosure(NamedTuple):
    """Bounds on a non-negative real number, in units of 2^-precision."""

    low: int
    high: int


def product(left: Enclosure, right: Enclosure, precision: int) -> Enclosure:
    """An enclosure of the product of two enclosed numbers."""
    return Enclosure(
        left.low * right.low >> precision,
        -(-left.high * right.high >> precision),
    )


def exp_of_minus(numerator: int, denominator: int, precision: int) -> Enclosure:
    """An enclosure of exp(-numerator / denominator), for 0 < numerator, denominator.

    The argument is halved until it is below 1/2, where the series of exp converges
    at least as fast as a geometric one; the inverse is squared back.
    """
    halvings = 0
    while numerator * 2 > denominator << halvings:
        halvings += 1
    result = _inverse(_exp_series(numerator, denominator << halvings, precision), precision)
    for _ in range(halvings):
        result = product(result, result, precision)
    return result


def _exp_series(numerator: int, denominator: int, precision: int) -> Enclosure:
    """exp(x) for 0 < x <= 1/2: after the term t the rest of the series is below t."""
    low = high = 1 << precision
    term = Enclosure(low, high)
    index = 1
    while term.high > 1:
        divisor = denominator * index
        term = Enclosure(term.low * numerator // divisor, -(-term.high * numerator // divisor))
        low += term.low
        high += term.high
        index += 1
    return Enclosure(low, high + term.high)


def _inverse(value: Enclosure, precision: int) -> Enclosure:
    one = 1 << 2 * precision
    return Enclosure(one // value.high, -(-one // value.low))
