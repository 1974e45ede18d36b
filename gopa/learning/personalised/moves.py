"""What a Frank-Wolfe step tells neighbours: which predictor, its sign, and the step.

Specification: `specs/20-personalised.md`, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from gopa import UsageError
from gopa.learning.checks import whole
from gopa.support.arrays import Floats, Integers

_MOST: Final = 2**62
_BITS: Final = 7


@dataclass(frozen=True, slots=True)
class Move:
    """Moves a model by `pace(step)` of the way to a corner: `radius` or -`radius` at one index."""

    step: int
    index: int
    positive: bool

    def __post_init__(self) -> None:
        whole(self.step, "step", 0, _MOST)
        whole(self.index, "index", 0, _MOST)

    def to_bytes(self) -> bytes:
        """Two numbers in groups of seven bits, the lowest first: 2 index + sign, and the step."""
        return _written(2 * self.index + self.positive) + _written(self.step)

    @classmethod
    def from_bytes(cls, data: bytes, predictors: int) -> Self:
        """What `to_bytes` wrote, of so many predictors.

        Raises:
            UsageError: it was written otherwise, or is about a predictor that is not there.
        """
        first, end = _read(data, 0)
        step, end = _read(data, end)
        if end != len(data) or first // 2 >= predictors:
            raise UsageError("this is no move among so many predictors", "data")
        return cls(step, first // 2, bool(first % 2))

    def applied(self, model: Floats, users: int, radius: float) -> Floats:
        """The model after the move: the same at who makes it and at who hears of it."""
        share = float(pace(np.array(self.step), users))
        moved = (1 - share) * model
        moved[self.index] += share * (radius if self.positive else -radius)
        return moved


def pace(step: Integers, users: int) -> Floats:
    """2n / (t + 2n) for the t-th step of all, from 0 on."""
    return np.asarray(2 * users / (step + 2 * users))


def lengths(steps: Integers, indices: Integers) -> Integers:
    """How many bytes moves have."""
    # A sign never makes it longer: 2 index and 2 index + 1 are equally long.
    return _groups(2 * indices) + _groups(steps)


def _groups(numbers: Integers) -> Integers:
    found = np.ones_like(numbers)
    for bits in range(_BITS, 63, _BITS):
        found += numbers >= 1 << bits
    return found


def _written(number: int) -> bytes:
    groups = []
    while number >= 1 << _BITS:
        groups.append(number % 128 + 128)
        number >>= _BITS
    return bytes([*groups, number])


def _read(data: bytes, start: int) -> tuple[int, int]:
    number = 0
    for place, group in enumerate(data[start : start + 9]):
        number += (group % 128) << (_BITS * place)
        if group < 128:
            if group == 0 and place:
                break
            return number, start + place + 1
    raise UsageError("a number in groups of seven bits, as short as it can be", "data")
