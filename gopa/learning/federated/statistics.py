"""Counts and averages over the rows of all users: means, variances, histograms, quantiles, tables.

Each is one verified sum. Specification: `specs/22-federated.md`, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.data import Users
from gopa.learning.federated.row_sums import RowSums, RowTotal, box, within
from gopa.learning.federated.sums import Setting, SumOptions
from gopa.learning.history import History
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy

Floats: TypeAlias = npt.NDArray[np.float64]
Read: TypeAlias = Callable[[RowTotal], dict[str, Any]]

_ONE_HOT: Final = math.sqrt(2)
_MOST_LEVELS: Final = 16


def variance(  # noqa: PLR0913 - what is asked, of whom, how
    problem: Users,
    *,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    privacy: Privacy | None,
    seed: int,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """The `mean`, its `stderr`, the `variance` and the number of `rows`, of each column.

    `low` and `high` are public ends of the columns. A square costs nothing beside its number:
    (u, u^2) and (v, v^2) are never farther apart than (-1, 1) and (1, 1).
    """
    ends = box(problem, low, high)
    setting = Setting(privacy, seed, **options)
    return _averaged("variance", setting, problem, ends, most_rows, squares=True)


def mean(  # noqa: PLR0913 - what is asked, of whom, how
    problem: Users,
    *,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    privacy: Privacy | None,
    seed: int,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """The `mean` of each column over all rows, its `stderr`, and the number of `rows`."""
    ends = box(problem, low, high)
    setting = Setting(privacy, seed, **options)
    return _averaged("mean", setting, problem, ends, most_rows, squares=False)


def _averaged(  # noqa: PLR0913 - what both have in common
    name: str,
    setting: Setting,
    problem: Users,
    ends: tuple[Floats, Floats],
    most_rows: int | None,
    *,
    squares: bool,
) -> Outcome:
    columns, half = len(ends[0]), (ends[1] - ends[0]) / 2
    sums = RowSums(
        name,
        setting,
        problem,
        width=columns * (1 + squares),
        diameter=2 * math.sqrt(columns),
        most_rows=most_rows,
    )

    def row(rows: Floats) -> Floats:
        inside = within(rows, *ends, sums)
        return np.hstack([inside, inside**2]) if squares else inside

    def read(found: RowTotal) -> dict[str, Any]:
        means = found.mean()
        first, square = means[:columns], means[columns:]
        model = {
            "mean": ends[0] + half * (first + 1),
            "stderr": half * found.mean_stderr,
            "rows": found.rows,
        }
        if squares:
            model["variance"] = half**2 * np.maximum(square - first**2, 0.0)
        return model

    return _once(sums, [row(each) for each, _ in problem.pairs()], read)


def histogram(  # noqa: PLR0913 - what is asked, of whom, how
    problem: Users,
    *,
    edges: npt.ArrayLike,
    column: int = 0,
    privacy: Privacy | None,
    seed: int,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """How many rows have their number of one column between which `edges`.

    The last bin has both of its edges. Rows outside of all are in none, as the outcome says.
    """
    ends = _edges(edges)
    setting = Setting(privacy, seed, **options)
    sums = _one_hot("histogram", setting, problem, len(ends) - 1, most_rows)
    rows = [_binned(each, ends, sums) for each in _columns(problem, column)]
    return _once(sums, rows, lambda found: {"edges": ends, **_counts(found)})


def contingency_table(  # noqa: PLR0913 - what is asked, of whom, how
    problem: Users,
    *,
    columns: tuple[int, int],
    categories: tuple[Sequence[float], Sequence[float]],
    privacy: Privacy | None,
    seed: int,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """How many rows have which pair of categories in two columns; -1 stands for the labels.

    `categories` are the public lists of both. Rows with others are in no cell, as the outcome
    says.
    """
    lists = [np.asarray(each, dtype=np.float64) for each in categories]
    if any(each.ndim != 1 or len(np.unique(each)) < max(len(each), 1) for each in lists):
        raise UsageError("two lists, in which nothing stands twice", "categories")
    shape = (len(lists[0]), len(lists[1]))
    setting = Setting(privacy, seed, **options)
    sums = _one_hot("contingency table", setting, problem, shape[0] * shape[1], most_rows)
    rows = []
    for first, second in zip(*(_columns(problem, each) for each in columns), strict=True):
        one, two = first[:, None] == lists[0], second[:, None] == lists[1]
        rows.append(
            (one[:, :, None] & two[:, None, :]).reshape(len(first), sums.width).astype(float)
        )
        if not rows[-1].any(axis=1).all():
            sums.warn("rows with categories that are not listed do not count")

    def read(found: RowTotal) -> dict[str, Any]:
        counts = _counts(found)
        return {**counts, "counts": counts["counts"].reshape(shape)}

    return _once(sums, rows, read)


def quantiles(  # noqa: PLR0913 - what is asked, of whom, how
    problem: Users,
    *,
    at: Sequence[float],
    low: float,
    high: float,
    column: int = 0,
    levels: int = 8,
    privacy: Privacy | None,
    seed: int,
    most_rows: int | None = None,
    **options: Unpack[SumOptions],
) -> Outcome:
    """Below which numbers of one column which parts `at` of all rows lie.

    The range is halved `levels` times, and every row is counted on each level, in one sum: a
    quantile is found by going down where it lies. Rows outside count at the ends.
    """
    if not (type(levels) is int and 1 <= levels <= _MOST_LEVELS):
        raise UsageError(f"from 1 to {_MOST_LEVELS}", "levels")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError("finite, and above the lower end", "high")
    if not all(0 <= each <= 1 for each in at):
        raise UsageError("parts from 0 to 1", "at")
    setting = Setting(privacy, seed, **options)
    width = 2 ** (levels + 1) - 2
    sums = _one_hot("quantiles", setting, problem, width, most_rows)

    def row(values: Floats) -> Floats:
        if len(values) and (values.min() < low or values.max() > high):
            sums.warn("rows outside of the range were moved to its ends")
        place = np.clip((values - low) / (high - low), 0, 1 - 2.0**-53)
        hot = [np.eye(2**k)[(place * 2**k).astype(int)] for k in range(1, levels + 1)]
        return np.hstack(hot) / math.sqrt(levels)

    def read(found: RowTotal) -> dict[str, Any]:
        tree = np.split(found.total * math.sqrt(levels), 2 ** np.arange(2, levels + 1) - 2)
        places = np.array([_descend(tree, each) for each in at])
        return {"at": np.array(at, dtype=np.float64), "quantiles": low + (high - low) * places}

    return _once(sums, [row(each) for each in _columns(problem, column)], read)


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


def _once(sums: RowSums, rows: Sequence[Floats], read: Read) -> Outcome:
    with sums.session:
        found = sums.sum(rows)
        history = History({"round": [1], "users": [found.result.count], "noise": [found.stderr]})
        return sums.outcome(read(found), history)


def _one_hot(
    name: str, setting: Setting, problem: Users, bins: int, most_rows: int | None
) -> RowSums:
    """Another row moves one count down and one up."""
    return RowSums(
        name,
        setting,
        problem,
        width=bins,
        diameter=_ONE_HOT,
        most_rows=most_rows,
        counted=False,
    )


def _counts(found: RowTotal) -> dict[str, Any]:
    return {"counts": found.total, "stderr": found.stderr}


def _columns(problem: Users, column: int) -> list[Floats]:
    """One column of each user; -1 for labels."""
    if type(column) is not int or not -1 <= column < problem.table.features.shape[1]:
        raise UsageError("the number of a column, or -1 for the labels", "column")
    return [
        np.asarray(labels, dtype=np.float64) if column == -1 else features[:, column]
        for features, labels in problem.pairs()
    ]


def _edges(edges: npt.ArrayLike) -> Floats:
    found = np.asarray(edges, dtype=np.float64)
    if found.ndim != 1 or len(found) < 2 or not (np.isfinite(found).all()):
        raise UsageError("at least two finite numbers", "edges")
    if not (np.diff(found) > 0).all():
        raise UsageError("each edge is above the one before", "edges")
    return found


def _binned(values: Floats, edges: Floats, sums: RowSums) -> Floats:
    place = np.searchsorted(edges, values, "right") - 1
    place = np.where(values == edges[-1], len(edges) - 2, place)
    inside = (place >= 0) & (place < len(edges) - 1)
    if not inside.all():
        sums.warn("rows outside of the bins do not count")
    hot = np.eye(len(edges) - 1)[np.where(inside, place, 0)]
    return np.asarray(hot * inside[:, None])
