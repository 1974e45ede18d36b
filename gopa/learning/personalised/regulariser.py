"""Says what keeps a collaboration graph from vanishing and from being dense.

Specification: `specs/20-personalised.md`, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gopa import UsageError
from gopa.learning.personalised.links import Floats, Links


@dataclass(frozen=True, slots=True)
class Convex:
    """Gives a convex function g on numbers from 0 on, g' and g''.

    g'' never grows, and is never below `least`.
    """

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bend: Callable[[Floats], Floats]
    least: float = 0.0

    @property
    def most(self) -> float:
        """The largest second derivative."""
        return float(self.bend(np.zeros(1))[0])


@dataclass(frozen=True, slots=True)
class GraphRegulariser:
    """Adds a function of each weight, 0 where there is no edge, and one of each degree."""

    edge: Convex
    degree: Convex

    def __post_init__(self) -> None:
        if float(self.edge.value(np.zeros(1))[0]) != 0:
            raise UsageError("what is added for no edge is 0", "edge")

    def value(self, links: Links) -> Floats:
        """Of each graph."""
        pairs = self.edge.value(links.weights).sum(axis=(-2, -1)) / 2
        return np.asarray(pairs + self.degree.value(links.degrees).sum(axis=-1))

    def smoothness(self, peers: int) -> float:
        """Of the weights between a user and so many others, as a block."""
        return self.edge.most + (peers + 1) * self.degree.most


def log_degrees(sparsity: float = 1.0, inside: float = 0.1) -> GraphRegulariser:
    """The thesis's: sparsity |w|^2 - sum log(degree + inside).

    The smaller `sparsity`, the fewer neighbours. `inside` makes it smooth.
    """
    if not (0 < sparsity < math.inf and 0 < inside < math.inf):
        raise UsageError("sparsity and what is inside the log are above 0", "regulariser")
    edge = Convex(
        lambda w: sparsity * w * w,
        lambda w: 2 * sparsity * w,
        lambda w: np.full_like(w, 2 * sparsity),
        2 * sparsity,
    )
    degree = Convex(
        lambda d: -np.log(d + inside), lambda d: -1 / (d + inside), lambda d: (d + inside) ** -2.0
    )
    return GraphRegulariser(edge, degree)
