"""Fills the view of an audit's page from the report: looks words up, rounds figures, cuts lists.

Functions follow the page from top to bottom. Every list of strangers' making is cut here, where
a page would grow without bound; texts were cut when `ReportObject` read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, TypeVar

from gopa import wording
from gopa.auditing.html import drawing, view
from gopa.auditing.html.figures import (
    between,
    chance,
    key_name,
    largest,
    short,
    sure,
    tiny,
    with_error,
)
from gopa.auditing.html.report_object import LONGEST_NAME, ReportObject, cut

_LONGEST_TAB: Final = 120
_LONGEST_BRIEF: Final = 160
_LONGEST_SAID: Final = 500

_MOST_RESULTS: Final = 20
_MOST_ROUNDED: Final = 6
_MOST_CHARTED: Final = 64
_MOST_EXACT: Final = 1000
_MOST_NAMED: Final = 8
_MOST_BRIEF_FAULTS: Final = 8
_MOST_LINES: Final = 60
_MOST_WITNESSES: Final = 60
_MOST_FAULTS: Final = 300
_UNFOLDED_FAULTS: Final = 12
_MOST_ENTRIES: Final = 12
_MOST_ROUNDS: Final = 8
_MOST_EXCLUDED: Final = 400
_UNFOLDED_EXCLUDED: Final = 30
_MOST_LISTS: Final = 60
_MOST_SUMS: Final = 400
_MOST_KEYS: Final = 400
_MOST_REMARKS: Final = 100

_FINE: Final = frozenset({"pass", "skipped"})

_ANCHORED: Final = {
    "log": "the board's key",
    "manifest": "the manifest, which fixes the plan and who may take part",
}

_NAMES: Final = "Who the people behind the keys are is not known from a log."

R = TypeVar("R")
T = TypeVar("T")


def page_of(report: ReportObject) -> view.AuditPage:
    """Everything that the page of an audit shows.

    Raises:
        UsageError: the report has another shape.
    """
    verdict, session = report.text("verdict"), report.part_or_none("session")
    title = _title(session)
    rounds, checks = report.rows("rounds"), report.rows("checks")
    results = [found for found in rounds if found.text("outcome") == "result"]
    last = (results or rounds)[-1:]
    log, faults = report.part_or_none("log"), report.rows("faults")
    limits = [*report.texts("limits"), _NAMES]
    ordered = sorted(faults, key=lambda each: each.flag("handled"))
    shown_faults = _first(ordered, _fault, _MOST_FAULTS, _UNFOLDED_FAULTS)
    return view.AuditPage(
        tab_title=cut(f"Audit: {verdict}, {title}", _LONGEST_TAB),
        title=cut(title, LONGEST_NAME),
        verdict=verdict,
        standing=_standing(report, verdict),
        code=report.number("code"),
        summary=report.text("summary"),
        trusted=verdict in wording.TRUSTED_VERDICTS,
        signed=session is not None and wording.plain_name(session.text("mode")) == "signed",
        complete=report.flag("complete"),
        loose=_loose(report, verdict),
        vetoed=[found.number("number") for found in rounds if found.numbers("vetoed")],
        simulation=report.flag("simulation"),
        why=_why(checks),
        attempts=len(rounds),
        last_abort=_abort(rounds[-1]) if rounds else None,
        result=_result(results[-1], session) if results else None,
        results=_last_of(results, _result_row, _MOST_RESULTS),
        last=_last(session, last[0]) if last else None,
        brief_faults=view.FirstOf(shown_faults.total, shown_faults.shown[:_MOST_BRIEF_FAULTS]),
        unhandled=any(not fault.flag("handled") for fault in faults),
        limits=_first(limits, wording.sentence, _MOST_LINES),
        assumptions=_first(_assumptions(rounds), wording.sentence, _MOST_LINES),
        log=None if log is None else _log(log),
        checks_total=len(checks),
        tallies=_tallies(checks),
        families=_families(checks),
        faults=shown_faults,
        rounds=_last_of(rounds, _round, _MOST_ROUNDS),
        remarks=_first(report.rows("remarks"), _remark, _MOST_REMARKS),
        session=[] if session is None else _session(session),
    )


def _first(
    rows: Sequence[R], made: Callable[[R], T], most: int, unfolded: int | None = None
) -> view.FirstOf[T]:
    """The first `most` rows; where `unfolded` is given, only so many are not behind a fold."""
    found = [made(row) for row in rows[:most]]
    border = most if unfolded is None else unfolded
    return view.FirstOf(len(rows), found[:border], found[border:])


def _last_of(rows: Sequence[R], made: Callable[[R], T], most: int) -> view.FirstOf[T]:
    """The last `most` rows, in their order."""
    return view.FirstOf(len(rows), [made(row) for row in rows[-most:]])


def _title(session: ReportObject | None) -> str:
    if session is None:
        return "No session could be read"
    return session.text("title") or "Untitled session"


# The verdict, and what stands beside it.


def _standing(report: ReportObject, verdict: str) -> wording.VerdictWords:
    """A log that vouches for itself is never called valid without a reservation."""
    if not report.flag("anchored") and verdict in wording.TRUSTED_VERDICTS:
        return wording.UNANCHORED[verdict]
    return wording.VERDICTS.get(verdict, wording.UNKNOWN_VERDICT)


def _loose(report: ReportObject, verdict: str) -> view.LooseKeys | None:
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
    return [_check(each) for each in sorted(open_ones, key=lambda c: c.text("status") != "fail")]


def _check(found: ReportObject) -> view.ShownCheck:
    status = found.text("status")
    tone, word = wording.STATUSES.get(status, ("open", status))
    return view.ShownCheck(
        number=found.text("number"),
        question=found.text("question"),
        detail=found.text("detail"),
        handled=found.number("handled"),
        rules=cut(", ".join(found.texts("rules"))),
        tone=tone,
        word=word,
    )


# The cards: the result, by how many, how private, who left, who cheated.


def _abort(last: ReportObject) -> str | None:
    """Why a round was ended without a result; None where it was not."""
    return wording.abort_because(last.text("abort")) if last.text("outcome") == "abort" else None


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
        weighted=session is not None and session.flag("weighted"),
        rounded=[with_error(*each) for each in numbers[:_MOST_ROUNDED]],
        reach=between(*numbers[0]) if len(means) == 1 else None,
        chart=drawing.values(means, errors) if charted else None,
        exact=view.FirstOf(len(numbers), numbers[:_MOST_EXACT]),
    )


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
    inside, joined = found.count("included"), found.count("joined")
    invited = joined if session is None else max(session.number("parties"), joined)
    excluded = found.rows("excluded")
    return view.LastRound(
        ended=found.text("outcome") == "result",
        inside=inside,
        joined=joined,
        invited=invited,
        masks=found.number("edge_count"),
        share=drawing.share(inside, invited),
        privacy=_privacy(found.part_or_none("privacy")),
        left_out=len(excluded),
        reasons=_reasons(excluded),
    )


def _reasons(excluded: Sequence[ReportObject]) -> list[view.LeftOutGroup]:
    """Who was left out by reason, most of them first."""
    groups: dict[str, list[str]] = {}
    for row in excluded:
        groups.setdefault(_reason(row), []).append(row.text("author"))
    largest = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        view.LeftOutGroup(
            why, len(keys), list(map(key_name, keys)) if len(keys) <= _MOST_NAMED else []
        )
        for why, keys in largest
    ]


def _reason(row: ReportObject) -> str:
    return wording.exclusion_reason(row.text("phase"), row.text("cause"), row.text("rule"))


def _privacy(privacy: ReportObject | None) -> view.ShownPrivacy | None:
    if privacy is None:
        return None
    epsilon, claims = privacy.text("epsilon"), [_claim(row) for row in privacy.rows("claims")]
    return view.ShownPrivacy(
        epsilon=epsilon,
        rounded=short(epsilon),
        worst=tiny(largest([claim.delta for claim in claims])) if claims else "?",
        sure=sure(epsilon),
        promised=any(claim.odds is not None for claim in claims),
        claims=claims,
        facts=[
            view.Fact("noise", privacy.text("noise")),
            view.Fact("masks", privacy.text("mask")),
            view.Fact("releases counted", f"{privacy.number('releases'):,}"),
        ],
    )


def _claim(claim: ReportObject) -> view.ShownClaim:
    delta = claim.text("delta")
    return view.ShownClaim(
        against=claim.text("against"),
        how=claim.text("how"),
        delta=delta,
        rounded=tiny(delta),
        bad_graphs=tiny(claim.text("beta")),
        odds=chance(delta),
    )


# What it means.


def _assumptions(rounds: Sequence[ReportObject]) -> list[str]:
    """What the promises of all rounds rest on, each once."""
    privacies = [each.part_or_none("privacy") for each in rounds]
    return list(dict.fromkeys(text for p in privacies if p for text in p.texts("assumptions")))


# Details: checks, faults, rounds, remarks, log and session.


def _tallies(checks: Sequence[ReportObject]) -> list[tuple[int, str]]:
    counts = Counter(each.text("status") for each in checks)
    return [
        (counts[status], word) for status, (_, word) in wording.STATUSES.items() if counts[status]
    ]


def _families(checks: Sequence[ReportObject]) -> list[view.CheckFamily]:
    found = []
    for name, rows in groupby(checks, lambda each: each.text("family")):
        shown = [_check(each) for each in rows]
        found.append(view.CheckFamily(f"{shown[0].number.partition('.')[0]} {name}", shown))
    return found


def _fault(found: ReportObject) -> view.ShownFault:
    culprit, author = found.text("culprit"), found.text("author")
    named = bool(author) and culprit in wording.NAMED_CULPRITS
    what, got = found.text("what", _LONGEST_SAID), found.text("got", _LONGEST_SAID)
    facts = [
        view.Fact("expected", found.text("expected", _LONGEST_SAID), "said"),
        view.Fact("found", got, "said"),
        view.Fact("author", cut(author, LONGEST_NAME), "code"),
    ]
    return view.ShownFault(
        who=wording.NAMED_CULPRITS[culprit]
        if named
        else wording.sentence(wording.CULPRITS.get(culprit, culprit)),
        key=key_name(author) if named else "",
        brief=cut(got or what, _LONGEST_BRIEF),
        what=what,
        rule=found.text("rule"),
        check=found.text("check"),
        round=found.number("round"),
        handled=found.flag("handled"),
        proved=found.flag("proved"),
        facts=[fact for fact in facts if fact.value],
        entries=_first(found.rows("entries"), _entry, _MOST_ENTRIES),
    )


def _entry(entry: ReportObject) -> tuple[int, str]:
    return entry.number("index"), entry.text("leaf", LONGEST_NAME)


def _round(found: ReportObject) -> view.ShownRound:
    return view.ShownRound(
        number=found.number("number"),
        outcome=found.text("outcome"),
        aborted=_abort(found),
        facts=_round_facts(found),
        graph=_graph(found),
        excluded=_first(found.rows("excluded"), _left_out, _MOST_EXCLUDED, _UNFOLDED_EXCLUDED),
        lists=_first(found.rows("lists"), _list, _MOST_LISTS),
        sums=_first(_sums(found), _sum, _MOST_SUMS),
        keys=_first(found.texts("included", LONGEST_NAME), str, _MOST_KEYS),
        privacy=_privacy(found.part_or_none("privacy")),
    )


def _round_facts(found: ReportObject) -> list[view.Fact]:
    facts = {
        "serves": f"result {found.number('logical') + 1:,} of the session",
        "attempt": f"{found.number('attempt') + 1:,}",
        "joined": f"{found.count('joined'):,}",
        "in the final list": f"{found.count('included'):,}",
        "shared masks": f"{found.number('edge_count'):,}",
        "masks opened": f"{found.count('opened'):,}",
    }
    if found.number("withheld"):
        facts["coins kept back"] = f"{found.number('withheld'):,}"
    return [view.Fact(name, value) for name, value in facts.items()]


def _graph(found: ReportObject) -> view.RoundGraph | None:
    keys, masks = found.texts("joined"), found.number("edge_count")
    edges, opened = found.pairs("edges", len(keys)), found.pairs("opened", len(keys))
    if not keys or not masks:
        return None
    drawn = bool(edges) and len(keys) <= drawing.MOST_DRAWN
    return view.RoundGraph(
        parties=len(keys),
        masks=masks,
        opened=len(opened),
        mean_degree=f"{2 * masks / len(keys):.1f}",
        most_drawn=drawing.MOST_DRAWN,
        drawn=drawing.graph(_parties(found, keys), edges, opened) if drawn else None,
        degrees=drawing.degrees(len(keys), edges) if edges and not drawn else None,
    )


def _parties(found: ReportObject, keys: Sequence[str]) -> list[drawing.GraphParty]:
    """Who is in the graph, and what became of them."""
    inside = frozenset(found.texts("included"))
    gone = {row.text("author"): row for row in found.rows("excluded")}
    return [_party(key, key in inside, gone.get(key)) for key in keys]


def _party(key: str, inside: bool, row: ReportObject | None) -> drawing.GraphParty:
    if inside:
        return drawing.GraphParty(key, "in the result", "inside")
    if row is None:
        return drawing.GraphParty(key, "not in the result", "gone")
    faultless = wording.plain_name(row.text("cause")) in wording.FAULTLESS
    return drawing.GraphParty(key, _reason(row), "gone" if faultless else "broke")


def _left_out(row: ReportObject) -> view.LeftOutParty:
    entry = row.place("entry")
    where = f"{wording.doing(row.text('phase'))}, rule {row.text('rule')}"
    return view.LeftOutParty(
        key=key_name(row.text("author")),
        why=wording.sentence(_reason(row)),
        where=where if entry is None else f"{where}, entry {entry:,}",
    )


def _list(row: ReportObject) -> view.ShownList:
    step = row.number("step")
    return view.ShownList(
        phase=wording.doing(row.text("phase")) + (f" {step}" if step else ""),
        members=row.count("members"),
        final=row.flag("final"),
        cut=row.number("cut"),
        entry=row.number("index"),
    )


def _sums(found: ReportObject) -> list[tuple[int, str]]:
    """Sums in steps of the grid, and in units of the inputs where the report has them."""
    sums, totals = found.numbers("sums"), found.texts("total")
    return list(zip(sums, totals if len(totals) == len(sums) else [""] * len(sums), strict=True))


def _sum(row: tuple[int, str]) -> tuple[str, str]:
    return cut(str(row[0])), row[1]


def _remark(found: ReportObject) -> view.ShownRemark:
    author = found.text("author")
    return view.ShownRemark(
        rule=found.text("rule", LONGEST_NAME),
        what=found.text("what", _LONGEST_SAID),
        author=key_name(author),
        round=found.number("round"),
        count=found.number("count"),
        entries=found.numbers("entries")[:_MOST_ENTRIES],
    )


def _log(log: ReportObject) -> view.LogFacts:
    return view.LogFacts(
        size=log.number("size"),
        root=log.text("root", LONGEST_NAME),
        input=log.text("input", LONGEST_NAME),
        origin=log.text("origin", LONGEST_NAME),
        witnesses=_first(log.texts("witnesses", LONGEST_NAME), str, _MOST_WITNESSES),
    )


def _session(session: ReportObject) -> list[view.Fact]:
    mode, trust = (
        wording.plain_name(session.text("mode")),
        wording.plain_name(session.text("trust")),
    )
    beacon = wording.plain_name(session.text("beacon"))
    weighted = ", the last of which is a weight" if session.flag("weighted") else ""
    steps = f"{session.text('low')} to {session.text('high')} in {session.number('steps'):,} steps"
    parties, corrupt = f"{session.number('parties'):,}", f"{session.number('corrupt'):,}"
    promise = f"ε = {session.text('epsilon')}, δ = {session.text('delta')}"
    return [
        view.Fact("title", session.text("title", LONGEST_NAME) or "none", "said"),
        view.Fact("session", session.text("session", LONGEST_NAME), "code"),
        view.Fact("manifest (SHA-256)", session.text("manifest", LONGEST_NAME), "code"),
        view.Fact("organiser", session.text("organiser", LONGEST_NAME), "code"),
        view.Fact("mode", wording.MODES.get(mode, mode)),
        view.Fact("trust", wording.TRUSTS.get(trust, trust)),
        view.Fact("coins from", wording.BEACONS.get(beacon, beacon) + _choices(session)),
        view.Fact("numbers of a party", f"{session.number('dimension'):,} from {steps}{weighted}"),
        view.Fact("parties", f"{session.number('fewest'):,} to {parties}"),
        view.Fact("assumed", f"at most {corrupt} of {parties} work together"),
        view.Fact("privacy promised", f"{promise}, for all rounds and attempts together"),
        view.Fact("noise", session.text("noise")),
        view.Fact("masks", session.text("mask")),
    ]


def _choices(session: ReportObject) -> str:
    """Among how many coins liars choose."""
    helped, alone = session.text("coin_choices"), session.text("coin_choices_alone")
    if not helped:
        return ""
    return (
        f"; liars choose among 2^{short(alone)} of them in all attempts, among 2^{short(helped)} "
        "if organiser and board help them; that moves their own noise only"
    )
