"""What users minimise together, the graph along which they do, and what a graph itself costs.

Specification: `specs/20-personalised.md`, sections 1 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import number
from gopa.learning.clipping import finite
from gopa.learning.objectives import Linear, Objective, Softmax
from gopa.support.arrays import Floats, Integers

Places: TypeAlias = Integers
"""Users or other places, by number."""


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The neighbours of each user and the weights of their edges: (graphs, users, most).

    There is one graph for all runs, or one for each. What is padding leads to the user itself, with
    weight 0.
    """

    places: Places
    weights: Floats

    @classmethod
    def of(cls, graph: Graph) -> Links:
        """The links of one graph, for all runs."""
        return cls._padded(
            np.repeat(np.arange(graph.parties), graph.degrees),
            graph.targets.astype(np.int64),
            np.asarray(graph.weight_matrix().data),
            graph.parties,
        )

    @classmethod
    def of_weights(cls, weights: Floats) -> Links:
        """The links of symmetric matrices (graphs, users, users), one for each run."""
        graphs, users, _ = weights.shape
        run, first, second = np.nonzero(weights)
        found = cls._padded(
            run * users + first, second, weights[run, first, second], graphs * users
        )
        shape = (graphs, users, -1)
        own = np.arange(users)[None, :, None]
        places, values = found.places.reshape(shape), found.weights.reshape(shape)
        return cls(np.where(values > 0, places, own), values)

    @classmethod
    def _padded(cls, owners: Places, targets: Places, values: Floats, rows: int) -> Links:
        counts = np.bincount(owners, minlength=rows)
        most = max(1, int(counts.max()))
        column = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(np.arange(rows)[:, None], most, axis=1)
        weights = np.zeros((rows, most))
        places[owners, column], weights[owners, column] = targets, values
        return cls(places[None], weights[None])

    @property
    def users(self) -> int:
        """How many users there are."""
        return int(self.places.shape[1])

    @property
    def degrees(self) -> Floats:
        """The sum of the weights of each user's edges: (graphs, users)."""
        return np.asarray(self.weights.sum(axis=-1))

    @property
    def counts(self) -> Places:
        """How many neighbours each user has: (graphs, users)."""
        return np.asarray((self.weights > 0).sum(axis=-1))

    @property
    def shares(self) -> Floats:
        """Weights divided by the degree, and 0 for who has no neighbour."""
        degrees = self.degrees[..., None]
        return self.weights / np.where(degrees > 0, degrees, 1.0)

    def heard(self, models: Floats) -> Floats:
        """The sum of each user's neighbours' models, by their weights: of (.., users, p)."""
        found = np.zeros_like(models)
        for places, weights in self._columns():
            found += weights[..., None] * _at(models, places)
        return found

    def roughness(self, models: Floats) -> Floats:
        """The sum over edges of weight times squared distance: of (.., users, p)."""
        found = np.zeros(models.shape[:-1])
        for places, weights in self._columns():
            apart = models - _at(models, places)
            found += weights * (apart * apart).sum(axis=-1)
        return np.asarray(found.sum(axis=-1) / 2)

    def _columns(self) -> list[tuple[Places, Floats]]:
        one = self.places.shape[0] == 1
        places = self.places[0] if one else self.places
        weights = self.weights[0] if one else self.weights
        return [(places[..., k], weights[..., k]) for k in range(places.shape[-1])]


def _at(models: Floats, places: Places) -> Floats:
    """The models of these users, in each run."""
    if places.ndim == 1:
        return models[..., places, :]
    return np.take_along_axis(models, places[..., None], axis=-2)


@dataclass(frozen=True, slots=True)
class Convex:
    """A convex function g on numbers from 0 on, with g' and g''.

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
    """A function of each weight, 0 where there is no edge, and one of each degree."""

    edge: Convex
    degree: Convex

    def __post_init__(self) -> None:
        if float(self.edge.value(np.zeros(1))[0]) != 0:
            raise UsageError("what is added for no edge is 0", "edge")

    def value(self, links: Links) -> Floats:
        """The value of the regulariser on each graph."""
        pairs = self.edge.value(links.weights).sum(axis=(-2, -1)) / 2
        return np.asarray(pairs + self.degree.value(links.degrees).sum(axis=-1))

    def smoothness(self, peers: int) -> float:
        """The smoothness in the weights between a user and so many others, as a block."""
        return self.edge.most + (peers + 1) * self.degree.most


def log_degrees(sparsity: float = 1.0, inside: float = 0.1) -> GraphRegulariser:
    """The thesis's: sparsity |w|^2 - sum log(degree + inside).

    The smaller `sparsity`, the fewer neighbours. `inside` makes it smooth.
    """
    if not (0 < sparsity < math.inf and 0 < inside < math.inf):
        raise UsageError("sparsity and what is inside the log are above 0", "regulariser")
    scale = partial(np.multiply, 2 * sparsity)
    edge = Convex(
        partial(_squares, sparsity), scale, partial(_all_alike, 2 * sparsity), 2 * sparsity
    )
    value, slope, bend = (partial(_log_part, inside, order) for order in range(3))
    degree = Convex(value, slope, bend)
    return GraphRegulariser(edge, degree)


# Functions of modules, which are pickled with the estimators that have them.
def _squares(factor: float, w: Floats) -> Floats:
    return factor * w * w


def _all_alike(value: float, w: Floats) -> Floats:
    return np.full_like(w, value)


def _log_part(inside: float, order: int, d: Floats) -> Floats:
    """-log(d + inside), or its first or second derivative."""
    if order == 0:
        return np.asarray(-np.log(d + inside))
    return np.asarray(-1 / (d + inside) if order == 1 else (d + inside) ** -2.0)


_FLOOR: Final = 1e-3


_POLISH: Final = 100


class Collaboration:
    """J of (2.1): losses weighted by confidence and degree, and models pulled together.

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
        """The inverse of what each user's gradient bends by, for degree 1."""
        found = self.pull + self.confidences * self.bends
        if not np.isfinite(found).all():
            raise UsageError("a gradient may jump: take a smooth loss", "problem")
        return np.asarray(1 / found)

    @property
    def private(self) -> Linear | Softmax:
        """The losses of users, if what is told of them can be made private."""
        if not isinstance(self.local, Linear | Softmax):
            raise UsageError("only a mean over rows is made private: Linear or Softmax", "problem")
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
        """The smoothness of J in the weights between a user and so many others."""
        return self.weight * self.regulariser.smoothness(peers)

    def graph_curvature(self) -> float:
        """J is strongly convex in the weights with at least this."""
        return self.weight * self.regulariser.edge.least

    def alone(self, tolerance: float = 1e-9) -> Floats:
        """The models that users learn alone: the least of each one's own loss."""
        return least_of(
            lambda models: self.local.value(models).sum(axis=-1),
            self.local.gradient,
            (self.users, self.dimension),
            tolerance,
            1 / self.bends[:, None],
        )


def least_of(
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
