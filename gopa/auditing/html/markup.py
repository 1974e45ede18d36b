"""Building blocks of a page: the only place where text becomes markup.

`Markup` is a type of its own, so a type checker refuses text that was not escaped. Text
comes from strangers: markup in it is escaped, and what hides, reorders or controls is spelled
out by `bulletin_board.text`. Pages are well-formed XML, too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NewType

from bulletin_board.text import visible

Markup = NewType("Markup", str)

NOTHING: Final = Markup("")
SPACE: Final = Markup(" ")

_VOID: Final = frozenset({"meta", "link", "br", "hr"})
_LONGEST: Final = 1200
_LONGEST_NAME: Final = 200
_SHORT: Final = 24
_MOST_MARKS: Final = 3


def text(value: str, most: int = _LONGEST) -> Markup:
    """The text itself, escaped, and cut after `most` characters."""
    return Markup(escape(_calm(visible(value, most))))


def _calm(shown: str) -> str:
    """Marks piled upon a letter would cover the lines around it: all but a few are spelled out."""
    if shown.isascii():
        return shown
    calm, pile = list[str](), 0
    for char in shown:
        pile = pile + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        calm.append(char if pile <= _MOST_MARKS else f"<U+{ord(char):04X}>")
    return "".join(calm)


def said(value: str, most: int = _LONGEST_NAME) -> Markup:
    """Words of somebody else: cut short, and with a direction of writing of their own."""
    return element("bdi", text(value, most), kind="said")


def element(name: str, /, *children: Markup, kind: str = "", **attributes: str) -> Markup:
    """An element; `kind` is its class, `_` in names of attributes stands for `-`."""
    if kind:
        attributes = {"class": kind, **attributes}
    pairs = [
        f' {key.replace("_", "-")}="{escape(visible(value, 1 << 20))}"'
        for key, value in attributes.items()
    ]
    opening = name + "".join(pairs)
    if name in _VOID or (not children and _is_shape(name)):
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{''.join(children)}</{name}>")


def _is_shape(name: str) -> bool:
    return name in {"path", "circle", "rect", "use", "line"}


def verbatim(name: str, content: str) -> Markup:
    """An element with content of our own that must not change, such as a style sheet."""
    if "<" in content or "&" in content:
        raise ValueError("it would end the element or need escaping")
    return Markup(f"<{name}>{content}</{name}>")


def lines(parts: Iterable[Markup]) -> Markup:
    """Parts one below the other in the source."""
    return Markup("\n".join(part for part in parts if part))


def joined(parts: Iterable[Markup], between: str = ", ") -> Markup:
    """Parts in a row."""
    return Markup(escape(between).join(parts))


def paragraph(*words: str, kind: str = "") -> Markup:
    """A paragraph of plain text."""
    return element("p", text(" ".join(words)), kind=kind)


def bullets(items: Iterable[Markup], kind: str = "") -> Markup:
    """A list without order; nothing where there are no items."""
    rows = [element("li", item) for item in items]
    return element("ul", *rows, kind=kind) if rows else NOTHING


def pairs(rows: Iterable[tuple[str, Markup]]) -> Markup:
    """Names and what belongs to them."""
    cells = [
        part for name, value in rows for part in (element("dt", text(name)), element("dd", value))
    ]
    return element("dl", *cells)


def fold(summary: str, *content: Markup) -> Markup:
    """Closed until somebody wants to see it."""
    return element("details", element("summary", text(summary)), *content)


def code(value: str, most: int = _LONGEST_NAME) -> Markup:
    """A key, a hash, a command; short ones stay on one line."""
    return element("code", text(value, most), kind="short" if len(value) <= _SHORT else "")


def note(words: str) -> Markup:
    """Small print below something; nothing for no words."""
    return element("span", text(words), kind="note") if words else NOTHING


def command(value: str) -> Markup:
    """A command on lines of its own, which end between its words only."""
    parts = [element("span", text(part), kind="short") for part in value.split(" ")]
    return element("pre", element("code", joined(parts, " ")))


def table(caption: str, heads: Sequence[str], *bodies: Markup, kind: str = "") -> Markup:
    """A table that says what it is and what its columns are."""
    cells = [element("th", text(head), scope="col") for head in heads]
    top = element("thead", element("tr", *cells))
    return element("table", element("caption", text(caption)), top, *bodies, kind=kind)


def body(rows: Iterable[Sequence[Markup]]) -> Markup:
    """Rows of a table; the first cell of each is its head."""
    return element("tbody", *(row(cells) for cells in rows))


def row(cells: Sequence[Markup]) -> Markup:
    """One row of a table."""
    head = element("th", cells[0], scope="row")
    return element("tr", head, *(element("td", cell) for cell in cells[1:]))


def left_off(count: int, what: str) -> Markup:
    """Says that a list was cut, and where the rest is."""
    if count <= 0:
        return NOTHING
    return paragraph(f"{count:,} more {what} are in the JSON report.", kind="more")
