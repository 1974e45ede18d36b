"""States what personal models and their graph minimise together, with all its constants.

Specification: `specs/20-personalised.md`, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import number
from gopa.learning.clipping import finite
from gopa.learning.objectives import Linear, Objective
from gopa.learning.personalised.links import Floats, Links
from gopa.learning.personalised.regulariser import GraphRegulariser, log_degrees

_FLOOR: Final = 1e-3
_POLISH: Final = 100


class Collaboration:
    """Is J of (2.1): losses weighted by confidence and degree, and models pulled together.

    J = sum_u d_u c_u F_u(model_u) + pull/2 sum_uv w_uv |model_u - model_v|^2 + weight g(w).

    Models are (.., users, p). By default c_u is the number of a user's rows by the largest one,
    and at least `floor`, so that who has no rows takes part. With `own_bends` the smoothness of
    each user's loss is measured on its rows, which tells something about them; otherwise it
    follows from what was declared.
    """

    def __init__(  # noqa: PLR0913 - the objective has many parts
        self,
        local: Objective,
        *,
        pull: float,
        weight: float | None = None,
        regulariser: GraphRegulariser | None = None,
        confidences: npt.ArrayLike | None = None,
        floor: float = _FLOOR,
        own_bends: bool = False,
    ) -> None:
        if not hasattr(local, "smoothness"):
            raise UsageError("losses of users, such as Linear or Quadratic", "problem")
        if not 0 <= number(pull, "pull") < math.inf:
            raise UsageError("finite and not negative", "pull")
        self.local, self.pull = local, float(pull)
        self.weight = self.pull if weight is None else number(weight, "weight")
        if not 0 <= self.weight < math.inf:
            raise UsageError("finite and not negative", "weight")
        self.regulariser = log_degrees() if regulariser is None else regulariser
        if confidences is None:
            if not 0 < number(floor, "floor") <= 1:
                raise UsageError("above 0 and at most 1", "floor")
            rows = getattr(local, "rows", None)
            counts = np.ones(local.agents) if rows is None else rows.counts
            shares = counts / max(1, counts.max())
            self.confidences = np.maximum(shares, floor)
        else:
            self.confidences = finite(confidences, "confidences")
            if self.confidences.shape != (local.agents,) or not (self.confidences >= 0).all():
                raise UsageError("a number that is not negative for each user", "confidences")
        self.own_bends = own_bends
        self.bends = _own_bends(local) if own_bends else local.smoothness()
        if not (self.pull + self.confidences * self.bends > 0).all():
            raise UsageError("a user without confidence needs a pull", "confidences")

    @property
    def users(self) -> int:
        """How many users there are."""
        return self.local.agents

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""
        return self.local.dimension

    @property
    def paces(self) -> Floats:
        """For each user the inverse of what its gradient bends by, for degree 1."""
        found = self.pull + self.confidences * self.bends
        if not np.isfinite(found).all():
            raise UsageError("a gradient may jump: take a smooth loss", "problem")
        return np.asarray(1 / found)

    @property
    def private(self) -> Linear:
        """The losses of users, if what is told of them can be made private."""
        if not isinstance(self.local, Linear):
            raise UsageError("only a mean over rows is made private: Linear", "problem")
        if self.own_bends:
            message = "steps that were measured on rows betray them: own_bends=False"
            raise UsageError(message, "problem")
        return self.local

    def links(self, graph: Graph | None) -> Links:
        """The neighbours of all users, if the graph is theirs."""
        if not isinstance(graph, Graph) or graph.parties != self.users:
            raise UsageError(f"a graph of all {self.users} users", "graph")
        return Links.of(graph)

    def value(self, models: Floats, links: Links) -> Floats:
        """J, of one run or of several."""
        return self.loss(models, links) + self.weight * _one(self.regulariser.value(links))

    def loss(self, models: Floats, links: Links) -> Floats:
        """M, which is J without the last part."""
        weights = _one(links.degrees) * self.confidences
        own = (weights * self.local.value(models)).sum(axis=-1)
        return np.asarray(own + self.pull / 2 * links.roughness(models))

    def gradient(self, models: Floats, links: Links) -> Floats:
        """Of J in the models, (2.2): of the same shape."""
        degrees = _one(links.degrees)[..., None]
        own = self.pull * models + self.confidences[:, None] * self.local.gradient(models)
        return np.asarray(degrees * own - self.pull * links.heard(models))

    def smoothness(self, links: Links) -> Floats:
        """L_u = d_u (pull + c_u L_u^loc), of M in each user's model."""
        return _one(links.degrees) / self.paces

    def curvature(self, links: Links) -> float:
        """M is strongly convex with at least this: the least d_u c_u mu_u^loc."""
        each = _one(links.degrees) * self.confidences * self.local.strong_curvature()
        return float(each.min())

    def kept(self, links: Links) -> float:
        """What is left of the distance to the optimum after a step of a random user, at most."""
        return 1 - self.curvature(links) / (self.users * float(self.smoothness(links).max()))

    def graph_smoothness(self, peers: int) -> float:
        """Of J in the weights between a user and so many others."""
        return self.weight * self.regulariser.smoothness(peers)

    def graph_curvature(self) -> float:
        """J is strongly convex in the weights with at least this."""
        return self.weight * self.regulariser.edge.least

    def minimum(self, links: Links, tolerance: float = 1e-9) -> Floats:
        """The models of least M for one graph, found in one place by L-BFGS.

        Raises:
            UsageError: none was found: a gradient jumps, or models grow without bound.
        """
        scale = self.smoothness(links).max()
        return _least(
            lambda models: self.loss(models, links),
            lambda models: self.gradient(models, links),
            (self.users, self.dimension),
            tolerance * max(float(scale), 1e-9),
            1 / max(2 * float(scale), 1e-9),
        )

    def alone(self, tolerance: float = 1e-9) -> Floats:
        """The models that users learn alone: the least of each one's own loss."""
        return _least(
            lambda models: self.local.value(models).sum(axis=-1),
            self.local.gradient,
            (self.users, self.dimension),
            tolerance,
            1 / self.bends[:, None],
        )


def _least(
    value: Callable[[Floats], Floats],
    gradient: Callable[[Floats], Floats],
    shape: tuple[int, int],
    tolerance: float,
    pace: Floats | float,
) -> Floats:
    """L-BFGS, and some steps of this length where sums of all losses are too coarse for it."""

    def at(flat: Floats) -> tuple[float, Floats]:
        models = flat.reshape(shape)
        return float(value(models)), gradient(models).ravel()

    found = minimize(
        at, np.zeros(math.prod(shape)), jac=True, method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": tolerance, "maxcor": 30},
    )  # fmt: skip
    models = found.x.reshape(shape)
    for _ in range(_POLISH):
        slope = gradient(models)
        if np.abs(slope).max() <= 100 * tolerance:
            return np.asarray(models)
        models = models - pace * slope
    raise UsageError("no minimum was found: add a ridge, or take a smooth loss", "problem")


def _one(values: Floats) -> Floats:
    """Without the first axis, where one graph is for all runs."""
    return values[0] if len(values) == 1 else values


def _own_bends(local: Objective) -> Floats:
    """The largest curvature of each user's loss at any model, measured on its rows."""
    if not isinstance(local, Linear):
        return local.smoothness()
    rows = local.rows
    wide = rows.x.shape[2] > rows.x.shape[1]
    product = "umd,und->umn" if wide else "umd,ume->ude"
    squares = np.einsum(product, rows.x, rows.x)
    largest = np.linalg.eigvalsh(squares)[:, -1] / np.maximum(rows.counts, 1)
    # A little more, for roundings of the eigenvalue.
    return np.asarray(local.loss.bend * largest * (1 + 1e-9) + local.strong_curvature())
