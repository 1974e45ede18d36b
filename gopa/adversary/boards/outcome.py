"""What came of a served session: every fork as an auditor sees it, and how everybody ended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bulletin_board import Entry, Submission, TrustPolicy
from gopa.adversary.boards.clients import HonestClient
from gopa.adversary.boards.log_fork import LogFork
from gopa.adversary.boards.lying_client import TurnedAway, rule_of
from gopa.adversary.boards.served_session import ServedSession
from gopa.adversary.outcome import PASSED_OVER, Catch, How, accepting
from gopa.auditing import Anchors, Report, audit
from gopa.auditing.evidence import FORKED, Evidence, Fork
from gopa.auditing.judging import judge
from gopa.auditing.report import Culprit
from gopa.contract.framing import Posted
from gopa.contract.phases import Phase
from gopa.contract.row_terms import sums_of_positions
from gopa.protocol.rules import Findings, LogCheck
from gopa.protocol.rules.closes import RULE_OF
from gopa.rounds.toolkit import Toolkit
from wire.errors import FaultyBoard, FaultyParty, InvalidProof, ProtocolError


@dataclass(frozen=True, slots=True)
class ForkOutcome:
    """One history: what the rules find in it, and what an audit of it says.

    `right` is False for a sum that cannot be that of the inputs of those included and their
    noise. `passed_over` are rules by which entries count for nothing, with their authors.
    """

    findings: Findings
    report: Report
    right: bool
    passed_over: tuple[tuple[str, bytes], ...] = ()

    @property
    def has_result(self) -> bool:
        """Whether it ends with a sum that an audit lets stand."""
        rounds = self.findings.rounds
        return accepting(self.report) and bool(rounds) and rounds[-1].sums is not None


@dataclass(frozen=True, slots=True)
class End:
    """How one honest party ended.

    `convicts` says whether what its vault has kept convicts the board, by the judge of evidence.
    """

    number: int
    included: bool
    error: BaseException | None
    convicts: bool
    readings: int
    noted: tuple[ProtocolError, ...]
    timed_out: bool


@dataclass(frozen=True, slots=True)
class ServedOutcome:
    """What came of a served session; its parties are honest but for the `liars`.

    `said` is every entry that anybody handed to the network, whichever fork got it, if any.
    `stuck` says what never happened. `turned_away` is what the board did not take of liars,
    `strangers` are those that it did not put up with. `overtaken` says that a board refused
    to come back from a backup.
    """

    keys: tuple[bytes, ...]
    organiser: bytes
    honest_organiser: bool
    forks: tuple[ForkOutcome, ...]
    ends: tuple[End, ...]
    said: tuple[Entry, ...]
    organiser_error: BaseException | None
    stuck: str = ""
    liars: frozenset[int] = frozenset()
    turned_away: tuple[TurnedAway, ...] = ()
    overtaken: bool = False
    strangers: tuple[Catch, ...] = ()

    @property
    def caught(self) -> tuple[Catch, ...]:
        """Everything that stopped somebody, each rule once for each of them."""
        found = (
            *self._convicted(),
            *self._refused(),
            *self._removed(),
            *self._unhelped(),
            *self._noticed(),
            *self._passed_over(),
            *self.strangers,
        )
        return tuple(dict.fromkeys(found))

    @property
    def blamed(self) -> tuple[str, ...]:
        """Who is convicted to anybody, in words."""
        names = [each.who for each in self.caught if each.how is How.CONVICTED]
        return tuple(dict.fromkeys(names))

    @property
    def result(self) -> str:
        """`right`, `wrong`, or `none`: what readers of any fork end up with."""
        found = [each for each in self.forks if each.has_result]
        if not found:
            return "none"
        return "right" if all(each.right for each in found) else "wrong"

    def name_of(self, key: bytes) -> str:
        """A key in words."""
        if key in self.keys:
            return f"party {self.keys.index(key)}"
        return "organiser" if key == self.organiser else "stranger"

    def _convicted(self) -> Iterator[Catch]:
        if any(each.convicts for each in self.ends):
            yield Catch("05-C4", "board", How.CONVICTED)
        for fork in self.forks:
            for each in fork.report.faults:
                if each.proved:
                    who = self.name_of(each.author) if each.author else each.culprit.value
                    yield Catch(each.rule, who, How.CONVICTED)

    def _refused(self) -> Iterator[Catch]:
        for end in self.ends:
            if isinstance(end.error, FaultyParty):
                yield Catch("04-C5", self.name_of(end.error.party), How.REFUSED)
        stopped = [*(end.error for end in self.ends), self.organiser_error]
        if any(isinstance(error, FaultyBoard) for error in stopped):
            yield Catch("05-C3", "board", How.REFUSED)

    def _removed(self) -> Iterator[Catch]:
        for fork in self.forks:
            for each in (removed for found in fork.findings.rounds for removed in found.removals):
                yield Catch(each.rule, self.name_of(each.author), How.REMOVED)

    def _unhelped(self) -> Iterator[Catch]:
        """Whose silence ended a round, or was made up for."""
        for each in (found for fork in self.forks for found in fork.findings.rounds):
            if each.abort is not None:
                rule = RULE_OF[each.abort]
                for at in each.culprits:
                    yield Catch(rule, self.name_of(each.roll[at]), How.NAMED)
            for at in each.recovered:
                yield Catch("04-U4", self.name_of(each.roll[at]), How.UNMASKED)

    def _passed_over(self) -> Iterator[Catch]:
        """What counts for nothing, in the log or because it never got there."""
        for fork in self.forks:
            for rule, author in fork.passed_over:
                yield Catch(rule, self.name_of(author), How.IGNORED)
        for each in self.turned_away:
            rule = rule_of(each)
            if rule:
                yield Catch(rule, self.name_of(each.entry.author.data), How.TURNED_AWAY)

    def _noticed(self) -> Iterator[Catch]:
        """Lies of the board that cost a party time, and nothing else, or that it notices itself.

        Where parties lie, an accuser reads the log to be sure: that says nothing of the board.
        """
        if self.overtaken:
            yield Catch("05-W8", "board", How.NOTICED)
        for end in self.ends:
            if end.readings and not self.liars:
                yield Catch("12-W3", "board", How.NOTICED)
            if end.timed_out:
                yield Catch("12-W8", "board", How.NOTICED)
            for error in end.noted:
                rule = error.check if isinstance(error, InvalidProof) else "05-C2"
                yield Catch(rule, "board", How.NOTICED)


def outcome_of(session: ServedSession, *, honest_organiser: bool, stuck: str = "") -> ServedOutcome:
    """What the session came to. Everybody has left; the forks are still served."""
    said = [Submission.decode(raw).entry for raw in sorted(session.board.handed)]
    errors = [process.error for process in session.processes if process.error is not None]
    return ServedOutcome(
        keys=tuple(key.public.data for key in session.identities),
        organiser=session.organiser.public.data,
        honest_organiser=honest_organiser,
        forks=tuple(_fork_outcome(session, fork) for fork in session.board.forks),
        ends=tuple(_end(session, party) for party in session.parties),
        said=tuple(each for each in said if each.session == session.ticket.session),
        organiser_error=errors[0] if errors else None,
        stuck=stuck,
        liars=frozenset(each.number for each in session.liars),
        turned_away=tuple(each for liar in session.liars for each in liar.turned_away),
        overtaken=session.board.overtaken,
        strangers=tuple(session.turned_away),
    )


def _end(session: ServedSession, party: HonestClient) -> End:
    got = party.contribution
    return End(
        number=party.number,
        included=got is not None and got.included,
        error=party.error,
        convicts=_convicts(session, party.evidence),
        readings=party.readings,
        noted=tuple(party.connection.noted),
        timed_out=party.timed_out,
    )


def _convicts(session: ServedSession, evidence: bytes | None) -> bool:
    """What somebody who has nothing but the log's key says about it."""
    if evidence is None:
        return False
    policy = TrustPolicy.single_log(session.ticket.log)
    judgement = judge(Evidence(FORKED, Fork(evidence)).to_bytes(), policy=policy)
    return judgement.convicts and judgement.culprit is Culprit.BOARD


def _fork_outcome(session: ServedSession, fork: LogFork) -> ForkOutcome:
    reader = session.board.client(fork, quorum=fork is session.board.main).reader()
    digest = hashlib.sha256(session.manifest.to_bytes()).digest()
    anchors = Anchors(session.ticket.trust, digest)
    report = audit(reader, anchors=anchors, session=session.ticket.session)
    checking = LogCheck(Toolkit(), rng=os.urandom)
    authors: list[bytes] = []
    for index, raw in enumerate(reader.entries()):
        each = Submission.decode(raw)
        authors.append(each.entry.author.data)
        checking.take_leaf(index, each.leaf)
        if each.entry.session == session.ticket.session:
            checking.judge(Posted(index, each.leaf, each.entry))
    findings = checking.findings()
    passed = [(note.rule, authors[at]) for note in findings.notes for at in note.entries]
    passed_over = tuple(each for each in passed if each[0] in PASSED_OVER)
    return ForkOutcome(findings, report, _plausible(session, findings), passed_over)


def _plausible(session: ServedSession, findings: Findings) -> bool:
    """Whether every sum lies as close to that of the inputs as noise can bring it."""
    terms, keys = session.manifest.terms, [key.public.data for key in session.identities]
    for found in findings.rounds:
        if found.sums is None or found.final is None:
            continue
        included = [keys.index(found.roll[place]) for place in found.final]
        expected = map(sum, zip(*map(session.input_of, included), strict=True))
        sums = sums_of_positions(terms, found.sums, len(included))
        reach = len(included) * terms.noise.radius
        if any(abs(a - b) > reach for a, b in zip(sums, expected, strict=True)):
            return False
    return True


def of(said: Sequence[Entry], phase: Phase) -> list[Entry]:
    """What was said in a phase."""
    return [each for each in said if each.phase == phase]
