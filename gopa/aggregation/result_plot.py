"""Draws a result with its errors. Pictures need matplotlib (extra `plot`), imported when drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gopa.aggregation.histograms import Histogram
from gopa.aggregation.result import Result
from gopa.aggregation.structure import flat
from gopa.support.extras import missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LIKELY: Final = 1.96
"""So many standard errors on both sides hold the true number in 95 of 100 cases."""
_NOTE: Final = "bars: 95 of 100 such intervals hold the number without noise"
_MOST_NAMES: Final = 40


def draw_result(result: Result, ax: Axes | None) -> Axes:
    """Draws intervals, one for each number; bins of a histogram as columns.

    Raises:
        BackendError: the extra `plot` is not installed.
    """
    axes = _own_axes() if ax is None else ax
    if isinstance(result, Histogram):
        _bins(axes, result)
    else:
        _intervals(axes, result)
    simulated = ", simulation" if result.simulation else ""
    axes.set_title(f"{result.kind} over {result.count} parties{simulated}\n{_NOTE}", fontsize=10)
    return axes


def _own_axes() -> Axes:
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise missing("plot") from None
    axes: Axes = plt.subplots(layout="constrained")[1]
    return axes


def _bins(axes: Axes, result: Histogram) -> None:
    widths = np.diff(result.edges)
    axes.bar(result.edges[:-1], result.value, widths, align="edge", alpha=0.6, edgecolor="white")
    middles = result.edges[:-1] + widths / 2
    axes.errorbar(middles, result.value, _LIKELY * result.error, fmt="none", color="black")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel("parties")


def _intervals(axes: Axes, result: Result) -> None:
    values, errors = flat(result.value), _LIKELY * flat(result.error)
    places = np.arange(len(values))
    if len(values) > _MOST_NAMES:
        axes.errorbar(places, values, errors, fmt=".", markersize=3)
        axes.set_xlabel("place in the vector")
        axes.set_ylabel(result.kind)
        return
    axes.errorbar(values, places, xerr=errors, fmt="o", capsize=4)
    names = result.labels if len(values) > 1 else [result.kind]
    axes.set_yticks(places, names)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xlabel(result.kind)
