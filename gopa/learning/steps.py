"""Says how long steps are: constant, or falling with a power of the number of the step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gopa import UsageError


@dataclass(frozen=True, slots=True)
class Steps:
    """Gives step k = 1, 2, .. the length scale / (k + offset)^power."""

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

    @property
    def reaches_everywhere(self) -> bool:
        """Whether all steps together are infinitely long: no start is too far away."""
        return self.power <= 1

    @property
    def square_summable(self) -> bool:
        """Whether the squares have a finite sum: independent noise dies out."""
        return self.power > 0.5


def constant(scale: float) -> Steps:
    """Every step as long as the first."""
    return Steps(scale)


def harmonic(scale: float, offset: float = 0.0) -> Steps:
    """Step k is scale / (k + offset)."""
    return Steps(scale, 1.0, offset)


def root(scale: float) -> Steps:
    """Step k is scale / sqrt(k)."""
    return Steps(scale, 0.5)


def from_smoothness(smoothness: float, share: float = 1.0) -> Steps:
    """Constant steps of share / smoothness: descent for a share below 2.

    `UsageError` where the gradient may jump, and for shares that may lead away.
    """
    if not 0 < smoothness < math.inf:
        raise UsageError("a gradient that may jump has no such step: choose one", "smoothness")
    if not 0 < share <= 2:
        raise UsageError("a share lies above 0 and is at most 2", "share")
    return Steps(share / smoothness)
