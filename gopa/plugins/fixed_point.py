"""Writes numbers as integers that a session sums without rounding them again.

A number is an integer of `bits` bits, cut into *limbs*: coordinates of a session, each so narrow
that the squared sensitivity of the whole vector stays below 2^64 (04, [Z2]). The sum of the
numbers follows from the sums of the limbs, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wire.errors import UsageError

Integers = npt.NDArray[np.int64]

MOST_BITS: Final = 52
"""Of a number: a float has 53."""

_WORD: Final = 62
_SENSITIVITY: Final = 63
_WIDEST: Final = 40


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Rounds numbers of [-clip, clip] to the nearest of 2^bits - 1 steps, and counts as they are.

    Raises `UsageError` for a range or a width that is none.
    """

    bits: int
    clip: float

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MOST_BITS:
            raise UsageError(f"numbers of 2 to {MOST_BITS} bits", "bits")
        if not 0 < self.clip < float("inf"):
            raise UsageError("the largest number, above 0", "clip")

    @classmethod
    def of(cls, bits: int, clip: float, parties: int) -> FixedPoint:
        """The finest of at most `bits` bits whose sum over so many parties fits into 64."""
        return cls(min(bits, MOST_BITS, _WORD - parties.bit_length()), clip)

    @property
    def half(self) -> int:
        """Where zero stands."""
        return (1 << self.bits - 1) - 1

    @property
    def step(self) -> float:
        """The distance of two neighbours; a sum is off by half of it for each party at most."""
        return self.clip / self.half

    def integers(self, values: npt.ArrayLike) -> tuple[Integers, int]:
        """The integers of floats, and how many floats were clipped.

        Raises `UsageError` for a number that is not finite.
        """
        given = np.asarray(values, dtype=np.float64).reshape(-1)
        if not np.isfinite(given).all():
            raise UsageError("must be finite numbers, not NaN or infinite", "values")
        within = np.clip(given, -self.clip, self.clip)
        found = np.rint(within / self.clip * self.half).astype(np.int64) + self.half
        return found, int((within != given).sum())

    def counts(self, values: npt.ArrayLike) -> Integers:
        """Whole numbers that are not negative; raises `UsageError` for others, or larger ones."""
        given = np.asarray(values).reshape(-1)
        if given.size and (int(given.min()) < 0 or int(given.max()) >= 1 << self.bits):
            raise UsageError(f"must be from 0 to {(1 << self.bits) - 1}", "values")
        return given.astype(np.int64)

    def floats(self, sums: Integers, parties: int) -> npt.NDArray[np.float64]:
        """The sum of floats over so many parties."""
        return np.asarray((sums - parties * self.half) * self.step, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Limbs:
    """Says into how many coordinates each of `count` numbers is cut, and how wide they are."""

    count: int
    limbs: int
    width: int

    @classmethod
    def of(cls, bits: int, count: int) -> Limbs:
        """As few as the sensitivity allows; `UsageError` if there is no such cut."""
        for limbs in range(1, bits + 1):
            room = min(_WIDEST, (_SENSITIVITY - (limbs * count).bit_length()) // 2)
            if limbs * room >= bits:
                return cls(count, limbs, -(-bits // limbs))
        raise UsageError("too many numbers for one session", "values")

    @property
    def dimension(self) -> int:
        """The coordinates of a session for them."""
        return self.count * self.limbs

    @property
    def largest(self) -> int:
        """The largest coordinate: the steps of the plan's grid."""
        return (1 << self.width) - 1

    @property
    def target(self) -> Mapping[str, Any]:
        """What a plan for them is asked for: `gopa.plan(n=.., **target)`."""
        return {
            "range": (0, self.largest),
            "steps": self.largest,
            "integers": True,
            "dimension": self.dimension,
        }

    def cut(self, numbers: Integers) -> Integers:
        """All lowest limbs, then all second ones, and so on."""
        shifts = np.arange(self.limbs)[:, None] * self.width
        return ((numbers[None, :] >> shifts) & self.largest).reshape(-1)

    def joined(self, sums: Integers) -> Integers:
        """The sums of the numbers, from those of their limbs."""
        shifts = np.arange(self.limbs)[:, None] * self.width
        found: Integers = (sums.reshape(self.limbs, self.count) << shifts).sum(axis=0)
        return found
