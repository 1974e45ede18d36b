"""The verdict in plain words, and what a reader must not miss beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.markup import (
    NOTHING,
    SPACE,
    Markup,
    bullets,
    element,
    lines,
    note,
    paragraph,
    text,
)
from gopa.auditing.html.symbols import symbol
from gopa.wording import STATUSES, TRUSTED_VERDICTS, UNANCHORED, UNKNOWN_VERDICT, VERDICTS

_FINE: Final = frozenset({"pass", "skipped"})

_ANCHORED: Final = {
    "log": "the board's key",
    "manifest": "the manifest, which fixes the plan and who may take part",
}


def verdict(report: ReportObject) -> Markup:
    """Symbol, headline, meaning and exit code; below it what it rests on."""
    name = report.text("verdict")
    standing = VERDICTS.get(name, UNKNOWN_VERDICT)
    if not report.flag("anchored") and name in TRUSTED_VERDICTS:
        standing = UNANCHORED[name]
    words = element(
        "div",
        element("h2", text(standing.headline)),
        paragraph(standing.meaning),
        paragraph(
            f"{name} · exit code {report.number('code')} · {report.text('summary')}", kind="code"
        ),
    )
    tone = f"verdict {standing.tone}"
    shown = element("section", symbol(standing.tone), words, kind=tone)
    return lines([shown, *_banners(report, name), _reasons(report.rows("checks"))])


def _reasons(checks: Sequence[ReportObject]) -> Markup:
    """Each check that was not passed, the failed ones first."""
    open_ones = [check for check in checks if check.text("status") not in _FINE]
    if not open_ones:
        return NOTHING
    ordered = sorted(open_ones, key=lambda check: check.text("status") != "fail")
    return lines([element("h2", text("Why")), bullets(map(_reason, ordered), kind="why")])


def _reason(check: ReportObject) -> Markup:
    tone, word = STATUSES.get(check.text("status"), ("open", check.text("status")))
    head = text(f"Check {check.text('number')} {word}:")
    status = element("strong", symbol(tone), head, kind=f"status {tone}")
    return lines([status, text(check.text("question")), note(check.text("detail"))])


def _banners(report: ReportObject, name: str) -> Iterable[Markup]:
    if not report.flag("anchored") and report.part_or_none("log") is not None:
        yield _banner("open", *_unanchored(report.part("anchors"), name))
    for found in report.rows("rounds"):
        if found.numbers("vetoed"):
            yield _banner(
                "bad",
                f"Round {found.number('number'):,} was vetoed by its organiser.",
                "What it needed was in the record before the organiser ended it, and counted for "
                "nothing. The organiser may have seen the result. This is held against nobody "
                "else.",
            )
    if report.flag("simulation"):
        yield _banner(
            "info",
            "Simulation.",
            "One program played all parties. It shows how things work; nobody's privacy "
            "depended on it, and it proves nothing about real people.",
        )


def _unanchored(anchors: ReportObject, name: str) -> tuple[str, str]:
    origins = {part: anchors.text(part) for part in _ANCHORED}
    loose = " and ".join(words for part, words in _ANCHORED.items() if origins[part] != "outside")
    advice = "audit again, as it says under “Check it yourself”."
    if "missing" in origins.values():
        words = (
            f"Nobody told the auditor what to expect of {loose}. Get that from somebody you "
            f"trust and {advice}"
        )
        return "Keys not anchored.", words
    words = (
        f"The auditor was told to believe the transcript itself about {loose}. Whoever made the "
        f"transcript could have made up all of it. Get anchors from somebody you trust and {advice}"
    )
    consistent = name in TRUSTED_VERDICTS
    head = "Self-consistent; keys not anchored." if consistent else "Keys not anchored."
    return head, words


def _banner(tone: str, head: str, words: str) -> Markup:
    content = element("p", element("strong", text(head)), SPACE, text(words))
    return element("div", symbol(tone), content, kind=f"banner {tone}")
