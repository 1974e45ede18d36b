"""An audit report as one page that anybody can read. `specs/11-audit.md`, section 4.

The page is made of the JSON report alone: the same report gives the same bytes. It has no
scripts and loads nothing; its policy forbids both, so that a name that slipped through
as markup could do nothing either. Lists are cut where a page would grow without bound.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Final

from gopa.auditing.html.about import facts, meaning, yourself
from gopa.auditing.html.checks import checks, faults, remarks
from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.markup import Markup, element, lines, paragraph, said, text, verbatim
from gopa.auditing.html.round import rounds
from gopa.auditing.html.style import STYLE
from gopa.auditing.html.summary import summary
from gopa.auditing.html.symbols import definitions
from gopa.auditing.html.verdict import verdict

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def to_html(report: Mapping[str, object]) -> str:
    """A whole HTML document, which is well-formed XML too.

    `report` is what `report.to_json_dict` makes, or the JSON of it read again.

    Raises:
        UsageError: it has another shape.
    """
    found = ReportObject(report)
    page = element("html", _head(found), _body(found), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _title(report: ReportObject) -> str:
    session = report.part_or_none("session")
    if session is None:
        return "No session could be read"
    return session.text("title") or "Untitled session"


def _head(report: ReportObject) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=CONTENT_SECURITY_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", text(f"Audit: {report.text('verdict')}, {_title(report)}", 120)),
        element("link", rel="icon", href="data:,"),
        verbatim("style", STYLE),
    )


def _headed(details: Markup) -> tuple[Markup, ...]:
    return (element("h2", text("Details")), details) if details else ()


def _body(report: ReportObject) -> Markup:
    details = [
        checks(report.rows("checks")),
        faults(report.rows("faults")),
        rounds(report.rows("rounds")),
        remarks(report.rows("remarks")),
        facts(report),
    ]
    top = element(
        "header", paragraph("Audit report", kind="over"), element("h1", said(_title(report)))
    )
    main = element(
        "main",
        lines([verdict(report), summary(report), meaning(report), yourself(report)]),
        element("section", *_headed(lines(details)), kind="details"),
    )
    closing = paragraph(
        "Made by gopa from the JSON report of the audit, which has every list in full. Without "
        "scripts; loads nothing. The same transcript and anchors give the same page."
    )
    return element("body", definitions(), top, main, element("footer", closing))
