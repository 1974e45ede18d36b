"""Finds what descent on a network should come to, and bounds how far agents are from each other.

Specification: `specs/18-correlated-noise.md`, section 3.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.graph import MixingMatrix
from gopa.learning.clipping import within
from gopa.learning.clocks import Steps
from gopa.learning.objectives import Objective
from gopa.support.arrays import Floats

_PATIENCE: Final = 200_000


def optimum(objective: Objective, *, radius: float = math.inf, tolerance: float = 1e-10) -> Floats:
    """The model of least total loss among those no longer than `radius`, found in one place.

    By accelerated projected gradients that start anew where they would climb; `tolerance` bounds
    how far one more plain step would move.

    Raises:
        UsageError: a gradient may jump, or there is no minimum within reach.
    """
    smoothness = float(objective.smoothness().mean())
    if not smoothness < math.inf:
        raise UsageError("a gradient may jump: take a smooth loss", "problem")
    here = ahead = np.zeros(objective.dimension)
    pace = 1.0
    for _ in range(_PATIENCE):
        moved = within(ahead - mean_gradient(objective, ahead) / smoothness, radius)
        if math.dist(moved, ahead) <= tolerance:
            return moved
        uphill = (ahead - moved) @ (moved - here) > 0
        faster = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        ahead, pace = (
            (moved, 1.0) if uphill else (moved + (pace - 1) / faster * (moved - here), faster)
        )
        here = moved
    raise UsageError("no minimum was found: add a ridge or a radius", "problem")


def mean_gradient(objective: Objective, model: Floats) -> Floats:
    """The gradient of the mean of all functions at one model, or at several."""
    return np.asarray(objective.gradient(_everywhere(objective, model)).mean(axis=-2))


def mean_value(objective: Objective, model: Floats) -> Floats:
    """The mean of all functions at one model, or at several along the first axes."""
    return np.asarray(objective.value(_everywhere(objective, model)).mean(axis=-1))


def _everywhere(objective: Objective, model: Floats) -> Floats:
    return np.repeat(model[..., None, :], objective.agents, axis=-2)


def spread_bound(  # noqa: PLR0913 - the bound has many parts
    mixing: MixingMatrix,
    steps: Steps,
    iterations: int,
    *,
    slope: float,
    noise: float = 0.0,
    spread: float = 0.0,
) -> Floats:
    """How far all agents together are from their average at most, after each iteration.

    In the Euclidean norm over all agents. `slope` bounds each gradient, `noise` each agent's
    noise before the step multiplies it, and `spread` is how far they were in the beginning.
    """
    kept, found = 1 - mixing.spectral_gap(), [spread]
    moved = math.sqrt(len(mixing.limit)) * (slope + noise) * steps(np.arange(1, iterations + 1))
    for each in moved.tolist():
        found.append(kept * found[-1] + each)
    return np.array(found[1:])
