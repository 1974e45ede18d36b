"""Adds up first and second moments of rows: principal components and least squares follow.

With noise one round is enough, and several add up what came later; without noise as many as it
takes until rounding does not show. Specification: `specs/22-federated.md`, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.clipping import clip, length
from gopa.learning.data import Users
from gopa.learning.federated.exact_moments import (
    PASSES,
    ExactMoments,
    Pass,
    Units,
    passes,
    read,
    require_ridge,
    shown_components,
    shown_line,
)
from gopa.learning.federated.row_sums import RowSums, RowTotal, known_length
from gopa.learning.federated.setting import Setting, SumOptions
from gopa.learning.federated.sums import SumRun, SumSession
from gopa.learning.outcome import Outcome
from gopa.support.arrays import Floats

_DEPENDENT: Final = (
    "columns depend on each other: of all coefficients that fit as well these are the shortest"
)

_FARTHEST: Final = math.sqrt(4.5)
"""Of (x, x x^T) and (y, y y^T) for x and y in the unit ball: at an angle of 120 degrees."""


class MomentSums(SumRun):
    """A session that adds up x and x x^T over all rows, each shortened to `radius`.

    Without noise a round is up to `PASSES` sums of the session.

    With `labelled` a row is its features, shortened to `radius`, beside its label, moved to at
    most `label_radius`. It goes on where the `last` one ended. `reading` makes the model.
    """

    _carried = ("radius", "label_radius", "total", "exact")

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        problem: Users,
        *,
        reading: Callable[[Moments], dict[str, Any]],
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
        nothing = np.zeros(self._size)
        reading(NoisyMoments(nothing, np.eye(self._size), 1.0, nothing + 1.0, 0.0))
        self._upper = np.triu_indices(self._size)
        # Beside the diagonal every product stands for two of the matrix.
        self._scale = np.where(self._upper[0] == self._upper[1], 1.0, math.sqrt(2))
        self._exact = setting.privacy is None
        if self._exact:
            rounds *= PASSES
            if setting.aggregator is not None:
                rounds = max(1, min(rounds, setting.aggregator.rounds_left))
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
        self.exact: ExactMoments | None = None if last is None else last.exact

    def carried(self) -> SimpleNamespace:
        """The sums so far, without the log of the session that they come from."""
        found = super().carried()
        if found.total is not None:
            found.total = replace(found.total, result=None)
        return found

    def read(self) -> Moments:
        """Mean and covariance of all rows so far, in the units of the data."""
        if self.exact is not None:
            return self.exact
        if self.total is None:
            raise UsageError("there was no round", "moments")
        mean, square = self._parts(self.total.mean())
        rows, units = self.total.rows, self._units()
        covariance = (square - np.outer(mean, mean)) * np.outer(units, units)
        return NoisyMoments(mean * units, covariance, rows, units, self.total.stderr / rows)

    def row(self, x: Floats, y: npt.NDArray[Any], units: Units | None = None) -> Floats:
        """What rows are turned into: themselves and their products, in the first units or these."""
        if (length(x, 2) > self.radius).any():
            self.session.warn("rows were shortened to the radius")
        whole = clip(x, 2, self.radius) / self.radius
        if self.label_radius:
            labels = np.asarray(y, dtype=np.float64)
            if (np.abs(labels) > self.label_radius).any():
                self.session.warn("labels were moved to the label radius")
            near = np.clip(labels / self.label_radius, -1, 1)
            whole = np.hstack([whole, near[:, None]]) / math.sqrt(2)
        if units is not None:
            whole = units.of(whole)
        products = whole[:, self._upper[0]] * whole[:, self._upper[1]] * self._scale
        told = np.hstack([whole, products])
        return told if units is None else told * units.share(self._sums.most)

    def _units(self) -> Floats:
        """The units of the columns."""
        units = np.full(self._size, self.radius)
        if self.label_radius:
            units[-1] = self.label_radius
            units = units * math.sqrt(2)
        return units

    def _parts(self, moments: Floats) -> tuple[Floats, Floats]:
        """A mean, and a matrix of the mean products."""
        square = np.zeros((self._size, self._size))
        square[self._upper] = moments[self._size :] / self._scale
        return moments[: self._size], square + np.triu(square, 1).T

    def _round(self, problem: Users) -> None:
        if problem.table.features.shape[1] != self._columns:
            raise UsageError(f"rows have {self._columns} columns", "features")
        if self._exact:
            most = min(PASSES, self.session.rounds_left)
            found = passes(lambda units: self._pass(problem, units), self._size, most)
            more = ExactMoments.of(found, self._units())
            self.exact = more if self.exact is None else self.exact.plus(more)
            return
        added = self._summed(problem, None)
        self.total = added if self.total is None else self.total.plus(added)

    def _pass(self, problem: Users, units: Units) -> tuple[Pass, frozenset[int]]:
        found = self._summed(problem, units)
        share = units.share(self._sums.most)
        mean, square = self._parts(found.mean() / share)
        said = read(units, mean, square, found.stderr / (found.rows * share), found.rows)
        return said, frozenset(found.result.included)

    def _summed(self, problem: Users, units: Units | None) -> RowTotal:
        found = self._sums.sum([self.row(x, y, units) for x, y in problem.pairs()])
        self.notes.note(
            round=self.session.begun, users=found.result.count, rows=found.rows, noise=found.stderr
        )
        return found

    def _model(self) -> dict[str, Any]:
        return self._reading(self.read())

    def _warnings(self) -> Sequence[str]:
        if self.exact is None:
            return ()
        found, model = self.exact.warnings(), self._model()
        if model.get("rank", self._columns) < self._columns and not model["ridge"]:
            found.append(_DEPENDENT)
        return found

    def _noise(self) -> float | None:
        found, model = self.read(), self._model()
        if isinstance(found, ExactMoments):
            return None
        if "components" in model:
            return found.turned(len(model["components"]))
        square = float(np.sum(model["coef"] ** 2))
        return float(np.sum(model["stderr"] ** 2)) / max(square, 1e-300)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMoments:
    """Mean and covariance of rows, in `units` of which moments have the error `stderr`."""

    mean: Floats
    covariance: Floats
    rows: float
    units: Floats
    stderr: float

    @property
    def blur(self) -> float:
        """No eigenvalue is wrong by much more: a symmetric matrix of such noise has none larger."""
        columns = int(np.sum(self.units == self.units[0]))
        return self.stderr * math.sqrt(2 * columns) * float(self.units[0]) ** 2

    def turned(self, many: int) -> float:
        """Which part of so many components lies in other directions, at most (Davis and Kahan)."""
        values = np.append(np.linalg.eigvalsh(self.covariance)[::-1], 0.0)
        gap = float(values[many - 1] - max(values[many], 0.0))
        return (self.blur / gap) ** 2 if gap > self.blur else 1.0

    def components(self, many: int) -> dict[str, Any]:
        """The first principal components; the largest coordinate of each is positive."""
        return shown_components(self.mean, *np.linalg.eigh(self.covariance), many)

    def line(self, ridge: float) -> dict[str, Any]:
        """The best line; where noise could turn the matrix around, the ridge outweighs it."""
        ridge = require_ridge(ridge)
        inner, cross = self.covariance[:-1, :-1], self.covariance[:-1, -1]
        least = float(np.linalg.eigvalsh(inner)[0])
        grown = max(ridge, ridge + self.blur - least) if least < self.blur else ridge
        whole = inner + grown * np.eye(len(inner))
        solved: Floats = np.linalg.lstsq(whole, cross, rcond=None)[0].astype(np.float64)
        return shown_line(self.mean, solved, grown) | {"stderr": self._spread(solved, grown)}

    def _spread(self, solved: Floats, ridge: float) -> Floats:
        """The standard errors of coefficients, by what a little noise changes.

        A symmetric D beside the covariance changes them by (inner + ridge)^-1 times the first rows
        of D (-solved, 1); D has the noise of products, of the mean, and of the number of rows.
        """
        units, size = self.units, len(self.mean)
        mean, covariance = self.mean / units, self.covariance / np.outer(units, units)
        along = np.append(-solved * units[:-1] / units[-1], 1.0)
        square, there = float(along @ along), float(mean @ along)
        across = np.outer(mean, along)
        counted = (covariance + np.outer(mean, mean)) @ along - 2 * there * mean
        noise = (square * np.eye(size) + np.outer(along, along)) / 2
        noise += square * np.outer(mean, mean) + there * (across + across.T)
        noise += there**2 * np.eye(size) + np.outer(counted, counted)
        scale = np.diag(ridge / units[:-1] ** 2)
        back = np.linalg.pinv(covariance[:-1, :-1] + scale, hermitian=True)
        variances = np.diag(back @ noise[:-1, :-1] @ back)
        return np.asarray(self.stderr * np.sqrt(variances) * units[-1] / units[:-1])


Moments: TypeAlias = NoisyMoments | ExactMoments


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


@algorithm(more=SumOptions.__annotations__, labels="unread")
def pca(
    problem: Users, *, components: int, radius: float | None = None, **asked: Unpack[SumOptions]
) -> Outcome:
    """The directions in which rows vary most: `mean`, `components` and `variance` along them.

    Rows are shortened to a public `radius`; without privacy it is found by one more exact sum.
    Further keywords are those of `Setting`.
    """
    return component_sums(Setting(**asked), problem, components, radius).carried_out(problem, 1)


@algorithm(more=SumOptions.__annotations__)
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
