"""Places what the page draws: a round's graph, its degrees, the bars of a result, a share.

All of it is numbers on a canvas 1000 wide; the template writes them as SVG. Words in a drawing
are those that the page says beside it, for whoever does not see it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import east_asian_width

from gopa.auditing.html.figures import key_name, number_of

MOST_DRAWN: Final = 200
_MOST_LABELS: Final = 24
_DENSE: Final = 300
_MOST_BARS: Final = 30
_LONGEST_LABEL: Final = 8

_CENTRE: Final = 500
_RADIUS_WITH_LABELS: Final = 365
_RADIUS_WITHOUT: Final = 465
MARKS: Final = {
    "good": (
        "M24 2a22 22 0 1 0 0 44a22 22 0 1 0 0-44z",
        "M14 25l7 7 13-15",
    ),
    "part": (
        "M10 3h28a7 7 0 0 1 7 7v28a7 7 0 0 1-7 7h-28a7 7 0 0 1-7-7v-28a7 7 0 0 1 7-7z",
        "M14 25l7 7 13-15",
    ),
    "open": (
        "M20.5 5a4 4 0 0 1 7 0l18 33a4 4 0 0 1-3.5 6h-36a4 4 0 0 1-3.5-6z",
        "M24 17v11M24 36v.1",
    ),
    "bad": (
        "M15 2h18l13 13v18l-13 13h-18l-13-13v-18z",
        "M16 16l16 16M32 16l-16 16",
    ),
    "info": (
        "M24 2a22 22 0 1 0 0 44a22 22 0 1 0 0-44z",
        "M24 22v14M24 13v.1",
    ),
    "none": (
        "M24 8a16 16 0 1 0 0 32a16 16 0 1 0 0-32z",
        "M15 24h18",
    ),
}
"""Symbols of the tones: an outline that is filled, and a sign in it, in a square of 48."""

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class GraphParty:
    """Whom to draw, its name or nothing, what became of it, and how: `inside`, `gone`, `broke`."""

    key: str
    name: str
    why: str
    kind: str


@dataclass(frozen=True, slots=True)
class PartyShape:
    """A party in the graph: a circle, a square, or for `broke` a crossed square."""

    kind: str
    x: int
    y: int
    size: int

    @property
    def arm(self) -> int:
        """Half the side of the cross in the square."""
        return self.size - 4 if self.size > 6 else self.size


@dataclass(frozen=True, slots=True)
class PartyLabel:
    """The beginning of a name or a key, outside of the circle of parties."""

    text: str
    x: int
    y: int
    side: str


@dataclass(frozen=True, slots=True)
class DrawnParty:
    """A party of the graph: who it is and what became of it, and a label where there is room."""

    name: str
    shape: PartyShape
    label: PartyLabel | None


@dataclass(frozen=True, slots=True)
class LegendRow:
    """A row of the legend: how many of a kind there are; a line is drawn where it has no shape."""

    count: int
    words: str
    kind: str
    shape: PartyShape | None


@dataclass(frozen=True, slots=True)
class Stick:
    """A bar of a chart."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class DegreesChart:
    """How many parties have how many neighbours, from `low` to `high`."""

    low: int
    high: int
    highest: int
    sticks: Sequence[Stick]


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """Who shared masks with whom: parties in a circle, lines of one kind as one path."""

    parties: Sequence[DrawnParty]
    edges: str
    opened: str
    dense: bool
    legend: Sequence[LegendRow]


@dataclass(frozen=True, slots=True)
class ValuesChart:
    """The numbers of a result as bars from `zero` up or down, with whiskers one error long."""

    sticks: Sequence[Stick]
    zero: int
    whiskers: str


def graph(parties: Sequence[GraphParty], edges: Pairs, opened: Pairs) -> DrawnGraph:
    """Draws a graph; the ends of edges are places in the list of parties."""
    places = [_place(i, len(parties)) for i in range(len(parties))]
    apart = {_ordered(pair) for pair in opened}
    closed = [pair for pair in edges if _ordered(pair) not in apart]
    size = max(6, min(15, 900 // max(len(parties), 1)))
    drawn = [
        DrawnParty(
            name=f"{_called(each)}: {each.why}",
            shape=PartyShape(each.kind, x, y, size),
            label=_label(each, x, y) if len(parties) <= _MOST_LABELS else None,
        )
        for each, (x, y) in zip(parties, places, strict=True)
    ]
    return DrawnGraph(
        parties=drawn,
        edges=_path(closed, places),
        opened=_path(sorted(apart), places),
        dense=len(edges) > _DENSE,
        legend=_legend(parties, len(edges) - len(apart), len(opened)),
    )


def _place(index: int, count: int) -> tuple[int, int]:
    angle = 2 * math.pi * index / count
    radius = _RADIUS_WITH_LABELS if count <= _MOST_LABELS else _RADIUS_WITHOUT
    return (
        round(_CENTRE + radius * math.sin(angle)),
        round(_CENTRE - radius * math.cos(angle)),
    )


def _ordered(pair: tuple[int, int]) -> tuple[int, int]:
    return min(pair), max(pair)


def _path(pairs: Iterable[tuple[int, int]], places: Pairs) -> str:
    """All lines of one kind as one path: short, however many they are."""
    return "".join(
        f"M{places[u][0]} {places[u][1]}L{places[v][0]} {places[v][1]}" for u, v in pairs if u != v
    )


def _called(party: GraphParty) -> str:
    digits = key_name(party.key)
    return f"{party.name} ({digits})" if party.name else digits


def _short(party: GraphParty) -> str:
    """The part of a name that has room. A number that is cut would be another: it stays."""
    text = party.name.removeprefix("number ") or party.key[:_LONGEST_LABEL]
    kept, room = "", _LONGEST_LABEL
    for char in text:
        room -= 2 if east_asian_width(char) in "FW" else 1
        kept += char if room > 0 else ""
    return text if room >= 0 else f"{kept}…"


def _label(party: GraphParty, x: int, y: int) -> PartyLabel:
    right, down = (round(_CENTRE + (each - _CENTRE) * 1.075) for each in (x, y))
    side = "middle" if abs(right - _CENTRE) < 60 else "start" if right > _CENTRE else "end"
    lift = 0 if side != "middle" else 14 if down > _CENTRE else -14
    return PartyLabel(_short(party), right, down + lift, side)


def _legend(parties: Sequence[GraphParty], masks: int, opened: int) -> list[LegendRow]:
    counts = Counter(each.kind for each in parties)
    shapes = [
        LegendRow(counts[kind], words, kind, PartyShape(kind, 40, 24, 14))
        for kind, words in (
            ("inside", "in the result"),
            ("gone", "left out"),
            ("broke", "left out for breaking a rule"),
        )
    ]
    lines = [
        LegendRow(masks, "shared masks, still secret", "edge", None),
        LegendRow(opened, "masks that were opened", "opened", None),
    ]
    return [row for row in (*shapes, *lines) if row.count > 0]


def degrees(count: int, edges: Pairs) -> DegreesChart | None:
    """Draws how many neighbours `count` parties have; None where all have as many."""
    found = Counter(end for pair in edges for end in pair)
    tally = Counter(found.get(i, 0) for i in range(count))
    low, high = min(tally), max(tally)
    if low == high:
        return None
    width = (high - low) // _MOST_BARS + 1
    bins = Counter[int]()
    for degree, parties in tally.items():
        bins[(degree - low) // width] += parties
    bars = [bins[i] for i in range(max(bins) + 1)]
    return DegreesChart(low, high, max(bars), list(_sticks(bars)))


def _sticks(bars: Sequence[int]) -> Iterable[Stick]:
    step, top = 940 / len(bars), max(bars)
    for i, height in enumerate(bars):
        tall = round(265 * height / top)
        yield Stick(round(30 + i * step + 1), 295 - tall, max(round(step - 2), 1), tall)


def values(means: Sequence[str], errors: Sequence[str]) -> ValuesChart | None:
    """Draws the numbers of a result; None where they are none, or all of them are 0."""
    heights = [number_of(mean) for mean in means]
    if any(height is None for height in heights):
        return None
    middles = [float(height) for height in heights if height is not None]
    spreads = [float(number_of(error) or 0) for error in errors]
    low = min(0.0, *(m - s for m, s in zip(middles, spreads, strict=True)))
    high = max(0.0, *(m + s for m, s in zip(middles, spreads, strict=True)))
    if not high > low:
        return None
    scale = _Scale(low, high, len(middles))
    return ValuesChart(
        sticks=[scale.bar(i, middle) for i, middle in enumerate(middles)],
        zero=scale.y(0.0),
        whiskers="".join(map(scale.whisker, range(len(middles)), middles, spreads)),
    )


class _Scale:
    """From values to places in the chart."""

    def __init__(self, low: float, high: float, count: int) -> None:
        self._low, self._high = low, high
        self._step = 1000 / count

    def y(self, value: float) -> int:
        """Height, from the top."""
        return round(250 - 240 * (value - self._low) / (self._high - self._low))

    def bar(self, index: int, middle: float) -> Stick:
        top, bottom = sorted((self.y(middle), self.y(0.0)))
        gap = self._step * 0.15
        left, width = round(index * self._step + gap), round(self._step - 2 * gap)
        return Stick(left, top, max(width, 1), max(bottom - top, 1))

    def whisker(self, index: int, middle: float, spread: float) -> str:
        """A line from one error below to one above."""
        x = round((index + 0.5) * self._step)
        top, bottom = self.y(middle + spread), self.y(middle - spread)
        return f"M{x - 4} {top}h8M{x} {top}V{bottom}M{x - 4} {bottom}h8"


def share(part: int, whole: int) -> int | None:
    """How long the bar of a share is; None where there is nothing to have a share in."""
    return round(1000 * part / whole) if whole else None
