"""What an audit found, as data. `specs/11-audit.md`, sections 3 and 4.

A report as JSON is one text for one report: 11-R3. The schema is
`docs/audit/report.schema.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Final, TypeAlias

from gopa.support.wording import NO_EPSILON, counted, other_session
from wire.brief import Brief


class Status(Enum):
    """How a check ended."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    ERROR = "error"
    MISSING = "missing"
    NOT_IMPLEMENTED = "not_implemented"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, repr=False)
class Check(Brief):
    """What is asked, in words, and the rules that it cites.

    A rule that ends without a digit, such as `05-N`, stands for its whole family.
    """

    number: str
    question: str
    rules: tuple[str, ...]

    @property
    def family(self) -> int:
        """The number of the family, from 0, what the reader brings, to 7, the result."""
        return int(self.number.partition(".")[0])


FAMILIES: Final = (
    "Input and trust",
    "Log",
    "Completeness",
    "Authenticity",
    "Consistency",
    "Encodings and parameters",
    "Evidence",
    "Result",
)


Json: TypeAlias = object

FORMAT: Final = "gopa-audit/v1"


def to_json_dict(report: Report) -> dict[str, Json]:
    """Gives plain values: text, integers, truth values, lists, objects in the schema's order."""
    return {
        "format": FORMAT,
        "verdict": report.verdict.value,
        "code": report.code,
        "summary": report.summary,
        "anchored": report.anchored,
        "anchors": _plain(report.anchors),
        "other_session": _plain(report.other_session),
        "simulation": report.simulation,
        "complete": report.complete,
        "log": _plain(report.log),
        "session": _plain(report.session),
        "rounds": _plain(report.rounds),
        "checks": [_checked(each) for each in report.checks],
        "faults": _plain(report.faults),
        "remarks": _plain(report.remarks),
        "limits": _plain(report.limits),
    }


def to_json_bytes(report: Report) -> bytes:
    """Gives ASCII with a newline at the end: the same report gives the same bytes.

    Names are strangers' words. Escaped, they cannot speak to the terminal that shows them.
    """
    encoder = json.JSONEncoder(ensure_ascii=True, indent=1, allow_nan=False)
    written = bytearray()
    # Of a large round one long text would be there several times over.
    for text in encoder.iterencode(to_json_dict(report)):
        written += text.replace("\x7f", "\\u007f").encode("ascii")
    return bytes(written) + b"\n"


def _checked(result: CheckResult) -> dict[str, Json]:
    check: Check = result.check
    return {
        "number": check.number,
        "family": FAMILIES[check.family],
        "question": check.question,
        "rules": list(check.rules),
        "status": result.status.value,
        "detail": result.detail,
        "handled": result.handled,
    }


def _plain(value: object) -> Json:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, bytes):
        return value.hex()
    return value.value if isinstance(value, Enum) else value


class Verdict(Enum):
    """How an audit ended; `code` is the exit code of `gopa audit`."""

    VALID = "VALID"
    INVALID = "INVALID"
    INCOMPLETE = "INCOMPLETE"
    UNSUPPORTED = "UNSUPPORTED VERSION"
    INTERNAL_ERROR = "INTERNAL ERROR"
    SIGNED_ONLY = "SIGNED-ONLY"
    VALID_WITH_EXCLUSIONS = "VALID WITH EXCLUSIONS"

    @property
    def code(self) -> int:
        """0 VALID, 1 INVALID, 3 INCOMPLETE, 4 unsupported, 5 internal, 6 signed, 10 exclusions.

        That of a report may be another one: see `Report.code`.
        """
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


NO_RESULT_CODE: Final = 7
"""All rules were kept, and no round has a result."""

EMBEDDED_CODE: Final = 8
"""VALID, if the keys that the transcript names itself are the right ones."""

_ESTABLISHED: Final = frozenset({Verdict.VALID, Verdict.VALID_WITH_EXCLUSIONS, Verdict.SIGNED_ONLY})


class Culprit(Enum):
    """Who is to blame for a fault."""

    PARTY = "party"
    BOARD = "board"
    WITNESS = "witness"
    ORGANISER = "organiser"
    UNATTRIBUTABLE = "unattributable"


@dataclass(frozen=True, slots=True, repr=False)
class ShownEntry(Brief):
    """An entry that shows something: its place in the log and its leaf hash.

    The hash is empty where the log ends before that place, or breaks off.
    """

    index: int
    leaf: bytes


@dataclass(frozen=True, slots=True, repr=False)
class AuditFault(Brief):
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
    entries: tuple[ShownEntry, ...]
    proved: bool
    handled: bool

    def __str__(self) -> str:
        """One line for a person; the key is shortened."""
        who = f"{self.culprit.value} {self.author.hex()[:16]}".strip()
        if self.culprit is Culprit.UNATTRIBUTABLE:
            who = "nobody can be named"
        where = ", ".join(str(each.index) for each in self.entries)
        shown = f", {'entry' if len(self.entries) == 1 else 'entries'} {where}" if where else ""
        doubt = "" if self.proved else "; not proved"
        return f"{who}: {self.got} [{self.rule}{shown}{doubt}]"


@dataclass(frozen=True, slots=True, repr=False)
class Remark(Brief):
    """Something worth knowing that is nobody's fault; `count` entries show it."""

    rule: str
    what: str
    author: bytes
    round: int
    count: int
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult(Brief):
    """How one check ended. `handled` counts faults of parties that the rules dealt with."""

    check: Check
    status: Status
    detail: str
    handled: int


@dataclass(frozen=True, slots=True, repr=False)
class Exclusion(Brief):
    """Somebody who is not in a result: since which phase, and why."""

    author: bytes
    phase: str
    cause: str
    rule: str
    entry: int | None


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyClaim(Brief):
    """Delta against one kind of adversary, with the share that bad graphs have in it."""

    against: str
    delta: str
    beta: str
    how: str


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyReport(Brief):
    """The privacy cost of one round, recomputed from the log."""

    epsilon: str
    claims: tuple[PrivacyClaim, ...]
    noise: str
    mask: str
    releases: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ListReport(Brief):
    """A close that the rules accept: `members` are positions in `joined`."""

    phase: str
    step: int
    cut: int
    index: int
    members: tuple[int, ...]
    final: bool


@dataclass(frozen=True, slots=True, repr=False)
class RoundReport(Brief):
    """One round. `sums` are in steps of the grid; estimates are decimal text, or empty.

    `joined` and `included` hold keys; `edges` and `opened` are pairs of positions in `joined`.
    Of large rounds `edges` is empty: `edge_count` has their number all the same. `total` is
    the sum in the units of the inputs. With weights `mean` is the weighted one, and `stderr` is
    empty where too little weight was contributed for a quotient to say anything. `stderr` has
    one error for each mean. `outcome` is `result`, `abort` or `open`. `vetoed` is empty unless the
    log before an abort would have carried the round on (04-X7): the index of the abort, and of
    the messages that its cut left out.
    """

    number: int
    logical: int
    attempt: int
    joined: tuple[bytes, ...]
    included: tuple[bytes, ...]
    excluded: tuple[Exclusion, ...]
    lists: tuple[ListReport, ...]
    withheld: int
    edge_count: int
    edges: tuple[tuple[int, int], ...]
    opened: tuple[tuple[int, int], ...]
    outcome: str
    sums: tuple[int, ...]
    total: tuple[str, ...]
    mean: tuple[str, ...]
    stderr: tuple[str, ...]
    abort: str
    vetoed: tuple[int, ...]
    privacy: PrivacyReport | None


class Anchor(Enum):
    """Where the reader's trust in a thing comes from."""

    OUTSIDE = "outside"
    EMBEDDED = "embedded"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, repr=False)
class Anchoring(Brief):
    """What stands on what: the board's key with its quorum, and the manifest."""

    log: Anchor
    manifest: Anchor

    @property
    def whole(self) -> bool:
        """Whether everything came from outside of the transcript."""
        return self.log is Anchor.OUTSIDE and self.manifest is Anchor.OUTSIDE


@dataclass(frozen=True, slots=True, repr=False)
class OtherSession(Brief):
    """The session of the anchors and the one in the transcript, where they are two (11-V5).

    `log` and `manifest` are the anchored ones, and empty where there is no such anchor.
    """

    log: str
    manifest: bytes
    found_log: str
    found_manifest: bytes

    def __str__(self) -> str:
        """Both of them in a sentence."""
        log, manifest = self.log, self.manifest.hex()
        return other_session(log, manifest, self.found_log, self.found_manifest.hex())


@dataclass(frozen=True, slots=True, repr=False)
class LogReport(Brief):
    """The state of the log that was read. `input` names where it was read from.

    `seen` is when a quorum of witnesses had cosigned it, by their clocks; empty without one.
    """

    input: str
    origin: str
    size: int
    root: bytes
    witnesses: tuple[str, ...]
    seen: str


@dataclass(frozen=True, slots=True, repr=False)
class SessionReport(Brief):
    """The content of the manifest."""

    session: bytes
    manifest: bytes
    title: str
    organiser: bytes
    mode: str
    path: str
    trust: str
    beacon: str
    coin_choices: str
    coin_choices_alone: str
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

    @property
    def exact(self) -> bool:
        """Whether nobody adds noise, so that results are exact sums."""
        return self.epsilon == NO_EPSILON


@dataclass(frozen=True, slots=True, repr=False)
class Report(Brief):
    """Everything an audit found. `html` makes a page of what `to_json` says.

    `anchors` says what came from outside of the transcript, `other_session` that it belongs to
    another session. `complete` says that the log was read to its end and every logical round has
    ended by the rules.
    `session` is None where no manifest could be read, `log` where nothing could.
    """

    verdict: Verdict
    summary: str
    anchors: Anchoring
    other_session: OtherSession | None
    simulation: bool
    complete: bool
    log: LogReport | None
    session: SessionReport | None
    rounds: tuple[RoundReport, ...]
    checks: tuple[CheckResult, ...]
    faults: tuple[AuditFault, ...]
    remarks: tuple[Remark, ...]
    limits: tuple[str, ...]

    def __str__(self) -> str:
        """The verdict with everything that nobody must miss."""
        return f"{self.verdict.value}: {self.summary}"

    def __repr__(self) -> str:
        passed = sum(each.status is Status.PASS for each in self.checks)
        found = [f"{passed} of {len(self.checks)} checks passed"]
        results = sum(each.outcome == "result" for each in self.rounds)
        found.append(f"{counted(results, 'result')} in {counted(len(self.rounds), 'round')}")
        if self.faults:
            found.append(counted(len(self.faults), "fault"))
        if self.simulation:
            found.append("simulation")
        return f"<Report: {self.verdict.value} (exit code {self.code}), {', '.join(found)}>"

    def _repr_html_(self) -> str:
        """The verdict with the result as a card, for notebooks."""
        from gopa.auditing.html import to_card

        return to_card(to_json_dict(self))

    @property
    def code(self) -> int:
        """The exit code of the command: 0 only for a result that stands on keys from outside.

        Else a script that asks for 0 alone would take a session without a result, or a
        transcript that vouches for itself, for one that was checked.
        """
        if self.verdict in _ESTABLISHED and all(each.outcome != "result" for each in self.rounds):
            return NO_RESULT_CODE
        embedded = Anchor.EMBEDDED in {self.anchors.log, self.anchors.manifest}
        return EMBEDDED_CODE if embedded and not self.verdict.code else self.verdict.code

    @property
    def anchored(self) -> bool:
        """Whether board key and manifest came from outside of the transcript."""
        return self.anchors.whole

    def to_json(self) -> bytes:
        """The report as canonical JSON; see `to_json_bytes`."""
        return to_json_bytes(self)
