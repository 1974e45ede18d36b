"""How long steps are: constant, or falling with a power of the number of the step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gopa import UsageError


@dataclass(frozen=True, slots=True)
class Steps:
    """The length of step k = 1, 2, ..: scale / (k + offset)^power."""

    scale: float
    power: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise UsageError("a step is positive and finite", "scale")
        if not (0 <= self.power < math.inf and 0 <= self.offset < math.inf):
            raise UsageError("a step never grows: no negative power or offset", "power")

    def __call__(self, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The length of each of these steps."""
        number = np.asarray(k, dtype=np.float64)
        if not (number >= 1).all():
            raise UsageError("steps are counted from 1", "k")
        return np.asarray(self.scale / (number + self.offset) ** self.power)


def constant(scale: float) -> Steps:
    """Every step as long as the first."""
    return Steps(scale)


def harmonic(scale: float, offset: float = 0.0) -> Steps:
    """Step k is scale / (k + offset)."""
    return Steps(scale, 1.0, offset)


def root(scale: float) -> Steps:
    """Step k is scale / sqrt(k)."""
    return Steps(scale, 0.5)
