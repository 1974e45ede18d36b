"""The graph of a round as a picture: who shared masks with whom, who left, what was opened."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.figures import counted, key_name
from gopa.auditing.html.markup import NOTHING, Markup, element, lines, paragraph, text
from gopa.wording import FAULTLESS, exclusion_reason, plain_name

MOST_DRAWN: Final = 200
MOST_LABELS: Final = 24
_DENSE: Final = 300
_MOST_BARS: Final = 30

_CENTRE: Final = 500
_RADIUS_WITH_LABELS: Final = 365
_RADIUS_WITHOUT: Final = 465


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: keys in order, who is in the result, why the others are not."""

    keys: Sequence[str]
    included: frozenset[str]
    gone: Mapping[str, ReportObject]
    edges: Sequence[tuple[int, int]]
    opened: Sequence[tuple[int, int]]
    edge_count: int
    number: int

    def why(self, key: str) -> str:
        """What became of a party, for a person."""
        if key in self.included:
            return "in the result"
        row = self.gone.get(key)
        if row is None:
            return "not in the result"
        return exclusion_reason(row.text("phase"), row.text("cause"), row.text("rule"))

    def kind(self, key: str) -> str:
        """How a party is drawn."""
        if key in self.included:
            return "inside"
        row = self.gone.get(key)
        broke = row is not None and plain_name(row.text("cause")) not in FAULTLESS
        return "broke" if broke else "gone"


def picture_of(found: ReportObject) -> Picture:
    """The picture of a round."""
    keys = found.texts("joined")
    return Picture(
        keys=keys,
        included=frozenset(found.texts("included")),
        gone={row.text("author"): row for row in found.rows("excluded")},
        edges=found.pairs("edges", len(keys)),
        opened=found.pairs("opened", len(keys)),
        edge_count=found.number("edge_count"),
        number=found.number("number"),
    )


def graph(picture: Picture) -> Markup:
    """The drawing, or for many parties how many neighbours they have."""
    if not picture.keys or not picture.edge_count:
        return NOTHING
    if len(picture.keys) > MOST_DRAWN or not picture.edges:
        return _summary(picture)
    return _drawing(picture)


def _drawing(picture: Picture) -> Markup:
    places = [_place(i, len(picture.keys)) for i in range(len(picture.keys))]
    opened = {_ordered(pair) for pair in picture.opened}
    closed = [pair for pair in picture.edges if _ordered(pair) not in opened]
    size = max(6, min(15, 900 // max(len(places), 1)))
    title, description = f"graph-{picture.number}", f"graph-{picture.number}-text"
    said = _description(picture)
    drawn = element(
        "svg",
        element("title", text(f"Who shared masks with whom in round {picture.number}"), id=title),
        element("desc", text(said), id=description),
        _paths(closed, places, "edge"),
        _paths(sorted(opened), places, "opened"),
        *(_party(picture, i, places[i], size) for i in range(len(places))),
        kind="dense" if len(picture.edges) > _DENSE else "",
        role="img",
        aria_labelledby=f"{title} {description}",
        viewBox="0 0 1000 1000",
    )
    return element("figure", drawn, _legend(picture), element("figcaption", text(said)))


def _place(index: int, count: int) -> tuple[int, int]:
    angle = 2 * math.pi * index / count
    radius = _RADIUS_WITH_LABELS if count <= MOST_LABELS else _RADIUS_WITHOUT
    return (
        round(_CENTRE + radius * math.sin(angle)),
        round(_CENTRE - radius * math.cos(angle)),
    )


def _ordered(pair: tuple[int, int]) -> tuple[int, int]:
    return min(pair), max(pair)


def _paths(
    pairs: Iterable[tuple[int, int]], places: Sequence[tuple[int, int]], kind: str
) -> Markup:
    """All lines of one kind as one path: short, however many they are."""
    steps = [
        f"M{places[u][0]} {places[u][1]}L{places[v][0]} {places[v][1]}" for u, v in pairs if u != v
    ]
    return element("path", kind=kind, d="".join(steps)) if steps else NOTHING


def _party(picture: Picture, index: int, place: tuple[int, int], size: int) -> Markup:
    key, (x, y) = picture.keys[index], place
    name = element("title", text(f"{key_name(key)}: {picture.why(key)}"))
    shape = _shape(picture.kind(key), x, y, size)
    return element("g", name, shape, _label(picture, index, place))


def _shape(kind: str, x: int, y: int, size: int) -> Markup:
    if kind == "inside":
        return element("circle", kind=kind, cx=str(x), cy=str(y), r=str(size))
    square = element(
        "rect",
        kind=kind,
        x=str(x - size),
        y=str(y - size),
        width=str(2 * size),
        height=str(2 * size),
    )
    if kind != "broke":
        return square
    arm = size - 4 if size > 6 else size
    steps = f"M{x - arm} {y - arm}l{2 * arm} {2 * arm}M{x + arm} {y - arm}l{-2 * arm} {2 * arm}"
    return Markup(square + element("path", kind="cross", d=steps))


def _label(picture: Picture, index: int, place: tuple[int, int]) -> Markup:
    if len(picture.keys) > MOST_LABELS:
        return NOTHING
    x, y = (round(_CENTRE + (each - _CENTRE) * 1.075) for each in place)
    side = "middle" if abs(x - _CENTRE) < 60 else "start" if x > _CENTRE else "end"
    lift = 0 if side != "middle" else 14 if y > _CENTRE else -14
    name = text(picture.keys[index][:8])
    return element("text", name, kind="label", x=str(x), y=str(y + lift), text_anchor=side)


def _legend(picture: Picture) -> Markup:
    counts = Counter(picture.kind(key) for key in picture.keys)
    rows = [
        ("inside", counts["inside"], "in the result"),
        ("gone", counts["gone"], "left out"),
        ("broke", counts["broke"], "left out for breaking a rule"),
    ]
    items = [
        element("li", _swatch(_shape(kind, 40, 24, 14)), text(f"{count:,} {words}"))
        for kind, count, words in rows
        if count
    ]
    masks = len(picture.edges) - len({_ordered(pair) for pair in picture.opened})
    for kind, count, words in (
        ("edge", masks, "shared masks, still secret"),
        ("opened", len(picture.opened), "masks that were opened"),
    ):
        if count > 0:
            line = element("path", kind=kind, d="M4 24h72")
            items.append(element("li", _swatch(line), text(f"{count:,} {words}")))
    return element("ul", *items, kind="legend")


def _swatch(shape: Markup) -> Markup:
    return element("svg", shape, aria_hidden="true", viewBox="0 0 80 48")


def _description(picture: Picture) -> str:
    parties = counted(len(picture.keys), "party", "parties")
    said = (
        f"{parties} in a circle. A line joins two that shared a secret mask: one added "
        "it, the other took it away, so it vanishes in the sum."
    )
    if picture.opened:
        said += (
            f" Dashed: {counted(len(picture.opened), 'mask', 'masks')} opened afterwards, because "
            "one end left and the other had to take it back."
        )
    return said


def _summary(picture: Picture) -> Markup:
    count = len(picture.keys)
    mean = 2 * picture.edge_count / count
    why = (
        f"The graph is not drawn: it has {count:,} parties, and lines are drawn for up to "
        f"{MOST_DRAWN}."
        if count > MOST_DRAWN
        else "The graph is not drawn: its lines are not in this report."
    )
    facts = (
        f"{count:,} parties shared {picture.edge_count:,} masks, {mean:.1f} each on average; "
        f"{len(picture.opened):,} of them were opened because one end had left."
    )
    return lines([paragraph(why, facts), _degrees(picture)])


def _degrees(picture: Picture) -> Markup:
    if not picture.edges:
        return NOTHING
    degrees = Counter(end for pair in picture.edges for end in pair)
    tally = Counter(degrees.get(i, 0) for i in range(len(picture.keys)))
    low, high = min(tally), max(tally)
    if low == high:
        return NOTHING
    width = (high - low) // _MOST_BARS + 1
    bins = Counter[int]()
    for degree, parties in tally.items():
        bins[(degree - low) // width] += parties
    bars = [bins[i] for i in range(max(bins) + 1)]
    title = f"degrees-{picture.number}"
    words = f"How many neighbours the parties have: from {low} to {high}"
    drawn = element(
        "svg",
        element("title", text(words), id=title),
        *_sticks(bars),
        _axis(30, 318, "start", f"{low} neighbours"),
        _axis(970, 318, "end", f"{high} neighbours"),
        _axis(30, 16, "start", f"highest bar: {max(bars):,} parties"),
        role="img",
        aria_labelledby=title,
        viewBox="0 0 1000 330",
    )
    return element("figure", drawn, element("figcaption", text(f"{words}.")))


def _sticks(bars: Sequence[int]) -> Iterable[Markup]:
    step, top = 940 / len(bars), max(bars)
    for i, height in enumerate(bars):
        tall = round(265 * height / top)
        yield element(
            "rect",
            kind="stick",
            x=str(round(30 + i * step + 1)),
            y=str(295 - tall),
            width=str(max(round(step - 2), 1)),
            height=str(tall),
        )


def _axis(x: int, y: int, side: str, words: str) -> Markup:
    return element("text", text(words), kind="axis", x=str(x), y=str(y), text_anchor=side)
