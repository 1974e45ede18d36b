"""Counts and averages over the rows of all users: means, variances, histograms, quantiles, tables.

Each is one verified sum; further keywords of all are those of `Setting`. Specification:
`specs/22-federated.md`, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import number, whole
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.federated.row_sums import RowSums, RowTotal
from gopa.learning.federated.setting import Setting, SumOptions
from gopa.learning.history import History
from gopa.learning.outcome import Outcome
from gopa.support.arrays import Floats

_ONE_HOT: Final = math.sqrt(2)
"""Another row moves one count down and one up."""

_MOST_LEVELS: Final = 16
_OUTSIDE: Final = "rows outside of the range were moved to its ends"


@algorithm(more=SumOptions.__annotations__, labels="unread")
def variance(
    problem: Users, *, low: npt.ArrayLike, high: npt.ArrayLike, **asked: Unpack[SumOptions]
) -> Outcome:
    """The `mean`, its `stderr`, the `variance` and the number of `rows`, of each column.

    `low` and `high` are public ends of the columns. A square costs nothing beside its number:
    (u, u^2) and (v, v^2) are never farther apart than (-1, 1) and (1, 1).
    """
    return _averaged("variance", problem, low, high, Setting(**asked), squares=True)


@algorithm(more=SumOptions.__annotations__, labels="unread")
def mean(
    problem: Users, *, low: npt.ArrayLike, high: npt.ArrayLike, **asked: Unpack[SumOptions]
) -> Outcome:
    """The `mean` of each column over all rows, its `stderr`, and the number of `rows`."""
    return _averaged("mean", problem, low, high, Setting(**asked), squares=False)


def _averaged(  # noqa: PLR0913 - what both have in common
    name: str,
    problem: Users,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    setting: Setting,
    *,
    squares: bool,
) -> Outcome:
    columns = problem.table.features.shape[1]
    ends = [finite(np.atleast_1d(low), "low"), finite(np.atleast_1d(high), "high")]
    if any(each.shape not in {(1,), (columns,)} for each in ends):
        raise UsageError(f"a number, or one for each of the {columns} columns", "low")
    first, last = (np.broadcast_to(each, columns) for each in ends)
    if not (first <= last).all():
        raise UsageError("no column ends before it begins", "high")
    half, width = (last - first) / 2, columns * (1 + squares)
    sums = RowSums(name, setting, problem, width=width, diameter=2 * math.sqrt(columns))

    def row(rows: Floats) -> Floats:
        if ((rows < first) | (rows > last)).any():
            sums.session.warn(_OUTSIDE)
        inside = (np.clip(rows, first, last) - first) / np.where(half > 0, half, 1.0) - 1
        return np.hstack([inside, inside**2]) if squares else inside

    def read(found: RowTotal) -> dict[str, Any]:
        means = found.mean()
        model = {
            "mean": first + half * (means[:columns] + 1),
            "stderr": half * found.stderr / found.rows,
            "rows": found.rows,
        }
        if squares:
            model["variance"] = half**2 * np.maximum(means[columns:] - means[:columns] ** 2, 0.0)
        return model

    return _once(sums, [row(each) for each, _ in problem.pairs()], read)


@algorithm(more=SumOptions.__annotations__, labels="unread")
def histogram(
    problem: Users, *, edges: npt.ArrayLike, column: int = 0, **asked: Unpack[SumOptions]
) -> Outcome:
    """How many rows have their number of one column between which `edges`.

    The last bin has both of its edges. Rows outside of all are in none, as the outcome says.
    """
    ends = finite(edges, "edges")
    if ends.ndim != 1 or len(ends) < 2 or not (np.diff(ends) > 0).all():
        raise UsageError("at least two numbers, each above the one before", "edges")
    bins = len(ends) - 1
    values = _column(problem, column)
    sums = _counts("histogram", problem, bins, asked)

    def row(values: Floats) -> Floats:
        place = np.where(values == ends[-1], bins - 1, np.searchsorted(ends, values, "right") - 1)
        return np.asarray(place[:, None] == np.arange(bins), dtype=np.float64)

    rows = _listed(sums, [row(each) for each in values])
    return _once(sums, rows, lambda found: _model(found, found.total, edges=ends))


@algorithm(more=SumOptions.__annotations__)
def contingency_table(
    problem: Users,
    *,
    columns: tuple[int, int],
    categories: tuple[Sequence[float], Sequence[float]],
    **asked: Unpack[SumOptions],
) -> Outcome:
    """How many rows have which pair of categories in two columns; -1 stands for the labels.

    `categories` are the public lists of both. Rows with others are in no cell, as the outcome
    says.
    """
    lists = [finite(each, "categories") for each in categories]
    if any(each.ndim != 1 or len(np.unique(each)) < max(len(each), 1) for each in lists):
        raise UsageError("two lists, in which nothing stands twice", "categories")
    shape = (len(lists[0]), len(lists[1]))
    values = zip(*(_column(problem, each) for each in columns), strict=True)
    sums = _counts("contingency table", problem, shape[0] * shape[1], asked)

    def row(first: Floats, second: Floats) -> Floats:
        one, two = first[:, None] == lists[0], second[:, None] == lists[1]
        cells = one[:, :, None] & two[:, None, :]
        return np.asarray(cells.reshape(len(first), sums.width), dtype=np.float64)

    rows = _listed(sums, [row(*each) for each in values])
    return _once(sums, rows, lambda found: _model(found, found.total.reshape(shape)))


@algorithm(more=SumOptions.__annotations__, labels="unread")
def quantiles(  # noqa: PLR0913 - what is asked, of whom, how
    problem: Users,
    *,
    at: Sequence[float],
    low: float,
    high: float,
    column: int = 0,
    levels: int = 8,
    **asked: Unpack[SumOptions],
) -> Outcome:
    """Below which numbers of one column which parts `at` of all rows lie.

    The range is halved `levels` times, and every row is counted on each level, in one sum: a
    quantile is found by going down where it lies. Rows outside count at the ends.
    """
    levels = whole(levels, "levels", 1, _MOST_LEVELS)
    first, last = number(low, "low"), number(high, "high")
    if not -math.inf < first < last < math.inf:
        raise UsageError("finite, and above the lower end", "high")
    parts = finite(at, "at")
    if not ((parts >= 0) & (parts <= 1)).all():
        raise UsageError("parts from 0 to 1", "at")
    values = _column(problem, column)
    sums = _counts("quantiles", problem, 2 ** (levels + 1) - 2, asked)

    def row(values: Floats) -> Floats:
        if ((values < first) | (values > last)).any():
            sums.session.warn(_OUTSIDE)
        place = np.clip((values - first) / (last - first), 0, 1 - 2.0**-53)
        hot = [np.eye(2**k)[(place * 2**k).astype(int)] for k in range(1, levels + 1)]
        return np.hstack(hot) / math.sqrt(levels)

    def read(found: RowTotal) -> dict[str, Any]:
        tree = np.split(found.total * math.sqrt(levels), 2 ** np.arange(2, levels + 1) - 2)
        places = np.array([_descend(tree, each) for each in parts])
        return {"at": parts, "quantiles": first + (last - first) * places}

    return _once(sums, [row(each) for each in values], read)


def _descend(tree: Sequence[Floats], part: float) -> float:
    """Where that part of all lies, as a part of the range."""
    rank, node = part * max(float(tree[0].sum()), 0.0), 0
    here = 0.0
    for counts in tree:
        here = float(counts[2 * node])
        node *= 2
        if rank > here:
            rank, node = rank - max(here, 0.0), node + 1
            here = float(counts[node])
    inside = min(max(rank / here, 0.0), 1.0) if here > 0 else 0.5
    return float((node + inside) / 2 ** len(tree))


def _once(
    sums: RowSums, rows: Sequence[Floats], read: Callable[[RowTotal], dict[str, Any]]
) -> Outcome:
    with sums.session:
        found = sums.sum(rows)
        history = History({"round": [1], "users": [found.result.count], "noise": [found.stderr]})
        return sums.session.outcome(read(found), history)


def _counts(name: str, problem: Users, bins: int, asked: SumOptions) -> RowSums:
    setting = Setting(**asked)
    return RowSums(name, setting, problem, width=bins, diameter=_ONE_HOT, counted=False)


def _listed(sums: RowSums, rows: list[Floats]) -> list[Floats]:
    """What was counted, with a warning if a row is in none of the cells."""
    if not all(each.any(axis=1).all() for each in rows):
        sums.session.warn("rows that are in none of the cells do not count")
    return rows


def _model(found: RowTotal, counts: Floats, **more: Any) -> dict[str, Any]:
    return {"counts": counts, "stderr": found.stderr, **more}


def _column(problem: Users, column: int) -> list[Floats]:
    """One column of each user; -1 for labels."""
    place = whole(column, "column", -1, problem.table.features.shape[1] - 1)
    if place == -1:
        return [finite(labels, "labels") for _, labels in problem.pairs()]
    return [features[:, place] for features, _ in problem.pairs()]
