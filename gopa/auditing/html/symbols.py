"""Symbols of verdicts and statuses: shapes that differ without colour too."""

from __future__ import annotations

from typing import Final

from gopa.auditing.html.markup import Markup, element

_CHECK: Final = "M14 25l7 7 13-15"
_CROSS: Final = "M16 16l16 16M32 16l-16 16"
_CALL: Final = "M24 17v11M24 36v.1"
_DASH: Final = "M15 24h18"

_SHAPES: Final = {
    "good": ("M24 2a22 22 0 1 0 0 44a22 22 0 1 0 0-44z", _CHECK),
    "part": (
        "M10 3h28a7 7 0 0 1 7 7v28a7 7 0 0 1-7 7h-28a7 7 0 0 1-7-7v-28a7 7 0 0 1 7-7z",
        _CHECK,
    ),
    "open": ("M20.5 5a4 4 0 0 1 7 0l18 33a4 4 0 0 1-3.5 6h-36a4 4 0 0 1-3.5-6z", _CALL),
    "bad": ("M15 2h18l13 13v18l-13 13h-18l-13-13v-18z", _CROSS),
    "info": ("M24 2a22 22 0 1 0 0 44a22 22 0 1 0 0-44z", "M24 22v14M24 13v.1"),
    "none": ("M24 8a16 16 0 1 0 0 32a16 16 0 1 0 0-32z", _DASH),
}


def definitions() -> Markup:
    """All symbols, once in a page."""
    symbols = [
        element(
            "symbol",
            element("path", kind="mark", d=shape),
            element("path", kind="inner", d=inner),
            id=f"mark-{tone}",
            viewBox="0 0 48 48",
        )
        for tone, (shape, inner) in _SHAPES.items()
    ]
    return element("svg", *symbols, kind="defs", aria_hidden="true")


def symbol(tone: str) -> Markup:
    """The symbol of a tone; the words beside it say the same."""
    known = tone if tone in _SHAPES else "open"
    return element(
        "svg", element("use", href=f"#mark-{known}"), aria_hidden="true", viewBox="0 0 48 48"
    )
