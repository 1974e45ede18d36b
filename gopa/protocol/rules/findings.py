"""What an evaluation of a log finds, and the records that it keeps while the log is read.

Findings have lists, removals, results, and who did what against which rule. Everything here is a
deterministic function of the log; `to_json` of any of it gives plain JSON values, with bytes in
hexadecimal.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from struct import Struct
from typing import Final, TypeAlias

from gopa.contract.framing import Posted
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.contract.organiser import (
    AbortReason,
    OrganiserMessage,
    RemovalCause,
)
from gopa.contract.phases import Kind, Phase
from gopa.graph import Graph
from gopa.planning.outcome import Coins, RoundFacts
from wire.brief import Brief
from wire.errors import UsageError
from wire.packed import KeyTable, Rows

Json: TypeAlias = object


class Role(Enum):
    """The part in which somebody broke a rule."""

    ORGANISER = "organiser"
    PARTY = "party"
    STRANGER = "stranger"
    BOARD = "board"


@dataclass(frozen=True, slots=True, repr=False)
class Fault(Brief):
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


@dataclass(frozen=True, slots=True, repr=False)
class RuleNote(Brief):
    """Something worth knowing that convicts nobody and changes no list.

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


@dataclass(frozen=True, slots=True, repr=False)
class Removed(Brief):
    """Somebody who is not in a list, since which phase and by which rule.

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
    """One round, as far as it got by the rules.

    `roll` holds Ed25519 keys. `void` are the edges between listed parties that mask
    nothing, `opened` those whose keys are public, `unmasked` whose self-mask is public,
    `recovered` those among them that did not open it themselves. `released` says
    whether a valid final close came, `releases` how often that happened in the logical
    round so far. `sums` and `abort` are both None while the round goes on; a round in
    which the organiser broke a rule stays so. `culprits` are those that the abort names, but
    for whom only the cut made late. `veto` is empty unless the log before the abort would
    have carried the round on (04-X7): the index of the abort, then of what its cut left out.
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
    """Everything about one session.

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
    """The value of one round of the session's drand chain.

    At the close of join only `round` counts: the close names it (04-J7). At the close of
    coins `signature` proves its value, with `previous` where the chain needs it (04-V4).
    """

    round: int
    signature: bytes = b""
    previous: bytes = b""


@dataclass(frozen=True, slots=True)
class Control:
    """A message of the organiser, complete but for signature and place in the log.

    It goes into phase 0 of `round`, with `seq` as its first number and `previous` as the
    leaf before it, as `kind`.
    """

    kind: Kind
    round: int
    seq: int
    previous: bytes
    message: OrganiserMessage
    body: bytes


MOST_SHOWN: Final = 16

_SIZE: Final = 32
_SEEN: Final = Struct(">Q32s")


@dataclass(slots=True)
class _Count:
    shown: list[int] = field(default_factory=list)
    total: int = 0


@dataclass(slots=True)
class Notes:
    """The notes of a session: those of one kind about one author and round become one."""

    _counts: dict[tuple[int, str, str, bytes], _Count] = field(default_factory=dict)

    def add(self, rule: str, what: str, number: int, index: int, author: bytes = b"") -> None:
        """Count one more entry that shows this."""
        count = self._counts.setdefault((number, rule, what, author), _Count())
        count.total += 1
        if len(count.shown) < MOST_SHOWN:
            count.shown.append(index)

    def all(self) -> tuple[RuleNote, ...]:
        """Give all notes, in order of rounds and first entries."""
        rows = [
            RuleNote(rule, what, author, tuple(count.shown), number, count.total)
            for (number, rule, what, author), count in self._counts.items()
        ]
        return tuple(sorted(rows, key=lambda note: (note.round, note.entries, note.rule)))


@dataclass(frozen=True, slots=True)
class SeenRoot:
    """Entries whose authors had seen this root at this size (04-E6)."""

    size: int
    root: bytes
    entries: tuple[int, ...]


class Views:
    """What authors and closes say about the log: whoever has all of it compares."""

    def __init__(self) -> None:
        self._seen = KeyTable(_SEEN.size)
        self._which, self._entries = array("I"), array("Q")

    def add(self, size: int, root: bytes, index: int) -> None:
        """Keep that the entry at `index` rests on this root."""
        self._which.append(self._seen.add(_SEEN.pack(size, root)))
        self._entries.append(index)

    def sizes(self) -> Iterator[int]:
        """The sizes at which somebody saw a root."""
        return (_SEEN.unpack(seen)[0] for seen in self._seen)

    def strange(self, roots: Mapping[int, bytes]) -> tuple[SeenRoot, ...]:
        """The views of another root than the log had at that size, in order of both."""
        seen = [_SEEN.unpack(each) for each in self._seen]
        found: dict[int, list[int]] = {
            number: []
            for number in sorted(range(len(seen)), key=seen.__getitem__)
            if roots.get(seen[number][0]) != seen[number][1]
        }
        if found:
            for number, index in zip(self._which, self._entries, strict=True):
                if number in found:
                    found[number].append(index)
        return tuple(
            SeenRoot(seen[number][0], seen[number][1], tuple(entries))
            for number, entries in found.items()
        )


class Chains:
    """The last leaf of every author: `prev_own_leaf` says what its author thinks it is."""

    def __init__(self) -> None:
        self._authors, self._last = KeyTable(32), Rows(32)

    def follows(self, posted: Posted) -> bool:
        """Whether the entry names its author's last one in this session."""
        number = self._authors.add(posted.entry.author.data)
        if number == len(self._last):
            self._last.append(bytes(32))
        follows = self._last.holds(number, posted.entry.prev_own_leaf)
        self._last[number] = posted.leaf
        return follows


class FirstSeeds:
    """Every C_y (or A) of the session with the message that held it first (04-J5)."""

    def __init__(self) -> None:
        self._seeds, self._authors, self._entries = KeyTable(_SIZE), Rows(_SIZE), array("Q")

    def note(self, seed: bytes, index: int, author: bytes) -> None:
        """Note that a message of the author at this index holds the seed."""
        if self._seeds.add(seed) == len(self._entries):
            self._authors.append(author)
            self._entries.append(index)

    def first(self, seed: bytes) -> tuple[int, bytes] | None:
        """The index and the author of the first message that held it."""
        number = self._seeds.find(seed)
        return None if number is None else (self._entries[number], self._authors[number])


class FirstInputs:
    """Each party's first C_x of the logical round (04-J5); nothing in modes without any."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all inputs: a logical round begins."""
        self._authors, self._inputs = KeyTable(_SIZE), Rows(_SIZE)

    def note(self, author: bytes, given: bytes) -> None:
        """Note that the party takes part with this input."""
        if given and self._authors.add(author) == len(self._inputs):
            self._inputs.append(given)

    def allows(self, author: bytes, given: bytes) -> bool:
        """Whether the party's first input is this one, or there is none yet."""
        number = self._authors.find(author)
        return number is None or self._inputs.holds(number, given)


@dataclass(slots=True)
class SessionMemory:
    """What rules about several rounds need (04-J5)."""

    seeds: FirstSeeds = field(default_factory=FirstSeeds)
    inputs: FirstInputs = field(default_factory=FirstInputs)
