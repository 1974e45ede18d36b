"""Attacks on whoever reads the log: an auditor is shown something else than what happened."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, TypeAlias

from bulletin_board import KeyKind, NoteSigner, TrustPolicy
from gopa.adversary.attack import AttackResult, Story, register, story_of
from gopa.adversary.deeds import leave, twice_later
from gopa.adversary.malicious import Malicious, script_of
from gopa.adversary.outcome import Catch, How, accepting
from gopa.adversary.setup import EXACT, FOUR, SMALL, SessionSetup
from gopa.adversary.trial import TwinFailed
from gopa.auditing import Anchors, Report, audit
from gopa.auditing.checks import BY_NUMBER
from gopa.auditing.report import Status
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.manifest import Manifest
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import new_manifest
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.protocol.simulation.randomness import SeededStreams
from gopa.protocol.simulation.setup import LOG_NAME
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

_KEPT: Final = 8
"""So many of the last entries are missing from what somebody has seen, or is shown."""

_RULE_OF_MISSING: Final = {"2.3": "11-V3", "1.5": "11-K1", "0.3": "11-I3"}


@dataclass(frozen=True, slots=True)
class ShownLog:
    """Holds a log as an auditor gets it, with the anchors that the auditor brings."""

    log: SimulatedBoard
    anchors: Anchors
    since: bytes | None = None
    receipts: tuple[bytes, ...] = ()
    session: bytes | None = None

    def audited(self) -> Report:
        """What the auditor says."""
        return audit(
            self.log.reader(),
            anchors=self.anchors,
            since=self.since,
            receipts=self.receipts,
            session=self.session,
        )


Aim: TypeAlias = Callable[[Report], bool]
"""Whether the attack reached what it was after."""

Showing: TypeAlias = Callable[[], tuple[ShownLog, ShownLog]]
"""What an honest board or organiser would show, and what is shown instead."""


@dataclass(frozen=True, slots=True)
class ShownAttack:
    """Shows an auditor what is not so."""

    name: str
    family: str
    story: Story
    expects: tuple[str, ...]
    aim: Aim
    showing: Showing

    def run(self) -> AttackResult:
        """Try it on an auditor that has accepted the honest log.

        Raises:
            TwinFailed: it has not.
        """
        honest, lie = self.showing()
        twin = honest.audited()
        if not accepting(twin):
            raise TwinFailed(f"without lies: {twin}")
        report = lie.audited()
        caught = tuple(dict.fromkeys((*_faults(report), *_missing(report))))
        found = {catch.rule for catch in caught}
        blamed = [catch.who for catch in caught if catch.how is How.CONVICTED]
        return AttackResult(
            attack=self.name,
            caught=caught,
            blamed=tuple(dict.fromkeys(blamed)),
            result="wrong" if accepting(report) else "none",
            succeeded=self.aim(report),
            missed=tuple(rule for rule in self.expects if rule not in found),
        )


def shown(
    name: str, *expects: str, aim: Aim, family: str = "board"
) -> Callable[[Showing], ShownAttack]:
    """Make an attack of a function that says what is shown, and register it."""

    def made(showing: Showing) -> ShownAttack:
        attack = ShownAttack(name, family, story_of(showing.__doc__ or ""), expects, aim, showing)
        register(attack)
        return attack

    return made


def accepted(report: Report) -> bool:
    """An audit lets what it was shown stand."""
    return accepting(report)


def unconvicted(report: Report) -> bool:
    """Nobody is convicted."""
    return not any(each.proved for each in report.faults)


@shown("truncate-log", "11-V3", aim=accepted)
def truncate_log() -> tuple[ShownLog, ShownLog]:
    """A board shows a signed beginning of the log, from before the round came to its result.

    Caught: a round that has not come to an end is missing, and never valid.
    Costs: nothing but the auditor's belief: a slow board looks the same.
    """
    log, anchors = _session(SMALL)
    return ShownLog(log, anchors), ShownLog(_copied(log, _raws(log)[:-_KEPT]), anchors)


@shown("hide-the-newest", "11-K1", aim=accepted)
def hide_the_newest() -> tuple[ShownLog, ShownLog]:
    """A board leaves out the last entry, in which a party convicts itself of two signatures.

    Without it the session is as whole as with it.

    Caught: the auditor's saved state covers more entries than it is shown.
    Costs: nothing but the auditor's belief: an old copy looks the same.
    """
    log, anchors = _session(SMALL, Malicious(1, at="publish", do=twice_later("unmask")))
    begun = _copied(log, _raws(log)[:-1])
    return ShownLog(log, anchors, log.checkpoint), ShownLog(begun, anchors, log.checkpoint)


@shown("rewrite-log", "05-C4", aim=accepted)
def rewrite_log() -> tuple[ShownLog, ShownLog]:
    """Board and organiser play a session twice, and show the other one than was seen before.

    In the other one a party never published; each of them is valid by itself.

    Caught: the auditor's saved state is signed by the log, and no part of what it is shown.
    Costs: the two signed states convict the board to anybody.
    """
    seen, anchors = _session(SMALL)
    other, _ = _session(SMALL, Malicious(3, at="publish", do=leave()))
    early = _copied(seen, _raws(seen)[:-_KEPT])
    return ShownLog(seen, anchors, early.checkpoint), ShownLog(other, anchors, early.checkpoint)


@shown("dropped-receipt", "05-C", aim=accepted)
def dropped_receipt() -> tuple[ShownLog, ShownLog]:
    """A board gives a party a receipt for its value, and shows a log that never had it.

    Caught: the receipt proves an entry that stands elsewhere, or nowhere.
    Costs: the receipt and the log convict the board.
    """
    log, anchors = _session(SMALL)
    other, _ = _session(SMALL, Malicious(3, at="publish", do=leave()))
    index = log.stream(_last_author(log, Phase.PUBLISH), Phase.PUBLISH, 1)[0].index
    receipts = (log.reader().receipt(index).to_bytes(),)
    return ShownLog(log, anchors, None, receipts), ShownLog(other, anchors, None, receipts)


@shown("another-manifest", "11-I3", aim=accepted, family="organiser")
def another_manifest() -> tuple[ShownLog, ShownLog]:
    """The organiser announces one manifest and runs the session under another one.

    Caught: the auditor brings the hash of the manifest that was announced.
    Costs: what was announced has no result.
    """
    announced, anchors = _session(SMALL)
    other, elsewhere = _session(replace(SMALL, seed=b"another manifest"))
    told = replace(elsewhere, manifest=anchors.manifest)
    session = other.entries[0].entry.session
    return ShownLog(announced, anchors), ShownLog(other, told, session=session)


@shown("manifest-claims-too-much", "04-S3", aim=unconvicted, family="organiser")
def manifest_claims_too_much() -> tuple[ShownLog, ShownLog]:
    """The organiser claims a smaller delta than its plan is worth.

    Caught: everybody recomputes what the terms are worth; parties refuse to take part.
    Costs: the log convicts it, and nobody joins.
    """
    log, anchors = _session(SMALL)
    return ShownLog(log, anchors), _manifest_alone(FOUR, delta=Decimal("0.000001"))


@shown("exact-downgrade", "11-I3", aim=accepted, family="organiser")
def exact_downgrade() -> tuple[ShownLog, ShownLog]:
    """The organiser announces a session with noise, and runs one without it in its place.

    Caught: the auditor brings the hash of the manifest that was announced; a party joins no
    session without noise unless its own policy accepts exact sums.
    Costs: what was announced has no result, and parties refuse.
    """
    announced, anchors = _session(SMALL)
    other, elsewhere = _session(EXACT)
    told = replace(elsewhere, manifest=anchors.manifest)
    session = other.entries[0].entry.session
    return ShownLog(announced, anchors), ShownLog(other, told, session=session)


@shown("second-exact-sum", "04-S5", aim=unconvicted, family="organiser")
def second_exact_sum() -> tuple[ShownLog, ShownLog]:
    """The organiser plans a charged retry without noise, so as to compare two exact sums.

    It would end the first attempt behind the sum, and lose one party before the second: what
    the sums differ by is that party's value.

    Caught: without noise a manifest has no charged retry; parties refuse to take part.
    Costs: the log convicts it, and nobody joins.
    """
    log, anchors = _session(EXACT)
    return ShownLog(log, anchors), _manifest_alone(EXACT.terms, charged=1)


def _manifest_alone(terms: Terms, **changes: Any) -> ShownLog:
    """A log that holds a manifest with these other terms, and nothing else."""
    streams = SeededStreams(b"a manifest that claims too much")
    signer = NoteSigner(LOG_NAME, KeyKind.LOG, SecretBytes(streams.named("log")(32)))
    organiser = SigningKey.generate(streams.named("organiser"))
    drawn = streams.named("keys")
    keys = sorted(SigningKey.generate(drawn).public.data for _ in range(terms.parties))
    honest = new_manifest(
        terms,
        keys,
        organiser=organiser.public.data,
        log=signer.verifier,
        rng=streams.named("salt"),
        setting=replace(SMALL.setting, simulation=True),
        policy=None,
    )
    manifest = replace(honest, terms=replace(honest.terms, **changes))
    place = MessageSlot(manifest.session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
    board = SimulatedBoard(signer)
    board.post(sign_message(manifest.to_bytes(), place, organiser).entries)
    return ShownLog(board, _anchors(signer, manifest))


def _session(setup: SessionSetup, *liars: Malicious) -> tuple[SimulatedBoard, Anchors]:
    simulation = setup.simulation(script_of(liars))
    simulation.run_round(setup.inputs())
    board = simulation.parties[0].access.board
    return board, _anchors(board.signer, simulation.manifest)


def _anchors(signer: NoteSigner, manifest: Manifest) -> Anchors:
    digest = hashlib.sha256(manifest.to_bytes()).digest()
    return Anchors(TrustPolicy.single_log(signer.verifier), digest)


def _raws(log: SimulatedBoard) -> Sequence[bytes]:
    return list(log.reader().entries())


def _copied(log: SimulatedBoard, raws: Sequence[bytes]) -> SimulatedBoard:
    """Another log under the same key."""
    copy = SimulatedBoard(log.signer)
    copy.post(raws)
    return copy


def _last_author(log: SimulatedBoard, phase: Phase) -> bytes:
    """Who posted the last entry of a phase."""
    return [each.entry.author.data for each in log.entries if each.entry.phase == phase][-1]


def _faults(report: Report) -> Iterable[Catch]:
    for each in report.faults:
        who = "organiser" if each.author else each.culprit.value
        yield Catch(each.rule, who, How.CONVICTED if each.proved else How.NOTICED)


def _missing(report: Report) -> Iterable[Catch]:
    """Checks that could not be made for want of something."""
    for each in report.checks:
        if each.status is Status.MISSING:
            number = each.check.number
            rule = _RULE_OF_MISSING.get(number, BY_NUMBER[number].rules[0])
            yield Catch(rule, "board", How.NOTICED)
