"""One round in detail: lists, sums, who was left out, the graph, privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.figures import chance, key_name, tiny
from gopa.auditing.html.graph import graph, picture_of
from gopa.auditing.html.markup import (
    NOTHING,
    Markup,
    body,
    bullets,
    code,
    element,
    fold,
    left_off,
    lines,
    note,
    pairs,
    table,
    text,
)
from gopa.wording import abort_because, doing, exclusion_reason, sentence

MOST_ROUNDS: Final = 8
_MOST_OPEN: Final = 30
_MOST_EXCLUDED: Final = 400
_MOST_KEYS: Final = 400
_MOST_NUMBERS: Final = 400
_MOST_LISTS: Final = 60


def rounds(found: Sequence[ReportObject]) -> Markup:
    """The last rounds in detail, the last one first."""
    if not found:
        return NOTHING
    shown = list(reversed(found[-MOST_ROUNDS:]))
    rest = left_off(len(found) - len(shown), "earlier rounds")
    return lines([element("h3", text("Rounds")), *(_round(each) for each in shown), rest])


def _round(found: ReportObject) -> Markup:
    number = found.number("number")
    head = f"Round {number:,}: {_outcome(found)}"
    return element(
        "section",
        element("h4", text(head)),
        _facts(found),
        graph(picture_of(found)),
        _excluded(found.rows("excluded")),
        _lists(found),
        _sums(found),
        _keys(found),
        _privacy(found.part_or_none("privacy")),
        kind="round",
    )


def _outcome(found: ReportObject) -> str:
    outcome = found.text("outcome")
    if outcome == "abort":
        return f"ended without a result, because {abort_because(found.text('abort'))}"
    return "a result" if outcome == "result" else "not at its end"


def _facts(found: ReportObject) -> Markup:
    rows = [
        ("serves", text(f"result {found.number('logical') + 1:,} of the session")),
        ("attempt", text(f"{found.number('attempt') + 1:,}")),
        ("joined", text(f"{found.count('joined'):,}")),
        ("in the final list", text(f"{found.count('included'):,}")),
        ("shared masks", text(f"{found.number('edge_count'):,}")),
        ("masks opened", text(f"{found.count('opened'):,}")),
    ]
    if found.number("withheld"):
        rows.append(("coins kept back", text(f"{found.number('withheld'):,}")))
    return pairs(rows)


def _excluded(rows: Sequence[ReportObject]) -> Markup:
    if not rows:
        return NOTHING
    heads = ["party", "why"]
    shown = rows[:_MOST_EXCLUDED]
    first = table("Not in the result", heads, body(map(_exclusion, shown[:_MOST_OPEN])))
    parts = [first]
    if len(shown) > _MOST_OPEN:
        more = table(
            "Not in the result, continued", heads, body(map(_exclusion, shown[_MOST_OPEN:]))
        )
        parts.append(fold(f"{len(shown) - _MOST_OPEN:,} more", more))
    return lines([*parts, left_off(len(rows) - len(shown), "parties")])


def _exclusion(row: ReportObject) -> list[Markup]:
    phase, cause, rule = row.text("phase"), row.text("cause"), row.text("rule")
    entry = row.place("entry")
    where = f"{doing(phase)}, rule {rule}"
    if entry is not None:
        where += f", entry {entry:,}"
    why = text(sentence(exclusion_reason(phase, cause, rule)))
    return [code(key_name(row.text("author"))), Markup(why + note(where))]


def _lists(found: ReportObject) -> Markup:
    rows = found.rows("lists")
    if not rows:
        return NOTHING
    shown = [_list(row) for row in rows[:_MOST_LISTS]]
    heads = ["phase", "parties in the list", "entries that counted", "entry"]
    whole = table("Lists that the rules accept", heads, body(shown))
    return fold("How the list of parties shrank", whole, left_off(len(rows) - len(shown), "lists"))


def _list(row: ReportObject) -> list[Markup]:
    phase, step = row.text("phase"), row.number("step")
    name = doing(phase) + (f" {step}" if step else "")
    final = " (final)" if row.flag("final") else ""
    return [
        text(name),
        text(f"{row.count('members'):,}{final}"),
        text(f"below {row.number('cut'):,}"),
        text(f"{row.number('index'):,}"),
    ]


def _sums(found: ReportObject) -> Markup:
    sums, totals = found.numbers("sums"), found.texts("total")
    if not sums:
        return NOTHING
    units = totals if len(totals) == len(sums) else [""] * len(sums)
    numbered = list(enumerate(zip(sums, units, strict=True)))
    shown = [
        [text(str(i)), text(f"{steps}"), text(total)]
        for i, (steps, total) in numbered[:_MOST_NUMBERS]
    ]
    heads = ["coordinate", "sum in steps of the grid", "sum in units of the inputs"]
    whole = table("The published sum", heads, body(shown))
    return fold("The exact sum", whole, left_off(len(sums) - len(shown), "coordinates"))


def _keys(found: ReportObject) -> Markup:
    keys = found.texts("included")
    if not keys:
        return NOTHING
    shown = bullets((code(key) for key in keys[:_MOST_KEYS]), kind="keys")
    return fold(
        f"Keys of the {len(keys):,} in the final list",
        shown,
        left_off(len(keys) - _MOST_KEYS, "keys"),
    )


def _privacy(privacy: ReportObject | None) -> Markup:
    if privacy is None:
        return NOTHING
    epsilon = privacy.text("epsilon")
    claims = table(
        f"What this round gave away at ε = {epsilon}, computed again from the log",
        ["against", "δ"],
        body(_claim(claim) for claim in privacy.rows("claims")),
    )
    facts = pairs(
        [
            ("noise", text(privacy.text("noise"))),
            ("masks", text(privacy.text("mask"))),
            ("releases counted", text(f"{privacy.number('releases'):,}")),
        ]
    )
    return lines([claims, facts])


def _claim(claim: ReportObject) -> list[Markup]:
    delta = claim.text("delta")
    shown = element("span", text(tiny(delta)), kind="short")
    if chance(delta) is None:
        shown = element("strong", text(f"{delta}: nothing is promised"), kind="bad")
    how = f"{claim.text('how')}; {tiny(claim.text('beta'))} of it pays for bad graphs"
    return [Markup(text(claim.text("against")) + note(how)), shown]
