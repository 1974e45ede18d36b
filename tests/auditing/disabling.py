"""Ways to switch one check of the auditor off, to see that nothing else stands in for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from gopa.auditing.checks import BY_NUMBER, CheckTally
from gopa.auditing.report import AuditFault, CheckResult, Status
from gopa.contract.cutting import pieces_of
from gopa.contract.framing import Message
from gopa.contract.organiser import read_control
from gopa.protocol.rules.closes import given_in
from gopa.protocol.rules.mailbox import BreaksRule
from gopa.protocol.rules.publish import AccusationJudge
from gopa.protocol.rules.rounds import RoundSequence
from gopa.rounds.real_proofs import RealProofs

Disable: TypeAlias = Callable[[pytest.MonkeyPatch], None]


def ignored(number: str) -> Disable:
    """Whatever speaks against the check is dropped: it passes."""

    def disable(patch: pytest.MonkeyPatch) -> None:
        add, result = CheckTally.add, CheckTally._result

        def add_others(tally: CheckTally, fault: AuditFault) -> None:
            if fault.check != number:
                add(tally, fault)

        def passed(tally: CheckTally, asked: str) -> CheckResult:
            if asked == number:
                return CheckResult(BY_NUMBER[number], Status.PASS, "", 0)
            return result(tally, asked)

        patch.setattr(CheckTally, "add", add_others)
        patch.setattr(CheckTally, "_result", passed)

    return disable


def together(*parts: Disable) -> Disable:
    def disable(patch: pytest.MonkeyPatch) -> None:
        for part in parts:
            part(patch)

    return disable


def replaced(target: Any, name: str, value: object) -> Disable:
    return lambda patch: patch.setattr(target, name, value)


def overlooked(number: str) -> Disable:
    """A message of the organiser that breaks a rule of the check is as if it were not there."""
    rules = set(BY_NUMBER[number].rules)

    def disable(patch: pytest.MonkeyPatch) -> None:
        accept = RoundSequence._accept

        def tolerant(rounds: RoundSequence, message: Message) -> None:
            try:
                accept(rounds, message)
            except BreaksRule as error:
                if error.rule not in rules:
                    raise
                if message.round == rounds.number and rounds.in_round:
                    rounds._seq = message.seq + len(pieces_of(message.kind, message.body))

        patch.setattr(RoundSequence, "_accept", tolerant)

    return disable


def believed(number: str) -> Disable:
    """A message of the organiser that breaks a rule of the check is taken for the right one."""
    rules = set(BY_NUMBER[number].rules)

    def disable(patch: pytest.MonkeyPatch) -> None:
        accept = RoundSequence._accept

        def tolerant(rounds: RoundSequence, message: Message) -> None:
            try:
                accept(rounds, message)
            except BreaksRule as error:
                if error.rule not in rules:
                    raise
                said = read_control(message.kind, message.body)
                cut = min(getattr(said, "cut", message.first), message.first)
                cut, given = max(cut, rounds._cut), given_in(said)
                root = rounds._tools.root_at(cut) or given.root
                right = rounds.next_control(cut, replace(given, root=root))
                assert right is not None
                accept(rounds, replace(message, kind=int(right.kind), body=right.body))

        patch.setattr(RoundSequence, "_accept", tolerant)

    return disable


def unproved(method: str) -> Disable:
    """No proof of this kind is bad."""

    def none_bad(*_: object, **__: object) -> frozenset[int]:
        return frozenset()

    return replaced(RealProofs, method, none_bad)


def nobody_convicted(patch: pytest.MonkeyPatch) -> None:
    def convict(judge: AccusationJudge, messages: Iterable[Message]) -> dict[bytes, object]:
        del judge, messages
        return {}

    patch.setattr(AccusationJudge, "convict", convict)
