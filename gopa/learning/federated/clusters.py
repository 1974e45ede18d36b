"""Finds clusters by sums: k-means, of which users tell nothing but sums over clusters.

Specification: `specs/22-federated.md`, section 7.
"""

from __future__ import annotations

import math
from typing import Any, Final, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import generator, whole
from gopa.learning.clipping import clip, finite, length
from gopa.learning.data import Users
from gopa.learning.federated.row_sums import RowSums, known_length
from gopa.learning.federated.setting import Setting, SumOptions
from gopa.learning.federated.sums import Callback, SumRun, SumSession
from gopa.learning.outcome import Outcome, Progress
from gopa.support.arrays import Floats

_CANDIDATES: Final = 64
_CLEAR: Final = 2.0
"""A cluster of fewer rows than so many standard errors is taken for empty."""


class Clusters(SumRun):
    """Centres between rounds, with the session in which they are moved.

    Rows are shortened to `radius` around `origin`, both public. A row is told as itself and a 1 in
    the place of its cluster: no two rows are farther apart, in whichever clusters. Without privacy
    it has converged when no centre moves by more than `tol`, or by that part of the largest of
    their numbers.
    """

    _carried = ("radius", "centres")

    def __init__(  # noqa: PLR0913 - what is clustered, and how
        self,
        setting: Setting,
        problem: Users,
        *,
        clusters: int,
        rounds: int,
        radius: float | None = None,
        origin: npt.ArrayLike = 0.0,
        centres: npt.ArrayLike | None = None,
        tol: float = 1e-4,
    ) -> None:
        super().__init__()
        self._many = whole(clusters, "clusters")
        self._columns = problem.table.features.shape[1]
        self._origin, self._tol = finite(np.atleast_1d(np.asarray(origin)), "origin"), tol
        if self._origin.shape not in {(1,), (self._columns,)}:
            raise UsageError(f"a number, or one for each of {self._columns} columns", "origin")
        self._exact = setting.privacy is None
        before: list[SumSession] = []
        rows = [x - self._origin for x, _ in problem.pairs()]
        self.radius = known_length(setting, radius, rows, before, "radius")
        self._rng = generator(setting.seed, "clusters")
        self._centres = self._spread()
        if centres is not None:
            given = finite(centres, "centres")
            if given.shape != self._centres.shape:
                raise UsageError(f"{clusters} rows of {self._columns} numbers", "centres")
            self._centres = (given - self._origin) / self.radius
        self._sums = RowSums(
            "k-means",
            setting,
            problem,
            width=self._many * (self._columns + 1),
            diameter=2.0,
            rounds=rounds,
            counted=False,
            before=before,
        )
        self.session = self._sums.session
        self._counts = np.zeros(self._many)
        self._stderr = np.zeros(self._many)

    @property
    def centres(self) -> Floats:
        """The centres in the units of the data."""
        return np.asarray(self._centres * self.radius + self._origin)

    def _round(self, problem: Users) -> None:
        """Moves every centre to the mean of the rows that are nearest to it."""
        found = self._sums.sum([self._row(x) for x, _ in problem.pairs()])
        table = found.total.reshape(self._many, self._columns + 1)
        self._counts = np.maximum(table[:, -1], 0.0)
        full = table[:, -1] > max(_CLEAR * found.stderr, 0.5)
        means = table[:, :-1] / np.where(full, table[:, -1], 1.0)[:, None]
        before = self.centres
        self._centres = np.where(full[:, None], clip(means, 2, 1.0), self._near_the_largest(means))
        # Of a quotient: the noise of the sum, and that of the count.
        own = np.hypot(1.0, length(self._centres, 2) / math.sqrt(self._columns))
        least = np.maximum(self._counts, max(found.stderr, 0.5))
        self._stderr = self.radius * found.stderr * own / least
        moved = float(np.abs(self.centres - before).max())
        if self._exact:
            self.converged = moved <= self._tol * max(1.0, float(np.abs(self.centres).max()))
        self.notes.note(
            round=self.done,
            users=found.result.count,
            noise=found.stderr,
            moved=moved,
            empty=int((~full).sum()),
        )

    def _model(self) -> dict[str, Any]:
        found = {"centres": self.centres, "counts": self._counts}
        return found if self._exact else found | {"stderr": self._stderr}

    def _noise(self) -> float | None:
        """Against how far centres lie from their mean."""
        square = float(np.sum((self.centres - self.centres.mean(axis=0)) ** 2))
        if self._many == 1 or not square:
            return None
        return float(self._columns * np.sum(self._stderr**2) / square)

    def _row(self, x: Floats) -> Floats:
        moved = x - self._origin
        if (length(moved, 2) > self.radius).any():
            self.session.warn("rows were shortened to the radius")
        inside = clip(moved, 2, self.radius) / self.radius
        hot = np.eye(self._many)[nearest(inside, self._centres)]
        widened = np.hstack([inside, np.ones((len(x), 1))])
        blocks = hot[:, :, None] * widened[:, None, :]
        return np.asarray(blocks.reshape(len(x), self._many * widened.shape[1]))

    def _spread(self) -> Floats:
        """Points far from each other, chosen before any row is looked at."""
        tried = self._rng.normal(size=(_CANDIDATES * self._many, self._columns))
        tried *= (0.5 / np.maximum(length(tried, 2), 1e-12))[:, None]
        tried *= self._rng.uniform(0.2, 1.5, len(tried))[:, None]
        chosen = [tried[0]]
        while len(chosen) < self._many:
            apart = np.min([length(tried - each, 2) for each in chosen], axis=0)
            chosen.append(tried[int(np.argmax(apart))])
        return np.array(chosen)

    def _near_the_largest(self, means: Floats) -> Floats:
        """Where an empty cluster goes: beside the fullest one, of which it may take a part."""
        fullest = int(np.argmax(self._counts))
        beside = self._rng.normal(0, 0.1 / math.sqrt(self._columns), self._centres.shape)
        return clip(means[fullest] + beside, 2, 1.0) if self._counts.any() else self._centres


def nearest(rows: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    """Which centre each row is nearest to."""
    apart = (centres**2).sum(axis=1) - 2 * np.einsum("md,kd->mk", rows, centres)
    return np.asarray(apart.argmin(axis=1))


@algorithm(more=SumOptions.__annotations__, labels="unread")
def kmeans(  # noqa: PLR0913 - what is clustered, and how
    problem: Users,
    *,
    clusters: int,
    rounds: int = 8,
    tol: float = 1e-4,
    radius: float | None = None,
    origin: npt.ArrayLike = 0.0,
    centres: npt.ArrayLike | None = None,
    progress: Progress = None,
    callback: Callback | None = None,
    **asked: Unpack[SumOptions],
) -> Outcome:
    """k-means in verified rounds: `centres`, and how many rows each has.

    The first `centres` are spread at random over the ball unless somebody says. Without privacy
    it ends when no centre moves by more than `tol`, or by that part of the largest of their
    numbers, and says if that did not happen. `callback` is that of `fedavg`. Further keywords are
    those of `Setting`.
    """
    found = Clusters(
        Setting(**asked),
        problem,
        clusters=clusters,
        rounds=rounds,
        radius=radius,
        origin=origin,
        centres=centres,
        tol=tol,
    )
    return found.carried_out(problem, rounds, progress, callback)
