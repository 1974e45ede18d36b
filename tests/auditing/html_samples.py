"""Reports to make pages of, built by hand."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from gopa.auditing.checks import CHECKS
from gopa.auditing.html.page import to_html
from gopa.auditing.report import (
    Anchor,
    Anchoring,
    AuditFault,
    CheckResult,
    Culprit,
    Exclusion,
    ListReport,
    LogReport,
    PrivacyClaim,
    PrivacyReport,
    Remark,
    Report,
    RoundReport,
    SessionReport,
    ShownEntry,
    Status,
    Verdict,
    to_json_dict,
)

OUTSIDE = Anchoring(Anchor.OUTSIDE, Anchor.OUTSIDE)


EMBEDDED = Anchoring(Anchor.EMBEDDED, Anchor.EMBEDDED)


UNKNOWN = Anchoring(Anchor.MISSING, Anchor.MISSING)


CAUSES = (
    ("publish", "absent", "04-P2"),
    ("commit", "invalid", "04-K3"),
    ("commit", "lost", "04-L2"),
)


def key(number: int) -> bytes:
    """Some 32 bytes."""
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


def ring(parties: int, reach: int) -> tuple[tuple[int, int], ...]:
    """Everybody with the next few."""
    reach = min(reach, (parties - 1) // 2)
    return tuple(
        sorted(
            {
                (min(u, v), max(u, v))
                for u in range(parties)
                for v in ((u + step) % parties for step in range(1, reach + 1))
            }
        )
    )


def round_report(
    parties: int = 10, *, gone: int = 3, dimension: int = 1, drawn: bool = True, number: int = 1
) -> RoundReport:
    """A round with a result; the last `gone` parties are not in it."""
    joined = tuple(key(i) for i in range(parties))
    inside = parties - gone
    edges = ring(parties, 4)
    excluded = tuple(
        Exclusion(joined[i], *CAUSES[i % len(CAUSES)], entry=i) for i in range(inside, parties)
    )
    return RoundReport(
        number=number,
        logical=number - 1,
        attempt=0,
        joined=joined,
        included=joined[:inside],
        excluded=excluded,
        lists=(ListReport("commit", 0, 40, 41, tuple(range(inside)), final=True),),
        withheld=0,
        edge_count=len(edges),
        edges=edges if drawn else (),
        opened=tuple(pair for pair in edges if pair[0] < inside <= pair[1])[:500],
        outcome="result",
        sums=tuple(range(100, 100 + dimension)),
        total=("86.25",) * dimension,
        mean=tuple(f"{7.1875 + 3 * ((7 * i) % 5):.12g}" for i in range(dimension)),
        stderr=("0.87512345678",) * dimension,
        abort="",
        vetoed=(),
        privacy=privacy_report(),
    )


def privacy_report() -> PrivacyReport:
    """The privacy cost of a round."""
    return PrivacyReport(
        epsilon="0.5",
        claims=(
            PrivacyClaim(
                "even if the planned number of parties collude", "9.97e-07", "1e-12", "the theorem"
            ),
            PrivacyClaim("against any single curious party", "4.4E-15", "0", "connections"),
            PrivacyClaim("where a limit was broken", "1", "0", "too few survivors"),
        ),
        noise="GaussianTable",
        mask="uniform",
        releases=1,
        assumptions=("at most 2 of 10 parties are corrupt", "coins: commit-reveal"),
    )


def session_report(parties: int = 10, dimension: int = 1) -> SessionReport:
    """A session in mode full."""
    return SessionReport(
        session=key(1001),
        manifest=key(1002),
        title="Working hours",
        organiser=key(1003),
        mode="full",
        path="bits",
        trust="malicious",
        beacon="commit-reveal",
        coin_choices="30.6438561898",
        coin_choices_alone="3.32192809489",
        weighted=False,
        parties=parties,
        corrupt=2,
        fewest=max(parties // 2, 3),
        dimension=dimension,
        low="0",
        high="12",
        steps=96,
        epsilon="0.5",
        delta="0.000001",
        noise="GaussianTable",
        mask="uniform",
    )


def fault(number: int = 9, *, handled: bool = True) -> AuditFault:
    """A wrong proof."""
    return AuditFault(
        check="6.2",
        rule="04-K3",
        culprit=Culprit.PARTY if handled else Culprit.ORGANISER,
        author=key(number),
        round=1,
        what="no proof of an input in range with its noise",
        expected="a proof that holds",
        got="a proof that does not hold",
        entries=(ShownEntry(31, key(31)), ShownEntry(4711, b"")),
        proved=True,
        handled=handled,
    )


def report(
    parties: int = 10,
    *,
    gone: int = 3,
    dimension: int = 1,
    drawn: bool = True,
    faults: int = 1,
    rounds: int = 1,
) -> Report:
    """A valid session that anchors from outside confirm."""
    statuses = {"1.5": Status.SKIPPED}
    return Report(
        verdict=Verdict.VALID,
        summary="valid",
        anchors=OUTSIDE,
        other_session=None,
        simulation=False,
        complete=True,
        log=LogReport("demo/session.gopa", "board.example/2026", 61, key(7), ("w1.example",), ""),
        session=session_report(parties, dimension),
        rounds=tuple(
            round_report(parties, gone=gone, dimension=dimension, drawn=drawn, number=i + 1)
            for i in range(rounds)
        ),
        checks=tuple(
            CheckResult(check, statuses.get(check.number, Status.PASS), "", 0) for check in CHECKS
        ),
        faults=tuple(fault(parties - 1 - i) for i in range(faults)),
        remarks=(Remark("04-E6", "it rests on another root", key(3), 1, 20, (1, 2, 3)),),
        limits=("what parties did on their own machines",),
    )


def with_status(whole: Report, number: str, status: Status) -> Report:
    """One check ends in another way."""
    checks = tuple(
        replace(each, status=status, detail="this is why") if each.check.number == number else each
        for each in whole.checks
    )
    return replace(whole, checks=checks)


def bare(verdict: Verdict) -> Report:
    """Nothing could be read."""
    return Report(verdict, "nothing", UNKNOWN, None, False, False, None, None, (), (), (), (), ())


def as_json(whole: Report) -> dict[str, object]:
    """What the page is made of."""
    return to_json_dict(whole)


def page(whole: Report) -> ET.Element:
    """The page as a tree, which needs every tag to be closed and every text escaped."""
    return ET.fromstring(to_html(as_json(whole)))  # noqa: S314 - our own output


def words(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def by_kind(tree: ET.Element, kind: str) -> list[ET.Element]:
    return [each for each in tree.iter() if kind in each.get("class", "").split()]


class Nesting(HTMLParser):
    """HTML's own reading of the page: tags that stay open, and tags and attributes seen."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.targets += [str(value) for name, value in attrs if name in {"href", "src"}]


def nesting(text: str) -> Nesting:
    parser = Nesting()
    parser.feed(text)
    parser.close()
    return parser


def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """The report with one text exchanged."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy
