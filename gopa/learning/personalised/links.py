"""Holds who collaborates with whom as padded arrays, for many runs at once.

Specification: `specs/20-personalised.md`, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.graph import Graph

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Holds the neighbours of each user and the weights of their edges: (graphs, users, most).

    There is one graph for all runs, or one for each. What is padding leads to the user itself, with
    weight 0.
    """

    places: Places
    weights: Floats

    @classmethod
    def of(cls, graph: Graph) -> Links:
        """Those of one graph, for all runs."""
        return cls._padded(
            np.repeat(np.arange(graph.parties), graph.degrees),
            graph.targets.astype(np.int64),
            np.asarray(graph.weight_matrix().data),
            graph.parties,
        )

    @classmethod
    def of_weights(cls, weights: Floats) -> Links:
        """Those of symmetric matrices (graphs, users, users), one for each run."""
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
