"""Estimates statistics of pairs from reports that hide each user's point by themselves.

A user puts its point into one of k public cells and reports a cell by randomised response; what
the noise does to the statistic is taken out again. Specification: `specs/23-pairwise.md`,
section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import number, whole
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.history import History
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.pairwise.kernels import NAMED_KERNELS, Kernel, Places, TablePairs, points_of
from gopa.learning.privacy import Charge, Privacy
from gopa.noise import RandomisedResponse, randomised_response, subseed
from gopa.support.arrays import Floats
from gopa.support.draws import Draws

Rounding: TypeAlias = Literal["nearest", "random"]

_MOST_CELLS: Final = 1024
_UNIT: Final = 2**53


@dataclass(frozen=True)
class Cells:
    """The public points that stand for all others: those of a line, or of a table.

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
        if not number(low, "low") < number(high, "high"):
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
        values, numbers = np.array(self.values), points[:, 0]
        _require_inside(values, numbers, 0.0 if self.rounding == "random" else 0.5, "numbers")
        if self.rounding == "random":
            below, share = self.share_above(numbers)
            words = Draws(seed, "pairwise", "random rounding").below(_UNIT, len(numbers))
            return np.asarray(below + (words < share))
        found = _nearest(values, numbers)
        if self.labels:
            labels = np.array(self.labels)
            _require_inside(labels, points[:, 1], 0.5, "labels")
            found = found * len(labels) + _nearest(labels, points[:, 1])
        return found

    def share_above(self, numbers: Floats) -> tuple[Places, npt.NDArray[np.int64]]:
        """The cell below each number, and the chance of the one above in units of 2^-53."""
        values = np.array(self.values)
        inside = np.clip(numbers, values[0], values[-1])
        below = np.clip(np.searchsorted(values, inside, "right") - 1, 0, len(values) - 2)
        share = (inside - values[below]) / (values[below + 1] - values[below])
        return below, np.rint(share * _UNIT).astype(np.int64)


def default_cells(users: int, epsilon: float, lipschitz: float) -> int:
    """How many cells balance what rounding and noise do: n^(1/4) sqrt(L epsilon), at least 2.

    Corollary 3.1 of the thesis. A kernel that jumps has no L: there it is that of the density of
    the points, which has to be known. `UsageError` if it is not.
    """
    if not 0 < lipschitz < math.inf:
        raise UsageError("this kernel jumps: say which cells", "cells")
    return max(2, round(math.sqrt(math.sqrt(users) * lipschitz * epsilon)))


def reports_of(
    problem: Users, kernel: Kernel, cells: Cells | None, ledger: PrivacyLedger, *, seed: int
) -> TablePairs:
    """What two users have together as far as reports tell: right in expectation, by (3.10).

    It costs the epsilon of the ledger's privacy, and no delta.

    Raises:
        UsageError: a user has not one row, or what is asked for is not what reports can hide.
    """
    privacy = require_local(ledger.privacy, problem)
    points = points_of(problem.table)[np.concatenate(problem.rows)]
    chosen = chosen_cells(cells, kernel, len(points), privacy.epsilon)
    divisor, (public, groups) = kernel.divisor(points[:, 1]), groups_of(points, kernel)
    response = randomised_response(chosen.count, privacy.epsilon)
    reported = reported_by(
        chosen.of(points, seed), response, ledger, subseed(seed, "pairwise", "reports")
    )
    kernels = kernels_between(kernel, chosen, public)
    return reported_pairs(reported, groups, kernels, response, divisor)


def reported_by(
    truth: Places, response: RandomisedResponse, ledger: PrivacyLedger, seed: bytes
) -> Places:
    """Everybody's report, after it was charged."""
    charge = Charge.randomised_response(float(response.epsilon), response.values)
    ledger.charge(charge, note="report")
    return response.report(truth, seed)


def reported_pairs(
    reported: Places, groups: Places, kernels: Floats, response: RandomisedResponse, divisor: float
) -> TablePairs:
    """The same from reported cells, of users in groups of one public label each."""
    clean, users, rows = debiased(kernels, response), len(reported), len(kernels) * response.values
    table = clean.transpose(0, 2, 1, 3).reshape(rows, rows) * (users**2 / divisor)
    return TablePairs(table, groups * response.values + reported)


def chosen_cells(cells: Cells | None, kernel: Kernel, users: int, epsilon: float) -> Cells:
    """The cells, or as many as Corollary 3.1 says; `UsageError` unless they fit the kernel."""
    if cells is None:
        cells = Cells.even(default_cells(users, epsilon, kernel.lipschitz))
    if not isinstance(cells, Cells):
        raise UsageError("Cells, such as Cells.even(8)", "cells")
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


def debiased(kernels: Floats, response: RandomisedResponse) -> Floats:
    """(3.10): kernels of reported cells, along the last two axes, that are right in expectation."""
    kept, other = float(response.keep), float(response.other)
    rows, columns = kernels.sum(axis=-1, keepdims=True), kernels.sum(axis=-2, keepdims=True)
    everything = rows.sum(axis=-2, keepdims=True)
    clean = kernels - other * (rows + columns) + other**2 * everything
    return np.asarray(clean / (kept - other) ** 2)


def weights_of(reported: Places, response: RandomisedResponse) -> Floats:
    """The weights of all values for each report, right in expectation."""
    kept, other = float(response.keep), float(response.other)
    told = np.equal.outer(reported, np.arange(response.values))
    return np.asarray((told - other) / (kept - other))


def require_local(privacy: Privacy | None, problem: Users) -> Privacy:
    """The privacy, if a report of each user can give it."""
    if not isinstance(privacy, Privacy):
        raise UsageError("reports hide points: say how well, by a Privacy", "privacy")
    if not isinstance(problem, Users):
        raise UsageError("Users, of one row each", "problem")
    if privacy.relation != "replace-one":
        raise UsageError("a report hides a point, and not that there is one", "privacy")
    if (problem.counts != 1).any():
        raise UsageError("every user has one row: more than one are no secret together", "problem")
    return privacy


@algorithm(
    named={"kernel": (Kernel, NAMED_KERNELS)},
    labels="signs",
    points=True,
    alone="everybody reports once: leave graph and clock out",
)
def fit_local(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    kernel: Kernel,
    privacy: Privacy | None,
    seed: int,
    progress: Progress = None,
    cells: Cells | None = None,
) -> Outcome:
    """Estimates the mean of a kernel over all pairs, from one report of each user.

    `cells` are by default as many as Corollary 3.1 says, even between 0 and 1.

    Raises:
        UsageError: parts do not fit together.
    """
    ledger = PrivacyLedger(privacy, assumptions=kernel.assumptions)
    with AlgorithmRun(seed=seed, progress=progress, ledger=ledger, stops=False) as run:
        run.advance("reports", 0, 1)
        pairs = reports_of(problem, kernel, cells, ledger, seed=seed)
        value = pairs.mean(run.advance)
    return run.outcome(
        f"statistic of pairs from private reports ({kernel.name})",
        value,
        history=History({"users": [len(problem)], "estimate": [value]}),
        messages=len(problem),
        bytes=len(problem) * math.ceil(math.log2(pairs.kinds) / 8),
    )


def exact_variance(law: npt.ArrayLike, table: npt.ArrayLike, users: int) -> float:
    """The exact variance of a mean over all pairs of independent draws (Hoeffding 1948).

    `law` has the chances of all draws and `table` the kernel of each two of them.
    """
    chances, kernel = finite(law, "law"), finite(table, "table")
    if abs(chances.sum() - 1) > 1e-9 or (chances < 0).any() or whole(users, "users") < 2:
        raise UsageError("chances that sum to 1, of at least two users", "law")
    if kernel.shape != (len(chances), len(chances)):
        raise UsageError("a row and a column for each draw", "table")
    own = kernel @ chances
    mean = float(chances @ own)
    first = float(chances @ own**2) - mean**2
    second = float(chances @ kernel**2 @ chances) - mean**2
    return (4 * (users - 2) * first + 2 * second) / (users * (users - 1))


def _nearest(values: Floats, numbers: Floats) -> Places:
    return np.searchsorted((values[1:] + values[:-1]) / 2, numbers, side="right")


def _require_inside(values: Floats, numbers: Floats, half: float, field: str) -> None:
    """Refuses numbers that are farther outside than half of the way to the next cell inside."""
    gaps = np.diff(values) if len(values) > 1 else np.ones(1)
    reach = half + 1e-9
    low, high = values[0] - reach * gaps[0], values[-1] + reach * gaps[-1]
    if not ((numbers >= low) & (numbers <= high)).all():
        raise UsageError(f"some {field} are outside of the cells: scale them, or add some", "cells")
