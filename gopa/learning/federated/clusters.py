"""Finds clusters by sums: k-means, of which users tell nothing but sums over clusters.

Specification: `specs/22-federated.md`, section 7.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from gopa import RoundAborted, UsageError
from gopa.learning.clipping import clip, length
from gopa.learning.data import Users
from gopa.learning.federated.moments import largest
from gopa.learning.federated.row_sums import RowSums
from gopa.learning.federated.sums import Setting, SumOptions, SumSession
from gopa.learning.fitting import Progress, generator, told
from gopa.learning.history import Recorder
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy

Floats: TypeAlias = npt.NDArray[np.float64]

_CANDIDATES: Final = 64
_CLEAR: Final = 2.0
"""A cluster of fewer rows than so many standard errors is taken for empty."""


class Clusters:
    """Holds centres between rounds, with the session in which they are moved.

    Rows are shortened to `radius` around `origin`, both public. A row is told as itself and a 1 in
    the place of its cluster: no two rows are farther apart, in whichever clusters.
    """

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
        most_rows: int | None = None,
    ) -> None:
        if type(clusters) is not int or clusters < 1:
            raise UsageError("at least one", "clusters")
        if type(rounds) is not int or rounds < 1:
            raise UsageError("at least one round", "rounds")
        columns = problem.table.features.shape[1]
        self.before: list[SumSession] = []
        self._origin = np.broadcast_to(np.asarray(origin, dtype=np.float64), columns)
        rows = [x - self._origin for x, _ in problem.pairs()]
        if radius is None:
            radius = largest(setting, rows, self.before, "radius")
        if not 0 < radius < math.inf:
            raise UsageError("a length above 0", "radius")
        self.radius, self._many, self._columns = float(radius), clusters, columns
        self._rng = generator(setting.seed, "clusters")
        self._centres = self._spread() if centres is None else self._scaled(centres)
        if self._centres.shape != (clusters, columns):
            raise UsageError(f"{clusters} rows of {columns} numbers", "centres")
        self._sums = RowSums(
            "k-means",
            setting,
            problem,
            width=clusters * (columns + 1),
            diameter=2.0,
            most_rows=most_rows,
            rounds=rounds,
            counted=False,
        )
        self.session, self._notes = self._sums.session, Recorder()
        self.moved, self.counts, self.done = math.inf, np.zeros(clusters), 0

    @property
    def centres(self) -> Floats:
        """In the units of the data."""
        return np.asarray(self._centres * self.radius + self._origin)

    def round(self, problem: Users) -> None:
        """Moves every centre to the mean of the rows that are nearest to it."""
        self.done += 1
        rows = [self._row(x) for x, _ in problem.pairs()]
        try:
            found = self._sums.sum(rows)
        except RoundAborted:
            return
        table = found.total.reshape(self._many, self._columns + 1)
        self.counts = np.maximum(table[:, -1], 0.0)
        full = table[:, -1] > max(_CLEAR * found.stderr, 0.5)
        means = table[:, :-1] / np.where(full, table[:, -1], 1.0)[:, None]
        before = self._centres
        self._centres = np.where(full[:, None], clip(means, 2, 1.0), self._near_the_largest(means))
        self.moved = float(np.abs(self._centres - before).max()) * self.radius
        self._notes.note(
            round=self.done,
            users=found.result.count,
            noise=found.stderr,
            moved=self.moved,
            empty=int((~full).sum()),
        )

    def outcome(self, *, converged: bool | None = None) -> Outcome:
        """What came of it: `centres`, and how many rows each had in the last round."""
        if not self.session.results:
            raise UsageError("no round had a result: let fewer users fail", "session")
        return self.session.outcome(
            {"centres": self.centres, "counts": self.counts},
            self._notes.history(),
            converged=converged,
            warnings=self._sums.warnings,
            before=self.before,
        )

    def _row(self, x: Floats) -> Floats:
        moved = x - self._origin
        if (length(moved, 2) > self.radius).any():
            self._sums.warn("rows were shortened to the radius")
        inside = clip(moved, 2, self.radius) / self.radius
        hot = np.eye(self._many)[nearest(inside, self._centres)]
        widened = np.hstack([inside, np.ones((len(x), 1))])
        blocks = hot[:, :, None] * widened[:, None, :]
        return np.asarray(blocks.reshape(len(x), self._many * widened.shape[1]))

    def _scaled(self, centres: npt.ArrayLike) -> Floats:
        return np.asarray((np.atleast_2d(np.asarray(centres, float)) - self._origin) / self.radius)

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
        fullest = int(np.argmax(self.counts))
        beside = self._rng.normal(0, 0.1 / math.sqrt(self._columns), self._centres.shape)
        return clip(means[fullest] + beside, 2, 1.0) if self.counts.any() else self._centres


def nearest(rows: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    """Which centre each row is nearest to."""
    apart = (centres**2).sum(axis=1) - 2 * np.einsum("md,kd->mk", rows, centres)
    return np.asarray(apart.argmin(axis=1))


def kmeans(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    clusters: int,
    privacy: Privacy | None,
    seed: int,
    progress: Progress = None,
    rounds: int = 8,
    tol: float = 1e-4,
    radius: float | None = None,
    origin: npt.ArrayLike = 0.0,
    centres: npt.ArrayLike | None = None,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """k-means in verified rounds: `centres`, and how many rows each has.

    The first `centres` are spread at random over the ball unless somebody says. Without privacy
    it ends when no centre moves by more than `tol` radii, and says if that did not happen.
    """
    setting = Setting(privacy, seed, **options)
    found = Clusters(
        setting,
        problem,
        clusters=clusters,
        rounds=rounds,
        radius=radius,
        origin=origin,
        centres=centres,
        most_rows=most_rows,
    )
    return carried_out(found, problem, setting, rounds=rounds, tol=tol, progress=progress)


def carried_out(  # noqa: PLR0913 - all of a run
    found: Clusters,
    problem: Users,
    setting: Setting,
    *,
    rounds: int,
    tol: float,
    progress: Progress,
) -> Outcome:
    """All rounds, or without privacy those until nothing moves."""
    converged: bool | None = None
    with found.session, told(progress) as advance:
        advance("rounds", 0, rounds)
        for done in range(rounds):
            found.round(problem)
            advance("rounds", done + 1, rounds)
            if setting.privacy is None:
                converged = found.moved <= tol * max(1.0, float(np.abs(found.centres).max()))
                if converged:
                    break
        return found.outcome(converged=converged)
