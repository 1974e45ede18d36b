"""Names what an evaluation of a log finds, and the errors by which rules blame a party.

A `PartyVerdict` is what the rules say about one party in one phase, and an error such as
`BreaksRule` is how a rule says it. Findings hold lists, removals, results, and who did what
against which rule. Two more pictures are made of them: what the organiser says next, with the
two things that the rules leave open, and a read-only view of where a session stands.

Everything here is a deterministic function of the log; `to_json` of any of it gives plain
JSON values, with bytes in hexadecimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import TypeAlias

from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.contract.organiser import (
    Abort,
    AbortReason,
    OrganiserMessage,
    RemovalCause,
    ResultMessage,
    RollEntry,
)
from gopa.contract.phases import Kind, Phase
from gopa.graph import Graph
from gopa.planning.outcome import Coins, RoundFacts
from gopa.protocol.rules.roll_and_edges import Edges
from wire.brief import Brief
from wire.errors import ProtocolError, UsageError


@dataclass(frozen=True, slots=True)
class PartyVerdict:
    """Says why a party is not in a list: cause and rule, and the entry that decided it.

    `fault` says what the author did wrong, in words; empty where nothing convicts it.
    """

    cause: RemovalCause
    rule: str
    entry: int | None = None
    fault: str = ""


class BreaksRule(ProtocolError):
    """Says that a message breaks a rule of its own: who reads it turns this into a finding."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule, message)
        self.rule = rule
        self.message = message

    def __str__(self) -> str:
        return f"[{self.rule}] {self.message}"


def absent(rule: str) -> PartyVerdict:
    """No message below the cut: nobody's fault that a log could show."""
    return PartyVerdict(RemovalCause.ABSENT, rule)


def invalid(rule: str, entry: int, fault: str = "") -> PartyVerdict:
    """A message below the cut that does not count."""
    return PartyVerdict(RemovalCause.INVALID, rule, entry, fault)


Json: TypeAlias = object


class Role(Enum):
    """Says in what part somebody broke a rule."""

    ORGANISER = "organiser"
    PARTY = "party"
    STRANGER = "stranger"
    BOARD = "board"


@dataclass(frozen=True, slots=True, repr=False)
class Fault(Brief):
    """Reports a rule that somebody broke.

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


@dataclass(frozen=True, slots=True, repr=False)
class RuleNote(Brief):
    """Notes something worth knowing that convicts nobody and changes no list.

    `count` entries show it; `entries` has the first of them.
    """

    rule: str
    what: str
    author: bytes
    entries: tuple[int, ...]
    round: int
    count: int


@dataclass(frozen=True, slots=True, repr=False)
class Listed(Brief):
    """Reports a close that the rules accept: its list, as positions of the roll.

    `step` counts rollbacks from 1 and is 0 elsewhere; `cut` is the close's, `index` its
    own place in the log.
    """

    phase: Phase
    step: int
    cut: int
    index: int
    members: tuple[int, ...]
    final: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Removed(Brief):
    """Says who is not in a list, since which phase and by which rule.

    `position` is that on the roll, or None for somebody who never was on it. `entry` is
    the index of the entry that decided it, where there is one. With the rule 04-C6 it is the
    message that the organiser cut off: it counts as absent, and nobody holds it against its
    author.
    """

    author: bytes
    position: int | None
    phase: Phase
    step: int
    cause: RemovalCause
    rule: str
    entry: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class RoundFindings(Brief):
    """Reports one round, as far as it got by the rules.

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
    abort: AbortReason | None
    culprits: tuple[int, ...]
    veto: tuple[int, ...] = ()

    @property
    def final(self) -> tuple[int, ...] | None:
        """The final list (U_fin), once a valid final close came."""
        return next((each.members for each in self.lists if each.final), None)


@dataclass(frozen=True, slots=True, repr=False)
class Findings(Brief):
    """Reports everything about one session.

    `complete` means that every logical round was brought to an end by the rules, that
    the organiser kept them throughout, and that nothing is left open.
    """

    session: bytes
    manifest: Manifest | None
    rounds: tuple[RoundFindings, ...]
    faults: tuple[Fault, ...]
    notes: tuple[RuleNote, ...]
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
) -> RoundFacts:
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
    earlier: tuple[RoundFacts, ...] = (),
    corrupt: tuple[int, ...] | None = None,
) -> RoundFacts:
    included = found.final
    if found.graph is None or included is None:
        raise UsageError("the round has no final list", "number")
    inside = set(included)
    return RoundFacts(
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


@dataclass(frozen=True, slots=True)
class BeaconValue:
    """Holds the value of one round of the session's drand chain.

    At the close of join only `round` counts: the close names it ([J7]). At the close of
    coins `signature` proves its value, with `previous` where the chain needs it ([V4]).
    """

    round: int
    signature: bytes = b""
    previous: bytes = b""


@dataclass(frozen=True, slots=True)
class Control:
    """Holds a message of the organiser, complete but for signature and place in the log.

    It goes into phase 0 of `round`, with `seq` as its first number and `previous` as the
    leaf before it, as `kind`.
    """

    kind: Kind
    round: int
    seq: int
    previous: bytes
    message: OrganiserMessage
    body: bytes


@dataclass(frozen=True, slots=True)
class RoundPicture:
    """Shows the current round, or the last one.

    `opens` is the phase that is open (with PUBLISH also ACCUSE), None when the round is
    over. Messages of that phase begin with `acts_on`, the leaf of the organiser's message
    at index `opened_at`; so does the organiser's own next one. `cut` is the last cut.

    `expected` are the Ed25519 keys of those that the open phase waits for: whoever may
    still post and has not yet. (With open admission nobody is expected in JOIN.) A
    message counts once it is whole, whatever it says. `posted` is how many messages
    the phase has.

    Positions are those of `roll`. `owed` are the neighbours to which each party has to
    open an edge in the open rollback, `dealers` whose shares each may give in RECOVER.
    `live` and `void` are pairs with the lower position first. `members` is the last list
    before confirm: from the final close on the final one.
    """

    number: int
    logical: int
    attempt: int
    opens: Phase | None
    step: int
    acts_on: bytes
    opened_at: int
    cut: int
    barred: frozenset[bytes]
    expected: frozenset[bytes]
    posted: int
    roll: Sequence[RollEntry]
    roll_leaf: bytes
    beacon_round: int
    lists: tuple[Listed, ...]
    removals: tuple[Removed, ...]
    members: tuple[int, ...]
    withheld: int
    joint: bytes
    graph: Graph | None
    edges: Edges | None
    owed: Mapping[int, tuple[int, ...]]
    dealers: Mapping[int, tuple[int, ...]]
    released: bool
    ended: ResultMessage | Abort | None

    @property
    def live(self) -> frozenset[tuple[int, int]]:
        """The edges that mask, known from the close of commit on."""
        return frozenset() if self.edges is None else self.edges.live_pairs

    @property
    def void(self) -> frozenset[tuple[int, int]]:
        """The edges between listed parties that mask nothing."""
        return frozenset() if self.edges is None else self.edges.void_pairs


@dataclass(frozen=True, slots=True)
class SessionState:
    """Says where the session stands.

    `round` is None before the first `open`. `results` counts the rounds that have one, `releases`
    the valid final closes of the logical round that is current. After `over` the rules demand
    nothing more: either all logical rounds are done (`failed` is False) or the manifest or a
    message of the organiser broke a rule (`failed`).
    """

    session: bytes
    manifest: Manifest | None
    round: RoundPicture | None
    rounds_ended: int
    results: int
    releases: int
    over: bool
    failed: bool
