"""Sums moments without noise as often as it takes until rounding no longer shows in them.

Every pass sums the same moments, in units that follow from the pass before: there no direction
is small. So it publishes further digits of them, and nothing else. Specification:
`specs/22-federated.md`, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from gopa import RoundAborted, UsageError
from gopa.learning.checks import number, whole
from gopa.support.arrays import Floats

PASSES: Final = 8
"""So many sums each read at least 20 more bits of a variance: more than floats have."""

_NOTHING: Final = 1e11
"""A direction so many times narrower than the longest row is rounding of floats."""

_FLOATS: Final = 1e-15
_RANK: Final = 1e-12
_READ: Final = 1e-7
_PROMISED: Final = 1e-6
_EVEN: Final = 0.25


_ROUNDED: Final = (
    "sums were rounded too much for these columns: in the narrowest direction up to {:.1g} of a "
    "variance is wrong. Plan more rounds, each of which reads further digits, or more steps, or "
    "bring columns to like ranges"
)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Holds public units: a row w becomes z = (w - centre) into^T, and w is centre + back z.

    All rows together have a second moment of at most 1 in every direction, so no user's part of
    a sum, over `rows` or fewer of them, is longer than `longest`. First units are those of the
    ball in which every row lies.
    """

    centre: Floats
    into: Floats
    back: Floats
    rows: float | None = None

    @classmethod
    def first(cls, size: int) -> Self:
        """Those in which rows are no longer than 1."""
        return cls(np.zeros(size), np.eye(size), np.eye(size))

    def share(self, most: int) -> float:
        """What the moments of a row are multiplied by before users add them up.

        A sum of matrices z z^T over some of the rows is at most `rows` times the unit matrix, so
        it and that of z are no longer than sqrt(size + 1) of these; a count stands beside them.
        """
        if self.rows is None:
            return 1.0
        return min(1.0, math.sqrt(3.5 / (len(self.into) + 1))) * most / self.rows

    def of(self, rows: Floats) -> Floats:
        """Rows in these units."""
        return np.asarray((rows - self.centre) @ self.into.T)


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """Holds what one sum said of mean and covariance, in its units.

    `blur` is about the most by which rounding moved the covariance in any direction, `edge` what
    it exceeds with a chance of less than 2^-50.
    """

    units: Units
    mean: Floats
    covariance: Floats
    rows: float
    edge: float
    blur: float

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Which of the directions count as none."""
        return np.asarray(~self.units.into.any(axis=1))

    def accuracy(self) -> float:
        """By which part the narrowest direction may be wrong."""
        values = np.linalg.eigvalsh(self.covariance[np.ix_(~self.empty, ~self.empty)])
        least = float(values.min(initial=1.0))
        return min(self.blur / least, 1.0) if least > 0 else 1.0

    @property
    def enough(self) -> bool:
        """Whether another pass would not read better."""
        return self.accuracy() <= max(_READ, self.blur / _EVEN)

    def next_units(self) -> Units:
        """Those in which every direction that was read has a variance of nearly 1."""
        values, vectors = np.linalg.eigh(self.covariance)
        scale = np.sqrt((np.maximum(values, 0.0) + self.edge) * (1 + 1e-6))
        into = (vectors / scale).T @ self.units.into
        back = self.units.back @ (vectors * scale)
        centre = self.units.centre + self.units.back @ self.mean
        kept = (np.linalg.norm(into, axis=1) <= _NOTHING) & into.any(axis=1)
        return Units(centre, into * kept[:, None], back * kept, self.rows)

    def factor(self) -> Floats:
        """A matrix F with F^T F the sum of (w - mean)(w - mean)^T over all rows."""
        values, vectors = np.linalg.eigh(self.covariance)
        # What rounding may have made of nothing counts as nothing.
        read = np.where(values > 4 * self.blur, values, 0.0)
        return np.asarray((vectors * np.sqrt(read * self.rows)).T @ self.units.back.T)


def read(units: Units, mean: Floats, square: Floats, stderr: float, rows: float) -> Pass:
    """What means of z and of z z^T say, each with this standard error, which is of rounding."""
    blur = stderr * math.sqrt(2 * len(mean)) + _FLOATS
    covariance = square - np.outer(mean, mean)
    return Pass(units, mean, covariance, rows, 3 * blur + 16 * stderr, blur)


@dataclass(frozen=True, slots=True, eq=False)
class ExactMoments:
    """Holds the mean of rows and a factor F: F^T F is the sum of (x - mean)(x - mean)^T.

    Of no direction in which rows vary at all more than the part `error` is wrong.
    """

    mean: Floats
    factor: Floats
    rows: float
    error: float = 0.0

    @classmethod
    def of(cls, found: Pass, units: Floats) -> Self:
        """What a pass said, in the units of the columns."""
        mean = found.units.centre + found.units.back @ found.mean
        return cls(mean * units, found.factor() * units, found.rows, found.accuracy())

    def plus(self, later: Self) -> Self:
        """Both together, of rows in two calls."""
        rows = self.rows + later.rows
        apart = math.sqrt(self.rows * later.rows / rows) * (later.mean - self.mean)
        mean = (self.mean * self.rows + later.mean * later.rows) / rows
        whole = np.asarray(np.linalg.qr(np.vstack([self.factor, later.factor, apart])).R)
        return replace(self, mean=mean, factor=whole, rows=rows, error=max(self.error, later.error))

    def components(self, many: int) -> dict[str, Any]:
        """The first principal components; the largest coordinate of each is positive."""
        values, vectors = np.linalg.svd(self.factor / math.sqrt(self.rows))[1:]
        return shown_components(self.mean, values**2, vectors.T, many)

    def line(self, ridge: float) -> dict[str, Any]:
        """The best line; of several the one with the shortest coefficients."""
        ridge, width = require_ridge(ridge), len(self.mean) - 1
        beside = math.sqrt(ridge * self.rows) * np.eye(width)
        columns = np.vstack([self.factor[:, :-1], beside])
        labels = np.concatenate([self.factor[:, -1], np.zeros(width)])
        left, values, right = np.linalg.svd(columns, full_matrices=False)
        # Against the rows, not their deviations: of columns that are constant these are rounding.
        rows = math.hypot(
            float(values.max()), math.sqrt(self.rows) * np.linalg.norm(self.mean[:-1])
        )
        kept = values > _RANK * rows
        parts = (left.T @ labels)[kept] / values[kept]
        return shown_line(self.mean, right[kept].T @ parts, ridge) | {"rank": int(kept.sum())}

    def warnings(self) -> list[str]:
        """What a reader has to know."""
        if self.error <= _PROMISED:
            return []
        return [_ROUNDED.format(self.error)]


def require_ridge(ridge: float) -> float:
    """Refuses what is no ridge."""
    if not 0 <= number(ridge, "ridge") < math.inf:
        raise UsageError("finite and not negative", "ridge")
    return float(ridge)


def shown_line(mean: Floats, solved: Floats, ridge: float) -> dict[str, Any]:
    """A line as models have it."""
    intercept = float(mean[-1] - mean[:-1] @ solved)
    return {"coef": solved, "intercept": intercept, "ridge": ridge}


def shown_components(mean: Floats, values: Floats, vectors: Floats, many: int) -> dict[str, Any]:
    """Components as models have them, of variances along the columns of `vectors`."""
    many = whole(many, "components", 1, len(mean))
    order = np.argsort(values)[::-1][:many]
    chosen = vectors[:, order].T
    tips = chosen[np.arange(many), np.abs(chosen).argmax(axis=1)]
    return {
        "mean": mean,
        "components": chosen * np.where(tips < 0, -1.0, 1.0)[:, None],
        "variance": np.maximum(values[order], 0.0),
        "total": float(np.maximum(values, 0.0).sum()),
    }


def passes(sum_in: Callable[[Units], tuple[Pass, frozenset[int]]], size: int, most: int) -> Pass:
    """Sums in better and better units, until rounding does not show or `most` sums were taken.

    Units hold for the parties that they were made from: where another one is in a sum it may not
    have fitted into them, and all begins anew.

    Raises:
        RoundAborted: no sum had a result.
    """
    best, lost = None, None
    units, parties = Units.first(size), None
    for _ in range(most):
        try:
            found, there = sum_in(units)
        except RoundAborted as error:
            lost = error
            continue
        if parties is not None and not there <= parties:
            units, parties = Units.first(size), None
            continue
        best = found
        if best.enough:
            break
        units, parties = best.next_units(), there
    if best is None:
        raise lost or RuntimeError("no sum was taken")
    return best
