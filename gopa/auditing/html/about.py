"""What the verdict means and what not, how to check it oneself, and what was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.figures import short
from gopa.auditing.html.markup import (
    NOTHING,
    Markup,
    bullets,
    code,
    command,
    element,
    joined,
    left_off,
    lines,
    pairs,
    paragraph,
    said,
    text,
)
from gopa.wording import BEACONS, MODES, TRUSTED_VERDICTS, TRUSTS, plain_name, sentence

_MOST_LINES: Final = 60
_MOST_WITNESSES: Final = 60

_PROVED: Final = (
    (
        "Every result is the sum over exactly the listed parties: nobody was added, left out or "
        "changed against the rules."
    ),
    "Every input lies in the stated range, and the noise was drawn from the stated law.",
)
_SIGNED: Final = (
    (
        "Every result is the sum of what exactly the listed parties signed: nobody was added, left "
        "out or changed against the rules."
    ),
)
_NAMES: Final = "Who the people behind the keys are is not known from a log."


def meaning(report: ReportObject) -> Markup:
    """What may be concluded, and what may not."""
    name, session = report.text("verdict"), report.part_or_none("session")
    signed = session is not None and plain_name(session.text("mode")) == "signed"
    parts = [element("h2", text("What this means"))]
    if name in TRUSTED_VERDICTS:
        shown = bullets(map(text, _SIGNED if signed else _PROVED))
        parts += [element("h3", text("It shows")), shown]
        against = "It does not show"
    else:
        against = "To keep in mind"
        parts.append(paragraph("Nothing may be concluded from the numbers on this page."))
    parts.append(_listed(against, [*report.texts("limits"), _NAMES]))
    parts.append(_listed("What privacy rests on", _assumptions(report.rows("rounds"))))
    return lines(parts)


def _assumptions(rounds: Sequence[ReportObject]) -> list[str]:
    found: dict[str, None] = {}
    for each in rounds:
        privacy = each.part_or_none("privacy")
        if privacy is not None:
            found.update(dict.fromkeys(privacy.texts("assumptions")))
    return list(found)


def _listed(head: str, items: Sequence[str]) -> Markup:
    if not items:
        return NOTHING
    shown = bullets(text(sentence(item)) for item in items[:_MOST_LINES])
    return lines([element("h3", text(head)), shown, left_off(len(items) - _MOST_LINES, "lines")])


def yourself(report: ReportObject) -> Markup:
    """The commands, and what to compare."""
    log = report.part_or_none("log")
    parts = [
        element("h2", text("Check it yourself")),
        paragraph(
            "You need the transcript (a .gopa file), this library, and no permission. Ask somebody "
            "you trust, not whoever gave you the transcript, for the anchors: a short text with "
            "the hash of the manifest and the key of the board."
        ),
        command("gopa audit SESSION.gopa --keys anchors.txt --html report.html"),
        paragraph(
            "Without anchors a transcript is compared with itself only, and the report says so:"
        ),
        command("gopa audit SESSION.gopa --trust-embedded"),
    ]
    if log is not None:
        same = "You looked at the same log if its number of entries and its root are these:"
        parts += [paragraph(same), _state(log)]
    return lines(parts)


def _state(log: ReportObject) -> Markup:
    return pairs([("entries", text(f"{log.number('size'):,}")), ("root", code(log.text("root")))])


def facts(report: ReportObject) -> Markup:
    """Log and session, with all their names."""
    log, session = report.part_or_none("log"), report.part_or_none("session")
    parts = []
    if log is not None:
        parts += [element("h3", text("The log")), _log(log)]
    if session is not None:
        parts += [element("h3", text("The session")), _session(session)]
    return lines(parts)


def _log(log: ReportObject) -> Markup:
    names = log.texts("witnesses")
    witnesses = joined(said(name) for name in names[:_MOST_WITNESSES])
    more = len(names) - _MOST_WITNESSES
    rest = text(f" and {more:,} more" if more > 0 else "")
    return pairs(
        [
            ("read from", said(log.text("input"))),
            ("origin", said(log.text("origin"))),
            ("entries", text(f"{log.number('size'):,}")),
            ("root", code(log.text("root"))),
            ("seen by witnesses", Markup(witnesses + rest) if names else text("none")),
        ]
    )


def _choices(session: ReportObject) -> str:
    """Among how many coins liars choose."""
    helped, alone = session.text("coin_choices"), session.text("coin_choices_alone")
    if not helped:
        return ""
    return (
        f"; liars choose among 2^{short(alone)} of them in all attempts, among 2^{short(helped)} "
        "if organiser and board help them; that moves their own noise only"
    )


def _session(session: ReportObject) -> Markup:
    mode, trust = plain_name(session.text("mode")), plain_name(session.text("trust"))
    beacon = plain_name(session.text("beacon"))
    bounds = f"{session.text('low')} to {session.text('high')}"
    weighted = ", the last of which is a weight" if session.flag("weighted") else ""
    steps = f"{bounds} in {session.number('steps'):,} steps"
    grid = f"{session.number('dimension'):,} from {steps}{weighted}"
    corrupt = (
        f"at most {session.number('corrupt'):,} of {session.number('parties'):,} work together"
    )
    promise = f"ε = {session.text('epsilon')}, δ = {session.text('delta')}"
    return pairs(
        [
            ("title", said(session.text("title") or "none")),
            ("session", code(session.text("session"))),
            ("manifest (SHA-256)", code(session.text("manifest"))),
            ("organiser", code(session.text("organiser"))),
            ("mode", text(MODES.get(mode, mode))),
            ("trust", text(TRUSTS.get(trust, trust))),
            ("coins from", text(BEACONS.get(beacon, beacon) + _choices(session))),
            ("numbers of a party", text(grid)),
            ("parties", text(f"{session.number('fewest'):,} to {session.number('parties'):,}")),
            ("assumed", text(corrupt)),
            ("privacy promised", text(f"{promise}, for all rounds and attempts together")),
            ("noise", text(session.text("noise"))),
            ("masks", text(session.text("mask"))),
        ]
    )
