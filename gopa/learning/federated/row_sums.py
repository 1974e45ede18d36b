"""Sums what rows are turned into, over the rows of all users.

A user's rows are added up, and what more rows than `most` would add is scaled down to it. With
unit "record" noise is made for what one row adds, else for all that one user adds.
Specification: `specs/22-federated.md`, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import Result, UsageError, WeightTooSmall
from gopa.learning.data import Users
from gopa.learning.federated.sums import Setting, SumSession
from gopa.learning.history import History
from gopa.learning.outcome import Outcome

Floats: TypeAlias = npt.NDArray[np.float64]

_CLEAR: Final = 3.0
"""A number of rows below so many of its standard errors is not divided by."""


@dataclass(frozen=True, slots=True, eq=False)
class RowTotal:
    """Holds sums over all rows, each with the standard error `stderr`."""

    total: Floats
    stderr: float
    rows: float
    rows_stderr: float
    result: Result

    def mean(self) -> Floats:
        """Of the rows; `WeightTooSmall` where these may be none."""
        if not self.rows > max(_CLEAR * self.rows_stderr, 0.5):
            message = (
                f"there are {self.rows:.3g} rows, give or take {self.rows_stderr:.3g}: this cannot "
                "be told from none: enlist more users, or ask for a larger epsilon"
            )
            raise WeightTooSmall(message, self.result)
        return np.asarray(self.total / self.rows)

    @property
    def mean_stderr(self) -> float:
        """Of the mean, by the noise in the sum."""
        return self.stderr / self.rows


class RowSums:
    """Is a session of sums of `width` numbers from -1 to 1 for each row, and of the rows' number.

    `diameter` is the largest distance of what two rows are turned into; 0 is no farther. How
    many rows a user has stays private with unit "user", and everybody is told how many it has at
    most.
    """

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        problem: Users,
        *,
        width: int,
        diameter: float,
        most_rows: int | None = None,
        rounds: int = 1,
        counted: bool = True,
    ) -> None:
        self._most = _most(setting, problem, most_rows)
        self.width, self._users = width, len(problem)
        self._side = min(1.0, diameter / 3) if counted else 0.0
        by_user = setting.unit == "user"
        side = self._side if by_user else 0.0
        half = math.hypot(diameter, side) / 2 * (1 + 1e-9)
        self.warnings: list[str] = []
        self.session = SumSession(
            name,
            setting,
            users=len(problem),
            width=max(2, width + counted),
            half=half if by_user else half / self._most,
            rounds=rounds,
            vouched=True,
        )

    def sum(self, rows: Sequence[Floats]) -> RowTotal:
        """One round over what the rows of each user are turned into."""
        if len(rows) != self._users:
            raise UsageError(f"the session has {self._users} users", "groups")
        over = sum(len(each) > self._most for each in rows)
        if over:
            self.warn(f"{over} users have more than {self._most:g} rows: they count as so many")
        result = self.session.sum([self.vector(each) for each in rows])
        found, stderr = np.asarray(result.sum), float(np.max(result.sum_stderr))
        known = self._side > 0
        return RowTotal(
            self._most * found[: self.width],
            self._most * stderr,
            self._most * float(found[self.width]) / self._side if known else math.nan,
            self._most * stderr / self._side if known else math.nan,
            result,
        )

    def warn(self, text: str) -> None:
        """Says it once in the outcome."""
        if text not in self.warnings:
            self.warnings.append(text)

    def outcome(self, model: Any, history: History, *, converged: bool | None = None) -> Outcome:
        """What came of it."""
        return self.session.outcome(model, history, converged=converged, warnings=self.warnings)

    def vector(self, rows: Floats) -> Floats:
        """What a user with these rows sends."""
        vector = np.zeros(self.session.plan.terms.dimension)
        share = min(len(rows) / self._most, 1.0)
        if len(rows):
            vector[: self.width] = np.clip(rows.mean(axis=0), -1, 1) * share
        if self._side:
            vector[self.width] = self._side * share
        return vector


def _most(setting: Setting, problem: Users, most_rows: int | None) -> float:
    if most_rows is not None:
        if type(most_rows) is not int or most_rows < 1:
            raise UsageError("at least one row", "most_rows")
        return float(most_rows)
    if setting.privacy is not None and setting.unit == "user":
        message = "how many rows a user has stays private: say how many it has at most"
        raise UsageError(message, "most_rows")
    return float(max(1, problem.counts.max()))


def within(rows: Floats, low: Floats, high: Floats, sums: RowSums) -> Floats:
    """Rows in a public box, moved to -1 to 1; what lies outside is moved to its sides."""
    outside = int(((rows < low) | (rows > high)).any(axis=1).sum())
    if outside:
        sums.warn("rows outside of the range were moved to its ends")
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(2 * (np.clip(rows, low, high) - low) / width - 1)


def box(problem: Users, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Public ends of each column."""
    columns = problem.table.features.shape[1]
    try:
        first, last = (
            np.broadcast_to(np.asarray(each, dtype=np.float64), columns) for each in (low, high)
        )
    except (TypeError, ValueError):
        raise UsageError(f"a number, or one for each of the {columns} columns", "low") from None
    if not (np.isfinite(first).all() and np.isfinite(last).all() and (first <= last).all()):
        raise UsageError("finite, and no column ends before it begins", "high")
    return first, last
