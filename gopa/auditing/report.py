"""What an audit found, as data. `specs/11-audit.md`, sections 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gopa.auditing.checks import Check, Status


class Verdict(Enum):
    """The outcome of an audit; `code` is the exit code of `gopa audit`."""

    VALID = "VALID"
    INVALID = "INVALID"
    INCOMPLETE = "INCOMPLETE"
    UNSUPPORTED = "UNSUPPORTED VERSION"
    INTERNAL_ERROR = "INTERNAL ERROR"
    SIGNED_ONLY = "SIGNED-ONLY"
    VALID_WITH_EXCLUSIONS = "VALID WITH EXCLUSIONS"

    @property
    def code(self) -> int:
        """0 VALID, 1 INVALID, 3 INCOMPLETE, 4 unsupported, 5 internal, 6 signed, 10 exclusions."""
        return _CODES[self]


_CODES = {
    Verdict.VALID: 0,
    Verdict.INVALID: 1,
    Verdict.INCOMPLETE: 3,
    Verdict.UNSUPPORTED: 4,
    Verdict.INTERNAL_ERROR: 5,
    Verdict.SIGNED_ONLY: 6,
    Verdict.VALID_WITH_EXCLUSIONS: 10,
}


class Culprit(Enum):
    """Who is to blame for a fault."""

    PARTY = "party"
    BOARD = "board"
    WITNESS = "witness"
    ORGANISER = "organiser"
    UNATTRIBUTABLE = "unattributable"


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry that shows something: its place in the log and its leaf hash."""

    index: int
    leaf: bytes


@dataclass(frozen=True, slots=True)
class AuditFault:
    """A rule that was broken.

    `author` is an Ed25519 key, empty for the board and where nobody can be named.
    `handled` means that the rules dealt with it: it is no reason to doubt a result.
    """

    check: str
    rule: str
    culprit: Culprit
    author: bytes
    round: int
    what: str
    expected: str
    got: str
    entries: tuple[Shown, ...]
    proved: bool
    handled: bool


@dataclass(frozen=True, slots=True)
class Remark:
    """Something worth knowing that is nobody's fault; `count` entries show it."""

    rule: str
    what: str
    author: bytes
    round: int
    count: int
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How one check ended. `handled` counts faults of parties that the rules dealt with."""

    check: Check
    status: Status
    detail: str
    handled: int


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Somebody who is not in a result: since which phase, and why."""

    author: bytes
    phase: str
    cause: str
    rule: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """Delta against one kind of adversary, with the share that bad graphs have in it."""

    against: str
    delta: str
    beta: str
    how: str


@dataclass(frozen=True, slots=True)
class PrivacyReport:
    """What one round gave away, recomputed from the log."""

    epsilon: str
    claims: tuple[Claimed, ...]
    noise: str
    mask: str
    releases: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundReport:
    """One round. `sums` are in steps of the grid; estimates are decimal text, or empty lists.

    `joined` and `included` hold keys; `edges` and `opened` are pairs of positions in `joined`.
    """

    number: int
    logical: int
    attempt: int
    joined: tuple[bytes, ...]
    included: tuple[bytes, ...]
    excluded: tuple[Exclusion, ...]
    edges: tuple[tuple[int, int], ...]
    opened: tuple[tuple[int, int], ...]
    sums: tuple[int, ...]
    mean: tuple[str, ...]
    stderr: str
    abort: str
    privacy: PrivacyReport | None


@dataclass(frozen=True, slots=True)
class LogReport:
    """The state of the log that was read. `input` names where it was read from."""

    input: str
    origin: str
    size: int
    root: bytes
    witnesses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What the manifest says."""

    session: bytes
    manifest: bytes
    title: str
    organiser: bytes
    mode: str
    trust: str
    beacon: str
    weighted: bool
    parties: int
    corrupt: int
    fewest: int
    dimension: int
    low: str
    high: str
    steps: int
    epsilon: str
    delta: str
    noise: str
    mask: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything an audit found. `to_json` and `to_html` are in `json_report` and `html_report`.

    `anchored` says that board key and manifest came from outside of the transcript.
    `session` is None where no manifest could be read, `log` where nothing could.
    """

    verdict: Verdict
    summary: str
    anchored: bool
    simulation: bool
    log: LogReport | None
    session: SessionReport | None
    rounds: tuple[RoundReport, ...]
    checks: tuple[CheckResult, ...]
    faults: tuple[AuditFault, ...]
    remarks: tuple[Remark, ...]
    limits: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return self.verdict.code
