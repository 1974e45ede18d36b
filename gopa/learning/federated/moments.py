"""Adds up first and second moments of rows: principal components and least squares follow.

One round is enough, and several add up what came later. Specification: `specs/22-federated.md`,
section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import number, whole
from gopa.learning.clipping import clip, length
from gopa.learning.data import Users
from gopa.learning.federated.row_sums import RowSums, RowTotal, known_length
from gopa.learning.federated.setting import Setting, SumOptions
from gopa.learning.federated.sums import SumRun, SumSession
from gopa.learning.outcome import Outcome

Floats: TypeAlias = npt.NDArray[np.float64]

_FARTHEST: Final = math.sqrt(4.5)
"""Of (x, x x^T) and (y, y y^T) for x and y in the unit ball: at an angle of 120 degrees."""


class MomentSums(SumRun):
    """Is a session that adds up x and x x^T over all rows, each shortened to `radius`.

    With `labelled` a row is its features, shortened to `radius`, beside its label, moved to at
    most `label_radius`. It goes on where the `last` one ended. `reading` makes the model.
    """

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        problem: Users,
        *,
        reading: Callable[[MomentEstimate], dict[str, Any]],
        radius: float | None = None,
        labelled: bool = False,
        label_radius: float | None = None,
        rounds: int = 1,
        last: MomentSums | None = None,
    ) -> None:
        super().__init__()
        self._reading, self._columns = reading, problem.table.features.shape[1]
        before: list[SumSession] = []
        pairs = problem.pairs()
        if last is not None:
            radius, label_radius = last.radius, last.label_radius
        self.radius: float = known_length(setting, radius, [x for x, _ in pairs], before, "radius")
        self.label_radius: float = 0.0
        if labelled:
            labels = [np.asarray(y, dtype=np.float64)[:, None] for _, y in pairs]
            self.label_radius = known_length(setting, label_radius, labels, before, "label_radius")
        self._size = self._columns + labelled
        # What it cannot read it refuses before anything is charged.
        reading(MomentEstimate(np.zeros(self._size), np.eye(self._size), 1.0, 0.0))
        self._upper = np.triu_indices(self._size)
        # Beside the diagonal every product stands for two of the matrix.
        self._scale = np.where(self._upper[0] == self._upper[1], 1.0, math.sqrt(2))
        self._sums = RowSums(
            name,
            setting,
            problem,
            width=self._size + len(self._scale),
            diameter=_FARTHEST,
            rounds=rounds,
            before=before,
        )
        self.session = self._sums.session
        self.total: RowTotal | None = None if last is None else last.total

    def read(self) -> MomentEstimate:
        """Mean and covariance of all rows so far, in the units of the data."""
        if self.total is None:
            raise UsageError("there was no round", "moments")
        mean, rows = self.total.mean(), self.total.rows
        square = np.zeros((self._size, self._size))
        square[self._upper] = mean[self._size :] / self._scale
        square = square + np.triu(square, 1).T
        centre = mean[: self._size]
        units = np.full(self._size, self.radius)
        if self.label_radius:
            units[-1] = self.label_radius
            units = units * math.sqrt(2)
        covariance = (square - np.outer(centre, centre)) * np.outer(units, units)
        # A symmetric matrix of normal numbers has no larger eigenvalue than about this.
        blur = self.total.stderr / rows * math.sqrt(2 * self._columns) * float(units[0]) ** 2
        return MomentEstimate(centre * units, covariance, rows, blur)

    def row(self, x: Floats, y: npt.NDArray[Any]) -> Floats:
        """What rows are turned into."""
        if (length(x, 2) > self.radius).any():
            self.session.warn("rows were shortened to the radius")
        whole = clip(x, 2, self.radius) / self.radius
        if self.label_radius:
            labels = np.asarray(y, dtype=np.float64)
            if (np.abs(labels) > self.label_radius).any():
                self.session.warn("labels were moved to the label radius")
            near = np.clip(labels / self.label_radius, -1, 1)
            whole = np.hstack([whole, near[:, None]]) / math.sqrt(2)
        products = whole[:, self._upper[0]] * whole[:, self._upper[1]] * self._scale
        return np.hstack([whole, products])

    def _round(self, problem: Users) -> None:
        if problem.table.features.shape[1] != self._columns:
            raise UsageError(f"rows have {self._columns} columns", "features")
        found = self._sums.sum([self.row(x, y) for x, y in problem.pairs()])
        self.total = found if self.total is None else self.total.plus(found)
        self.notes.note(
            round=self.done, users=found.result.count, rows=found.rows, noise=found.stderr
        )

    def _model(self) -> dict[str, Any]:
        return self._reading(self.read())


@dataclass(frozen=True, slots=True, eq=False)
class MomentEstimate:
    """Holds mean and covariance of rows; no eigenvalue is wrong by much more than `blur`."""

    mean: Floats
    covariance: Floats
    rows: float
    blur: float

    def components(self, many: int) -> dict[str, Any]:
        """The first principal components; the largest coordinate of each is positive."""
        many = whole(many, "components", 1, len(self.mean))
        values, vectors = np.linalg.eigh(self.covariance)
        order = np.argsort(values)[::-1][:many]
        chosen = vectors[:, order].T
        tips = chosen[np.arange(many), np.abs(chosen).argmax(axis=1)]
        return {
            "mean": self.mean,
            "components": chosen * np.where(tips < 0, -1.0, 1.0)[:, None],
            "variance": np.maximum(values[order], 0.0),
            "total": float(np.maximum(values, 0.0).sum()),
        }

    def line(self, ridge: float) -> dict[str, Any]:
        """The best line; where noise could turn the matrix around, the ridge outweighs it."""
        if not 0 <= number(ridge, "ridge") < math.inf:
            raise UsageError("finite and not negative", "ridge")
        inner, cross = self.covariance[:-1, :-1], self.covariance[:-1, -1]
        least = float(np.linalg.eigvalsh(inner)[0])
        grown = max(ridge, ridge + self.blur - least) if least < self.blur else ridge
        solved = np.linalg.lstsq(inner + grown * np.eye(len(inner)), cross, rcond=None)[0]
        return {
            "coef": solved,
            "intercept": float(self.mean[-1] - self.mean[:-1] @ solved),
            "ridge": grown,
        }


def component_sums(
    setting: Setting, problem: Users, components: int, radius: float | None, **more: Any
) -> MomentSums:
    """Moments that are read as principal components; `more` is for `MomentSums`."""
    return MomentSums(
        "PCA", setting, problem, reading=lambda e: e.components(components), radius=radius, **more
    )


def line_sums(setting: Setting, problem: Users, ridge: float, **more: Any) -> MomentSums:
    """Moments of rows with labels that are read as a line; `more` is for `MomentSums`."""
    return MomentSums(
        "least squares", setting, problem, reading=lambda e: e.line(ridge), labelled=True, **more
    )


def pca(
    problem: Users, *, components: int, radius: float | None = None, **asked: Unpack[SumOptions]
) -> Outcome:
    """The directions in which rows vary most: `mean`, `components` and `variance` along them.

    Rows are shortened to a public `radius`; without privacy it is found by one more exact sum.
    Further keywords are those of `Setting`.
    """
    return component_sums(Setting(**asked), problem, components, radius).carried_out(problem, 1)


def least_squares(
    problem: Users,
    *,
    ridge: float = 0.0,
    radius: float | None = None,
    label_radius: float | None = None,
    **asked: Unpack[SumOptions],
) -> Outcome:
    """Linear regression from one sum: `coef` and `intercept`, as if all rows were in one place.

    Rows are shortened to a public `radius` and labels moved to at most `label_radius`, as for
    `pca`. Further keywords are those of `Setting`.
    """
    found = line_sums(Setting(**asked), problem, ridge, radius=radius, label_radius=label_radius)
    return found.carried_out(problem, 1)
