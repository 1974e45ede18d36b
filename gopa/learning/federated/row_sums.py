"""Sums what rows are turned into, over the rows of all users.

A user's rows are added up, and what more rows than `most` would add is scaled down to it. With
unit "record" noise is made for what one row adds, else for all that one user adds.
Specification: `specs/22-federated.md`, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa import Result, UsageError, WeightTooSmall
from gopa.learning.clipping import clip, length
from gopa.learning.data import Users
from gopa.learning.federated.setting import Setting
from gopa.learning.federated.sums import SumSession
from gopa.support.arrays import Floats

_CLEAR: Final = 3.0
"""A number of rows below so many of its standard errors is not divided by."""

_EXPONENTS: Final = range(-64, 65)


@dataclass(frozen=True, slots=True, eq=False)
class RowTotal:
    """Sums over all rows, each with the standard error `stderr`."""

    total: Floats
    stderr: float
    rows: float
    rows_stderr: float
    result: Result

    def plus(self, later: RowTotal) -> RowTotal:
        """Both together, of rows in two rounds."""
        return RowTotal(
            self.total + later.total,
            math.hypot(self.stderr, later.stderr),
            self.rows + later.rows,
            math.hypot(self.rows_stderr, later.rows_stderr),
            later.result,
        )

    def mean(self) -> Floats:
        """The mean of the rows; `WeightTooSmall` where these may be none."""
        if not self.rows > max(_CLEAR * self.rows_stderr, 0.5):
            message = (
                f"there are {self.rows:.3g} rows, give or take {self.rows_stderr:.3g}: this cannot "
                "be told from none: enlist more users, or ask for a larger epsilon"
            )
            raise WeightTooSmall(message, self.result)
        return np.asarray(self.total / self.rows)


class RowSums:
    """A session of sums of `width` numbers from -1 to 1 for each row, and of the rows' number.

    `diameter` is the largest distance of what two rows are turned into; 0 is no farther, and where
    rows are `counted`, nothing is longer than sqrt(diameter^2 - 1): then the count needs no noise
    of its own. How many rows a user has stays private with unit "user"; `most` of them count.
    """

    def __init__(  # noqa: PLR0913 - what is summed, and how
        self,
        name: str,
        setting: Setting,
        problem: Users,
        *,
        width: int,
        diameter: float,
        rounds: int = 1,
        counted: bool = True,
        before: Sequence[SumSession] = (),
    ) -> None:
        self.most, self.width = setting.most(problem), width
        self._counted = counted
        half = diameter / 2 * (1 + 1e-9)
        if setting.privacy is None:
            half *= 2  # no vector is longer than that, and nothing else limits it
        elif setting.unit == "record":
            half /= self.most
        self._longest = half if setting.privacy is None else math.inf
        self.session = SumSession(
            name,
            setting,
            users=len(problem),
            width=max(2, width + counted),
            half=half,
            rounds=rounds,
            vouched=setting.privacy is not None,
            before=before,
        )

    def sum(self, rows: Sequence[Floats]) -> RowTotal:
        """One round over what the rows of each user are turned into."""
        over = sum(len(each) > self.most for each in rows)
        if over:
            self.session.warn(
                f"{over} users have more than {self.most} rows: they count as so many"
            )
        result = self.session.sum([self.vector(each) for each in rows])
        found, stderr = np.asarray(result.sum), float(np.max(result.sum_stderr))
        scale = self.most if self._counted else math.nan
        counted, blur = scale * float(found[-1]), scale * stderr
        if self.session.setting.each_one:
            counted, blur = float(sum(len(rows[each]) for each in result.included)), 0.0
        return RowTotal(self.most * found[: self.width], self.most * stderr, counted, blur, result)

    def vector(self, rows: Floats) -> Floats:
        """What a user with these rows sends."""
        vector = np.zeros(self.session.terms.dimension)
        share = min(len(rows) / self.most, 1.0)
        if len(rows):
            vector[: self.width] = np.clip(rows.mean(axis=0) * share, -1, 1)
        if self._counted:
            vector[self.width] = share
        # Of whom a sum was not expected to hold anything it may be longer: it is asked again.
        return vector if self._longest == math.inf else clip(vector, 2, self._longest)


class LengthVotes:
    """A session that asks, without noise, between which powers of two the longest vector lies.

    Every user puts a 1 in the place of the power of two above its longest; the sum has the counts.
    """

    def __init__(self, name: str, setting: Setting, users: int, rounds: int = 1) -> None:
        many = len(_EXPONENTS)
        self.session = SumSession(name, setting, users=users, width=many, half=1.0, rounds=rounds)
        self._name = name

    def longest(self, vectors: Sequence[Floats]) -> float:
        """A power of two that no vector of any user is longer than."""
        votes = []
        for each in vectors:
            longest = float(length(each, 2).max(initial=0.0))
            place = math.frexp(longest)[1] if longest else _EXPONENTS[0]
            if place not in _EXPONENTS:
                message = "vectors are no longer than 2^64, and no shorter than 2^-64"
                raise UsageError(message, self._name)
            votes.append(np.eye(len(_EXPONENTS))[place - _EXPONENTS[0]])
        counts = np.asarray(self.session.sum(votes).sum)
        return 2.0 ** _EXPONENTS[int(np.flatnonzero(counts > 0.5).max(initial=0))]


def known_length(
    setting: Setting,
    given: float | None,
    rows: Sequence[Floats],
    before: list[SumSession],
    name: str,
) -> float:
    """A public length of rows: the given one, or without privacy one that is asked for.

    That is a session of its own, which is added to those `before`.
    """
    if given is not None:
        if not (isinstance(given, int | float) and 0 < given < math.inf):
            message = "a finite length above 0; without privacy None asks the data for one"
            raise UsageError(message, name)
        return float(given)
    if setting.privacy is not None or setting.aggregator is not None:
        message = (
            "with privacy, or between processes, it is public: say how long a row may be, longer "
            "ones are shortened"
        )
        raise UsageError(message, name)
    votes = LengthVotes(name, setting, len(rows))
    with votes.session:
        found = votes.longest(rows)
    before.append(votes.session)
    return found
