"""Runs Frank-Wolfe on personal models: each step adds one base predictor, told in few bytes.

Specification: `specs/20-personalised.md`, section 7.
"""

from __future__ import annotations

import math

import numpy as np

from gopa import UsageError
from gopa.learning.personalised.links import Floats, Links
from gopa.learning.personalised.moves import lengths, pace
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.turns import Turns


class FrankWolfe:
    """Takes steps of (2.6) on models (runs, users, p) of l1 length `radius` at most.

    `taken` steps went before, so that they are short from the beginning.
    """

    def __init__(
        self,
        problem: Collaboration,
        links: Links,
        models: Floats,
        radius: float,
        *,
        taken: int = 0,
    ) -> None:
        if not 0 < radius < math.inf:
            raise UsageError("above 0 and finite", "radius")
        if not (np.abs(models).sum(axis=-1) <= radius * (1 + 1e-9)).all():
            raise UsageError("models begin within the radius", "start")
        self.models, self.radius = models, radius
        self.vectors = np.zeros(len(models), dtype=np.int64)
        self.bytes = np.zeros(len(models), dtype=np.int64)
        self._problem, self._taken = problem, taken
        self.relink(links)

    def relink(self, links: Links) -> None:
        """Goes on with another graph."""
        self._shares, self._counts, self._places = links.shares, links.counts, links.places
        self._own_graph, self._alone = len(links.places) > 1, links.counts == 0

    def __call__(self, now: Turns) -> None:
        """Takes these steps."""
        problem, at = self._problem, (now.runs, now.users)
        graph = now.runs if self._own_graph else np.zeros_like(now.runs)
        own = self.models[at]
        near = self.models[now.runs[:, None], self._places[graph, now.users]]
        heard = np.matmul(self._shares[graph, now.users][:, None, :], near)[:, 0]
        heard = np.where(self._alone[graph, now.users][:, None], own, heard)
        confidence = problem.confidences[now.users][:, None]
        slope = confidence * problem.local.gradient(own, now.users) + problem.pull * (own - heard)
        index = np.abs(slope).argmax(axis=1)
        batch = np.arange(len(index))
        steps = now.steps + self._taken
        share = pace(steps, problem.users)
        moved = (1 - share)[:, None] * own
        corner = np.where(slope[batch, index] < 0, self.radius, -self.radius)
        moved[batch, index] += share * corner
        self.models[at] = moved
        counts = self._counts[graph, now.users]
        np.add.at(self.vectors, now.runs, counts)
        np.add.at(self.bytes, now.runs, counts * lengths(steps, index))
