"""How the challenge of a threshold statement is split (specification 02, section 5).

The challenges of n children are the values P(1), .., P(n) of a polynomial of degree
at most n - t with P(0) the challenge of the whole. The proof carries the other
coefficients, so sub-challenges that do not belong together cannot be written down.
A prover may choose n - t values freely before it sees P(0); t are left to chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from commitments.group import Group, Scalar, SecretScalar

S = TypeVar("S", Scalar, SecretScalar)


def evaluate(group: Group, polynomial: Sequence[S], at: int) -> S:
    """The value at `at` of the polynomial with these coefficients, constant term first."""
    place = group.scalar(at)
    value = polynomial[-1]
    for coefficient in polynomial[-2::-1]:
        value = value * place + coefficient
    return value


def interpolate(order: int, values: Mapping[int, int]) -> list[int]:
    """The coefficients of the polynomial of least length through (place, value) pairs.

    Places are distinct mod the prime `order`. The polynomial has as many
    coefficients as there are pairs, constant term first.
    """
    result: list[int] = []
    vanishing = [1]  # product of (X - place) over the places done so far
    for place, value in values.items():
        missing = value - _at(order, result, place)
        step = missing * pow(_at(order, vanishing, place), -1, order) % order
        result = [*result, 0]
        result = [(a + step * b) % order for a, b in zip(result, vanishing, strict=True)]
        shifted, scaled = [0, *vanishing], [*(place * b for b in vanishing), 0]
        vanishing = [(a - b) % order for a, b in zip(shifted, scaled, strict=True)]
    return result


def _at(order: int, polynomial: Sequence[int], place: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * place + coefficient) % order
    return value
