"""Losses of pairs of rows, to learn to rank or to measure distances.

Specification: `specs/23-pairwise.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.learning.data import Users
from gopa.learning.objectives import LOGISTIC
from gopa.learning.pairwise.kernels import numeric_labels
from gopa.support.arrays import Floats

_ONE: Final = np.ones(())


@dataclass(frozen=True, slots=True)
class PairLoss:
    """W log(1 + exp(-f . model)), with features f and a weight w, 0 or 1, of each two rows.

    A row is its features and its label behind them. `dimension` is that of models for so many
    features, and `steepest` the longest f where rows have at most this L2 norm.
    """

    name: str
    features: Callable[[Floats, Floats], Floats]
    weight: Callable[[Floats, Floats], Floats]
    dimension: Callable[[int], int]
    steepest: Callable[[float], float]

    def value(self, models: Floats, x: Floats, y: Floats) -> Floats:
        """The loss of each pair at a model of its own."""
        margin = np.einsum("...d,...d->...", self.features(x, y), models)
        return np.asarray(self.weight(x, y) * LOGISTIC.value(margin, _ONE))

    def gradient(self, models: Floats, x: Floats, y: Floats) -> Floats:
        """The gradient of each of them."""
        features = self.features(x, y)
        margin = np.einsum("...d,...d->...", features, models)
        slope = self.weight(x, y) * LOGISTIC.slope(margin, _ONE)
        return np.asarray(slope[..., None] * features)


def _ranked(x: Floats, y: Floats) -> Floats:
    return np.asarray(x[..., :-1] - y[..., :-1])


def _first_is_higher(x: Floats, y: Floats) -> Floats:
    return np.asarray(x[..., -1] > y[..., -1], dtype=np.float64)


def _distances(x: Floats, y: Floats) -> Floats:
    """Features of a distance: squared differences with a minus, and 1 for the threshold.

    For pairs of two labels all signs are opposite.
    """
    squares = (x[..., :-1] - y[..., :-1]) ** 2
    found = np.concatenate([-squares, np.ones((*squares.shape[:-1], 1))], axis=-1)
    alike = np.where(x[..., -1] == y[..., -1], 1.0, -1.0)
    return np.asarray(alike[..., None] * found)


RANKING: Final = PairLoss(
    "ranking", _ranked, _first_is_higher, lambda width: width, lambda norm: 2 * norm
)
"""A surrogate of the AUC, (3.5) in the thesis: rows of label 1 are to score higher."""

METRIC: Final = PairLoss(
    "metric",
    _distances,
    lambda x, y: np.ones(np.broadcast_shapes(x.shape, y.shape)[:-1]),
    lambda width: width + 1,
    lambda norm: math.hypot(4 * norm * norm, 1.0),
)
"""Weights of squared differences, and last a threshold: rows of one label are to be nearer."""


def rows_of(users: Users) -> Floats:
    """Features and label of each user's only row."""
    if (users.counts != 1).any():
        raise UsageError("every user has one row", "problem")
    held = np.concatenate(users.rows)
    labels = numeric_labels(users.table)
    return np.column_stack([users.table.features, labels])[held]


class MeanLoss:
    """The mean of a loss over all n^2 pairs of rows, and its gradient."""

    def __init__(self, loss: PairLoss, rows: Floats) -> None:
        self._pairs = float(len(rows) ** 2)
        kept = [loss.features(each[None], rows)[loss.weight(each[None], rows) > 0] for each in rows]
        self._features = np.concatenate(kept)
        if not len(self._features):
            raise UsageError("labels of both kinds: no pair has a loss", "problem")

    def value(self, models: Floats) -> Floats:
        """The loss of each model, along all axes but the last."""
        flat = models.reshape(-1, models.shape[-1])
        found = [LOGISTIC.value(self._margins(each), _ONE).sum() for each in flat]
        return np.array(found).reshape(models.shape[:-1]) / self._pairs

    def gradient(self, model: Floats) -> Floats:
        """The gradient of the loss at one model."""
        slope = LOGISTIC.slope(self._margins(model), _ONE)
        return np.asarray(np.einsum("p,pd->d", slope, self._features) / self._pairs)

    def _margins(self, model: Floats) -> Floats:
        return np.asarray(np.einsum("pd,d->p", self._features, model))
