"""Adds up first and second moments of rows: principal components and least squares follow.

One round is enough, and several add up what came later. Specification: `specs/22-federated.md`,
section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.clipping import clip, length
from gopa.learning.data import Users
from gopa.learning.federated.row_sums import RowSums, RowTotal
from gopa.learning.federated.sums import Setting, SumOptions, SumSession
from gopa.learning.history import Recorder
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy

Floats: TypeAlias = npt.NDArray[np.float64]

_FARTHEST: Final = math.sqrt(4.5)
"""Of (x, x x^T) and (y, y y^T) for x and y in the unit ball: at an angle of 120 degrees."""

_EXPONENTS: Final = range(-64, 65)


class MomentSums:
    """Is a session that adds up x and x x^T over all rows, each shortened to `radius`.

    With `labelled` a row is its features, shortened to `radius`, beside its label, moved to at
    most `label_radius`. It goes on where the `last` one ended.
    """

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        problem: Users,
        *,
        radius: float | None = None,
        labelled: bool = False,
        label_radius: float | None = None,
        most_rows: int | None = None,
        rounds: int = 1,
        last: MomentSums | None = None,
    ) -> None:
        self._columns = problem.table.features.shape[1]
        self.before: list[SumSession] = []
        pairs = problem.pairs()
        if last is not None:
            radius, label_radius = last.radius, last.label_radius
        self.radius: float = self._known(setting, radius, [x for x, _ in pairs], "radius")
        self.label_radius: float = 0.0
        if labelled:
            labels = [np.asarray(y, dtype=np.float64)[:, None] for _, y in pairs]
            self.label_radius = self._known(setting, label_radius, labels, "label_radius")
        self._size = self._columns + labelled
        self._upper = np.triu_indices(self._size)
        # Beside the diagonal every product stands for two of the matrix.
        self._scale = np.where(self._upper[0] == self._upper[1], 1.0, math.sqrt(2))
        self._sums = RowSums(
            name,
            setting,
            problem,
            width=self._size + len(self._scale),
            diameter=_FARTHEST,
            most_rows=most_rows,
            rounds=rounds,
        )
        self.session = self._sums.session
        self._notes = Recorder()
        self.totals: list[RowTotal] = [] if last is None else list(last.totals)

    def round(self, problem: Users) -> None:
        """Adds the rows of these users."""
        if problem.table.features.shape[1] != self._columns:
            raise UsageError(f"rows have {self._columns} columns", "features")
        found = self._sums.sum([self.row(x, y) for x, y in problem.pairs()])
        self.totals.append(found)
        self._notes.note(
            round=len(self.totals),
            users=found.result.count,
            rows=found.rows,
            noise=found.stderr,
        )

    def read(self) -> MomentEstimate:
        """Mean and covariance of all rows so far, in the units of the data."""
        stderr = math.sqrt(sum(each.stderr**2 for each in self.totals))
        rows_stderr = math.sqrt(sum(each.rows_stderr**2 for each in self.totals))
        total = np.sum([each.total for each in self.totals], axis=0)
        rows = sum(each.rows for each in self.totals)
        mean = RowTotal(total, stderr, rows, rows_stderr, self.totals[-1].result).mean()
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
        blur = stderr / rows * math.sqrt(2 * self._columns) * float(units[0]) ** 2
        return MomentEstimate(centre * units, covariance, rows, blur)

    def outcome(self, model: dict[str, Any]) -> Outcome:
        """What came of it."""
        history = self._notes.history()
        return self.session.outcome(
            model, history, warnings=self._sums.warnings, before=self.before
        )

    def row(self, x: Floats, y: npt.NDArray[Any]) -> Floats:
        """What rows are turned into."""
        if (length(x, 2) > self.radius).any():
            self._sums.warn("rows were shortened to the radius")
        whole = clip(x, 2, self.radius) / self.radius
        if self.label_radius:
            labels = np.asarray(y, dtype=np.float64)
            if (np.abs(labels) > self.label_radius).any():
                self._sums.warn("labels were moved to the label radius")
            near = np.clip(labels / self.label_radius, -1, 1)
            whole = np.hstack([whole, near[:, None]]) / math.sqrt(2)
        products = whole[:, self._upper[0]] * whole[:, self._upper[1]] * self._scale
        return np.hstack([whole, products])

    def _known(
        self, setting: Setting, radius: float | None, rows: list[Floats], name: str
    ) -> float:
        if radius is None:
            return largest(setting, rows, self.before, name)
        if not (isinstance(radius, int | float) and 0 < radius < math.inf):
            raise UsageError("a length above 0", name)
        return float(radius)


@dataclass(frozen=True, slots=True, eq=False)
class MomentEstimate:
    """Holds mean and covariance of rows; no eigenvalue is wrong by much more than `blur`."""

    mean: Floats
    covariance: Floats
    rows: float
    blur: float


def largest(setting: Setting, rows: list[Floats], before: list[SumSession], name: str) -> float:
    """A power of two that no row is longer than, from an exact sum: without privacy only.

    Every user says between which powers its longest row lies, and the sum has the counts.
    """
    if setting.privacy is not None:
        message = "with privacy it is public: say how long a row may be, longer ones are shortened"
        raise UsageError(message, name)
    votes = []
    for each in rows:
        longest = float(length(each, 2).max(initial=0.0))
        place = math.frexp(longest)[1] if longest else _EXPONENTS[0]
        if place not in _EXPONENTS:
            raise UsageError("rows are no longer than 2^64: scale them", name)
        votes.append(np.eye(len(_EXPONENTS))[place - _EXPONENTS[0]])
    many = len(_EXPONENTS)
    session = SumSession(name, setting, users=len(rows), width=many, half=1.0, rounds=1)
    before.append(session)
    with session:
        counts = np.asarray(session.sum(votes).sum)
    return 2.0 ** _EXPONENTS[int(np.flatnonzero(counts > 0.5).max(initial=0))]


def pca(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    components: int,
    privacy: Privacy | None,
    seed: int,
    radius: float | None = None,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """The directions in which rows vary most: `mean`, `components` and `variance` along them.

    Rows are shortened to a public `radius`; without privacy it is found by one more exact sum.
    """
    setting = Setting(privacy, seed, **options)
    moments = MomentSums("PCA", setting, problem, radius=radius, most_rows=most_rows)
    with moments.session:
        moments.round(problem)
        return moments.outcome(components_of(moments.read(), components))


def least_squares(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    seed: int,
    ridge: float = 0.0,
    radius: float | None = None,
    label_radius: float | None = None,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """Linear regression from one sum: `coef` and `intercept`, as if all rows were in one place."""
    setting = Setting(privacy, seed, **options)
    moments = MomentSums(
        "least squares",
        setting,
        problem,
        radius=radius,
        labelled=True,
        label_radius=label_radius,
        most_rows=most_rows,
    )
    with moments.session:
        moments.round(problem)
        return moments.outcome(line_of(moments.read(), ridge))


def components_of(found: MomentEstimate, many: int) -> dict[str, Any]:
    """The first principal components; the largest coordinate of each is positive."""
    if type(many) is not int or not 1 <= many <= len(found.mean):
        raise UsageError(f"from 1 to {len(found.mean)}", "components")
    values, vectors = np.linalg.eigh(found.covariance)
    order = np.argsort(values)[::-1][:many]
    chosen = vectors[:, order].T
    tips = chosen[np.arange(many), np.abs(chosen).argmax(axis=1)]
    return {
        "mean": found.mean,
        "components": chosen * np.where(tips < 0, -1.0, 1.0)[:, None],
        "variance": np.maximum(values[order], 0.0),
        "total": max(float(np.trace(found.covariance)), 0.0),
    }


def line_of(found: MomentEstimate, ridge: float) -> dict[str, Any]:
    """The best line; where noise could turn the matrix around, the ridge grows to outweigh it."""
    if not 0 <= ridge < math.inf:
        raise UsageError("finite and not negative", "ridge")
    inner, cross = found.covariance[:-1, :-1], found.covariance[:-1, -1]
    least = float(np.linalg.eigvalsh(inner)[0])
    grown = max(ridge, ridge + found.blur - least) if least < found.blur else ridge
    solved = np.linalg.lstsq(inner + grown * np.eye(len(inner)), cross, rcond=None)[0]
    return {
        "coef": solved,
        "intercept": float(found.mean[-1] - found.mean[:-1] @ solved),
        "ridge": grown,
    }
