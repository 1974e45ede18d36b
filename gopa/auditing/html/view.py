"""What the page of an audit shows, in types: plain data in the page's order, no markup.

`filling.page_of` makes it of a report, and `page.html` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gopa.auditing.html.drawing import DegreesChart, DrawnGraph, ValuesChart
from gopa.support.wording import VerdictWords

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FirstOf(Generic[T]):
    """The first items of a list of `total`: those to see, and those behind a fold."""

    total: int
    shown: Sequence[T]
    folded: Sequence[T] = ()

    @property
    def left_off(self) -> int:
        """How many are in the JSON report only."""
        return self.total - len(self.shown) - len(self.folded)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what belongs to it: `plain` words, words `said` by others, or `code`."""

    name: str
    value: str
    kind: str = "plain"


@dataclass(frozen=True, slots=True)
class ShownKey:
    """Digits of a key, all or the first, and what the auditor calls its owner, or nothing."""

    digits: str
    name: str


@dataclass(frozen=True, slots=True)
class LooseKeys:
    """What the auditor took from the transcript, or was told by nobody at all (`missing`)."""

    about: str
    missing: bool
    consistent: bool


@dataclass(frozen=True, slots=True)
class ShownCheck:
    """A check: what was asked, and how it ended."""

    number: str
    question: str
    detail: str
    handled: int
    rules: str
    tone: str
    ended: str
    answer: str


@dataclass(frozen=True, slots=True)
class CheckFamily:
    """Checks about one thing."""

    head: str
    checks: Sequence[ShownCheck]


@dataclass(frozen=True, slots=True)
class ShownResult:
    """What a round computed: a mean and its error for each of `count` numbers.

    `rounded` are those in big letters, `every` those behind a fold. An error is empty
    where the report has none, `bounds` are None where the session could not be read. `noisy` says
    that the result is mostly noise, and is empty where it is not. Where nobody added noise the
    result is `exact`, but for rounding.
    """

    round: int
    parties: int
    count: int
    bounds: tuple[str, str] | None
    noisy: str
    exact: bool
    weighted: bool
    rounded: Sequence[tuple[str, str]]
    reach: tuple[str, str] | None
    chart: ValuesChart | None
    every: FirstOf[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result of several."""

    round: int
    value: str
    parties: int


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """What holds against one kind of adversary; `odds` are None where nothing is promised."""

    against: str
    how: str
    delta: str
    rounded: str
    bad_graphs: str
    odds: str | None


@dataclass(frozen=True, slots=True)
class ShownPrivacy:
    """The privacy cost of a round; `sure` is how sure, in percent, somebody may get."""

    epsilon: str
    rounded: str
    worst: str
    sure: str
    promised: bool
    claims: Sequence[ShownClaim]
    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class LeftOutGroup:
    """Parties that were left out for one reason; they are named where they are few."""

    why: str
    count: int
    keys: Sequence[ShownKey]


@dataclass(frozen=True, slots=True)
class LastRound:
    """What the cards tell: of the last result, or of the last round where there is none.

    `share` is how long the bar of those inside is, and None where there is no bar. `masks` are
    those between parties of the result, which cancel; where they are not known it is None, and
    `everybody_masks` counts those of all who joined.
    """

    ended: bool
    inside: int
    joined: int
    invited: int
    masks: int | None
    everybody_masks: int
    share: int | None
    privacy: ShownPrivacy | None
    exact: str
    left_out: int
    reasons: Sequence[LeftOutGroup]


@dataclass(frozen=True, slots=True)
class ShownFault:
    """A rule that somebody broke; `key` is None where `who` needs none."""

    who: str
    key: ShownKey | None
    brief: str
    what: str
    rule: str
    check: str
    round: int
    handled: bool
    proved: bool
    facts: Sequence[Fact]
    entries: FirstOf[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class LeftOutParty:
    """A party that was left out: why, and which phase, rule and entry say so."""

    key: ShownKey
    why: str
    where: str


@dataclass(frozen=True, slots=True)
class ShownList:
    """A list of parties that the rules accept, with the entry that announced it."""

    phase: str
    members: int
    final: bool
    cut: int
    entry: int


@dataclass(frozen=True, slots=True)
class RoundGraph:
    """Who shared masks with whom; `drawn` is None where only the numbers are told."""

    parties: int
    masks: int
    opened: int
    mean_degree: str
    most_drawn: int
    drawn: DrawnGraph | None
    degrees: DegreesChart | None


@dataclass(frozen=True, slots=True)
class ShownRound:
    """One round in detail; `aborted` says why it was, and is None where it was not."""

    number: int
    outcome: str
    aborted: str | None
    facts: Sequence[Fact]
    graph: RoundGraph | None
    excluded: FirstOf[LeftOutParty]
    lists: FirstOf[ShownList]
    sums: FirstOf[tuple[str, str]]
    keys: FirstOf[ShownKey]
    privacy: ShownPrivacy | None


@dataclass(frozen=True, slots=True)
class ShownRemark:
    """Something worth knowing, which is nobody's fault."""

    rule: str
    what: str
    author: ShownKey | None
    round: int
    count: int
    entries: Sequence[int]


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The log: what makes it the same log for two readers, and its names."""

    size: int
    root: str
    input: str
    origin: str
    witnesses: FirstOf[str]


@dataclass(frozen=True, slots=True)
class Made:
    """What the page was made of, when and by what; `day` is empty where nobody said it."""

    day: str
    version: str
    source: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Everything that the page of an audit shows."""

    tab_title: str
    title: str
    verdict: str
    standing: VerdictWords
    code: int
    summary: str
    exact: str
    trusted: bool
    signed: bool
    in_rows: bool
    complete: bool
    loose: LooseKeys | None
    mixed_up: bool
    made: Made
    vetoed: Sequence[int]
    simulation: bool
    why: Sequence[ShownCheck]
    attempts: int
    last_abort: str | None
    result: ShownResult | None
    results: FirstOf[ResultRow]
    last: LastRound | None
    brief_faults: FirstOf[ShownFault]
    unhandled: bool
    limits: FirstOf[str]
    assumptions: FirstOf[str]
    log: LogFacts | None
    checks_total: int
    tallies: Sequence[tuple[int, str]]
    families: Sequence[CheckFamily]
    faults: FirstOf[ShownFault]
    rounds: FirstOf[ShownRound]
    remarks: FirstOf[ShownRemark]
    session: Sequence[Fact]
