"""An audit report as one page that anybody can read. `specs/11-audit.md`, section 4.

The page is made of the JSON report alone, and of what the auditor adds, names of parties and the
day of the audit: the same of all gives the same bytes. It has no scripts and loads nothing; its
policy forbids both, so that a name that slipped through as markup could do nothing either. Lists
are cut where a page would grow without bound.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from bulletin_board.display import visible
from gopa.auditing.html.drawing import MARKS
from gopa.auditing.html.figures import counted, grouped
from gopa.auditing.html.filling import page_of
from gopa.auditing.html.report_object import ReportObject
from gopa.auditing.html.view import AuditPage
from gopa.support.wording import DOUBTS, sentence

_MOST_MARKS: Final = 3


def _resource(name: str) -> str:
    return (files("gopa.auditing.html") / name).read_text(encoding="utf-8")


def style_sheet(text: str) -> Markup:
    """A style sheet of our own as it stands; it must not need escaping, nor end its element.

    Raises:
        ValueError: it does.
    """
    if "<" in text or "&" in text:
        raise ValueError("it would end the element or need escaping")
    return Markup(text)  # noqa: S704 - checked above, and no text of a report


_STYLE: Final = style_sheet(_resource("page.css"))
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_COLOURS: Final = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", _STYLE.partition("@media")[0]))
"""The light colours of the style sheet, by their names."""

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def to_html(
    report: Mapping[str, object],
    names: Mapping[bytes, str] | None = None,
    audited: date | None = None,
) -> str:
    """A whole HTML document, which is well-formed XML too.

    `report` is what `report.to_json_dict` makes, or the JSON of it read again. `names` are what
    the auditor calls the owners of keys, such as those of a roster: a log knows none. `audited` is
    the day of the audit, which a report does not hold: it says the same on every day.

    Raises:
        UsageError: it has another shape.
    """
    known = {key.hex(): name for key, name in (names or {}).items()}
    return render(page_of(ReportObject(report, known), audited))


def render(page: AuditPage) -> str:
    """The document that shows a page."""
    made = _template("page.html")
    return made.render(page=page, policy=CONTENT_SECURITY_POLICY, style=_STYLE, marks=MARKS)


def to_card(report: Mapping[str, object]) -> str:
    """The verdict and the result of a report alone, as an element for notebooks.

    Raises:
        UsageError: it has another shape.
    """
    page = page_of(ReportObject(report))
    made = _template("card.html")
    return made.render(page=page, marks=MARKS, colours=_COLOURS, doubts=DOUBTS)


@cache
def _template(name: str) -> Template:
    """A template, read and compiled once. Every value that it shows passes `_spelled_out`."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spelled_out,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"counted": counted, "grouped": grouped, "sentence": sentence}
    unindented = "\n".join(line.strip() for line in _resource(name).split("\n"))
    return environment.from_string(unindented)


def _spelled_out(value: object) -> object:
    """What hides, reorders or controls is spelled out: a name cannot pretend to be another.

    Marks piled upon a letter would cover the lines around it: all but a few are spelled out, too.
    """
    if isinstance(value, Markup):  # the template's own, of values that went through here
        return value
    shown = str(value)
    if shown.isascii() and shown.isprintable():
        return shown
    calm, pile = list[str](), 0
    for char in visible(shown, len(shown)):
        pile = pile + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        calm.append(char if pile <= _MOST_MARKS else f"<U+{ord(char):04X}>")
    return "".join(calm)
