"""What descent on a network should come to, and bounds on how far runs are from it.

Specification: `specs/18-correlated-noise.md`, sections 3 and 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.graph import MixingMatrix, require_doubly_stochastic
from gopa.learning.checks import number, whole
from gopa.learning.clipping import within
from gopa.learning.clocks import Steps
from gopa.learning.correlated.disguises import mixed
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

    In the Euclidean norm over all agents. `slope` bounds gradients, and `noise` what agents fused
    of it before the step multiplies it: the root of the mean over agents of squared lengths.
    `spread` is how far they were in the beginning.
    """
    kept, found = 1 - mixing.spectral_gap(), [spread]
    moved = math.sqrt(len(mixing.limit)) * (slope + noise) * steps(np.arange(1, iterations + 1))
    for each in moved.tolist():
        found.append(kept * found[-1] + each)
    return np.array(found[1:])


@dataclass(frozen=True, slots=True, eq=False)
class DescentBound:
    """What runs of descent on a network stay below, after each iteration.

    `loss` bounds the mean over iterations so far, weighted by their steps, of how far the loss of
    the average model is above the least. `apart` bounds the root of the mean over agents of the
    squared distance between what they fused and the average, and `distance` that between average
    and optimum. Expectations of squares, where gradients are drawn.
    """

    loss: Floats
    apart: Floats
    distance: Floats


def disguised_bound(  # noqa: PLR0913 - the bound has many parts
    mixing: MixingMatrix,
    steps: Steps,
    iterations: int,
    *,
    slope: float,
    distance: float,
    noise: float = 0.0,
    spread: float = 0.0,
    smoothness: float = 0.0,
) -> DescentBound:
    """How close any method comes to the optimum, whatever its noise is, if that cancels.

    `slope`, `noise` and `spread` are those of `spread_bound`. `distance` is the root of the mean
    over agents of their squared distance from the optimum, in the beginning and as it is bounded.
    Where noise bends functions they need not be convex: `slope` and `smoothness` are then those of
    the bent ones. A `smoothness` of 0 says that the function of every agent is convex.

    Raises:
        UsageError: the matrix is not doubly stochastic, or a part is no such number.
    """
    require_doubly_stochastic(mixing)
    sizes = {"slope": slope, "noise": noise, "spread": spread}
    _require_sizes(**sizes, distance=distance, smoothness=smoothness)
    many = whole(iterations, "iterations")
    rest = spread_bound(mixing, steps, many, slope=slope, noise=noise, spread=spread)
    lengths = steps(np.arange(1, many + 2))
    spreads = np.array([spread, *rest]) / math.sqrt(len(mixing.limit))
    near = (1 - mixing.spectral_gap()) * spreads
    apart = near + lengths * noise
    squares, away = distance**2, []
    for done, step in enumerate(lengths[:-1].tolist()):
        heard = squares + step * noise * (2 * near[done] + step * noise)
        bent = slope + smoothness * math.sqrt(heard)
        squares = heard + 2 * step * apart[done] * bent + (step * slope) ** 2
        away.append(math.sqrt(squares))
    found = np.array(away)
    return DescentBound(found**2 / (2 * np.cumsum(lengths[:-1])), apart[1:], found)


def descent_bound(  # noqa: PLR0913 - the bound has many parts
    mixing: MixingMatrix,
    *,
    step: float,
    iterations: int,
    smoothness: float,
    heterogeneity: float,
    distance: float,
    curvature: float = 0.0,
    noise: float = 0.0,
) -> DescentBound:
    """How fast plain descent leads to the optimum, for smooth convex functions.

    `smoothness` bounds that of every agent, `curvature` is below that of each of them,
    `heterogeneity` bounds `gradient_heterogeneity` wherever averages come by, `distance` is that
    of the common start from the optimum, and `noise` the deviation of an agent's drawn gradient.

    Raises:
        UsageError: the step is not below 1 / (2 smoothness), or a part is no such number.
    """
    require_doubly_stochastic(mixing)
    parts = {"heterogeneity": heterogeneity, "distance": distance, "noise": noise}
    bend = _bend(step, smoothness, curvature, parts)
    agents, kept = len(mixing.limit), 1 - mixing.spectral_gap()
    uneven = max(float((mixing.matrix.data**2).sum()) - 1, 0.0) / agents
    drawn, shrunk = (step * noise) ** 2, 1 - step * curvature
    apart, squares, sums, loss, spread, away = 0.0, distance**2, 0.0, [], [], []
    for done in range(1, whole(iterations, "iterations") + 1):
        sums += apart**2
        moved = smoothness * (1 + 2 * bend) * apart**2 * step
        straight = (shrunk * math.sqrt(squares) + bend * apart) ** 2
        squares = min(straight, shrunk * squares + moved) + drawn / agents
        total = distance**2 + smoothness * (1 + 2 * bend) * step * sums + done * drawn / agents
        loss.append(total / (2 * step * (1 - 2 * bend) * done))
        apart = math.sqrt((kept * shrunk * apart + step * heterogeneity) ** 2 + drawn * uneven)
        spread.append(apart)
        away.append(math.sqrt(squares))
    return DescentBound(np.array(loss), np.array(spread), np.array(away))


def _bend(step: float, smoothness: float, curvature: float, parts: dict[str, float]) -> float:
    """The step times the smoothness, if all numbers are such as the bound is proved for."""
    _require_sizes(**parts, curvature=curvature)
    if not (number(smoothness, "smoothness") > 0 and curvature <= smoothness < math.inf):
        raise UsageError("above 0, finite, and not below the curvature", "smoothness")
    bend = number(step, "step") * smoothness
    if not 0 < bend < 1 / 2:
        raise UsageError("above 0, and below 1 / (2 smoothness)", "step")
    return bend


def _require_sizes(**sizes: float) -> None:
    """Numbers that bound something: of NaN and negative ones no bound follows."""
    for name, value in sizes.items():
        if not 0 <= number(value, name) < math.inf:
            raise UsageError("finite, and not negative", name)


def gradient_heterogeneity(objective: Objective, mixing: MixingMatrix, model: Floats) -> Floats:
    """How far neighbourhoods' gradients are from the whole's at one model, or at several.

    The root of the mean over agents of | sum_j W_ij grad f_j - mean of all grad f_j |^2.
    """
    slopes = np.moveaxis(objective.gradient(_everywhere(objective, model)), -2, 0)
    apart = mixed(mixing.matrix, slopes - slopes.mean(axis=0))
    return np.asarray(np.sqrt((apart * apart).sum(axis=-1).mean(axis=0)))
