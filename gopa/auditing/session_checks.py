"""Sorts what the rules of the protocol found into the checks of families 2 to 7."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from gopa.auditing.checks import CHECKS, CheckTally, check_of
from gopa.auditing.described import privacy_report, round_report
from gopa.auditing.reading import LogState
from gopa.auditing.report import AuditFault, Culprit, PrivacyReport, Remark, RoundReport, Status
from gopa.contract.manifest import Mode
from gopa.protocol.rules import RULES, Fault, Findings, Role
from gopa.protocol.rules.ledger import is_undecided
from gopa.support.wording import EXACT, ROLES, counted, name_of
from wire.domains import AUDIT_SPECTRUM
from wire.errors import GopaError
from wire.randomness import Rng

GROUND: Final = ("1.1", "1.3", "3.1")
"""Without these there is no log that a rule could be applied to (11-I6)."""

SESSION_CHECKS: Final = tuple(
    check.number for check in CHECKS if check.family > 1 and check.number != "3.1"
)

_CULPRITS: Final = {
    Role.ORGANISER: Culprit.ORGANISER,
    Role.PARTY: Culprit.PARTY,
    Role.STRANGER: Culprit.PARTY,
    Role.BOARD: Culprit.BOARD,
}


def check_session(state: LogState, tally: CheckTally) -> Findings | None:
    """Runs every check of the families 2 to 7 but 3.1 and 7.3. None where nothing is believed."""
    if not state.ended or tally.failed(*GROUND) or state.reading.undecodable:
        _skip(tally, "the log does not hold: nothing in it is believed")
        return None
    reading = state.reading
    if reading.halted:
        tally.say("4.4", Status.NOT_IMPLEMENTED, reading.halted)
        _skip(tally, f"the rules could not be evaluated: {reading.halted}")
        return None
    if reading.choice.chosen is None and not reading.choice.found:
        tally.say("2.1", Status.MISSING, "the log holds no manifest")
        _skip(tally, "the log holds no manifest")
        return None
    findings = reading.check.findings()
    for fault in findings.faults:
        tally.add(audit_fault(state, fault))
    _say_how_far(state, findings, tally)
    return findings


def audit_fault(state: LogState, fault: Fault) -> AuditFault:
    """Reports a fault that the rules found, but nobody who may have been shown another log."""
    by_party = fault.role in {Role.PARTY, Role.STRANGER}
    return AuditFault(
        check=check_of(fault.rule).number,
        rule=fault.rule,
        culprit=_CULPRITS[fault.role] if fault.proved else Culprit.UNATTRIBUTABLE,
        author=fault.author if fault.proved else b"",
        round=fault.round,
        what=_headline(fault),
        expected=RULES[fault.rule],
        got=fault.what,
        entries=state.shown(*fault.entries),
        proved=fault.proved,
        handled=by_party,
    )


def _headline(fault: Fault) -> str:
    """Who broke which rule when, in words."""
    who = ROLES[name_of(fault.role)] if fault.proved else "somebody who cannot be named"
    return f"{who} broke {fault.rule}" + (f" in round {fault.round}" if fault.round else "")


def remarks(state: LogState, findings: Findings | None) -> tuple[Remark, ...]:
    """Lists what convicts nobody."""
    found = []
    more = state.reading.bad_count - len(state.reading.bad)
    if more:
        found.append(Remark("05-F7", "more entries that do not belong", b"", 0, more, ()))
    notes = () if findings is None else findings.notes
    found += [
        Remark(each.rule, each.what, each.author, each.round, each.count, each.entries)
        for each in notes
    ]
    return tuple(found)


def _skip(tally: CheckTally, why: str) -> None:
    for number in SESSION_CHECKS:
        tally.say(number, Status.SKIPPED, why)


def _say_how_far(state: LogState, findings: Findings, tally: CheckTally) -> None:
    """The status of each check if no fault speaks against it."""
    ledger = state.reading.check.ledger.state
    manifest = findings.manifest
    if manifest is None and not ledger.failed:
        tally.say("2.1", Status.MISSING, "the log holds no manifest of the session")
        _skip(tally, "the log holds no manifest of the session")
        return
    if ledger.failed:
        _skip(tally, "looked at only up to the entry where the organiser broke a rule")
        return
    if manifest is not None and manifest.mode is Mode.SIGNED:
        tally.say("6.2", Status.SKIPPED, "mode signed: inputs and noise are NOT proved")
    ended = sum(each.ended_at is not None for each in findings.rounds)
    if findings.complete:
        tally.say("2.3", Status.PASS, f"{counted(ended, 'round')}, all at an end")
    else:
        tally.say("2.3", Status.MISSING, "the session goes on: audit it again when it is over")
    results = sum(each.sums is not None for each in findings.rounds)
    tally.say("7.2", Status.PASS, f"{counted(results, 'result')}, computed anew from the log")
    if manifest is not None and is_undecided(manifest):
        tally.say("5.2", Status.MISSING, "the plan is within a thousandth of what it claims")
    elsewhere = sum(note.count for note in findings.notes if note.rule == "04-E6")
    if elsewhere:
        count = counted(elsewhere, "entry", "entries")
        detail = f"{count} with a root that this log never had: that convicts nobody"
        tally.say("4.1", Status.PASS, detail)
    for number in SESSION_CHECKS:
        if number != "7.3":
            tally.say(number, Status.PASS, "" if findings.complete else "so far")


def rounds_of(
    state: LogState, findings: Findings | None, tally: CheckTally
) -> Iterator[RoundReport]:
    """Describes all rounds with their privacy cost (7.3)."""
    manifest = None if findings is None else findings.manifest
    if findings is None or manifest is None:
        return
    stated = 0
    for each in findings.rounds:
        statement: PrivacyReport | None = None
        if each.released and not manifest.terms.exact:
            try:
                statement = privacy_report(findings, each.number, _stream(state, each.number))
                stated += 1
            except (GopaError, ArithmeticError) as error:
                detail = f"of round {each.number} nothing can be said: {error}"
                tally.say("7.3", Status.ERROR, detail)
        yield round_report(manifest, each, statement)
    if manifest.terms.exact:
        tally.say("7.3", Status.PASS, f"nothing is claimed: {EXACT}")
        return
    tally.say("7.3", Status.PASS, f"computed anew for {counted(stated, 'round')}")


def _stream(state: LogState, number: int) -> Rng:
    """The random vector that certifies a large graph follows from the log (11-C4)."""
    root = b"" if state.checkpoint is None else state.checkpoint.root
    seed = hashlib.sha256(AUDIT_SPECTRUM + root + number.to_bytes(4)).digest()
    count = 0

    def draw(size: int) -> bytes:
        nonlocal count
        count += 1
        return hashlib.shake_256(seed + count.to_bytes(8)).digest(size)

    return draw
