"""What agents minimise: value, gradient, and the constants that theorems need.

Constants follow from declared bounds and never from the data, which they would betray.
Models have the agents on the axis before the last, so that any number of runs goes in front.
Sums are `einsum` without linear algebra libraries: threads change nothing.
Specification: `specs/17-graphs-and-clocks.md`, section 6.
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import whole
from gopa.learning.clipping import Norm, finite, length, require_norm
from gopa.learning.rows import AgentRows, widening
from gopa.support.arrays import Floats

_T = TypeVar("_T", bound=np.generic)
Which: TypeAlias = npt.NDArray[np.integer] | None
"""The agents that models belong to, one for each; None: all of them in order."""


class Objective(Protocol):
    """One function for each agent, of a model of `dimension` numbers.

    Constants are for gradients measured in `norm` and models in its dual: 1 for infinite,
    infinite for 1, 2 for 2.
    """

    @property
    def agents(self) -> int:
        """How many functions there are."""

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""

    def value(self, models: Floats, agents: Which = None) -> Floats:
        """The values of agents' functions at models (.., agents, dimension): (.., agents)."""

    def gradient(self, models: Floats, agents: Which = None) -> Floats:
        """The gradients, in the shape of the models; a subgradient at a kink."""

    def gradient_bound(self, norm: Norm = 2, radius: float = math.inf) -> Floats:
        """A bound on each agent's gradient, at models no longer than `radius`."""

    def smoothness(self, norm: Norm = 2) -> Floats:
        """The factor by which each agent's gradients differ at most, by models' difference."""

    def strong_curvature(self) -> Floats:
        """The most convexity of each agent's function: less so much |w|^2 / 2 it is convex."""


@dataclass(frozen=True, slots=True)
class RowLoss:
    """The loss of a prediction z for a label y, its slope in z, and bounds of both.

    `steepest` bounds the slope, given the largest moduli of prediction and label; `bend`
    bounds the second derivative, infinite at a kink.
    """

    name: str
    value: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    steepest: Callable[[float, float], float]
    bend: float
    labels: Literal["signs", "numbers"]


def _logistic(z: Floats, y: Floats) -> Floats:
    return np.asarray(np.logaddexp(0.0, -y * z))


def _logistic_slope(z: Floats, y: Floats) -> Floats:
    small = np.exp(-np.abs(z))
    return np.asarray(-y * np.where(y * z > 0, small, 1.0) / (1 + small))


def _hinge(z: Floats, y: Floats) -> Floats:
    return np.maximum(0.0, 1 - y * z)


def _hinge_slope(z: Floats, y: Floats) -> Floats:
    return np.where(y * z < 1, -y, 0.0)


def _squared(z: Floats, y: Floats) -> Floats:
    return np.asarray((z - y) ** 2 / 2)


def _squared_slope(z: Floats, y: Floats) -> Floats:
    return z - y


def _at_most_one(prediction: float, label: float) -> float:
    del prediction, label
    return 1.0


LOGISTIC: Final = RowLoss("logistic", _logistic, _logistic_slope, _at_most_one, 0.25, "signs")
"""ln(1 + exp(-y z)) for labels -1 and 1."""

HINGE: Final = RowLoss("hinge", _hinge, _hinge_slope, _at_most_one, math.inf, "signs")
"""max(0, 1 - y z) for labels -1 and 1."""

SQUARED: Final = RowLoss("squared", _squared, _squared_slope, operator.add, 1.0, "numbers")
"""(z - y)^2 / 2 for any labels."""


class _OnRows:
    """The common part of all objectives whose data are rows."""

    _bend: float
    """Of the loss of a row: its second derivative along a row of length 1, at most."""

    _classes = 1
    """So many vectors of weights has a model, one after the other."""

    def __init__(self, rows: AgentRows, ridge: npt.ArrayLike, lasso: float) -> None:
        self.rows = rows
        self._regulariser = _Regulariser(len(rows.x), self.dimension, ridge, lasso)
        self._present, self._shares = rows.present, rows.shares

    @property
    def agents(self) -> int:
        """How many agents there are."""
        return len(self.rows.x)

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""
        return int(self.rows.x.shape[2]) * self._classes

    def row_gradient_bound(self, norm: Norm = 2, radius: float = math.inf) -> float:
        """No gradient of a row's loss is longer, at models that are no longer than `radius`."""
        del radius
        return self.rows.bound(norm)

    def gradient_bound(self, norm: Norm = 2, radius: float = math.inf) -> Floats:
        """A bound on each agent's gradient, at models no longer than `radius`."""
        return self.row_gradient_bound(norm, radius) + self._regulariser.steepest(norm, radius)

    def smoothness(self, norm: Norm = 2) -> Floats:
        """The factor by which each agent's gradients differ at most, by models' difference."""
        return self._bend * self.rows.bound(norm) ** 2 + self._regulariser.smoothness(norm)

    def strong_curvature(self) -> Floats:
        """The most convexity of each agent's function: less so much |w|^2 / 2 it is convex."""
        return self._regulariser.ridge.copy()


class _MeanOfRows(_OnRows):
    """The common part of means over rows, whose gradients are sums over any of the rows."""

    _truth: Floats
    """What a row is to be, by agent and row: its label, or a 1 for its class."""

    @abstractmethod
    def _added(self, models: Floats, x: Floats, truth: Floats, shares: Floats) -> Floats:
        """The gradients of the losses of rows, times their shares, added up."""

    def gradient(self, models: Floats, agents: Which = None) -> Floats:
        """The gradients, in the shape of the models; a subgradient at a kink."""
        x, truth, shares = (_of(each, agents) for each in (self.rows.x, self._truth, self._shares))
        mean = self._added(models, x, truth, shares)
        return np.asarray(mean + self._regulariser.gradient(models, agents))

    def drawn_gradient(self, models: Floats, places: npt.NDArray[np.integer]) -> Floats:
        """The gradients of all agents, on the rows at these places: (.., agents, any number)."""
        who = np.arange(self.agents)[:, None]
        x, truth = self.rows.x[who, places], self._truth[who, places]
        drawn = self._added(models, x, truth, self._present[who, places]) / places.shape[-1]
        return np.asarray(drawn + self._regulariser.gradient(models, None))


class Linear(_MeanOfRows):
    """A loss averaged over an agent's rows, for linear predictions, with regularisers.

    F(w) = mean of loss(x w, y) + ridge / 2 |w|^2 + lasso |w|_1; without rows only the
    regularisers. `ridge` may have a number for each agent. To exchange one of m rows changes
    the gradient by at most 2 `row_gradient_bound` / m, whatever the regularisers.
    """

    def __init__(
        self, loss: RowLoss, rows: AgentRows, *, ridge: npt.ArrayLike = 0.0, lasso: float = 0.0
    ) -> None:
        if loss.labels == "signs" and not (np.abs(rows.y[rows.present]) == 1).all():
            raise UsageError(f"the {loss.name} loss takes labels -1 and 1", "rows")
        super().__init__(rows, ridge, lasso)
        self.loss, self._bend, self._truth = loss, loss.bend, rows.y

    def value(self, models: Floats, agents: Which = None) -> Floats:
        """The values of agents' functions at models (.., agents, dimension): (.., agents)."""
        x, y, shares = (_of(each, agents) for each in (self.rows.x, self.rows.y, self._shares))
        losses = self.loss.value(_predictions(x, models), y)
        return np.asarray((losses * shares).sum(axis=-1) + self._regulariser.value(models, agents))

    def _added(self, models: Floats, x: Floats, truth: Floats, shares: Floats) -> Floats:
        slopes = self.loss.slope(_predictions(x, models), truth) * shares
        return np.asarray(np.einsum("...m,...md->...d", slopes, x))

    def row_gradients(self, models: Floats, agents: Which = None) -> Floats:
        """The gradient of each row's loss alone: (.., agents, rows, dimension), padding 0."""
        x, y = _of(self.rows.x, agents), _of(self.rows.y, agents)
        slopes = self.loss.slope(_predictions(x, models), y)
        return np.asarray((slopes * _of(self._present, agents))[..., None] * x)

    def row_gradient_bound(self, norm: Norm = 2, radius: float = math.inf) -> float:
        """No gradient of a row's loss is longer, at models that are no longer than `radius`."""
        row = self.rows.bound(norm)
        return self.loss.steepest(row * _reach(radius), self.rows.label_bound) * row


class Softmax(_MeanOfRows):
    """The softmax loss of several classes averaged over an agent's rows, with regularisers.

    F(w) = mean of ln sum_k exp(x w_k) - x w_y + ridge / 2 |w|^2 + lasso |w|_1. Labels are numbers
    of classes from 0 on. All weights are one vector, so one budget hides what a row does to all.
    """

    def __init__(
        self, rows: AgentRows, classes: int, *, ridge: npt.ArrayLike = 0.0, lasso: float = 0.0
    ) -> None:
        found = rows.y[rows.present]
        if classes < 2 or not np.isin(found, np.arange(classes)).all():
            raise UsageError(f"numbers of classes from 0 to {classes - 1}", "labels")
        self._classes = classes
        super().__init__(rows, ridge, lasso)
        self._truth = (rows.y[..., None] == np.arange(classes)) * rows.present[..., None]

    def value(self, models: Floats, agents: Which = None) -> Floats:
        """The values of agents' functions at models (.., agents, dimension): (.., agents)."""
        z = self._scores(models, _of(self.rows.x, agents))
        losses = np.logaddexp.reduce(z, axis=-1) - (z * _of(self._truth, agents)).sum(axis=-1)
        mean = (losses * _of(self._shares, agents)).sum(axis=-1)
        return np.asarray(mean + self._regulariser.value(models, agents))

    def _added(self, models: Floats, x: Floats, truth: Floats, shares: Floats) -> Floats:
        slopes = self._slopes(models, x, truth) * shares[..., None]
        found = np.einsum("...mk,...md->...kd", slopes, x)
        return np.asarray(found.reshape(*found.shape[:-2], self.dimension))

    def row_gradients(self, models: Floats, agents: Which = None) -> Floats:
        """The gradient of each row's loss alone: (.., agents, rows, dimension), padding 0."""
        x = _of(self.rows.x, agents)
        slopes = self._slopes(models, x, _of(self._truth, agents))
        each = (slopes * _of(self._present, agents)[..., None])[..., None] * x[..., None, :]
        return np.asarray(each.reshape(*each.shape[:-2], self.dimension))

    def row_gradient_bound(self, norm: Norm = 2, radius: float = math.inf) -> float:
        """No gradient of a row's loss is longer, at whichever models."""
        del radius
        # Of probabilities less a one: at most 2 in moduli, sqrt(2) in length, 1 in each number.
        return math.pow(2, 1 / norm) * self.rows.bound(norm)

    def smoothness(self, norm: Norm = 2) -> Floats:
        """The factor by which each agent's gradients differ at most, by models' difference."""
        # The bend of ln sum exp is a covariance of ones: at most 1/2 in length, else at most 1.
        bend = (0.5 if norm == 2 else 1.0) * self.rows.bound(norm) ** 2
        return bend + self._regulariser.smoothness(norm)

    def _scores(self, models: Floats, x: Floats) -> Floats:
        if models.shape[-1] != self.dimension:
            raise UsageError(f"a model has {self.dimension} numbers", "models")
        each = models.reshape(*models.shape[:-1], self._classes, x.shape[-1])
        return np.asarray(np.einsum("...md,...kd->...mk", x, each))

    def _slopes(self, models: Floats, x: Floats, truth: Floats) -> Floats:
        return np.asarray(softmax(self._scores(models, x)) - truth)


def softmax(scores: Floats) -> Floats:
    """The chance of each class, by the scores of all classes on the last axis."""
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def mean_of_rows(
    loss: RowLoss, rows: AgentRows, classes: int, *, ridge: npt.ArrayLike = 0.0
) -> Linear | Softmax:
    """The mean of a loss over rows, which for more classes than two is that of a softmax."""
    if classes == 2:
        return Linear(loss, rows, ridge=ridge)
    if loss != LOGISTIC:
        message = f"two classes, and these are {classes}: the logistic loss takes several"
        raise UsageError(message, "loss")
    return Softmax(rows, classes, ridge=ridge)


LOSSES: Final = {each.name: each for each in (LOGISTIC, HINGE, SQUARED)}
"""Losses of rows by their names."""


class Boosting(_OnRows):
    """The loss of l1-Adaboost, ln sum exp(-x w), for rows x of margins of base predictors.

    The margin of a base predictor is its output times the label; labels are not read. A
    row counts the more, the worse it is predicted: there is no mean over rows, and to
    exchange one can change the whole gradient. Without rows the value is 0.
    """

    _bend = 1.0

    def __init__(self, rows: AgentRows, *, ridge: npt.ArrayLike = 0.0, lasso: float = 0.0) -> None:
        super().__init__(rows, ridge, lasso)

    def value(self, models: Floats, agents: Which = None) -> Floats:
        """The values of agents' functions at models (.., agents, dimension): (.., agents)."""
        top, terms = self._terms(models, agents)
        logs = top + np.log(np.maximum(terms.sum(axis=-1), 1.0))
        return np.asarray(logs + self._regulariser.value(models, agents))

    def gradient(self, models: Floats, agents: Which = None) -> Floats:
        """The gradients, in the shape of the models; a subgradient at a kink."""
        _, terms = self._terms(models, agents)
        shares = terms / np.maximum(terms.sum(axis=-1, keepdims=True), 1.0)
        mean = np.einsum("...m,...md->...d", -shares, _of(self.rows.x, agents))
        return np.asarray(mean + self._regulariser.gradient(models, agents))

    def _terms(self, models: Floats, agents: Which) -> tuple[Floats, Floats]:
        """The largest exponent of each agent, and all exponentials beside it."""
        x, present = _of(self.rows.x, agents), _of(self._present, agents)
        exponents = np.where(present, -_predictions(x, models), -np.inf)
        top = exponents.max(axis=-1)
        top = np.where(np.isfinite(top), top, 0.0)
        return top, np.exp(exponents - top[..., None])


Predictors: TypeAlias = Callable[[Floats], Floats]
"""Maps rows (rows, columns) to outputs (rows, predictors) from -1 to 1."""


def with_one(rows: Floats) -> Floats:
    """The rows with a one behind them, which gives linear models an intercept."""
    return np.hstack([rows, np.ones((len(rows), 1))])


def stumps(low: Floats, high: Floats, count: int) -> Predictors:
    """`count` stumps on every column: -1 below a threshold, 1 from it on, evenly between two ends.

    Ends that are taken from data tell something about them.
    """
    first, last = finite(np.atleast_1d(low), "low"), finite(np.atleast_1d(high), "high")
    if first.shape != last.shape or not (first <= last).all():
        raise UsageError("two ends for each column, the lower one first", "high")
    shares = np.arange(1, whole(count, "count") + 1) / (count + 1)
    thresholds = first[:, None] + shares * (last - first)[:, None]

    return partial(_sides, thresholds)


def _sides(thresholds: Floats, rows: Floats) -> Floats:
    """On which side of its threshold each stump has each row."""
    if rows.ndim != 2 or rows.shape[1] != len(thresholds):
        raise UsageError(f"rows of {len(thresholds)} numbers", "rows")
    return np.where(rows[:, :, None] >= thresholds, 1.0, -1.0).reshape(len(rows), -1)


class Quadratic:
    """Scale |w - a|^2 for an agent's own point a: what agents that average minimise.

    Bounds follow from the points themselves: clip those first where they are private.
    """

    def __init__(self, centres: npt.ArrayLike, *, scale: float = 1.0) -> None:
        self.centres = finite(centres, "centres").copy()
        if self.centres.ndim != 2 or not self.centres.size:
            raise UsageError("there is one point for each agent, of equal widths", "centres")
        if not 0 < scale < math.inf:
            raise UsageError("a scale is positive and finite", "scale")
        self.centres.flags.writeable = False
        self.scale = scale

    @property
    def agents(self) -> int:
        """How many agents there are."""
        return len(self.centres)

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""
        return int(self.centres.shape[1])

    def value(self, models: Floats, agents: Which = None) -> Floats:
        """The values of agents' functions at models (.., agents, dimension): (.., agents)."""
        centres = _of(self.centres, agents)
        apart = _fitting(models, centres) - centres
        return np.asarray(self.scale * (apart * apart).sum(axis=-1))

    def gradient(self, models: Floats, agents: Which = None) -> Floats:
        """The gradients, in the shape of the models."""
        centres = _of(self.centres, agents)
        apart = _fitting(models, centres) - centres
        return np.asarray(2 * self.scale * apart)

    def gradient_bound(self, norm: Norm = 2, radius: float = math.inf) -> Floats:
        """A bound on each agent's gradient, at models no longer than `radius`."""
        reach = _reach(radius) * _from_dual(norm, self.dimension)
        return 2 * self.scale * (reach + length(self.centres, norm))

    def smoothness(self, norm: Norm = 2) -> Floats:
        """The factor by which each agent's gradients differ at most, by models' difference."""
        return np.full(self.agents, 2 * self.scale * _from_dual(norm, self.dimension))

    def strong_curvature(self) -> Floats:
        """The most convexity of each agent's function: less so much |w|^2 / 2 it is convex."""
        return np.full(self.agents, 2 * self.scale)


class _Regulariser:
    """ridge / 2 |w|^2 + lasso |w|_1."""

    def __init__(self, agents: int, width: int, ridge: npt.ArrayLike, lasso: float) -> None:
        each = finite(np.atleast_1d(np.asarray(ridge)), "ridge")
        if each.shape not in {(1,), (agents,)} or not (each >= 0).all():
            raise UsageError("one number that is not negative, or one for each agent", "ridge")
        if not 0 <= lasso < math.inf:
            raise UsageError("finite and not negative", "lasso")
        self.ridge, self._lasso, self._width = np.broadcast_to(each, agents), lasso, width

    def value(self, models: Floats, agents: Which) -> Floats:
        squares = _of(self.ridge, agents) / 2 * (models * models).sum(axis=-1)
        return np.asarray(squares + self._lasso * np.abs(models).sum(axis=-1))

    def gradient(self, models: Floats, agents: Which) -> Floats:
        slope = _of(self.ridge, agents)[..., None] * models
        return np.asarray(slope + self._lasso * np.sign(models) if self._lasso else slope)

    def steepest(self, norm: Norm, radius: float) -> Floats:
        reach = np.where(self.ridge > 0, _reach(radius) * _from_dual(norm, self._width), 0.0)
        return self.ridge * reach + self._lasso * widening(math.inf, norm, self._width)

    def smoothness(self, norm: Norm) -> Floats:
        bend = self.ridge * _from_dual(norm, self._width)
        return np.full_like(bend, math.inf) if self._lasso else bend


def _of(values: npt.NDArray[_T], agents: Which) -> npt.NDArray[_T]:
    return values if agents is None else values[agents]


def _predictions(x: Floats, models: Floats) -> Floats:
    return np.asarray(np.einsum("...md,...d->...m", x, _fitting(models, x[..., 0, :])))


def _fitting(models: Floats, data: Floats) -> Floats:
    """The models, if they fit data (.., agents, dimension): numpy would repeat one number."""
    if models.shape[-1:] != data.shape[-1:]:
        raise UsageError(f"a model has {data.shape[-1]} numbers", "models")
    if len({*models.shape[-2:-1], *data.shape[-2:-1]} - {1}) > 1:
        raise UsageError(f"one model, or one for each of {data.shape[-2]} agents", "models")
    return models


def _reach(radius: float) -> float:
    """The length of the longest model; below 0 a bound of gradients would be none."""
    if not radius >= 0:
        raise UsageError("a length, at least 0", "radius")
    return radius


def _from_dual(norm: Norm, width: int) -> float:
    """The most by which a norm exceeds its dual."""
    dual = {1: math.inf, 2: 2, math.inf: 1}[require_norm(norm)]
    return widening(dual, norm, width)
