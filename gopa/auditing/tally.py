"""Collects how each check ended, while the audit runs. `specs/11-audit.md`, [C1], [V1]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gopa.auditing.checks import BY_NUMBER, CHECKS, Status, check_of
from gopa.auditing.report import AuditFault, CheckResult, Culprit, ShownEntry, Verdict
from gopa.support.wording import answered

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
        """[V1] without what ends an audit early."""
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
