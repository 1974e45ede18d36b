"""Results for people and programs: tables for notebooks, pictures, and plain data.

Everything in a table is escaped: names of columns come from data that the reader of a notebook need
not trust. Pictures need matplotlib (extra `plot`), which is imported when one is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from markupsafe import Markup

from gopa.support.arrays import Floats
from gopa.support.extras import missing
from gopa.support.rounding import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS: Final = 20
_TABLE: Final = Markup(
    '<table class="gopa-result" style="text-align: left; border-collapse: collapse">'
    "<tbody>{}</tbody></table>"
)
_ROW: Final = Markup(
    '<tr style="background: none"><th scope="row" style="text-align: left; vertical-align: top; '
    'padding: 0.15em 1em 0.15em 0.3em">{}</th>'
    '<td style="text-align: left; vertical-align: top; padding: 0.15em 0.3em; max-width: 48em; '
    'white-space: normal; {}">{}</td></tr>'
)
_LARGE: Final = "font-size: 1.4em; font-weight: 600"
_BAR: Final = Markup(
    '<span style="display: inline-block; width: 9em">{}</span><span style="display: inline-block; '
    'height: 0.8em; width: {:.2f}em; background: #4477aa"></span>'
)
_WIDEST: Final = 16.0
_LIKELY: Final = 1.96
"""So many standard errors on both sides hold the true number in 95 of 100 cases."""
_NOTE: Final = "bars: 95 of 100 such intervals hold the number without noise"
_MOST_NAMES: Final = 40


def summary_table(lines: Sequence[tuple[str, str]]) -> str:
    """Lines of a name and a text as a table, the first of them large."""
    rows = [_ROW.format(name, "" if at else _LARGE, text) for at, (name, text) in enumerate(lines)]
    return str(_TABLE.format(Markup("").join(rows)))


def numbers_table(
    kind: str,
    numbers: Sequence[tuple[str, float, float]],
    lines: Sequence[tuple[str, str]],
    *,
    bars: bool,
) -> str:
    """A table with a row for each number, by name and with its error, and one for each line.

    With `bars` numbers have bars beside them. Long vectors are shortened.
    """
    longest = max([value for _, value, _ in numbers if value > 0.0], default=1e-300)
    rows = [_ROW.format(kind, "", f"{len(numbers)} numbers")]
    for label, value, error in numbers[:_MOST_ROWS]:
        text: str | Markup = listed([value], [error])
        if bars:
            text = _BAR.format(text, _WIDEST * max(value, 0.0) / longest)
        rows.append(_ROW.format(label, "", text))
    left = len(numbers) - _MOST_ROWS
    if left > 0:
        rows.append(_ROW.format("..", "", f"{left} more numbers"))
    rows += [_ROW.format(name, "", text) for name, text in lines]
    return str(_TABLE.format(Markup("").join(rows)))


def titled_axes(ax: Axes | None, title: str) -> Axes:
    """These axes, or those of a new figure, with a title that says what the bars mean.

    Raises:
        BackendError: the extra `plot` is not installed.
    """
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise missing("plot") from None
        ax = plt.subplots(layout="constrained")[1]
    ax.set_title(f"{title}\n{_NOTE}", fontsize=10)
    return ax


def draw_bins(axes: Axes, edges: Floats, counts: Floats, errors: Floats) -> None:
    """Columns over the bins between these edges, with intervals."""
    widths = np.diff(edges)
    axes.bar(edges[:-1], counts, widths, align="edge", alpha=0.6, edgecolor="white")
    middles = edges[:-1] + widths / 2
    axes.errorbar(middles, counts, _LIKELY * errors, fmt="none", color="black")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel("parties")


def draw_intervals(
    axes: Axes, kind: str, names: Sequence[str], values: Floats, errors: Floats
) -> None:
    """An interval for each number; many of them stand side by side without their names."""
    errors, places = _LIKELY * errors, np.arange(len(values))
    if len(values) > _MOST_NAMES:
        axes.errorbar(places, values, errors, fmt=".", markersize=3)
        axes.set_xlabel("place in the vector")
        axes.set_ylabel(kind)
        return
    axes.errorbar(values, places, xerr=errors, fmt="o", capsize=4)
    axes.set_yticks(places, names if len(values) > 1 else [kind])
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xlabel(kind)


def plain_data(value: Any) -> Any:
    """The same with lists, dicts and Python numbers only; NaN and infinity become None."""
    if isinstance(value, (np.ndarray, np.generic)):
        return plain_data(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
