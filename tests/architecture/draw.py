"""`python -m tests.architecture.draw > docs/architecture.svg`: draws the floors of the packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

from tests.architecture.floors import Imports, floors, imports, rests_on

_WIDTH: Final = 1040
_LEFT: Final = 50
_BOX: Final = (168, 30)
_FLOOR: Final = 62
_ASIDE: Final = 100
_SWEEPS: Final = 8

_HEAD: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
font-family="sans-serif" font-size="14">
<title>The floors of the packages</title>
<desc>Each box is a package or module. It imports nothing but what stands below it.</desc>
<rect width="{width}" height="{height}" fill="#fff"/>"""


def picture(found: Imports) -> str:
    """The drawing as SVG, the lowest floor at the bottom."""
    rows, lines = floors(found), rests_on(found)
    places = _places(rows, lines)
    height = len(rows) * _FLOOR + 20
    parts = [_HEAD.format(width=_WIDTH, height=height)]
    parts += [_number(floor, height) for floor in range(len(rows))]
    parts += _lines(lines, places, height)
    parts += [_box(unit, places[unit], height) for row in rows for unit in row]
    return "\n".join([*parts, "</svg>", ""])


def _places(rows: Sequence[Sequence[str]], lines: Imports) -> dict[str, tuple[int, int]]:
    """The middle of each box and its floor; boxes that a line joins come near each other."""
    order = [list(row) for row in rows]
    over = {unit: frozenset(each for each in lines if unit in lines[each]) for unit in lines}
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        for floor in range(len(order)) if upwards else reversed(range(len(order))):
            middles, near = _middles(order), lines if upwards else over
            means = {unit: _mean(near[unit], middles, unit) for unit in order[floor]}
            order[floor].sort(key=lambda unit, means=means: (means[unit], unit))  # type: ignore[misc]
    middles = _middles(order)
    return {unit: (middles[unit], floor) for floor, row in enumerate(order) for unit in row}


def _middles(order: Sequence[Sequence[str]]) -> dict[str, int]:
    """Where boxes stand from left to right; one that is alone steps aside for longer lines."""
    room, found = _WIDTH - _LEFT, {}
    for floor, row in enumerate(order):
        aside = 0 if len(row) > 1 else _ASIDE if floor % 2 else -_ASIDE
        for place, unit in enumerate(row):
            found[unit] = _LEFT + room * (2 * place + 1) // (2 * len(row)) + aside
    return found


def _mean(units: frozenset[str], middles: Mapping[str, int], alone: str) -> float:
    return sum(middles[each] for each in units or {alone}) / max(1, len(units))


def _top(floor: int, height: int) -> int:
    return height - (floor + 1) * _FLOOR + (_FLOOR - _BOX[1]) // 2


def _number(floor: int, height: int) -> str:
    y = _top(floor, height) + _BOX[1] // 2 + 5
    return f'<text x="14" y="{y}" fill="#666">{floor + 1}</text>'


def _lines(lines: Imports, places: Mapping[str, tuple[int, int]], height: int) -> Iterator[str]:
    for unit in sorted(lines):
        x, floor = places[unit]
        y = _top(floor, height) + _BOX[1]
        for other in sorted(lines[unit]):
            end_x, end_floor = places[other]
            end_y = _top(end_floor, height)
            bend = (end_y - y) // 2
            curve = f"M{x},{y} C{x},{y + bend} {end_x},{end_y - bend} {end_x},{end_y}"
            yield f'<path d="{curve}" fill="none" stroke="#8aa" stroke-width="1.5"/>'


def _box(unit: str, place: tuple[int, int], height: int) -> str:
    x, floor = place
    y, (wide, high) = _top(floor, height), _BOX
    fill = "#eef4fb" if unit.startswith("gopa.") else "#fdf3e1"
    return (
        f'<rect x="{x - wide // 2}" y="{y}" width="{wide}" height="{high}" rx="5" '
        f'fill="{fill}" stroke="#345"/>'
        f'<text x="{x}" y="{y + 20}" text-anchor="middle" fill="#123">{escape(unit)}</text>'
    )


if __name__ == "__main__":
    sys.stdout.write(picture(imports()))
