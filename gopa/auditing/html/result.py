"""The number that was computed, with its standard error; a vector with a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.figures import between, counted, number_of, short, with_error
from gopa.auditing.html.markup import (
    NOTHING,
    SPACE,
    Markup,
    body,
    element,
    fold,
    left_off,
    lines,
    paragraph,
    table,
    text,
)

_SHOWN: Final = 6
_MOST_LISTED: Final = 1000
_MOST_CHARTED: Final = 64


def value(found: ReportObject, session: ReportObject | None) -> Markup:
    """The result of one round for a person."""
    means, errors = found.texts("mean"), found.texts("stderr")
    if not means:
        return paragraph("There is a sum, and it says too little for a mean. Details are below.")
    matched = errors if len(errors) == len(means) else [""] * len(means)
    if len(means) == 1:
        return _one(means[0], matched[0], _what(found, session))
    return _many(means, matched, found, session)


def _one(mean: str, error: str, what: str) -> Markup:
    middle, spread = with_error(mean, error)
    figure = [element("span", text(middle))]
    if error:
        figure += [SPACE, element("span", text(f"± {spread}"), kind="error")]
    said = [element("p", *figure, kind="figure"), paragraph(what)]
    reach = between(mean, error)
    if reach is not None:
        said.append(
            paragraph(
                f"The noise that protects everybody moves the result by about {spread}, its "
                "standard error: in 19 of 20 cases the exact mean lies between "
                f"{reach[0]} and {reach[1]}."
            )
        )
    return lines(said)


def _many(
    means: Sequence[str], errors: Sequence[str], found: ReportObject, session: ReportObject | None
) -> Markup:
    shown = [" ± ".join(filter(None, _cell(*each))) for each in _zipped(means, errors)[:_SHOWN]]
    more = f" … {len(means):,} numbers" if len(means) > _SHOWN else ""
    figure = element("p", text(",  ".join(shown) + more), kind="figure vector")
    chart = (
        _chart(means, errors, found.number("number")) if len(means) <= _MOST_CHARTED else NOTHING
    )
    listed = [
        [text(str(i)), text(mean), text(error)]
        for i, (mean, error) in enumerate(_zipped(means, errors)[:_MOST_LISTED])
    ]
    full = table("All numbers", ["coordinate", "mean", "standard error"], body(listed))
    rest = left_off(len(means) - _MOST_LISTED, "numbers")
    words = (
        "What follows ± is the standard error: the noise that protects everybody moves a number "
        "by about so much."
    )
    return lines(
        [figure, paragraph(_what(found, session), words), chart, fold("All numbers", full, rest)]
    )


def _zipped(means: Sequence[str], errors: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(means, errors, strict=True))


def _cell(mean: str, error: str) -> tuple[str, str]:
    return with_error(mean, error) if error else (short(mean), "")


def _what(found: ReportObject, session: ReportObject | None) -> str:
    parties = counted(found.count("included"), "party", "parties")
    if session is None:
        return f"The mean over {parties}."
    bounds = f"from {short(session.text('low'))} to {short(session.text('high'))}"
    mean = "weighted mean" if session.flag("weighted") else "mean"
    count = found.count("mean")
    each = f"one number {bounds}" if count == 1 else f"{count:,} numbers {bounds}"
    return f"This is the {mean} over {parties}, each of which contributed {each}."


def _chart(means: Sequence[str], errors: Sequence[str], number: int) -> Markup:
    """Bars with whiskers, for numbers that can be drawn."""
    heights = [number_of(mean) for mean in means]
    if any(height is None for height in heights):
        return NOTHING
    middles = [float(height) for height in heights if height is not None]
    spreads = [float(number_of(error) or 0) for error in errors]
    low = min(0.0, *(m - s for m, s in zip(middles, spreads, strict=True)))
    high = max(0.0, *(m + s for m, s in zip(middles, spreads, strict=True)))
    if not high > low:
        return NOTHING
    title = f"values-{number}"
    scale = _Scale(low, high, len(middles))
    drawn = element(
        "svg",
        element("title", text("The numbers of the result as bars, with standard errors"), id=title),
        *(scale.bar(i, middle) for i, middle in enumerate(middles)),
        element("path", kind="zero", d=f"M0 {scale.y(0.0)}H1000"),
        element("path", kind="whisker", d=scale.whiskers(middles, spreads)),
        role="img",
        aria_labelledby=title,
        viewBox="0 0 1000 260",
    )
    return element("figure", drawn)


class _Scale:
    """From values to places in the chart."""

    def __init__(self, low: float, high: float, count: int) -> None:
        self._low, self._high = low, high
        self._step = 1000 / count

    def y(self, value_: float) -> int:
        """Height, from the top."""
        return round(250 - 240 * (value_ - self._low) / (self._high - self._low))

    def bar(self, index: int, middle: float) -> Markup:
        top, bottom = sorted((self.y(middle), self.y(0.0)))
        gap = self._step * 0.15
        return element(
            "rect",
            kind="stick",
            x=str(round(index * self._step + gap)),
            y=str(top),
            width=str(max(round(self._step - 2 * gap), 1)),
            height=str(max(bottom - top, 1)),
        )

    def whiskers(self, middles: Sequence[float], spreads: Sequence[float]) -> str:
        """One path for all: a line from one error below to one above."""
        steps = []
        for i, (middle, spread) in enumerate(zip(middles, spreads, strict=True)):
            x = round((i + 0.5) * self._step)
            top, bottom = self.y(middle + spread), self.y(middle - spread)
            steps.append(f"M{x - 4} {top}h8M{x} {top}V{bottom}M{x - 4} {bottom}h8")
        return "".join(steps)
