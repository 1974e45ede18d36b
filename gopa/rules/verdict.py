"""What the rules say about one party in one phase, and the errors by which they say it."""

from __future__ import annotations

from dataclasses import dataclass

from gopa.messages.organiser import Cause
from wire.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a party is not in a list: cause and rule, and the entry that decided it.

    `fault` says what the author did wrong, in words; empty where nothing convicts it.
    """

    cause: Cause
    rule: str
    entry: int | None = None
    fault: str = ""


class BreaksRule(ProtocolError):
    """A message that breaks a rule of its own: who reads it turns this into a finding."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule, message)
        self.rule = rule
        self.message = message

    def __str__(self) -> str:
        return f"[{self.rule}] {self.message}"


def absent(rule: str) -> Verdict:
    """No message below the cut: nobody's fault that a log could show."""
    return Verdict(Cause.ABSENT, rule)


def invalid(rule: str, entry: int, fault: str = "") -> Verdict:
    """A message below the cut that does not count."""
    return Verdict(Cause.INVALID, rule, entry, fault)
