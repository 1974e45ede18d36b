"""Randomises answers: one of k values, or one bit of a Hadamard matrix, with pure local privacy.

Tables are rounded towards more noise, so nothing is charged to delta. Specification:
`specs/15-noise.md`, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from commitments.group import Group
from gopa.noise.laplace import TOTAL
from gopa.noise.laws import Digit, Integers, TableLaw
from gopa.noise.seeds import exact, whole
from gopa.rounds.masks.law import BITS
from wire.errors import UsageError
from zkp.noise import exp_of_minus

MOST_VALUES: Final = 2**20
_EPSILONS: Final = (Fraction(1, 10**9), Fraction(100))


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """One of the values 0 .. values - 1: the true one most often, all others alike.

    `epsilon` bounds what a report tells. Both chances are exact: the ratio of the table is
    at most exp(epsilon), and below it by no more than rounding.

    Raises:
        UsageError: not from 2 to 2^20 values, or an epsilon not from 10^-9 to 100.
    """

    values: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if type(self.values) is not int or not 2 <= self.values <= MOST_VALUES:
            raise UsageError(f"must be an integer from 2 to {MOST_VALUES}", "values")
        _require_epsilon(self.epsilon)

    @property
    def other(self) -> Fraction:
        """The exact chance with which each of the other values is reported."""
        return Fraction(_other(self.values, self.epsilon), TOTAL)

    @property
    def keep(self) -> Fraction:
        """The exact chance with which the true value is reported."""
        return 1 - (self.values - 1) * self.other

    @property
    def truncation(self) -> Fraction:
        """Bounds the total variation distance to the law that is not rounded; see `charged`."""
        return Fraction(2 * (self.values - 1), TOTAL)

    def report(self, truth: npt.ArrayLike, seed: bytes, *, group: Group | None = None) -> Integers:
        """One report for each true value, in an array of the same shape.

        A seed serves one call, as for `TableLaw.draw`.

        Raises:
            UsageError: a truth that is not an integer from 0 to values - 1, or a seed
                without 32 bytes.
        """
        reports = _indices(truth, self.values, "truth")
        law = _offsets(f"randomised-response {self.values}", self.values, self.epsilon)
        reports += law.draw(seed, reports.shape, group=group)
        # No division and no branch: neither may depend on the values.
        reports += self.values * (reports < 0)
        reports -= self.values * (reports >= self.values)
        return reports


@dataclass(frozen=True, slots=True)
class HadamardBit:
    """The sign (-1)^<row, column> of a Hadamard matrix, or with a small chance the other.

    Raises:
        UsageError: an epsilon that is no Fraction from 10^-9 to 100.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require_epsilon(self.epsilon)

    @property
    def keep(self) -> Fraction:
        """The exact chance of the true sign, at most e^epsilon / (1 + e^epsilon)."""
        return RandomisedResponse(2, self.epsilon).keep

    @property
    def truncation(self) -> Fraction:
        """Bounds the total variation distance to the law that is not rounded."""
        return RandomisedResponse(2, self.epsilon).truncation

    def report(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        seed: bytes,
        *,
        group: Group | None = None,
    ) -> Integers:
        """One report, 1 or -1, for each pair of a row and a column; shapes are broadcast.

        A seed serves one call, as for `TableLaw.draw`.

        Raises:
            UsageError: a row or column that is not an integer from 0 to 2^63 - 1, shapes
                that do not fit, or a seed without 32 bytes.
        """
        row, column = (
            _indices(array, 2**63, field) for array, field in ((rows, "rows"), (columns, "columns"))
        )
        try:
            bits: Any = row & column
        except ValueError:
            message = f"shapes {row.shape} and {column.shape} do not fit together"
            raise UsageError(message, "columns") from None
        for shift in (32, 16, 8, 4, 2, 1):
            bits = bits ^ (bits >> shift)
        flips = _offsets("hadamard-bit", 2, self.epsilon).draw(seed, np.shape(bits), group=group)
        return np.asarray(1 - 2 * ((bits ^ flips) & 1), dtype=np.int64)


def randomised_response(values: int, epsilon: float | Fraction) -> RandomisedResponse:
    """Randomised response over this many values.

    Raises:
        UsageError: not from 2 to 2^20 values, or an epsilon not from 10^-9 to 100.
    """
    return RandomisedResponse(whole(values, 2, "values"), exact(epsilon, *_EPSILONS, "epsilon"))


def hadamard_bit(epsilon: float | Fraction) -> HadamardBit:
    """One bit of a Hadamard matrix, kept with chance e^epsilon / (1 + e^epsilon).

    Raises:
        UsageError: an epsilon not from 10^-9 to 100.
    """
    return HadamardBit(exact(epsilon, *_EPSILONS, "epsilon"))


@lru_cache(maxsize=16)
def _offsets(name: str, values: int, epsilon: Fraction) -> TableLaw:
    """What is added to the truth modulo `values`: a symmetric law with equal masses but at 0.

    For an even number of values both ends of the table stand for one offset, with half each.
    """
    other = _other(values, epsilon)
    first = other if values % 2 else other // 2
    lower = tuple(first + row * other for row in range(values // 2))
    return TableLaw(f"{name} {epsilon}", (Digit(1, lower),), Fraction(0))


@lru_cache(maxsize=64)
def _other(values: int, epsilon: Fraction) -> int:
    """2^128 u / (1 + (values - 1) u) with u = e^-epsilon, rounded up; to an even number for even k.

    Rounded up, the true value is reported at most e^epsilon times as often as this.
    """
    unit = 1 if values % 2 else 2
    precision = 2 * BITS
    while True:
        low, high = (
            -((-u << BITS) // (unit * ((1 << precision) + (values - 1) * u)))
            for u in exp_of_minus(epsilon.numerator, epsilon.denominator, precision)
        )
        if low == high:
            return low * unit
        precision *= 2


def _require_epsilon(epsilon: Fraction) -> None:
    if type(epsilon) is not Fraction:
        raise UsageError(f"must be a Fraction, not {type(epsilon).__name__}", "epsilon")
    exact(epsilon, *_EPSILONS, "epsilon")


def _indices(array: npt.ArrayLike, end: int, field: str) -> Integers:
    """A new array of the same integers, if all lie in [0, end)."""
    try:
        given = np.asarray(array)
    except ValueError:
        raise UsageError("rows of an array have one length", field) from None
    if given.size and given.dtype.kind not in "iu":
        raise UsageError("must be integers", field)
    if given.size and not (int(given.min()) >= 0 and int(given.max()) < end):
        raise UsageError(f"must lie between 0 and {end - 1}", field)
    return given.astype(np.int64)
