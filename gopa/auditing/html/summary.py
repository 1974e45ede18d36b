"""What everybody wants to know: the result, the parties, privacy, who left, who cheated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gopa.auditing.html.data import ReportObject
from gopa.auditing.html.figures import chance, counted, key_name, short, sure, tiny, with_error
from gopa.auditing.html.markup import (
    NOTHING,
    Markup,
    body,
    bullets,
    code,
    element,
    joined,
    left_off,
    lines,
    paragraph,
    said,
    table,
    text,
)
from gopa.auditing.html.result import value
from gopa.wording import (
    CULPRITS,
    NAMED_CULPRITS,
    TRUSTED_VERDICTS,
    abort_because,
    exclusion_reason,
    sentence,
)

_MOST_RESULTS: Final = 20
_MOST_NAMED: Final = 8
_MOST_FAULTS: Final = 8


def summary(report: ReportObject) -> Markup:
    """Cards that can be read without any other part of the page."""
    session, rounds = report.part_or_none("session"), report.rows("rounds")
    results = [found for found in rounds if found.text("outcome") == "result"]
    last = (results or rounds)[-1:]
    cards = [
        card
        for found in last
        for card in (_parties(session, found), _privacy(found), _left_out(found))
    ]
    cards.append(_cheaters(report))
    return lines(
        [
            element("h2", text("In short")),
            _result(report, session, rounds, results),
            element("div", *cards, kind="cards"),
        ]
    )


def _card(head: str, *content: Markup) -> Markup:
    """A box with a heading."""
    return element("section", element("h3", text(head)), *content, kind="card")


def _result(
    report: ReportObject,
    session: ReportObject | None,
    rounds: Sequence[ReportObject],
    results: Sequence[ReportObject],
) -> Markup:
    head = "What was computed"
    if not results:
        return _card(head, paragraph(_no_result(rounds)))
    doubt = _doubt(report.text("verdict"))
    if len(results) == 1:
        return _card(head, doubt, value(results[0], session))
    shown = results[-_MOST_RESULTS:]
    rows = table(
        f"{len(results):,} results of this session",
        ["round", "mean ± standard error", "parties"],
        body(_results_row(found) for found in shown),
    )
    earlier = left_off(len(results) - len(shown), "earlier results")
    return _card(head, doubt, value(results[-1], session), rows, earlier)


def _doubt(verdict: str) -> Markup:
    """A number is never shown without the doubt that there is about it."""
    if verdict == "INVALID":
        return paragraph("The audit found this wrong. Do not rely on it.", kind="bad")
    if verdict not in TRUSTED_VERDICTS:
        return paragraph("This is not confirmed: see the verdict above.", kind="open")
    return NOTHING


def _results_row(found: ReportObject) -> list[Markup]:
    means, errors = found.texts("mean"), found.texts("stderr")
    if not means:
        shown = "a sum, and no mean"
    elif len(means) != 1:
        shown = f"{len(means):,} numbers"
    elif errors:
        shown = " ± ".join(with_error(means[0], errors[0]))
    else:
        shown = short(means[0])
    return [text(f"{found.number('number'):,}"), text(shown), text(f"{found.count('included'):,}")]


def _no_result(rounds: Sequence[ReportObject]) -> str:
    if not rounds:
        return "Nothing: there is no round that could be read."
    last = rounds[-1]
    if last.text("outcome") == "abort":
        why = abort_because(last.text("abort"))
        tries = counted(len(rounds), "attempt", "attempts")
        return f"Nothing: the session ended without a result after {tries}, because {why}."
    return "Nothing yet: the last round has not come to its end."


def _parties(session: ReportObject | None, found: ReportObject) -> Markup:
    inside, came = found.count("included"), found.count("joined")
    invited = came if session is None else max(session.number("parties"), came)
    figure = element(
        "p",
        element("span", text(f"{inside:,}")),
        element("small", text(f" of {invited:,} parties")),
        kind="figure",
    )
    bar = _bar(inside, invited)
    words = f"{came:,} joined, and the inputs of {inside:,} are in the result."
    if found.text("outcome") != "result":
        words = f"{came:,} joined, and there is no result."
    masks = f"They shared {found.number('edge_count'):,} secret masks, which cancel in the sum."
    return _card("By how many", figure, bar, paragraph(words, masks))


def _bar(inside: int, everybody: int) -> Markup:
    """A share as a bar; the words beside it say the same."""
    if not everybody:
        return NOTHING
    width = round(1000 * inside / everybody)
    return element(
        "svg",
        element("rect", kind="out", x="1", y="1", width="998", height="18"),
        element("rect", kind="in", width=str(width), height="20"),
        kind="bar",
        aria_hidden="true",
        preserveAspectRatio="none",
        viewBox="0 0 1000 20",
    )


def _privacy(found: ReportObject) -> Markup:
    head, privacy = "How private", found.part_or_none("privacy")
    if privacy is None:
        return _card(head, paragraph("Nothing that could be told apart was published."))
    epsilon, claims = privacy.text("epsilon"), privacy.rows("claims")
    known = [claim for claim in claims if chance(claim.text("delta")) is not None]
    figure = element(
        "p",
        element("span", text(f"ε = {short(epsilon)}")),
        element("small", text(f" δ = {_worst(claims)}")),
        kind="figure",
    )
    if not known:
        words = "No promise could be established for this round: see the details below."
        return _card(head, figure, paragraph(words, kind="bad"))
    meaning = (
        "Suppose somebody holds two values of a party for equally likely. Whatever they see of "
        f"this session, they can get at most {sure(epsilon)} % sure which one it is. The chance "
        "that this fails is"
    )
    rows = [element("li", *_claim(claim)) for claim in claims]
    return _card(head, figure, paragraph(meaning), element("ul", *rows))


def _worst(claims: Sequence[ReportObject]) -> str:
    """The largest delta, as the first of equals is written."""
    deltas = [claim.text("delta") for claim in claims]
    return tiny(max(deltas, key=_size)) if deltas else "?"


def _size(delta: str) -> float:
    try:
        return float(delta[:64])
    except ValueError:
        return 1.0


def _claim(claim: ReportObject) -> tuple[Markup, ...]:
    against, odds = claim.text("against"), chance(claim.text("delta"))
    if odds is None:
        failed = element("strong", text("nothing is promised"), kind="bad")
        return text(f"Against {against}: "), failed, text(f" ({claim.text('how')}).")
    return (text(f"Against {against}: "), element("strong", text(odds)), text("."))


def _left_out(found: ReportObject) -> Markup:
    head, excluded = "Who was left out", found.rows("excluded")
    if not excluded:
        return _card(head, paragraph("Nobody: everybody who is named in the log is in the result."))
    groups: dict[str, list[str]] = {}
    for row in excluded:
        why = exclusion_reason(row.text("phase"), row.text("cause"), row.text("rule"))
        groups.setdefault(why, []).append(row.text("author"))
    largest = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    items = [_group(why, keys) for why, keys in largest]
    count = counted(len(excluded), "party is", "parties are")
    return _card(head, paragraph(f"{count} not in the result:"), bullets(items))


def _group(why: str, keys: Sequence[str]) -> Markup:
    if len(keys) > _MOST_NAMED:
        return text(f"{len(keys):,} parties, each of which {why}")
    names = joined(code(key_name(key)) for key in keys)
    return Markup(names + text(f" {why}" if len(keys) == 1 else f", each of which {why}"))


def _cheaters(report: ReportObject) -> Markup:
    head, faults = "Who broke the rules", report.rows("faults")
    if not faults:
        whole = report.flag("complete")
        words = "Nobody, as far as this log can show." if whole else "Nothing was found so far."
        return _card(head, paragraph(words))
    open_faults = [fault for fault in faults if not fault.flag("handled")]
    ordered = [*open_faults, *(fault for fault in faults if fault.flag("handled"))]
    items = [_fault(fault) for fault in ordered[:_MOST_FAULTS]]
    more = len(ordered) - len(items)
    rest = paragraph(f"{more:,} more are listed below.", kind="more") if more > 0 else NOTHING
    effect = _effect(report.text("verdict"), bool(open_faults))
    return _card(head, effect, bullets(items), rest)


def _effect(verdict: str, unhandled: bool) -> Markup:
    """What the faults mean for the result."""
    if unhandled:
        return paragraph("This speaks against the whole session.", kind="bad")
    if verdict not in TRUSTED_VERDICTS:
        return paragraph("The rules dealt with whoever is named here.")
    return paragraph(
        "Whoever is named here is not in the result because of it, or did it where it changes "
        "nothing. The result stands."
    )


def _fault(fault: ReportObject) -> Markup:
    found = fault.text("got") or fault.text("what")
    return Markup(culprit(fault) + text(": ") + said(found, 160))


def culprit(fault: ReportObject) -> Markup:
    """Who did it, with the beginning of the key where there is one."""
    name, author = fault.text("culprit"), fault.text("author")
    if author and name in NAMED_CULPRITS:
        return Markup(text(f"{NAMED_CULPRITS[name]} ") + code(key_name(author)))
    return text(sentence(CULPRITS.get(name, name)))
