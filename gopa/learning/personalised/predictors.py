"""Turns rows into what linear models see: the rows and a one, or the outputs of base predictors.

Specification: `specs/20-personalised.md`, section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gopa import UsageError
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.learning.personalised.links import Floats

Predictors: TypeAlias = Callable[[Floats], Floats]
"""Maps rows (rows, columns) to outputs (rows, predictors) from -1 to 1."""


def with_one(rows: Floats) -> Floats:
    """The rows with a one behind them, which gives linear models an intercept."""
    return np.hstack([rows, np.ones((len(rows), 1))])


def stumps(low: Floats, high: Floats, count: int) -> Predictors:
    """`count` stumps on every column: -1 below a threshold, 1 from it on, evenly between two ends.

    Ends that are taken from data tell something about them.
    """
    first, last = finite(np.atleast_1d(low), "low"), finite(np.atleast_1d(high), "high")
    if first.shape != last.shape or not (first <= last).all():
        raise UsageError("two ends for each column, the lower one first", "high")
    shares = np.arange(1, whole(count, "count") + 1) / (count + 1)
    thresholds = first[:, None] + shares * (last - first)[:, None]

    def outputs(rows: Floats) -> Floats:
        if rows.ndim != 2 or rows.shape[1] != len(thresholds):
            raise UsageError(f"rows of {len(thresholds)} numbers", "rows")
        return np.where(rows[:, :, None] >= thresholds, 1.0, -1.0).reshape(len(rows), -1)

    return outputs
