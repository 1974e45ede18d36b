"""The table of checks, the faults with what shows them, and remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.figures import counted, key_name
from gopa.auditing.html.markup import (
    NOTHING,
    Markup,
    body,
    code,
    element,
    fold,
    joined,
    left_off,
    lines,
    note,
    pairs,
    paragraph,
    row,
    said,
    table,
    text,
)
from gopa.auditing.html.summary import culprit
from gopa.auditing.html.symbols import symbol
from gopa.wording import STATUSES, sentence

_MOST_OPEN: Final = 12
_MOST_FAULTS: Final = 300
_MOST_ENTRIES: Final = 12
_MOST_REMARKS: Final = 100
_COLUMNS: Final = 3
_LONGEST: Final = 500


def checks(found: Sequence[ReportObject]) -> Markup:
    """All checks by family, each with what was asked and how it ended."""
    if not found:
        return NOTHING
    counts = Counter(each.text("status") for each in found)
    said = ", ".join(
        f"{counts[status]} {STATUSES[status][1]}" for status in STATUSES if counts[status]
    )
    families = [
        _family(name, list(rows)) for name, rows in groupby(found, lambda each: each.text("family"))
    ]
    shown = table(
        f"{len(found)} checks: {said}", ["", "what is asked", "answer"], *families, kind="checks"
    )
    return lines([element("h3", text("Checks")), shown])


def _family(name: str, rows: Sequence[ReportObject]) -> Markup:
    number = rows[0].text("number").partition(".")[0]
    head = element(
        "th", text(f"{number} {name}"), kind="family", scope="rowgroup", colspan=str(_COLUMNS)
    )
    return element("tbody", element("tr", head), *(_check(each) for each in rows))


def _check(found: ReportObject) -> Markup:
    status = found.text("status")
    tone, word = STATUSES.get(status, ("open", status))
    notes = [found.text("detail")]
    if found.number("handled"):
        faults = counted(found.number("handled"), "fault", "faults")
        notes.append(f"{faults} of parties, dealt with by the rules")
    rules = "rules " + ", ".join(found.texts("rules"))
    small = [note(words) for words in (*notes, rules)]
    asked = Markup(text(sentence(found.text("question"))) + lines(small))
    answer = element("span", symbol(tone), text(word), kind=f"status {tone}")
    return row([text(found.text("number")), asked, answer])


def faults(found: Sequence[ReportObject]) -> Markup:
    """Every fault: who, which rule, what should have been, where it shows."""
    if not found:
        return NOTHING
    ordered = sorted(found, key=lambda each: each.flag("handled"))[:_MOST_FAULTS]
    shown = [_fault(each) for each in ordered]
    parts = [element("h3", text("Broken rules")), *shown[:_MOST_OPEN]]
    if len(shown) > _MOST_OPEN:
        parts.append(fold(f"{len(shown) - _MOST_OPEN:,} more", *shown[_MOST_OPEN:]))
    return lines([*parts, left_off(len(found) - len(shown), "faults")])


def _fault(found: ReportObject) -> Markup:
    handled = found.flag("handled")
    head = Markup(culprit(found) + text(": ") + said(found.text("what"), _LONGEST))
    where = f"round {found.number('round')}" if found.number("round") else "the whole session"
    effect = (
        "the rules dealt with it" if handled else "not dealt with: it puts the session in doubt"
    )
    proof = (
        "the entries below convict the author before anybody"
        if found.flag("proved")
        else "the entries below show it, but convict nobody by themselves"
    )
    about = f"Rule {found.text('rule')}, check {found.text('check')}, {where}; {effect}; {proof}."
    rows = [
        (name, said(found.text(key), _LONGEST))
        for name, key in (("expected", "expected"), ("found", "got"))
        if found.text(key)
    ]
    if found.text("author"):
        rows.append(("author", code(found.text("author"))))
    if found.count("entries"):
        rows.append(("entries", _entries(found.rows("entries"))))
    kind = "fault handled" if handled else "fault"
    return element(
        "article", element("h4", head), paragraph(about, kind="note"), pairs(rows), kind=kind
    )


def _entries(entries: Sequence[ReportObject]) -> Markup:
    shown = [_entry(each) for each in entries[:_MOST_ENTRIES]]
    more = len(entries) - len(shown)
    return Markup(
        joined(shown, "; ") + text(f"; {more:,} more in the JSON report" if more > 0 else "")
    )


def _entry(entry: ReportObject) -> Markup:
    index, leaf = f"{entry.number('index'):,}", entry.text("leaf")
    return Markup(text(f"{index} ") + code(leaf)) if leaf else text(f"{index} (not in the log)")


def remarks(found: Sequence[ReportObject]) -> Markup:
    """What is worth knowing and nobody's fault."""
    if not found:
        return NOTHING
    shown = [_remark(each) for each in found[:_MOST_REMARKS]]
    words = paragraph("These accuse nobody and change no result.")
    whole = table(
        counted(len(found), "remark", "remarks"),
        ["rule", "what was seen", "round", "entries"],
        body(shown),
    )
    rest = left_off(len(found) - len(shown), "remarks")
    return lines([element("h3", text("Remarks")), words, whole, rest])


def _remark(found: ReportObject) -> list[Markup]:
    author, count = found.text("author"), found.number("count")
    who = Markup(text(" by ") + code(key_name(author))) if author else NOTHING
    first = ", ".join(f"{index:,}" for index in found.numbers("entries")[:_MOST_ENTRIES])
    more = " …" if count > _MOST_ENTRIES else ""
    number = found.number("round")
    return [
        code(found.text("rule")),
        Markup(said(found.text("what"), _LONGEST) + who),
        text(f"{number:,}" if number else ""),
        text(f"{count:,}: {first}{more}" if first else f"{count:,}"),
    ]
