"""Fills the details of an audit's page: checks, broken rules, rounds, remarks, log and session.

Lists of parties, entries, keys, sums and witnesses are cut where they are read, because a page must
not grow without bound; texts were cut when `ReportObject` read them. Checks, reasons and claims of
privacy are not cut: an auditor writes one row for each that it knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeVar

from gopa.auditing.html import drawing, view
from gopa.auditing.html.figures import (
    LONGEST_NAME,
    ReportObject,
    chance,
    cut,
    key_name,
    largest,
    short,
    sure,
    tiny,
)
from gopa.support import wording

_LONGEST_BRIEF: Final = 160
_LONGEST_SAID: Final = 500
_MOST_WITNESSES: Final = 60
_MOST_ENTRIES: Final = 12
_MOST_EXCLUDED: Final = 400
_UNFOLDED_EXCLUDED: Final = 30
_MOST_LISTS: Final = 60
_MOST_SUMS: Final = 400
_MOST_KEYS: Final = 400

R = TypeVar("R")
T = TypeVar("T")


def first_of(
    rows: Sequence[R], made: Callable[[R], T], most: int, unfolded: int | None = None
) -> view.FirstOf[T]:
    """The first `most` rows; where `unfolded` is given, only so many are not behind a fold."""
    found = [made(row) for row in rows[:most]]
    border = most if unfolded is None else unfolded
    return view.FirstOf(len(rows), found[:border], found[border:])


def last_of(rows: Sequence[R], made: Callable[[R], T], most: int) -> view.FirstOf[T]:
    """The last `most` rows, in their order."""
    return view.FirstOf(len(rows), [made(row) for row in rows[-most:]])


def reason_of(row: ReportObject) -> str:
    """Why somebody was left out, as the end of a sentence."""
    return wording.exclusion_reason(row.text("phase"), row.text("cause"), row.text("rule"))


def abort_of(last: ReportObject) -> str | None:
    """Why a round was ended without a result; None where it was not."""
    return wording.abort_because(last.text("abort")) if last.text("outcome") == "abort" else None


def shown_check(found: ReportObject) -> view.ShownCheck:
    """A check, with the tone of how it ended and the answer."""
    status = found.text("status")
    known = wording.STATUSES.get(status, wording.StatusWords("open", status, status))
    return view.ShownCheck(
        number=found.text("number"),
        question=found.text("question"),
        detail=found.text("detail"),
        handled=found.number("handled"),
        rules=cut(", ".join(found.texts("rules"))),
        tone=known.tone,
        ended=known.ended,
        answer=known.answer,
    )


def tallies(checks: Sequence[ReportObject]) -> list[tuple[int, str]]:
    """How many checks ended in which way."""
    counts = Counter(each.text("status") for each in checks)
    return [
        (counts[status], words.ended)
        for status, words in wording.STATUSES.items()
        if counts[status]
    ]


def families(checks: Sequence[ReportObject]) -> list[view.CheckFamily]:
    """All checks by family."""
    found = []
    for name, rows in groupby(checks, lambda each: each.text("family")):
        shown = [shown_check(each) for each in rows]
        found.append(view.CheckFamily(f"{shown[0].number.partition('.')[0]} {name}", shown))
    return found


def shown_fault(found: ReportObject) -> view.ShownFault:
    """A fault; its author is named in words where it is a party or the organiser."""
    culprit, author = found.text("culprit"), found.text("author")
    named = bool(author) and culprit in wording.NAMED_CULPRITS
    what, got = found.text("what", _LONGEST_SAID), found.text("got", _LONGEST_SAID)
    known = wording.NAMED_CULPRITS if named else wording.CULPRITS
    facts = [
        view.Fact("expected", found.text("expected", _LONGEST_SAID), "said"),
        view.Fact("found", got, "said"),
        view.Fact("author", cut(author, LONGEST_NAME), "code"),
    ]
    return view.ShownFault(
        who=wording.sentence(known.get(culprit, culprit)),
        key=shown_key(found, author) if named else None,
        brief=cut(got or what, _LONGEST_BRIEF),
        what=what,
        rule=found.text("rule"),
        check=found.text("check"),
        round=found.number("round"),
        handled=found.flag("handled"),
        proved=found.flag("proved"),
        facts=[fact for fact in facts if fact.value],
        entries=first_of(found.rows("entries"), _entry, _MOST_ENTRIES),
    )


def shown_key(found: ReportObject, key: str) -> view.ShownKey:
    """The first digits of a key, with the name of its owner where the auditor knows it."""
    return view.ShownKey(key_name(key), found.name_of(key))


def _entry(entry: ReportObject) -> tuple[int, str]:
    return entry.number("index"), entry.text("leaf", LONGEST_NAME)


def shown_round(found: ReportObject) -> view.ShownRound:
    """A round in detail."""
    return view.ShownRound(
        number=found.number("number"),
        outcome=found.text("outcome"),
        aborted=abort_of(found),
        facts=_round_facts(found),
        graph=_graph(found),
        excluded=first_of(found.rows("excluded"), _left_out, _MOST_EXCLUDED, _UNFOLDED_EXCLUDED),
        lists=first_of(found.rows("lists"), _list, _MOST_LISTS),
        sums=first_of(_sums(found), _sum, _MOST_SUMS),
        keys=first_of(
            found.texts("included", LONGEST_NAME),
            lambda key: view.ShownKey(key, found.name_of(key)),
            _MOST_KEYS,
        ),
        privacy=shown_privacy(found.part_or_none("privacy")),
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
    return [_party(key, found.name_of(key), key in inside, gone.get(key)) for key in keys]


def _party(key: str, name: str, inside: bool, row: ReportObject | None) -> drawing.GraphParty:
    if inside:
        return drawing.GraphParty(key, name, "in the result", "inside")
    if row is None:
        return drawing.GraphParty(key, name, "not in the result", "gone")
    faultless = wording.plain_name(row.text("cause")) in wording.FAULTLESS
    return drawing.GraphParty(key, name, reason_of(row), "gone" if faultless else "broke")


def _left_out(row: ReportObject) -> view.LeftOutParty:
    entry = row.place("entry")
    where = f"{wording.doing(row.text('phase'))}, rule {row.text('rule')}"
    return view.LeftOutParty(
        key=shown_key(row, row.text("author")),
        why=wording.sentence(reason_of(row)),
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


def shown_privacy(privacy: ReportObject | None) -> view.ShownPrivacy | None:
    """The privacy cost of a round, if it has any."""
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
            view.Fact("noise", _noise(privacy.text("noise"))),
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


def shown_remark(found: ReportObject) -> view.ShownRemark:
    """A remark, with the first entries that show it."""
    author = found.text("author")
    return view.ShownRemark(
        rule=found.text("rule", LONGEST_NAME),
        what=found.text("what", _LONGEST_SAID),
        author=shown_key(found, author) if author else None,
        round=found.number("round"),
        count=found.number("count"),
        entries=found.numbers("entries")[:_MOST_ENTRIES],
    )


def log_facts(log: ReportObject) -> view.LogFacts:
    """The log, with all its names."""
    return view.LogFacts(
        size=log.number("size"),
        root=log.text("root", LONGEST_NAME),
        input=log.text("input", LONGEST_NAME),
        origin=log.text("origin", LONGEST_NAME),
        witnesses=first_of(log.texts("witnesses", LONGEST_NAME), str, _MOST_WITNESSES),
    )


def session_facts(session: ReportObject) -> list[view.Fact]:
    """The session: its keys, and its terms in words."""
    coins = _in_words(wording.BEACONS, session.text("beacon"))
    weighted = ", the last of which is a weight" if session.flag("weighted") else ""
    steps = f"{session.text('low')} to {session.text('high')} in {session.number('steps'):,} steps"
    parties, corrupt = f"{session.number('parties'):,}", f"{session.number('corrupt'):,}"
    promise = f"ε = {session.text('epsilon')}, δ = {session.text('delta')}"
    exact = session.text("epsilon") == wording.NO_EPSILON
    promised = f"{promise}, for all rounds and attempts together"
    return [
        view.Fact("title", session.text("title", LONGEST_NAME) or "none", "said"),
        view.Fact("session", session.text("session", LONGEST_NAME), "code"),
        view.Fact("manifest (SHA-256)", session.text("manifest", LONGEST_NAME), "code"),
        view.Fact("organiser", session.text("organiser", LONGEST_NAME), "code"),
        view.Fact(
            "mode",
            _in_words(
                wording.modes_of(exact=exact, in_rows=in_rows(session)), session.text("mode")
            ),
        ),
        view.Fact("trust", _in_words(wording.TRUSTS, session.text("trust"))),
        view.Fact("coins from", coins + _choices(session)),
        view.Fact("numbers of a party", f"{session.number('dimension'):,} from {steps}{weighted}"),
        view.Fact("parties", f"{session.number('fewest'):,} to {parties}"),
        view.Fact("assumed", f"at most {corrupt} of {parties} work together"),
        view.Fact("privacy promised", wording.EXACT if exact else promised),
        view.Fact("noise", _noise(session.text("noise"))),
        view.Fact("masks", session.text("mask")),
    ]


def in_rows(session: ReportObject) -> bool:
    """Whether lengths of vectors are proved, and not the range of each number."""
    return session.text("path") == "rows"


def _in_words(table: Mapping[str, str], name: str) -> str:
    plain = wording.plain_name(name)
    return table.get(plain, plain)


def _noise(said: str) -> str:
    """The law in words, and the hash that a report has behind its name."""
    law, blank, digest = said.partition(" ")
    return f"{wording.NOISES.get(law, law)}{blank}{digest}"


def _choices(session: ReportObject) -> str:
    """Among how many coins liars choose."""
    helped, alone = session.text("coin_choices"), session.text("coin_choices_alone")
    if not helped:
        return ""
    return (
        f"; liars choose among 2^{short(alone)} of them in all attempts, among 2^{short(helped)} "
        "if organiser and board help them; that moves their own noise only"
    )
