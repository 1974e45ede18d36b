"""Shows a result in a notebook as a small table.

Everything is escaped: names of columns come from data that the reader of a notebook need not trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from markupsafe import Markup

from gopa.aggregation.result import Result, numbers, report_lines
from gopa.aggregation.structure import flat

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


def html(result: Result) -> str:
    """Gives the summary of a result, the number first."""
    (name, text), *rest = report_lines(result)
    if len(flat(result.value)) == 1:
        return summary_table([(name, text), *rest])
    others = [_ROW.format(name, "", text) for name, text in rest]
    return str(_TABLE.format(Markup("").join([*_numbers(result), *others])))


def summary_table(lines: Sequence[tuple[str, str]]) -> str:
    """Gives lines of a name and a text as a table, the first of them large."""
    rows = [_ROW.format(name, "" if at else _LARGE, text) for at, (name, text) in enumerate(lines)]
    return str(_TABLE.format(Markup("").join(rows)))


def _numbers(result: Result) -> list[Markup]:
    """One row for each number, and for a histogram a bar in it; long vectors are shortened."""
    values, errors = flat(result.value), flat(result.error)
    longest = max(float(np.max(values, initial=0.0)), 1e-300)
    shown = list(zip(result.labels, values.tolist(), errors.tolist(), strict=True))[:_MOST_ROWS]
    rows = []
    for label, value, error in shown:
        text: str | Markup = numbers(value, error)
        if result.kind == "histogram":
            text = _BAR.format(text, _WIDEST * max(value, 0.0) / longest)
        rows.append(_ROW.format(label, "", text))
    left = len(values) - len(shown)
    if left:
        rows.append(_ROW.format("..", "", f"{left} more numbers"))
    return [_ROW.format(result.kind, "", f"{len(values)} numbers"), *rows]
