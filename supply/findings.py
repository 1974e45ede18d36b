"""What a check found, and what it could not look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What a finding breaks."""

    NOT_PINNED = "not pinned"
    NO_HASH = "no hash"
    BAD_HASH = "not a SHA-256"
    AMBIGUOUS = "two versions in one environment"
    NOT_LOCKED = "not locked"
    OUT_OF_BOUNDS = "locked outside of the stated bounds"
    DISAGREE = "lock files disagree"
    UNEXPECTED = "not understood"
    NO_CHECKSUM = "no checksum"
    FOREIGN_SOURCE = "from somewhere else"
    ADDRESS = "address of a registry"
    UNKNOWN_LICENCE = "licence unknown"
    FORBIDDEN_LICENCE = "licence not allowed"
    OTHER_LICENCE = "licence is not the recorded one"
    STALE = "recorded and gone"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that has to change before the tree is sound."""

    rule: Rule
    where: str
    subject: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.subject}: {self.rule.value}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """What one check found, how much it looked at, and what it could not see from here."""

    looked_at: str
    findings: tuple[Finding, ...]
    unseen: tuple[str, ...] = ()
