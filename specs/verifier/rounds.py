"""A round of 04: where messages go, who is in a list, who is not and why; sections 1 to 3."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

import codec
from codec import Broken, Malformed, Record, decode, require
from curve import decode_point
from manifest import (
    ACCUSE, COINS, COMMIT, CONFIRM, JOIN, PUBLISH, RECOVER, ROLLBACK, UNMASK, Manifest,
)  # fmt: skip
from masks import Masks
from proofs import Transcript

ABSENT, INVALID, STRUCK, CONVICTED, LOST = range(1, 6)
TOO_FEW_JOINED, WITHHELD, TOO_FEW_LEFT, ROLLBACKS = range(1, 5)
UNCONFIRMED, NOT_UNMASKED, ORGANISER = range(5, 8)
REPEATABLE = {ACCUSE, ROLLBACK}
KINDS = {JOIN: 16, COINS: 17, COMMIT: 18, ACCUSE: 19, PUBLISH: 20, ROLLBACK: 21, CONFIRM: 22,
         UNMASK: 23, RECOVER: 24}  # fmt: skip


def party_id(author: bytes) -> bytes:
    """Section 1."""
    return sha256(b"gopa/v1/protocol/party" + author).digest()


class Outside(Exception):
    """What this program does not check: beacons of drand."""


class Verdict(NamedTuple):
    """Why somebody is not in a list; `fault` if the entry convicts its author."""

    cause: int
    rule: str
    entry: int = -1
    fault: bool = False


class Fault(NamedTuple):
    """Who broke which rule; these entries show it."""

    round: int
    entries: tuple[int, ...]
    rule: str
    role: str
    author: bytes


class Failure(NamedTuple):
    """The round has to be aborted."""

    reason: int
    culprits: list[int]


Read: TypeAlias = dict[bytes, tuple[Record, Any]]
Out: TypeAlias = dict[bytes, Verdict]
Reading: TypeAlias = Callable[[Record], Any]


@dataclass
class Step:
    """What has to be said with one cut: a list, sums or an abort; and what follows from it."""

    said: Record | list[int] | Failure
    out: Out
    settle: Callable[[Record], None] = lambda _: None
    faults: list[Fault] = field(default_factory=list)


class Lists:
    """A round; each phase fills in what its close establishes."""

    def __init__(
        self, world: Record, number: int, logical: int, attempt: int, released: int,
        opened: Record, barred: set[bytes], early: dict[tuple[int, bytes], int],
        struck: dict[bytes, int],
    ) -> None:  # fmt: skip
        self.manifest: Manifest = world.manifest
        self.session: bytes = world.session
        self.seeds, self.inputs = world.seeds, world.inputs
        self.number, self.logical, self.attempt = number, logical, attempt
        self.released, self.barred, self.early, self.struck = released, barred, early, struck
        terms, words = self.manifest.terms, self.manifest.said.word_width
        self.tag = self.session + self.number.to_bytes(2)
        self.masks = Masks(
            self.session, self.number.to_bytes(2), terms.dimension, terms.mask_deviation, words
        )
        self.phase: int | None = JOIN
        self.step, self.acts_on, self.since = 0, opened.leaf, opened.index
        self.inbox: dict[tuple[int, bytes], Record] = {}
        self.many: dict[int, list[Record]] = {ACCUSE: [], ROLLBACK: []}
        self.late: list[Record] = []
        self.stray: list[Record] = []
        self.faults: list[Fault] = []
        self.removed: dict[bytes, tuple[int, Verdict]] = {}
        self.laggards: set[bytes] = set()
        self.roll: list[Record] | None = None
        self.ids: list[Record] = []
        self.place: dict[bytes, int] = {}
        self.graph: list[set[int]] = []
        self.roll_leaf, self.joint, self.commit_leaf, self.commit_index = b"", b"", b"", 0
        self.members: list[int] = []
        self.closed_at = 0
        self.withheld = 0
        self.commits: dict[int, Record] = {}
        self.live: dict[tuple[int, int], bytes] = {}
        self.void: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        self.values: dict[int, list[int]] = {}
        self.keys: dict[tuple[int, int], bytes] = {}
        self.leaves: set[bytes] = set()
        self.final: list[int] | None = None
        self.confirmed: dict[bytes, int] = {}
        self.own: dict[int, list[int]] = {}
        self.sums: list[int] | None = None
        self.abort: int | None = None
        self.over = False

    @property
    def releases(self) -> int:
        """[X4]: valid final closes of the logical round, this one's included."""
        return self.released + (self.final is not None)

    # Where a party's message goes: [E2], [E4]

    def route(self, message: Record) -> None:
        """A message of this round by somebody who may be a party."""
        phase, author = message.phase, message.author
        if self.roll is not None and author not in self.place:
            return
        if phase == JOIN:
            self._sow(message)
        now = ACCUSE if self.phase == PUBLISH else self.phase
        if phase == self.phase or (phase, now) == (ACCUSE, ACCUSE):
            if phase in REPEATABLE:
                self.many[phase].append(message)
            elif self.inbox.setdefault((phase, author), message) is not message:
                first = self.inbox[phase, author].index
                self.faults.append(self._fault("04-E2", author, first, message.index))
        elif now is not None and phase > now and not (phase == ROLLBACK and self.final):
            if phase not in REPEATABLE:
                self.early.setdefault((phase, author), message.index)
        elif phase == ACCUSE:
            self.late.append(message)
        elif phase == ROLLBACK and self.commit_leaf:
            self.stray.append(message)

    def _fault(self, rule: str, author: bytes, *entries: int) -> Fault:
        return Fault(self.number, entries, rule, "party", author)

    def blamed(self, out: Out) -> list[Fault]:
        """Verdicts that convict."""
        return [self._fault(v.rule, author, v.entry) for author, v in out.items() if v.fault]

    def _sort(
        self, phase: int, authors: Iterable[bytes], cut: int, rule: str, missing: str,
        read: Reading, *, strikes: bool = True,
    ) -> tuple[Read, Out]:  # fmt: skip
        """Everybody's message below the cut, or why it does not count."""
        found: Read = {}
        out: Out = {}
        for author in authors:
            message = self.inbox.get((phase, author))
            if strikes and self.struck.get(author, cut) < cut:  # [E3]
                out[author] = Verdict(STRUCK, "04-E3", self.struck[author])
            elif self.early.get((phase, author), cut) < cut:
                out[author] = Verdict(INVALID, "04-E4", self.early[phase, author])
            elif message is None or message.index >= cut:
                out[author] = Verdict(ABSENT, missing)
            else:
                content = self._judge(message, phase, self.acts_on, self.since, rule, read)
                if isinstance(content, Verdict):
                    out[author] = content
                else:
                    found[author] = message, content
        return found, out

    def _judge(
        self, message: Record, phase: int, leaf: bytes, since: int, rule: str,
        read: Reading,
    ) -> Any:  # fmt: skip
        """[E2], [E4], [S4], then what the phase demands: the content, or a Verdict."""
        index = message.index
        if (message.seq and phase not in REPEATABLE) or message.kind != KINDS[phase]:
            return Verdict(INVALID, "04-E2", index, True)
        if message.body[:32] != leaf or message.first <= since:
            return Verdict(INVALID, "04-E4", index)
        try:
            require(len(message.body) <= self.manifest.largest(phase), "04-S4")
            return read(message)
        except Broken as error:
            return Verdict(INVALID, error.rule, index, True)
        except Malformed:
            return Verdict(INVALID, rule, index, True)

    # Lists and losses: section 3

    def neighbours(self, u: int) -> list[int]:
        """In increasing position."""
        return sorted(self.graph[u])

    def losing(self, parties: Iterable[int], inside: Iterable[int]) -> set[int]:
        """[L1]: who lost more than r neighbours, if these are the ones that are left."""
        most, kept = self.manifest.terms.loss, set(inside)
        return {u for u in parties if self.withheld + len(self.graph[u] - kept) > most}

    def _peel(self, members: list[int], out: Out) -> list[int]:
        """[L2]; whoever is peeled off gets a verdict."""
        left = list(members)
        while gone := self.losing(left, left):
            left = [u for u in left if u not in gone]
        out |= {self.ids[u].author: Verdict(LOST, "04-L2") for u in set(members) - set(left)}
        return left

    def _too_few(self, members: Iterable[Any]) -> bool:
        return len(list(members)) < int(self.manifest.terms.survivors)

    def culprits(self, out: Out) -> list[int]:
        """[X1]: not those that only lost neighbours."""
        return sorted(self.place[author] for author, v in out.items() if v.cause != LOST)

    def _content(self, members: list[int], *, final: bool = False) -> Record:
        return Record(tag="members", members=self.packed(members), final=int(final))

    def packed(self, members: list[int]) -> bytes:
        """Section 2: one bit for each position of the roll."""
        return sum(1 << u for u in members).to_bytes(-(-len(self.ids) // 8), "little")

    def _authors(self, members: Iterable[int]) -> list[bytes]:
        return [self.ids[u].author for u in members]

    def _next(self, message: Record, phase: int | None, members: list[int]) -> None:
        """The posted close opens `phase`."""
        self.phase, self.members, self.closed_at = phase, members, message.index
        self.acts_on, self.since = message.leaf, message.index

    def transcript(self, purpose: bytes, leaf: bytes, author: bytes) -> Transcript:
        """What binds a party's proof ([J3], [K3])."""
        return Transcript(purpose, self.session, self.number, leaf, party_id(author))

    # [J2] and [J5], at any time

    def _read_join(self, message: Record) -> Record:
        """[J2]."""
        join: Record = decode(codec.JOIN, message.body)
        size = 32 * self.manifest.full
        nonce = 32 * (self.manifest.beacon == "commit_reveal")
        if (len(join.nonce_hash), len(join.input), len(join.seed)) != (nonce, size, size):
            raise Malformed("the fields of a join")
        for point in [join.key, join.input, join.seed] if self.manifest.full else [join.key]:
            decode_point(point)
        return join

    def _sow(self, message: Record) -> None:
        """[J5]: a C_y (or A) counts as used from its first well-formed join on."""
        try:
            seed = self._read_join(message).seed
        except Malformed:
            return
        if seed:
            self.seeds.setdefault(seed, (message.index, message.author))
