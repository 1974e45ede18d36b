"""Estimates statistics of pairs from reports that hide each user's point by themselves.

A user puts its point into one of k public cells and reports a cell by randomised response; what
the noise does to the statistic is taken out again. Specification: `specs/23-pairwise.md`,
section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.draws import Draws
from gopa.learning.charges import Charge
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.fitting import Progress, require_neither, require_seed, told
from gopa.learning.history import History
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome
from gopa.learning.pairwise.kernels import Floats, Kernel, Places, points_of
from gopa.learning.privacy import Privacy
from gopa.noise import randomised_response, subseed

Rounding: TypeAlias = Literal["nearest", "random"]

_MOST_CELLS: Final = 1024
_UNIT: Final = 2**53


@dataclass(frozen=True)
class Cells:
    """Holds the public points that stand for all others: those of a line, or of a table.

    `values` are those of the first number of a point, increasing. With `labels` the second one is
    hidden as well, and there is a cell for each two values; otherwise labels are public.
    """

    values: tuple[float, ...]
    labels: tuple[float, ...] = ()
    rounding: Rounding = "nearest"

    def __post_init__(self) -> None:
        for name in ("values", "labels"):
            given = finite([*getattr(self, name), 0.0], name)[:-1]
            if (np.diff(given) <= 0).any():
                raise UsageError("in increasing order, each once", name)
            object.__setattr__(self, name, tuple(given.tolist()))
        if not 2 <= self.count <= _MOST_CELLS:
            raise UsageError(f"from 2 to {_MOST_CELLS} cells", "cells")
        if self.rounding not in {"nearest", "random"}:
            raise UsageError("nearest or random", "rounding")
        if self.rounding == "random" and self.labels:
            raise UsageError("numbers that stand in a table are in one cell or another", "rounding")

    @classmethod
    def even(
        cls, count: int, low: float = 0.0, high: float = 1.0, rounding: Rounding = "nearest"
    ) -> Cells:
        """So many cells between public ends: their middles; by random rounding the ends too."""
        many = whole(count, "cells", 2, _MOST_CELLS)
        if not low < high:
            raise UsageError("the lower end is below the higher one", "low")
        inside = (np.arange(many) + 0.5) / many
        shares = np.linspace(0, 1, many) if rounding == "random" else inside
        return cls(tuple((low + (high - low) * shares).tolist()), rounding=rounding)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.values) * max(1, len(self.labels))

    def points(self) -> Floats:
        """The point of each cell; its label is 0 where labels are public."""
        values, labels = np.meshgrid(self.values, self.labels or (0.0,), indexing="ij")
        return np.column_stack([values.ravel(), labels.ravel()])

    def of(self, points: Floats, seed: int) -> Places:
        """The cell of each point: the nearest, or one of its two neighbours by chance.

        `UsageError` for points outside: they would all count as the outermost cell.
        """
        values = np.array(self.values)
        half = 0.0 if self.rounding == "random" else 0.5
        _require_inside(values, points[:, 0], half, "numbers")
        if self.rounding == "random":
            return self._drawn(points[:, 0], seed)
        found = _nearest(values, points[:, 0])
        if not self.labels:
            return found
        labels = np.array(self.labels)
        _require_inside(labels, points[:, 1], 0.5, "labels")
        return found * len(self.labels) + _nearest(labels, points[:, 1])

    def share_above(self, numbers: Floats) -> tuple[Places, npt.NDArray[np.int64]]:
        """The cell below each number, and the chance of the one above in units of 2^-53."""
        values = np.array(self.values)
        inside = np.clip(numbers, values[0], values[-1])
        below = np.clip(np.searchsorted(values, inside, "right") - 1, 0, len(values) - 2)
        share = (inside - values[below]) / (values[below + 1] - values[below])
        return below, np.rint(share * _UNIT).astype(np.int64)

    def _drawn(self, numbers: Floats, seed: int) -> Places:
        below, share = self.share_above(numbers)
        words = Draws(seed, "random rounding").below(_UNIT, len(numbers))
        return np.asarray(below + (words < share))


def default_cells(users: int, epsilon: float, lipschitz: float) -> int:
    """How many cells balance what rounding and noise do: n^(1/4) sqrt(L epsilon), at least 2.

    Corollary 3.1 of the thesis. A kernel that jumps has no L: there it is that of the density of
    the points, which has to be known. `UsageError` if it is not.
    """
    if not 0 < lipschitz < math.inf:
        raise UsageError("this kernel jumps: say which cells", "cells")
    return max(2, round(math.sqrt(math.sqrt(users) * lipschitz * epsilon)))


@dataclass(frozen=True, eq=False)
class Reports:
    """Holds everybody's reported cell and public label, and how noise is taken out."""

    reported: Places
    groups: Places
    kept: float
    other: float
    kernels: Floats
    divisor: float

    @cached_property
    def table(self) -> Floats:
        """The kernel of two reports, right in expectation: (3.10), by group and cell of both.

        A report of the group g and cell i has the row g k + i.
        """
        clean = debiased(self.kernels, self.kept, self.other)
        rows = clean.shape[0] * clean.shape[2]
        return np.asarray(clean.transpose(0, 2, 1, 3).reshape(rows, rows))

    def pairs(self) -> ReportedPairs:
        """What two users have together, for gossip."""
        return ReportedPairs(self)

    @property
    def rows(self) -> Places:
        """The row of `table` of each user."""
        return np.asarray(self.groups * self.kernels.shape[2] + self.reported)

    def statistic(self) -> float:
        """The estimate of the statistic: the mean of `table` over all pairs of users."""
        counts = np.bincount(self.rows, minlength=len(self.table)).astype(np.float64)
        everything = float(np.einsum("i,ij,j->", counts, self.table, counts))
        return (everything - float(counts @ np.diag(self.table))) / self.divisor


class ReportedPairs:
    """Tells what two users have together as far as their reports tell; right in expectation."""

    def __init__(self, reports: Reports) -> None:
        self._users = len(reports.reported)
        self._rows = reports.rows
        self._table = reports.table * (self._users**2 / reports.divisor)

    @property
    def users(self) -> int:
        """How many users there are."""
        return self._users

    def between(self, one: Places, other: Places) -> Floats:
        """What these users have together with those; nothing if they are the same."""
        found = self._table[self._rows[one], self._rows[other]]
        return np.asarray(np.where(one == other, 0.0, found))


def reports_of(
    problem: Users, kernel: Kernel, cells: Cells | None, ledger: PrivacyLedger, *, seed: int
) -> Reports:
    """Everybody's report; it costs the epsilon of the ledger's privacy, and no delta.

    Raises:
        UsageError: a user has not one row, or what is asked for is not what reports can hide.
    """
    privacy = require_local(ledger.privacy, problem)
    points = points_of(problem.table)[np.concatenate(problem.rows)]
    chosen = chosen_cells(cells, kernel, len(points), privacy.epsilon)
    response = randomised_response(chosen.count, privacy.epsilon)
    ledger.charge(Charge.randomised_response(privacy.epsilon, chosen.count), note="report")
    truth = chosen.of(points, seed)
    reported = response.report(truth, subseed(seed, "reports"))
    public, groups = groups_of(points, kernel)
    return Reports(
        reported,
        groups,
        float(response.keep),
        float(response.other),
        kernels_between(kernel, chosen, public),
        kernel.divisor(points[:, 1]),
    )


def chosen_cells(cells: Cells | None, kernel: Kernel, users: int, epsilon: float) -> Cells:
    """The cells, or as many as Corollary 3.1 says; `UsageError` unless they fit the kernel."""
    if cells is None:
        cells = Cells.even(default_cells(users, epsilon, kernel.lipschitz))
    if (kernel.labels == "secret") != bool(cells.labels):
        what = "are secret: give them" if kernel.labels == "secret" else "are not: leave out their"
        raise UsageError(f"labels of this kernel {what} cells", "cells")
    return cells


def groups_of(points: Floats, kernel: Kernel) -> tuple[Floats, Places]:
    """All public labels, and which of them each point has; one group where none are public."""
    if kernel.labels != "public":
        return np.zeros(1), np.zeros(len(points), dtype=np.int64)
    public, groups = np.unique(points[:, 1], return_inverse=True)
    return public, groups


def kernels_between(kernel: Kernel, cells: Cells, labels: Floats) -> Floats:
    """The kernel of each two cells, for each two public labels: by label, label, cell, cell."""
    points = np.repeat(cells.points()[None], len(labels), axis=0)
    if not cells.labels:
        points[:, :, 1] = labels[:, None]
    return kernel.value(points[:, None, :, None], points[None, :, None, :])


def debiased(kernels: Floats, kept: float, other: float) -> Floats:
    """(3.10): kernels of reported cells, along the last two axes, that are right in expectation."""
    rows, columns = kernels.sum(axis=-1, keepdims=True), kernels.sum(axis=-2, keepdims=True)
    everything = rows.sum(axis=-2, keepdims=True)
    clean = kernels - other * (rows + columns) + other**2 * everything
    return np.asarray(clean / (kept - other) ** 2)


def require_local(privacy: Privacy | None, problem: Users) -> Privacy:
    """The privacy, if a report of each user can give it."""
    if privacy is None:
        raise UsageError("reports hide points: say how well", "privacy")
    if privacy.relation != "replace-one":
        raise UsageError("a report hides a point, and not that there is one", "privacy")
    if (problem.counts != 1).any():
        raise UsageError("every user has one row: more than one are no secret together", "problem")
    return privacy


def fit_local(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    kernel: Kernel,
    privacy: Privacy | None,
    graph: Any = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    cells: Cells | None = None,
) -> Outcome:
    """Estimates the mean of a kernel over all pairs, from one report of each user.

    `cells` are by default as many as Corollary 3.1 says, even between 0 and 1.

    Raises:
        UsageError: parts do not fit together.
    """
    require_neither(graph, clock, "everybody reports once: leave graph and clock out")
    begun = perf_counter()
    require_seed(seed)
    ledger = PrivacyLedger(
        privacy, assumptions=["labels are public"] if kernel.labels == "public" else []
    )
    with told(progress) as advance:
        advance("reports", 0, 1)
        found = reports_of(problem, kernel, cells, ledger, seed=seed)
        value = found.statistic()
        advance("reports", 1, 1)
    many = len(problem)
    return Outcome(
        algorithm=f"statistic of pairs from private reports ({kernel.name})",
        model=value,
        history=History({"users": [many], "estimate": [value]}),
        spent=ledger.spent(),
        messages=many,
        bytes=many * max(1, math.ceil(math.log2(len(found.table)) / 8)),
        seconds=perf_counter() - begun,
        seed=seed,
    )


def exact_variance(law: npt.ArrayLike, table: npt.ArrayLike, users: int) -> float:
    """The exact variance of a mean over all pairs of independent draws (Hoeffding 1948).

    `law` has the chances of all draws and `table` the kernel of each two of them.
    """
    chances, kernel = finite(law, "law"), finite(table, "table")
    if abs(chances.sum() - 1) > 1e-9 or (chances < 0).any() or whole(users, "users") < 2:
        raise UsageError("chances that sum to 1, of at least two users", "law")
    own = kernel @ chances
    mean = float(chances @ own)
    first = float(chances @ own**2) - mean**2
    second = float(chances @ kernel**2 @ chances) - mean**2
    return (4 * (users - 2) * first + 2 * second) / (users * (users - 1))


def variance_bound(users: int, share_lost: float) -> float:
    """Theorem 3.3 of the thesis, for kernels from 0 to 1: a bound, and a loose one."""
    kept = 1 - share_lost
    lost = (1 + share_lost) ** 2 / (2 * users * (users - 1) * kept**4)
    return 1 / (users * kept**2) + lost


def error_bound(users: int, share_lost: float, cells: int, lipschitz: float) -> float:
    """Theorem 3.4 of the thesis: of the mean square error, for a Lipschitz kernel from 0 to 1."""
    return variance_bound(users, share_lost) + lipschitz**2 / (2 * cells**2)


def _nearest(values: Floats, numbers: Floats) -> Places:
    return np.searchsorted((values[1:] + values[:-1]) / 2, numbers, side="right")


def _require_inside(values: Floats, numbers: Floats, half: float, field: str) -> None:
    """Refuses numbers that are farther outside than half of the way to the next cell inside."""
    gaps = np.diff(values) if len(values) > 1 else np.ones(1)
    reach = half + 1e-9
    low, high = values[0] - reach * gaps[0], values[-1] + reach * gaps[-1]
    if not ((numbers >= low) & (numbers <= high)).all():
        raise UsageError(f"some {field} are outside of the cells: scale them, or add some", "cells")
