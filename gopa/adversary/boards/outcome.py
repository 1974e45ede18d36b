"""What came of a served session: every face as an auditor sees it, and how everybody ended."""

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
from gopa.messages.framing import Posted
from gopa.messages.phases import Phase
from gopa.rounds.toolkit import Toolkit
from gopa.rules import Findings, LogCheck
from gopa.rules.closes import RULE_OF
from wire.errors import FaultyBoard, FaultyParty, InvalidProof, ProtocolError


@dataclass(frozen=True, slots=True)
class FaceOutcome:
    """One history: what the rules find in it, and what an audit with anchors from outside says.

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
    """A served session; its parties are honest but for the `liars`.

    `said` is every entry that anybody handed to the network, whichever face got it, if any.
    `stuck` says what never happened. `turned_away` is what the board did not take of liars,
    `strangers` are those that it did not put up with. `overtaken` says that a board refused
    to come back from a backup.
    """

    keys: tuple[bytes, ...]
    organiser: bytes
    honest_organiser: bool
    faces: tuple[FaceOutcome, ...]
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
        """`right`, `wrong`, or `none`: what readers of any face end up with."""
        found = [each for each in self.faces if each.has_result]
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
        for face in self.faces:
            for each in face.report.faults:
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
        for face in self.faces:
            for each in (removed for found in face.findings.rounds for removed in found.removals):
                yield Catch(each.rule, self.name_of(each.author), How.REMOVED)

    def _unhelped(self) -> Iterator[Catch]:
        """Whose silence ended a round, or was made up for."""
        for each in (found for face in self.faces for found in face.findings.rounds):
            if each.abort is not None:
                rule = RULE_OF[each.abort]
                for at in each.culprits:
                    yield Catch(rule, self.name_of(each.roll[at]), How.NAMED)
            for at in each.recovered:
                yield Catch("04-U4", self.name_of(each.roll[at]), How.UNMASKED)

    def _passed_over(self) -> Iterator[Catch]:
        """What counts for nothing, in the log or because it never got there."""
        for face in self.faces:
            for rule, author in face.passed_over:
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


def outcome_of(stage: ServedSession, *, honest_organiser: bool, stuck: str = "") -> ServedOutcome:
    """What the session came to. Everybody has gone home; the faces are still served."""
    said = [Submission.decode(raw).entry for raw in sorted(stage.board.handed)]
    errors = [chair.error for chair in stage.chairs if chair.error is not None]
    return ServedOutcome(
        keys=tuple(key.public.data for key in stage.identities),
        organiser=stage.organiser.public.data,
        honest_organiser=honest_organiser,
        faces=tuple(_face(stage, face) for face in stage.board.faces),
        ends=tuple(_end(stage, guest) for guest in stage.guests),
        said=tuple(each for each in said if each.session == stage.ticket.session),
        organiser_error=errors[0] if errors else None,
        stuck=stuck,
        liars=frozenset(each.number for each in stage.liars),
        turned_away=tuple(each for liar in stage.liars for each in liar.turned_away),
        overtaken=stage.board.overtaken,
        strangers=tuple(stage.turned_away),
    )


def _end(stage: ServedSession, guest: HonestClient) -> End:
    got = guest.contribution
    return End(
        number=guest.number,
        included=got is not None and got.included,
        error=guest.error,
        convicts=_convicts(stage, guest.evidence),
        readings=guest.readings,
        noted=tuple(guest.through.noted),
        timed_out=guest.timed_out,
    )


def _convicts(stage: ServedSession, evidence: bytes | None) -> bool:
    """What somebody who has nothing but the log's key says about it."""
    if evidence is None:
        return False
    policy = TrustPolicy.single_log(stage.ticket.log)
    judgement = judge(Evidence(FORKED, Fork(evidence)).to_bytes(), policy=policy)
    return judgement.convicts and judgement.culprit is Culprit.BOARD


def _face(stage: ServedSession, face: LogFork) -> FaceOutcome:
    reader = stage.board.client(face, quorum=face is stage.board.main).reader()
    digest = hashlib.sha256(stage.manifest.to_bytes()).digest()
    anchors = Anchors(stage.ticket.trust, digest)
    report = audit(reader, anchors=anchors, session=stage.ticket.session)
    checking = LogCheck(Toolkit(), rng=os.urandom)
    authors: list[bytes] = []
    for index, raw in enumerate(reader.entries()):
        each = Submission.decode(raw)
        authors.append(each.entry.author.data)
        checking.take_leaf(index, each.leaf)
        if each.entry.session == stage.ticket.session:
            checking.judge(Posted(index, each.leaf, each.entry))
    findings = checking.findings()
    passed = [(note.rule, authors[at]) for note in findings.notes for at in note.entries]
    passed_over = tuple(each for each in passed if each[0] in PASSED_OVER)
    return FaceOutcome(findings, report, _plausible(stage, findings), passed_over)


def _plausible(stage: ServedSession, findings: Findings) -> bool:
    """Whether every sum lies as close to that of the inputs as noise can bring it."""
    terms, keys = stage.manifest.terms, [key.public.data for key in stage.identities]
    for found in findings.rounds:
        if found.sums is None or found.final is None:
            continue
        included = [keys.index(found.roll[place]) for place in found.final]
        expected = map(sum, zip(*map(stage.input_of, included), strict=True))
        reach = len(included) * terms.noise.radius
        if any(abs(a - b) > reach for a, b in zip(found.sums, expected, strict=True)):
            return False
    return True


def of(said: Sequence[Entry], phase: Phase) -> list[Entry]:
    """What was said in a phase."""
    return [each for each in said if each.phase == phase]
