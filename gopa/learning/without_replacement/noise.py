"""How much noise a public model needs, and what it then costs.

Specification: `specs/19-without-replacement.md`, sections 3 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from gopa import UsageError
from gopa.accounting import Loss, gaussian_sigma
from gopa.learning.clipping import DEVIATION
from gopa.noise import rounded_gaussian

Calibration: TypeAlias = Literal["joint", "each", "classical"]
"""For all models of a run together; for each of them alone; for each, as the paper does it."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The deviation of noise, in units of what a row moves before it is put on the grid.

    `moved` is the same after that, and `delta` what is left of it behind the tables of the noise.
    """

    deviation: float
    moved: float
    delta: float

    def epsilon(self, models: int) -> float:
        """What it costs that one row moves so many models."""
        return Loss.gaussian(self.deviation, self.moved * math.sqrt(models)).epsilon(self.delta)


def noise_for(
    epsilon: float, delta: float, *, models: int, width: int, calibration: Calibration = "joint"
) -> Noise:
    """Noise for one row that moves so many models of this width, each by at most 1.

    Raises:
        UsageError: delta is 0, or there is no such calibration.
    """
    if calibration not in get_args(Calibration):
        raise UsageError(f"one of {', '.join(get_args(Calibration))}", "calibration")
    spare = delta - float(rounded_gaussian(DEVIATION).charged(models * width, epsilon))
    if not spare > 0:
        raise UsageError("normal noise needs a delta above 0", "delta")
    moved = math.sqrt(models) if calibration == "joint" else 1.0
    least = gaussian_sigma(epsilon, spare, moved, classical=calibration == "classical")
    # Putting on the grid moves what differs by one more step in each number.
    rounding = least * math.sqrt(width) / DEVIATION
    if not rounding < 0.5:
        raise UsageError("epsilon is too small for models of so many numbers", "epsilon")
    deviation = least / (1 - rounding)
    return Noise(deviation, 1 + math.sqrt(width) * deviation / DEVIATION, spare)


def gap_bound(  # noqa: PLR0913 - the theorem has many parts
    *,
    nodes: int,
    rows: int,
    batch: int,
    iterations: int,
    step: float,
    diameter: float,
    slope: float,
    deviation: float,
    width: int,
    public: float,
) -> float:
    """How far the mean loss is from the least one at most, for convex losses and equal steps.

    `rows` are those of all nodes, `slope` bounds the gradient of a row, `deviation` is that of the
    noise in a gradient, and `public` the mean number of public steps in an iteration.
    """
    start = (nodes + 1) * diameter**2 / (4 * iterations * step)
    noise = step * width * deviation**2 * public / 2
    seen = batch * iterations
    left = math.sqrt(rows) + math.sqrt(max(0.0, rows - seen))
    order = 2 * (2 + 12 * math.sqrt(2)) * diameter * slope / 3
    return start + step * slope**2 + noise + order * (math.sqrt(seen) / rows + 2 / left)
