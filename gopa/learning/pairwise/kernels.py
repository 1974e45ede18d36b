"""Kernels: functions of two points whose mean over all pairs is a statistic.

A point is a pair of numbers, the first feature of a row and its label. Specification:
`specs/23-pairwise.md`, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.data import Table, Users
from gopa.support.arrays import Floats
from gopa.support.progress import Advance

Places: TypeAlias = npt.NDArray[np.int64]
Normalisation: TypeAlias = Literal["n(n-1)", "n^2", "2 n+ n-"]

_BLOCK: Final = 2**22
"""Pairs that are looked at together."""

_MOST_TABLE: Final = 4000
"""Users between whom the sums of all pairs of points are kept in one table."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of two points, symmetric, and what the sum over all pairs is divided by.

    It lies between `low` and `high` and is `lipschitz` in each of its points, both for numbers
    from 0 to 1; infinitely where it jumps. Points are never paired with themselves. `labels` says
    whether it looks at them, and whether they are public even where numbers are secret.
    """

    name: str
    value: Callable[[Floats, Floats], Floats]
    low: float
    high: float
    lipschitz: float = math.inf
    normalisation: Normalisation = "n(n-1)"
    labels: Literal["unread", "public", "secret"] = "unread"

    def __post_init__(self) -> None:
        # Whoever knows n+ n- knows how many secret labels are 1.
        if self.normalisation == "2 n+ n-" and self.labels != "public":
            raise UsageError("2 n+ n- is for public labels", "normalisation")

    @property
    def spans(self) -> float:
        """The most that it changes if a point does: what its noise is measured by."""
        return self.high - self.low

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What every claim about reports of points rests on."""
        return ("labels are public",) if self.labels == "public" else ()

    def divisor(self, labels: npt.ArrayLike) -> float:
        """What the sum over all ordered pairs is divided by; `UsageError` if that is 0."""
        given = np.asarray(labels)
        many = len(given)
        if self.normalisation == "2 n+ n-":
            signs = bool(np.isin(given, (-1, 1)).all())
            found = 2 * int((given > 0).sum()) * int((given < 0).sum()) * signs
        else:
            found = many * (many - (self.normalisation == "n(n-1)"))
        if not found:
            needed = (
                "points of both labels, 1 and -1 alone" if self.labels == "public" else "two points"
            )
            raise UsageError(f"{self.name} needs {needed}", "problem")
        return float(found)


def _between(function: Callable[[Floats], Floats]) -> Callable[[Floats, Floats], Floats]:
    return lambda x, y: function(x[..., 0] - y[..., 0])


def _ordered(ties: float) -> Callable[[Floats, Floats], Floats]:
    """1 where the higher label has the higher number, `ties` where numbers are equal, else 0."""

    def value(x: Floats, y: Floats) -> Floats:
        apart = (x[..., 0] - y[..., 0]) * np.sign(x[..., 1] - y[..., 1])
        unlike = np.sign(x[..., 1]) * np.sign(y[..., 1]) < 0
        tied = ties * (unlike & (apart == 0)) if ties else 0.0
        return np.asarray((unlike & (apart > 0)) + tied, dtype=np.float64)

    return value


def _concordant(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.sign(x[..., 0] - y[..., 0]) * np.sign(x[..., 1] - y[..., 1]))


GINI: Final = Kernel("Gini's mean difference", _between(np.abs), 0, 1, 1.0)
VARIANCE: Final = Kernel("variance", _between(lambda apart: apart * apart / 2), 0, 0.5, 1.0)
RENYI: Final = Kernel("collisions", _between(lambda apart: np.asarray(apart == 0, float)), 0, 1)
AUC: Final = Kernel("AUC", _ordered(0.0), 0, 1, normalisation="2 n+ n-", labels="public")
WILCOXON: Final = Kernel("Wilcoxon", _ordered(0.5), 0, 1, normalisation="2 n+ n-", labels="public")
KENDALL: Final = Kernel("Kendall's tau", _concordant, -1, 1, labels="secret")
"""Its second number is the label, which is as secret as the first."""

KERNELS: Final = (GINI, VARIANCE, RENYI, AUC, WILCOXON, KENDALL)
NAMED_KERNELS: Final = {
    "gini": GINI, "variance": VARIANCE, "renyi": RENYI, "auc": AUC, "wilcoxon": WILCOXON,
    "kendall": KENDALL,
}  # fmt: skip


def renyi_entropy(collisions: float) -> float:
    """The entropy of order 2 in nats, from the chance that two points are equal."""
    return -math.log(collisions) if collisions > 0 else math.inf


def points_of(table: Table) -> Floats:
    """The first feature and the label of each row."""
    if not table.features.shape[1]:
        raise UsageError("a point is the first feature of a row, and there is none", "problem")
    return np.column_stack([table.features[:, 0], numeric_labels(table)])


def numeric_labels(table: Table) -> Floats:
    """The labels as numbers; `UsageError` for text."""
    if table.labels.dtype.kind not in "biuf":
        raise UsageError("labels are numbers: 1 and -1", "problem")
    return np.asarray(table.labels, dtype=np.float64)


class TablePairs:
    """What two users have together, read off a table in which each has a row.

    What a row has with itself counts for two users, and for one only if it has it with `itself`.
    """

    def __init__(self, table: Floats, rows: Places, *, itself: bool = False) -> None:
        self.users, self.kinds = len(rows), len(table)
        self._table, self._rows, self._itself = table, rows, itself

    def between(self, one: Places, other: Places) -> Floats:
        """What these users have together with those."""
        found = self._table[self._rows[one], self._rows[other]]
        return np.asarray(found if self._itself else np.where(one == other, 0.0, found))

    def mean(self, advance: Advance = lambda *_: None) -> float:
        """The mean over all pairs of users, from counts of rows."""
        counts = np.bincount(self._rows, minlength=len(self._table)).astype(np.float64)
        found = float(np.einsum("i,ij,j->", counts, self._table, counts))
        own = 0.0 if self._itself else float(np.einsum("i,ii->", counts, self._table))
        advance("pairs", self.users, self.users)
        return (found - own) / self.users**2


class Pairs:
    """What two users have together of a statistic, which is the mean over all n^2 pairs.

    A user may have several points: then it is the sum of the kernel over all pairs of theirs.
    """

    def __init__(self, kernel: Kernel, users: Users) -> None:
        self.users, self._kernel = len(users), kernel
        points = points_of(users.table)
        held = np.concatenate(users.rows)
        self._scale, self._points = self.users**2 / kernel.divisor(points[held, 1]), points[held]
        self._sums: TablePairs | None = None
        if (users.counts != 1).any():
            if self.users > _MOST_TABLE:
                raise UsageError(f"at most {_MOST_TABLE} users have several points each", "problem")
            table = self._scale * _sums(kernel, [points[each] for each in users.rows])
            self._sums = TablePairs(table, np.arange(self.users), itself=True)

    def between(self, one: Places, other: Places) -> Floats:
        """What these users have together; nothing if they are one user with one point."""
        if self._sums is not None:
            return self._sums.between(one, other)
        found = self._kernel.value(self._points[one], self._points[other])
        return np.asarray(np.where(one == other, 0.0, self._scale * found))

    def mean(self, advance: Advance = lambda *_: None) -> float:
        """The mean over all pairs of users; `advance` hears how many are done."""
        if self._sums is not None:
            return self._sums.mean(advance)
        everybody, found = np.arange(self.users), 0.0
        rows = max(1, _BLOCK // self.users)
        for start in range(0, self.users, rows):
            found += float(self.between(everybody[start : start + rows, None], everybody).sum())
            advance("pairs", min(start + rows, self.users), self.users)
        return found / self.users**2


Between: TypeAlias = Pairs | TablePairs
"""Tells what two users have together, exactly or behind noise."""


def statistic(kernel: Kernel, users: Users) -> float:
    """The exact statistic of all points."""
    return Pairs(kernel, users).mean()


def _sums(kernel: Kernel, sets: list[Floats]) -> Floats:
    """The sum over all pairs of points of each two users; a point is not paired with itself."""
    table = np.zeros((len(sets), len(sets)))
    for one, first in enumerate(sets):
        for other in range(one + 1):
            rows = max(1, _BLOCK // max(1, len(sets[other])))
            blocks = (first[at : at + rows, None] for at in range(0, len(first), rows))
            found = math.fsum(kernel.value(each, sets[other]).sum() for each in blocks)
            table[one, other] = table[other, one] = found
        # What is left of itself is the kernel of equal points.
        table[one, one] -= kernel.value(first, first).sum()
    return table
