"""Writes numbers as integers that a session sums without rounding them again.

Each number is one coordinate. Cut into several narrow ones it would be finer, but the sums of the
parts say more than the sum of the numbers: how often the low parts carried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wire.errors import UsageError

Integers = npt.NDArray[np.int64]

_WIDEST: Final = 40
_SENSITIVITY: Final = 64


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Rounds numbers of [-clip, clip] to the nearest point of a grid: an integer up to `largest`.

    Whole numbers that count something are taken as they are; but not where there is noise
    (`noisy`), in which they would drown: there they are numbers like others. Raises `UsageError`
    for what is no grid.
    """

    largest: int
    clip: float
    noisy: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.largest < 1 << _WIDEST:
            raise UsageError(f"a grid of 3 to 2^{_WIDEST} points", "largest")
        if not 0 < self.clip < float("inf"):
            raise UsageError("the largest number, above 0", "clip")

    @classmethod
    def finest(cls, bits: int, clip: float, count: int) -> FixedPoint:
        """With at most so many bits, and so that a session can have `count` of the numbers.

        The squared sensitivity of the vector is below 2^64 (04-Z2).
        """
        most = min(bits, _WIDEST, (_SENSITIVITY - count.bit_length()) // 2)
        # An even number of steps, so that zero is a point and rows can measure lengths from it.
        return cls((1 << max(0, most)) - 2, clip)

    @property
    def half(self) -> int:
        """Where zero stands."""
        return self.largest >> 1

    @property
    def step(self) -> float:
        """The distance of two points; a sum is off by half of it for each party at most."""
        return self.clip / self.half

    @property
    def target(self) -> Mapping[str, Any]:
        """What a plan is asked for, besides its dimension: `gopa.plan(n=.., **target)`."""
        return {"range": (0, self.largest), "steps": self.largest, "integers": True}

    def integers(self, values: npt.ArrayLike) -> Integers:
        """The integers of floats; those beyond `clip` are moved to it."""
        within = np.clip(np.asarray(values, dtype=np.float64), -self.clip, self.clip)
        found: Integers = np.rint(within / self.clip * self.half).astype(np.int64) + self.half
        return found

    def counts(self, values: npt.ArrayLike) -> Integers:
        """Those of counts; those that are negative or beyond `largest` are moved to the end."""
        given = np.asarray(values)
        return (
            self.integers(given) if self.noisy else np.clip(given, 0, self.largest).astype(np.int64)
        )

    def floats(self, sums: Integers, parties: int) -> npt.NDArray[np.float64]:
        """The sum of floats over so many parties."""
        return np.asarray((sums - parties * self.half) * self.step, dtype=np.float64)

    def totals(self, sums: Integers, parties: int) -> Integers:
        """The sum of counts over so many parties; noise may have made it negative."""
        found = np.rint(self.floats(sums, parties)).astype(np.int64) if self.noisy else sums
        return np.maximum(found, 0)
