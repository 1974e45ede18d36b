"""An audit report as one page that anybody can read. `specs/11-audit.md`, section 4.

The page is made of the JSON report alone, and of what the auditor adds, names of parties and the
day of the audit: the same of all gives the same bytes. It has no scripts and loads nothing; its
policy forbids both, so that a name that slipped through as markup could do nothing either. Lists
are cut where a page would grow without bound. `page_of` fills the view of `view.py`, and `details`
what stands below the heading "Details".
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from bulletin_board.display import visible
from gopa.auditing.described import ReadTerms, warning
from gopa.auditing.html import drawing, view
from gopa.auditing.html.details import (
    abort_of,
    families,
    first_of,
    in_rows,
    last_of,
    log_facts,
    reason_of,
    session_facts,
    shown_check,
    shown_fault,
    shown_key,
    shown_privacy,
    shown_remark,
    shown_round,
    tallies,
)
from gopa.auditing.html.drawing import MARKS
from gopa.auditing.html.figures import (
    LONGEST_NAME,
    ReportObject,
    between,
    counted,
    cut,
    grouped,
    short,
    with_error,
)
from gopa.auditing.html.view import AuditPage
from gopa.support import wording
from gopa.support.version import VERSION
from gopa.support.wording import DOUBTS, sentence

_LONGEST_TAB: Final = 120
_MOST_RESULTS: Final = 20
_MOST_ROUNDED: Final = 6
_MOST_CHARTED: Final = 64
_MOST_LISTED: Final = 1000
_MOST_NAMED: Final = 8
_MOST_BRIEF_FAULTS: Final = 8
_MOST_LINES: Final = 60
_MOST_FAULTS: Final = 300
_UNFOLDED_FAULTS: Final = 12
_MOST_ROUNDS: Final = 8
_MOST_REMARKS: Final = 100
_FINE: Final = frozenset({"pass", "skipped"})
_ANCHORED: Final = {
    "log": "the board's key",
    "manifest": "the manifest, which fixes the plan and who may take part",
}
_NAMES: Final = "Who the people behind the keys are is not known from a log."
_GIVEN: Final = "Names beside keys were given by whoever made this page; no log holds them."


def page_of(report: ReportObject, audited: date | None = None) -> view.AuditPage:
    """Everything that the page of an audit shows; `audited` is the day of the audit.

    Raises:
        UsageError: the report has another shape.
    """
    verdict, session = report.text("verdict"), report.part_or_none("session")
    title = _title(session, simulation=report.flag("simulation"))
    rounds, checks = report.rows("rounds"), report.rows("checks")
    results = [found for found in rounds if found.text("outcome") == "result"]
    last = (results or rounds)[-1:]
    log, faults = report.part_or_none("log"), report.rows("faults")
    limits = [*report.texts("limits"), _NAMES, *([_GIVEN] if report.named else [])]
    ordered = sorted(faults, key=lambda each: each.flag("handled"))
    shown_faults = first_of(ordered, shown_fault, _MOST_FAULTS, _UNFOLDED_FAULTS)
    return view.AuditPage(
        tab_title=cut(f"Audit: {verdict}, {title}", _LONGEST_TAB),
        title=cut(title, LONGEST_NAME),
        verdict=verdict,
        standing=_standing(report, verdict),
        code=report.number("code"),
        summary=report.text("summary"),
        trusted=verdict in wording.TRUSTED_VERDICTS,
        exact=_exact(session),
        signed=session is not None and wording.plain_name(session.text("mode")) == "signed",
        in_rows=session is not None and in_rows(session),
        complete=report.flag("complete"),
        loose=_loose(report, verdict),
        mixed_up=report.part_or_none("other_session") is not None,
        made=_made(report, audited),
        vetoed=[found.number("number") for found in rounds if found.numbers("vetoed")],
        simulation=report.flag("simulation"),
        why=_why(checks),
        attempts=len(rounds),
        last_abort=abort_of(rounds[-1]) if rounds else None,
        result=_result(results[-1], session) if results else None,
        results=last_of(results, _result_row, _MOST_RESULTS),
        last=_last(session, last[0]) if last else None,
        brief_faults=view.FirstOf(shown_faults.total, shown_faults.shown[:_MOST_BRIEF_FAULTS]),
        unhandled=any(not fault.flag("handled") for fault in faults),
        limits=first_of(limits, wording.sentence, _MOST_LINES),
        assumptions=first_of(_assumptions(rounds), _stated, _MOST_LINES),
        log=None if log is None else log_facts(log),
        checks_total=len(checks),
        tallies=tallies(checks),
        families=families(checks),
        faults=shown_faults,
        rounds=last_of(rounds, shown_round, _MOST_ROUNDS),
        remarks=first_of(report.rows("remarks"), shown_remark, _MOST_REMARKS),
        session=[] if session is None else session_facts(session),
    )


def _exact(session: ReportObject | None) -> str:
    """What a page says first where nobody added noise; else nothing."""
    if session is None or session.text("epsilon") != wording.NO_EPSILON:
        return ""
    return f"{wording.sentence(wording.EXACT)}; {wording.EXACT_DIFFERENCE}."


def _title(session: ReportObject | None, *, simulation: bool) -> str:
    if session is None:
        return "No session could be read"
    return session.text("title") or ("Simulated session" if simulation else "Untitled session")


def _stated(words: str) -> str:
    return f"{wording.sentence(words).removesuffix('.')}."


def _standing(report: ReportObject, verdict: str) -> wording.VerdictWords:
    """A log that vouches for itself is never called valid without a reservation."""
    other = report.part_or_none("other_session")
    if other is not None:
        fields = ("log", "manifest", "found_log", "found_manifest")
        said = wording.other_session(*(other.text(each, LONGEST_NAME) for each in fields))
        words = wording.OTHER_SESSION
        return wording.VerdictWords(words.tone, words.headline, f"{said} {words.meaning}")
    if not report.flag("anchored") and verdict in wording.TRUSTED_VERDICTS:
        return wording.UNANCHORED[verdict]
    return wording.VERDICTS.get(verdict, wording.UNKNOWN_VERDICT)


def _made(report: ReportObject, audited: date | None) -> view.Made:
    log = report.part_or_none("log")
    return view.Made(
        day="" if audited is None else audited.isoformat(),
        version=VERSION,
        source="" if log is None else log.text("input", LONGEST_NAME),
    )


def _loose(report: ReportObject, verdict: str) -> view.LooseKeys | None:
    """What whoever made the transcript could have made up, because no anchor says otherwise."""
    if report.flag("anchored") or report.part_or_none("log") is None:
        return None
    anchors = report.part("anchors")
    origins = {part: anchors.text(part) for part in _ANCHORED}
    return view.LooseKeys(
        about=" and ".join(w for part, w in _ANCHORED.items() if origins[part] != "outside"),
        missing="missing" in origins.values(),
        consistent=verdict in wording.TRUSTED_VERDICTS,
    )


def _why(checks: Sequence[ReportObject]) -> list[view.ShownCheck]:
    """Each check that was not passed, the failed ones first."""
    open_ones = [check for check in checks if check.text("status") not in _FINE]
    return [
        shown_check(each) for each in sorted(open_ones, key=lambda c: c.text("status") != "fail")
    ]


def _result(found: ReportObject, session: ReportObject | None) -> view.ShownResult:
    means, errors = found.texts("mean"), found.texts("stderr")
    errors = errors if len(errors) == len(means) else [""] * len(means)
    numbers = list(zip(means, errors, strict=True))
    charted = 1 < len(means) <= _MOST_CHARTED
    bounds = None if session is None else (short(session.text("low")), short(session.text("high")))
    return view.ShownResult(
        round=found.number("number"),
        parties=found.count("included"),
        count=len(means),
        bounds=bounds,
        noisy="" if session is None else _noisy(session, bounds, errors),
        exact=bool(_exact(session)),
        weighted=session is not None and session.flag("weighted"),
        rounded=[with_error(*each) for each in numbers[:_MOST_ROUNDED]],
        reach=between(*numbers[0]) if len(means) == 1 else None,
        chart=drawing.values(means, errors) if charted else None,
        every=view.FirstOf(len(numbers), [with_error(*each) for each in numbers[:_MOST_LISTED]]),
    )


def _noisy(session: ReportObject, bounds: tuple[str, str] | None, errors: Sequence[str]) -> str:
    low, high = bounds or ("", "")
    terms = ReadTerms(
        parties=session.number("parties"),
        corrupt=session.number("corrupt"),
        fewest=session.number("fewest"),
        dimension=session.number("dimension"),
        low=low,
        high=high,
        epsilon=session.text("epsilon"),
        delta=session.text("delta"),
    )
    return warning(terms, errors)


def _result_row(found: ReportObject) -> view.ResultRow:
    means, errors = found.texts("mean"), found.texts("stderr")
    if not means:
        value = "a sum, and no mean"
    elif len(means) != 1:
        value = f"{len(means):,} numbers"
    else:
        value = " ± ".join(filter(None, with_error(means[0], errors[0] if errors else "")))
    return view.ResultRow(found.number("number"), value, found.count("included"))


def _last(session: ReportObject | None, found: ReportObject) -> view.LastRound:
    """The cards of a round."""
    inside, joined = found.count("included"), found.count("joined")
    invited = joined if session is None else max(session.number("parties"), joined)
    excluded = found.rows("excluded")
    return view.LastRound(
        ended=found.text("outcome") == "result",
        inside=inside,
        joined=joined,
        invited=invited,
        masks=_cancelling(found),
        everybody_masks=found.number("edge_count"),
        share=drawing.share(inside, invited),
        privacy=shown_privacy(found.part_or_none("privacy")),
        exact=_exact(session),
        left_out=len(excluded),
        reasons=_reasons(excluded),
    )


def _cancelling(found: ReportObject) -> int | None:
    """The masks between parties of the result; None where the report does not list the edges."""
    keys, inside = found.texts("joined"), frozenset(found.texts("included"))
    edges = found.pairs("edges", len(keys))
    if not edges or not inside:
        return None
    return sum(keys[first] in inside and keys[second] in inside for first, second in edges)


def _reasons(excluded: Sequence[ReportObject]) -> list[view.LeftOutGroup]:
    """Who was left out by reason, most of them first."""
    groups: dict[str, list[view.ShownKey]] = {}
    for row in excluded:
        groups.setdefault(reason_of(row), []).append(shown_key(row, row.text("author")))
    largest = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        view.LeftOutGroup(why, len(keys), keys if len(keys) <= _MOST_NAMED else [])
        for why, keys in largest
    ]


def _assumptions(rounds: Sequence[ReportObject]) -> list[str]:
    """What the promises of all rounds rest on, each once."""
    privacies = [each.part_or_none("privacy") for each in rounds]
    return list(dict.fromkeys(text for p in privacies if p for text in p.texts("assumptions")))


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
