"""The numbered checks of an audit, and how they ended. `specs/11-audit.md`, 11-C1 and 11-V1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gopa.auditing.report import (
    AuditFault,
    Check,
    CheckResult,
    Culprit,
    ShownEntry,
    Status,
    Verdict,
)
from gopa.support.wording import answered


def _check(number: str, question: str, *rules: str) -> Check:
    return Check(number, question, tuple(r if "-" in r else f"04-{r}" for r in rules))


CHECKS: Final = (
    _check("0.1", "is the transcript of a known kind and version?", "11-I1", "11-I5"),
    _check("0.2", "do the board's key and the quorum come from outside?", "11-I2", "11-I3"),
    _check("0.3", "is the manifest the one that was announced?", "11-I2", "11-I3"),
    _check("0.4", "is the beacon one that the auditor knows?", "11-I4"),
    _check("1.1", "did the board sign this state of its log?", "05-N"),
    _check("1.2", "did enough witnesses see it?", "05-P2"),
    _check(
        "1.3",
        "are all entries there, and do they lead to the signed root?",
        *("05-A3", "05-F3", "05-F4", "05-F5"),
    ),
    _check("1.4", "does everything that is there belong there?", "05-F2", "05-F6"),
    _check("1.5", "does the log continue what was seen of it before?", "05-C", "05-W1", "11-K1"),
    _check(
        "2.1",
        "does a manifest begin the session, and do rounds follow each other?",
        "S1",
        "X3",
        "X4",
    ),
    _check("2.2", "do the organiser's messages come in their order?", "C1"),
    _check("2.3", "has every round come to an end?", "11-V3"),
    _check("2.4", "is there one whole message for each party and phase?", "E1", "E2"),
    _check("3.1", "is every entry signed by its author?", "05-F7"),
    _check("3.2", "does every author have at most one entry in a slot?", "E3"),
    _check("3.3", "do messages answer those they claim to answer?", "E4"),
    _check("4.1", "were all authors shown the same log?", "E6", "C4"),
    _check("4.2", "were late messages left out?", "C2", "C6", "C7"),
    _check(
        "4.3",
        "do the organiser's lists match the log?",
        *("C3", "J6", "K4", "L1", "L2", "L3", "P2", "P3", "O3", "O4", "F1", "F2", "U2", "14-P8"),
    ),
    _check(
        "4.4",
        "are the coins public, and does the graph follow from them?",
        *("J7", "V1", "V2", "V3", "V4", "V5", "V6"),
    ),
    _check(
        "4.5",
        "do masks cancel, with no edge opened between two included parties?",
        *("K5", "O1", "O5", "F3"),
    ),
    _check("5.1", "do the manifest's numbers fit together?", "S2", "S4", "S5"),
    _check("5.2", "is the plan worth the privacy that it claims?", "S3"),
    _check(
        "5.3",
        "do messages have the sizes and points that they should?",
        *("J1", "J2", "J4", "J5", "K1", "K2", "A1", "A2", "14-M1", "14-L3"),
    ),
    _check("6.1", "does whoever joined know their key?", "J3"),
    _check(
        "6.2",
        "do inputs lie in the range and was noise (if any) drawn honestly, or are both as short "
        "as stated?",
        "K3",
        "K6",
        "14-P3",
    ),
    _check("6.3", "does what was published open what was committed?", "P1", "14-P6"),
    _check(
        "6.4",
        "are opened masks the committed ones?",
        *("O2", "U1", "U3", "U4", "U5", "14-P10", "14-K6"),
    ),
    _check("6.5", "are accusations true?", "A3", "A4", "A5"),
    _check(
        "7.1", "are exactly those excluded whom the rules exclude?", "X1", "X2", "X5", "X7", "Z3"
    ),
    _check("7.2", "is the sum that of the log?", "Z1", "Z2"),
    _check("7.3", "does what is said about privacy follow from the log?", "11-R2"),
)

BY_NUMBER: Final = {check.number: check for check in CHECKS}


def check_of(rule: str) -> Check:
    """Finds the check that cites a rule, exactly or by its family.

    Raises:
        KeyError: no check cites it.
    """
    for check in CHECKS:
        if rule in check.rules:
            return check
    family = rule.rstrip("0123456789abcdefghijklmnopqrstuvwxyz")
    for check in CHECKS:
        if family in check.rules:
            return check
    raise KeyError(rule)


_SPOILED: Final = frozenset({Status.MISSING, Status.ERROR, Status.NOT_IMPLEMENTED})

NEEDED: Final = frozenset({"0.1", "0.2", "0.3", "1.1", "1.3", "2.1", "2.2", "2.3", "3.1", "7.2"})
"""Nothing is VALID unless these were looked at and passed."""


@dataclass(slots=True)
class CheckTally:
    """Keeps the state of every check. One that nobody speaks about was not implemented."""

    faults: list[AuditFault] = field(default_factory=list)
    _said: dict[str, tuple[Status, str]] = field(default_factory=dict)

    def add(self, fault: AuditFault) -> None:
        """A fault; unless it was handled its check fails."""
        self.faults.append(fault)

    def say(self, number: str, status: Status, detail: str) -> None:
        """How a check ended, if no fault speaks against it. The first word counts."""
        self._said.setdefault(BY_NUMBER[number].number, (status, detail))

    def failed(self, *numbers: str) -> bool:
        """Whether a fault speaks against one of these checks."""
        return any(fault.check in numbers and not fault.handled for fault in self.faults)

    def passes(self, *numbers: str) -> bool:
        """Whether all of these were looked at and nothing speaks against them."""
        return all(self._result(number).status is Status.PASS for number in numbers)

    def results(self) -> tuple[CheckResult, ...]:
        """All checks in their order."""
        return tuple(self._result(check.number) for check in CHECKS)

    def verdict(self, *, signed_only: bool, exclusions: bool, strict: bool) -> Verdict:
        """11-V1 without what ends an audit early."""
        results = self.results()
        if any(each.status is Status.FAIL for each in results):
            return Verdict.INVALID
        if any(each.status in _SPOILED for each in results) or not self.passes(*NEEDED):
            return Verdict.INCOMPLETE
        if signed_only:
            return Verdict.SIGNED_ONLY
        return Verdict.VALID_WITH_EXCLUSIONS if strict and exclusions else Verdict.VALID

    def _result(self, number: str) -> CheckResult:
        check = BY_NUMBER[number]
        own = [fault for fault in self.faults if fault.check == number]
        handled = sum(fault.handled for fault in own)
        open_faults = [fault for fault in own if not fault.handled]
        if open_faults:
            more = f" (and {len(open_faults) - 1} more)" if len(open_faults) > 1 else ""
            return CheckResult(check, Status.FAIL, open_faults[0].got + more, handled)
        status, detail = self._said.get(number, (Status.NOT_IMPLEMENTED, "nobody looked at it"))
        return CheckResult(check, status, detail, handled)


def log_fault(  # noqa: PLR0913 - what a fault consists of
    rule: str,
    got: str,
    *,
    check: str = "",
    culprit: Culprit = Culprit.UNATTRIBUTABLE,
    author: bytes = b"",
    expected: str = "",
    entries: Iterable[ShownEntry] = (),
    proved: bool = False,
) -> AuditFault:
    """Reports something wrong with the transcript as such, outside of any round."""
    found = BY_NUMBER[check] if check else check_of(rule)
    return AuditFault(
        check=found.number,
        rule=rule,
        culprit=culprit,
        author=author,
        round=0,
        what=f"check {found.number} does not hold",
        expected=expected or answered(found.question, "pass"),
        got=got.removeprefix(f"[{rule}] "),
        entries=tuple(entries),
        proved=proved,
        handled=False,
    )
