"""What came of an attack: who was caught by which check, and whether the result is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from gopa.adversary.malicious import Actor, Malicious
from gopa.auditing import Report, Verdict
from gopa.auditing.checks import check_of
from gopa.auditing.report import AuditFault
from gopa.protocol.rules import Findings, RoundFindings
from gopa.protocol.rules.closes import RULE_OF
from wire.brief import Brief
from wire.errors import FaultyBoard, FaultyParty, ProtocolError, SuspectedPartyOrBoard

_ACCEPTING = frozenset({Verdict.VALID, Verdict.SIGNED_ONLY, Verdict.VALID_WITH_EXCLUSIONS})

STRANGER: Final = -1
"""The number of somebody on a roll who is not on the roster."""

PASSED_OVER: Final = frozenset({"04-C2", "04-C6", "04-E4", "04-J1", "04-J6"})
"""Rules about entries that came too late or too early, or from somebody who takes no part."""

_STOPPED: Final = "04-C5"


class How(Enum):
    """What happened to whoever was caught."""

    CONVICTED = "convicted"
    REMOVED = "left out"
    REFUSED = "refused by parties"
    NAMED = "named in an abort"
    UNMASKED = "unmasked by others"
    IGNORED = "passed over"
    TURNED_AWAY = "turned away"
    NOTICED = "noticed by an audit"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True)
class Catch:
    """One rule that stopped somebody, and the number of the audit's check that cites it.

    `who` is `party 1`, `organiser` or `board`. CONVICTED: entries of the log prove it to
    anybody. REMOVED: the party is in no list from there on. REFUSED: participants said
    nothing more. NAMED: an abort says that the party did not do its part. UNMASKED: others
    opened its self-mask for it. IGNORED: an entry counts for nothing. TURNED_AWAY: a board
    that keeps the rules did not take an entry. NOTICED: an audit does not accept what it was
    shown, and cannot tell whose fault that is.
    """

    rule: str
    who: str
    how: How

    @property
    def check(self) -> str:
        """The check of the audit, or an empty text where the rule is for participants alone."""
        try:
            return check_of(self.rule).number
        except KeyError:
            return ""

    def __str__(self) -> str:
        name = f"check {self.check} [{self.rule}]" if self.check else f"[{self.rule}]"
        return f"{name}: {self.who} {self.how.value}"


@dataclass(frozen=True, slots=True)
class OpenToAll:
    """What the entries of a round show to everybody, whether or not the rules count them.

    `commits`: who committed; `values`: who posted a masked value; `seeds`: whose self-mask can
    be taken off; `edges`: whose keys were posted. All are numbers of parties.
    """

    values: frozenset[int]
    seeds: frozenset[int]
    edges: frozenset[frozenset[int]]
    commits: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """One round as the log has it, and the sum as it should be.

    `included` are numbers of parties, None without a final list. `expected` is what their
    inputs and noise add up to, known to a simulation alone; None where there is no result.
    `announced` is the sum that the organiser posted, right or not; None without one.
    """

    findings: RoundFindings
    numbers: tuple[int, ...]
    included: tuple[int, ...] | None
    expected: tuple[int, ...] | None
    open_to_all: OpenToAll
    announced: tuple[int, ...] | None = None

    @property
    def number(self) -> int:
        """The number of the round, from 1."""
        return self.findings.number

    @property
    def right(self) -> bool:
        """Whether every number that was released is the expected one; true where there is none."""
        shown = (self.findings.sums, self.announced)
        return self.findings.sums is None or all(each in {None, self.expected} for each in shown)

    def pairs(self, edges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Edges between positions of the roll as edges between numbers of parties."""
        return tuple((self.numbers[u], self.numbers[v]) for u, v in edges)


@dataclass(frozen=True, slots=True, repr=False)
class AttackOutcome(Brief):
    """A session with its liars, as an auditor sees it and as the simulation knows it to be.

    `keys` are those of the parties by number. `halted` are the errors of parties that
    stopped by themselves, `passed_over` rules by which entries count for nothing, with the
    keys of their authors. `acted`, where somebody watched, has the parties and rounds in which
    a message was another than an honest one: a lie about noise that happens to be 0 is none.
    """

    actors: tuple[Actor, ...]
    keys: tuple[bytes, ...]
    organiser: bytes
    findings: Findings
    report: Report
    rounds: tuple[RoundOutcome, ...]
    halted: Mapping[int, ProtocolError]
    passed_over: tuple[tuple[str, bytes], ...] = ()
    acted: frozenset[tuple[int, int]] | None = None

    def has_lied(self, actor: Actor, number: int) -> bool:
        """Whether a party, not the board to it, departed from the rules in this round."""
        if not isinstance(actor, Malicious) or actor.board or not actor.meant_for(number):
            return False
        return self.acted is None or (actor.party, number) in self.acted

    @property
    def accepted(self) -> bool:
        """Whether the auditor lets the result stand."""
        return accepting(self.report)

    @property
    def right(self) -> bool:
        """Whether every result is the sum of the inputs and noise of those who are in it."""
        return all(each.right for each in self.rounds)

    @property
    def has_result(self) -> bool:
        """Whether the last round that the log has came to a result."""
        return bool(self.rounds) and self.rounds[-1].findings.sums is not None

    @property
    def liars(self) -> frozenset[int]:
        """The parties that misbehave, not those to whom a board does something."""
        return frozenset(
            each.party for each in self.actors if isinstance(each, Malicious) and not each.board
        )

    @property
    def honest(self) -> frozenset[int]:
        """The parties that are no liars."""
        return frozenset(range(len(self.keys))) - self.liars

    @property
    def honest_organiser(self) -> bool:
        return all(isinstance(each, Malicious) for each in self.actors)

    @property
    def included(self) -> frozenset[int]:
        """Who is in the last result."""
        return frozenset(self.rounds[-1].included or ()) if self.has_result else frozenset()

    @property
    def caught(self) -> tuple[Catch, ...]:
        """Everything that stopped somebody, each rule once for each of them."""
        found = (*self._convicted(), *self._removed(), *self._refused(), *self._unhelped())
        if any(each.findings.veto for each in self.rounds):
            found = (*found, Catch("04-X7", self.name_of(self.organiser), How.REPORTED))
        ignored = [
            Catch(rule, self.name_of(author), How.IGNORED) for rule, author in self.passed_over
        ]
        return tuple(dict.fromkeys((*found, *ignored)))

    @property
    def blamed(self) -> tuple[str, ...]:
        """Whom the log convicts, in words."""
        names = [catch.who for catch in self.caught if catch.how is How.CONVICTED]
        return tuple(dict.fromkeys(names))

    @property
    def result(self) -> str:
        """`right`, `wrong`, or `none`: what a reader of the log ends up with."""
        if not self.accepted or not self.has_result:
            return "none"
        return "right" if self.right else "wrong"

    def name_of(self, key: bytes) -> str:
        """A key in words."""
        if key in self.keys:
            return f"party {self.keys.index(key)}"
        return "organiser" if key == self.organiser else f"stranger {key.hex()[:8]}"

    def _convicted(self) -> list[Catch]:
        """What may have another explanation convicts nobody."""
        return [
            Catch(each.rule, self._culprit(each), How.CONVICTED)
            for each in self.report.faults
            if each.proved
        ]

    def _culprit(self, fault: AuditFault) -> str:
        return self.name_of(fault.author) if fault.author else fault.culprit.value

    def _removed(self) -> list[Catch]:
        """Who is caught by a conviction under the same rule is not listed twice."""
        convicted = {(catch.rule, catch.who) for catch in self._convicted()}
        found = [
            (each.rule, self.name_of(each.author))
            for each_round in self.rounds
            for each in each_round.findings.removals
        ]
        return [
            Catch(rule, who, How.REMOVED) for rule, who in found if (rule, who) not in convicted
        ]

    def _refused(self) -> list[Catch]:
        """Honest parties that stopped by themselves, by whom they were lied to (04-C5)."""
        return [
            Catch(_STOPPED, self._liar_behind(error), How.REFUSED)
            for number, error in self.halted.items()
            if number in self.honest
        ]

    def _unhelped(self) -> list[Catch]:
        """Whose silence ended a round or was made up for."""
        found: list[Catch] = []
        for each in self.rounds:
            if each.findings.abort is not None:
                rule = RULE_OF[each.findings.abort]
                found += [self._catch(each, rule, at, How.NAMED) for at in each.findings.culprits]
            recovered = each.findings.recovered
            found += [self._catch(each, "04-U4", at, How.UNMASKED) for at in recovered]
        return found

    def _catch(self, each: RoundOutcome, rule: str, position: int, how: How) -> Catch:
        return Catch(rule, f"party {each.numbers[position]}", how)

    def _liar_behind(self, error: ProtocolError) -> str:
        if isinstance(error, FaultyParty):
            return self.name_of(error.party)
        if isinstance(error, SuspectedPartyOrBoard):
            return f"{self.name_of(error.party)} or board"
        return "board" if isinstance(error, FaultyBoard) else "somebody"


def accepting(report: Report) -> bool:
    """Whether an audit lets the results of a session stand."""
    return report.verdict in _ACCEPTING
