"""Says how much noise a public model needs, and what it then costs.

Specification: `specs/19-without-replacement.md`, sections 3 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gopa import UsageError
from gopa.accounting import Loss, gaussian_sigma
from gopa.noise import rounded_gaussian

Calibration: TypeAlias = Literal["joint", "each", "classical"]
"""For all models of a run together; for each of them alone; for each, as the paper does it."""

DEVIATION: Final = 2**13
"""Of the noise, in steps of the grid that models lie on when they become public."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Holds the deviation of noise for sensitivity 1, and what it costs.

    `claimed` is the epsilon of each model alone, `epsilon` that of all of them together, both at
    the delta that was asked for.
    """

    deviation: float
    claimed: float
    epsilon: float
    delta: float


def noise_for(
    epsilon: float, delta: float, *, models: int, width: int, calibration: Calibration = "joint"
) -> Noise:
    """Noise that lets one change of a row move every model's sum by at most 1 in Euclidean length.

    Raises:
        UsageError: delta is 0, or there is no such calibration.
    """
    if calibration not in ("joint", "each", "classical"):
        raise UsageError("one of joint, each, classical", "calibration")
    together = models if calibration == "joint" else 1
    spare = delta - float(rounded_gaussian(DEVIATION).charged(models * width, epsilon))
    if not spare > 0:
        raise UsageError("normal noise needs a delta above 0", "delta")
    # Rounding to the grid moves what differs by one more step in each number.
    size = math.sqrt(together)
    least = gaussian_sigma(epsilon, spare, size, classical=calibration == "classical")
    rounding = least / size * math.sqrt(together * width) / DEVIATION
    if not rounding < 0.5:
        raise UsageError("epsilon is too small for models of so many numbers", "epsilon")
    deviation = least / (1 - rounding)
    moved = 1 + math.sqrt(width) * deviation / DEVIATION
    return Noise(
        deviation,
        Loss.gaussian(deviation, moved).epsilon(spare),
        Loss.gaussian(deviation, moved * math.sqrt(models)).epsilon(spare),
        delta,
    )


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
