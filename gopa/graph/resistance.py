"""Bounds effective resistances from both sides. Specification: `specs/03-privacy.md`, section 7."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gopa.graph.structure import Graph
from gopa.support.arrays import Floats
from wire.errors import UsageError

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, slots=True)
class Resistance:
    """A resistance bounded by [low, high]; both ends are infinite between components."""

    low: float
    high: float


def effective_resistance(graph: Graph, first: int, second: int) -> Resistance:
    """Between two parties, every edge a unit resistor.

    An approximate potential gives a lower bound by Dirichlet's principle and, with its
    residual routed anywhere, an upper bound by Thomson's: neither needs it to be exact.
    """
    parties = graph.parties
    if not (0 <= first < parties and 0 <= second < parties):
        raise UsageError("resistance is measured between two of the parties")
    if first == second:
        return Resistance(0.0, 0.0)
    labels = graph.components()
    if labels[first] != labels[second]:
        return Resistance(math.inf, math.inf)
    demand = np.zeros(parties)
    demand[first], demand[second] = 1.0, -1.0
    return _bounds(graph, demand)


def spread_energy(graph: Graph, party: int) -> Resistance:
    """Bounds on (L^+)_uu: the energy of spreading a unit evenly over a connected graph."""
    if not graph.is_connected():
        return Resistance(math.inf, math.inf)
    demand = np.full(graph.parties, -1.0 / graph.parties)
    demand[party] += 1.0
    return _bounds(graph, demand)


def _bounds(graph: Graph, demand: Floats) -> Resistance:
    laplacian = graph.laplacian()
    potential = solve(laplacian, demand)
    image = laplacian @ potential
    energy = float(potential @ image)
    work = float(potential @ demand)
    residual = float(np.linalg.norm(demand - image)) * (1 + 1e-9) + 1e-13
    # A connected graph has lambda_2 >= 4 / (n diameter) > 4 / n^2 (Mohar).
    repaired = math.sqrt(max(energy, 0.0)) + residual * graph.parties / 2
    return Resistance(work * work / energy * (1 - 1e-9), repaired * repaired * (1 + 1e-9))


def solve(
    matrix: sparse.csr_array, demand: Floats, *, tolerance: float = 1e-13, steps: int = 2000
) -> Floats:
    """Conjugate gradients with a diagonal preconditioner; as exact as it happens to be.

    Callers turn the result into a bound that holds whatever its error. Columns of a
    matrix of demands are solved together.
    """
    diagonal = matrix.diagonal()
    scale = 1 / np.where(diagonal > 0, diagonal, 1.0)
    if demand.ndim > 1:
        scale = scale[:, None]
    solution = np.zeros_like(demand)
    residual = demand.copy()
    direction = scale * residual
    progress = (residual * direction).sum(axis=0)
    goal = tolerance**2 * (demand * demand).sum(axis=0)
    for _ in range(steps):
        if ((residual * residual).sum(axis=0) <= goal).all():
            break
        image = matrix @ direction
        curvature = (direction * image).sum(axis=0)
        rate = np.divide(progress, curvature, out=np.zeros_like(progress), where=curvature > 0)
        solution += rate * direction
        residual -= rate * image
        conditioned = scale * residual
        after = (residual * conditioned).sum(axis=0)
        ratio = np.divide(after, progress, out=np.zeros_like(after), where=progress > 0)
        direction = conditioned + ratio * direction
        progress = after
    return solution
