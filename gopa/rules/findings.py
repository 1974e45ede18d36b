"""What an evaluation found: lists, removals, results, and who did what against which rule.

Everything here is a deterministic function of the log; `to_json` of any of it gives plain
JSON values, with bytes in hexadecimal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import TypeAlias

from gopa.graph import Graph
from gopa.messages.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.messages.organiser import Cause, Why
from gopa.messages.phases import Phase
from gopa.planning.outcome import Coins, Outcome
from wire.errors import UsageError

Json: TypeAlias = object


class Role(Enum):
    """In what part somebody broke a rule."""

    ORGANISER = "organiser"
    PARTY = "party"
    STRANGER = "stranger"
    BOARD = "board"


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that somebody broke.

    `author` is the Ed25519 key (empty for the board), `round` the number of the round or
    0, `entries` the indexes that show it. `proved` means that these entries convict
    exactly this author to anyone. Being absent is no fault.
    """

    role: Role
    author: bytes
    rule: str
    what: str
    entries: tuple[int, ...]
    round: int
    proved: bool = True

    def __str__(self) -> str:
        """One line for a person; the key is shortened."""
        where = ", ".join(map(str, self.entries)) or "none"
        name = f" {self.author.hex()[:16]}" if self.author else ""
        doubt = "" if self.proved else "; not proved"
        return f"{self.role.value}{name}: {self.what} [{self.rule}, entries {where}{doubt}]"


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that convicts nobody and changes no list.

    `count` entries show it; `entries` has the first of them.
    """

    rule: str
    what: str
    author: bytes
    entries: tuple[int, ...]
    round: int
    count: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A close that the rules accept: its list, as positions of the roll.

    `step` counts rollbacks from 1 and is 0 elsewhere; `cut` is the close's, `index` its
    own place in the log.
    """

    phase: Phase
    step: int
    cut: int
    index: int
    members: tuple[int, ...]
    final: bool = False


@dataclass(frozen=True, slots=True)
class Removed:
    """Who is not in a list, since which phase and by which rule.

    `position` is that on the roll, or None for somebody who never was on it. `entry` is
    the index of the entry that decided it, where there is one. With the rule 04-C6 it is the
    message that the organiser cut off: it counts as absent, and nobody holds it against its
    author.
    """

    author: bytes
    position: int | None
    phase: Phase
    step: int
    cause: Cause
    rule: str
    entry: int | None = None


@dataclass(frozen=True, slots=True)
class RoundFindings:
    """One round, as far as it got by the rules.

    `roll` holds Ed25519 keys. `void` are the edges between listed parties that mask
    nothing, `opened` those whose keys are public, `unmasked` whose self-mask is public,
    `recovered` those among them that did not open it themselves. `released` says
    whether a valid final close came, `releases` how often that happened in the logical
    round so far. `sums` and `abort` are both None while the round goes on; a round in
    which the organiser broke a rule stays so. `culprits` are those that the abort names, but
    for whom only the cut made late. `veto` is empty unless the log before the abort would
    have carried the round on ([X7]): the index of the abort, then of what its cut left out.
    """

    number: int
    logical: int
    attempt: int
    opened_at: int
    ended_at: int | None
    barred: tuple[bytes, ...]
    roll: tuple[bytes, ...]
    withheld: int
    joint: bytes
    graph: Graph | None = field(compare=False)
    lists: tuple[Listed, ...]
    removals: tuple[Removed, ...]
    void: tuple[tuple[int, int], ...]
    opened: tuple[tuple[int, int], ...]
    unmasked: tuple[int, ...]
    recovered: tuple[int, ...]
    released: bool
    releases: int
    sums: tuple[int, ...] | None
    abort: Why | None
    culprits: tuple[int, ...]
    veto: tuple[int, ...] = ()

    @property
    def final(self) -> tuple[int, ...] | None:
        """U_fin, once a valid final close came."""
        return next((each.members for each in self.lists if each.final), None)


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything about one session.

    `complete` means that every logical round was brought to an end by the rules, that
    the organiser kept them throughout, and that nothing is left open.
    """

    session: bytes
    manifest: Manifest | None
    rounds: tuple[RoundFindings, ...]
    faults: tuple[Fault, ...]
    notes: tuple[Note, ...]
    complete: bool

    def to_json(self) -> dict[str, Json]:
        """Plain values for `json.dumps`; the same log gives the same ones."""
        return {
            "session": self.session.hex(),
            "manifest": None if self.manifest is None else self.manifest.to_bytes().hex(),
            "rounds": plain(self.rounds),
            "faults": plain(self.faults),
            "notes": plain(self.notes),
            "complete": self.complete,
        }


def plain(value: object) -> Json:
    """The value with bytes in hexadecimal, names of enumerations, graphs as pairs."""
    if isinstance(value, Graph):
        low, high = value.edges()
        return [[int(u), int(v)] for u, v in zip(low, high, strict=True)]
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return _plain_scalar(value)


def _plain_scalar(value: object) -> Json:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.name.lower()
    return value


def outcome_of(
    findings: Findings, number: int, *, corrupt: tuple[int, ...] | None = None
) -> Outcome:
    """The facts of round `number` for `gopa.planning.privacy.of`.

    Earlier releases of the same logical round count too. `corrupt` are positions, where
    a simulation knows them; then there must be no earlier release, whose positions are
    others. Raises `UsageError` for a round without a valid final close.
    """
    by_number = {each.number: each for each in findings.rounds}
    chosen = by_number.get(number)
    if chosen is None or findings.manifest is None or not chosen.released:
        raise UsageError("only a round with a valid final close gave anything away", "number")
    earlier = [
        each
        for each in findings.rounds
        if each.logical == chosen.logical and each.number < number and each.released
    ]
    if earlier and corrupt is not None:
        raise UsageError("corrupt parties are named for single releases", "corrupt")
    return _outcome(
        findings.manifest,
        chosen,
        tuple(_outcome(findings.manifest, each) for each in earlier),
        corrupt,
    )


def _outcome(
    manifest: Manifest,
    found: RoundFindings,
    earlier: tuple[Outcome, ...] = (),
    corrupt: tuple[int, ...] | None = None,
) -> Outcome:
    included = found.final
    if found.graph is None or included is None:
        raise UsageError("the round has no final list", "number")
    inside = set(included)
    return Outcome(
        terms=manifest.terms,
        graph=found.graph,
        included=included,
        opened=found.opened,
        void=found.void,
        unmasked=tuple(party for party in found.unmasked if party in inside),
        earlier=earlier,
        coins=_coins(manifest),
        witnessed=bool(manifest.policy) and not manifest.policy.rstrip().endswith(b"quorum none"),
        corrupt=corrupt,
    )


def _coins(manifest: Manifest) -> Coins:
    if isinstance(manifest.beacon, CommitReveal):
        return "commit-reveal"
    return "drand" if isinstance(manifest.beacon, DrandBeacon) else "simulation"
