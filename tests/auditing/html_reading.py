"""Reading pages in tests: as XML, and as HTML reads them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

from gopa.auditing.html.page import to_html
from gopa.auditing.report import Report
from tests.auditing.html_samples import as_json


def page(whole: Report) -> ET.Element:
    """The page as a tree, which needs every tag to be closed and every text escaped."""
    return ET.fromstring(to_html(as_json(whole)))  # noqa: S314 - our own output


def words(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def by_kind(tree: ET.Element, kind: str) -> list[ET.Element]:
    return [each for each in tree.iter() if kind in each.get("class", "").split()]


class Nesting(HTMLParser):
    """HTML's own reading of the page: tags that stay open, and tags and attributes seen."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.targets += [str(value) for name, value in attrs if name in {"href", "src"}]


def nesting(text: str) -> Nesting:
    parser = Nesting()
    parser.feed(text)
    parser.close()
    return parser


def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """The report with one text exchanged."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy
