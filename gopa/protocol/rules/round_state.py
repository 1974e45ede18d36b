"""Holds what the closes of a round have established, and the base of a phase's rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeAlias, TypeVar

from commitments import Pedersen, VectorPedersen
from commitments.group import Group, PointVec
from gopa.contract.framing import NO_LEAF, Message
from gopa.contract.limits import largest_body
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import (
    Abort,
    AbortReason,
    Content,
    Members,
    Removal,
    RemovalCause,
    ResultMessage,
    Roll,
    pack_members,
)
from gopa.contract.parameters import Trust
from gopa.contract.phases import Phase
from gopa.contract.row_terms import losses_allowed
from gopa.graph import Graph
from gopa.protocol.rules.findings import (
    BeaconValue,
    Fault,
    Listed,
    PartyVerdict,
    Removed,
    Role,
    invalid,
)
from gopa.protocol.rules.mailbox import Mailbox, Sorter, nothing
from gopa.protocol.rules.roll_and_edges import (
    Commits,
    Edges,
    FirstInputs,
    FirstSeeds,
    PackedRoll,
    RollPositions,
)
from gopa.protocol.rules.row_messages import CommittedRows, JoinedRows, Proved, PublishedRows
from gopa.rounds.context import RoundContext
from gopa.rounds.graph import losses, peel
from gopa.rounds.masks import EdgeContext, SelfContext
from gopa.rounds.masks.equations import EquationPoints
from gopa.rounds.toolkit import Toolkit
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes

T = TypeVar("T")


RootAt: TypeAlias = Callable[[int], bytes | None]


@dataclass(frozen=True, slots=True)
class Tools:
    """Holds what the evaluation computes with.

    `root_at` gives the root that the log had at a size; None where that is not known.
    """

    toolkit: Toolkit
    rng: Rng
    executor: Executor | None
    root_at: RootAt


@dataclass(slots=True)
class SessionMemory:
    """Keeps what rules about several rounds need ([J5])."""

    seeds: FirstSeeds = field(default_factory=FirstSeeds)
    inputs: FirstInputs = field(default_factory=FirstInputs)


@dataclass(frozen=True, slots=True)
class CloseInputs:
    """Holds what a close may contain besides what the rules compute."""

    checkpoint: bytes = b""
    beacon: BeaconValue | None = None
    root: bytes = NO_LEAF


@dataclass(frozen=True, slots=True)
class Sums:
    """Says that the round has a result, and which."""

    sums: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """Says that the round has no result, and why."""

    reason: AbortReason
    culprits: tuple[int, ...] = ()


Said: TypeAlias = Content | Sums | Failure


@dataclass(frozen=True, slots=True)
class PhaseDecision:
    """Says what the rules demand with one cut, and what follows once it is posted.

    `settle` stores what the decision established and returns the rules of the phase that the
    posted message opens. `laggards` did not do what the final list obliges them to ([X5]);
    `convicted` are members of it that are barred for good ([U5]). Accusations below `heard` have
    been judged. `out` says why a message does not count, for everybody whose message does not.
    """

    said: Said
    removed: tuple[Removed, ...]
    settle: Callable[[Message], PhaseRules | None]
    faults: tuple[Fault, ...] = ()
    laggards: frozenset[bytes] = frozenset()
    heard: int = 0
    convicted: frozenset[bytes] = frozenset()
    out: Mapping[bytes, PartyVerdict] = field(default_factory=dict)


@dataclass(slots=True)
class RoundState:
    """Holds what closes have established of a round. Each phase fills in its part at its close.

    `ids`, `values` and what comes with them are by position. `value_commitments` has what each
    published value opens: D_u + B_u and the signed sum of C_uv over the live edges; nothing once
    values are in.

    Where vectors are proved row by row `joined`, `rows` and `carried` have the rows of those whose
    proofs are still due, and `proved` what was said in them about masks; `disputed` are the edges
    about which listed ends disagree. `published` parties were listed at the close with the leaf
    `publish_leaf`.
    """

    tools: Tools
    context: RoundContext
    logical: int
    attempt: int
    opened: Message
    barred: frozenset[bytes]
    memory: SessionMemory
    earlier_releases: int
    mail: Mailbox
    lists: list[Listed] = field(default_factory=list)
    removals: list[Removed] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    enrolled: PackedRoll = field(default_factory=lambda: PackedRoll(Roll((), 0)))
    roll_leaf: bytes = b""
    inputs: Sequence[bytes] = ()
    seeds: Sequence[bytes] = ()

    joint: bytes = b""
    graph: Graph | None = None
    withheld: int = 0

    commit_leaf: bytes = b""
    committed: Commits = field(default_factory=Commits)
    edges: Edges | None = None
    value_commitments: PointVec | None = None

    joined: Sequence[JoinedRows] = ()
    rows: dict[int, CommittedRows] = field(default_factory=dict)
    carried: dict[int, PublishedRows] = field(default_factory=dict)
    proved: Mapping[int, Proved] = field(default_factory=dict)
    disputed: tuple[int, ...] = ()
    publish_leaf: bytes = b""
    published: int = 0
    equation_points: EquationPoints | None = None

    values: list[bytes] = field(default_factory=list)
    publish_leaves: set[bytes] = field(default_factory=set)
    openings: dict[int, SecretBytes] = field(default_factory=dict)
    late_accusations: list[Message] = field(default_factory=list)
    stray_openings: list[Message] = field(default_factory=list)
    final: tuple[int, ...] | None = None
    confirmed: tuple[int, ...] = ()
    confirmed_at: dict[int, int] = field(default_factory=dict)
    unmasked: dict[int, SecretBytes] = field(default_factory=dict)
    recovered: tuple[int, ...] = ()
    laggards: set[bytes] = field(default_factory=set)
    convicted: set[bytes] = field(default_factory=set)
    spared: frozenset[int] = frozenset()
    blamed_for_abort: tuple[int, ...] = ()
    veto: tuple[int, ...] = ()
    ended: ResultMessage | Abort | None = None
    ended_at: int | None = None

    @property
    def manifest(self) -> Manifest:
        return self.context.manifest

    @property
    def group(self) -> Group:
        return self.context.group

    @property
    def key(self) -> Pedersen | VectorPedersen:
        return self.context.key

    @property
    def number(self) -> int:
        return self.context.round

    @property
    def curious(self) -> bool:
        """Whether parties are trusted to keep the rules (section 13)."""
        return self.manifest.trust is Trust.HONEST_BUT_CURIOUS

    @property
    def recovers(self) -> bool:
        """Whether self-masks, or their seeds, are shared for recovery."""
        return self.manifest.terms.threshold is not None

    @property
    def places(self) -> RollPositions:
        """The positions of those on the roll by their keys."""
        return self.enrolled.places

    @property
    def ids(self) -> Sequence[bytes]:
        """The ids of those on the roll."""
        return self.enrolled.ids

    @property
    def members(self) -> tuple[int, ...]:
        """The last list."""
        return self.lists[-1].members if self.lists else ()

    @property
    def drawn(self) -> Graph:
        """The graph; `UsageError` before the close of coins."""
        if self.graph is None:
            raise UsageError("the coins of the round are not out")
        return self.graph

    @property
    def matched(self) -> Edges:
        """The edges; `UsageError` before the close of commit."""
        if self.edges is None:
            raise UsageError("the edges of the round are not committed")
        return self.edges

    def author(self, position: int) -> bytes:
        return self.enrolled.author(position)

    def authors(self, positions: Iterable[int]) -> tuple[bytes, ...]:
        return tuple(map(self.enrolled.author, positions))

    def edge_context(self, one: int, other: int) -> EdgeContext:
        return self.context.edge_context(self.ids[one], self.ids[other])

    def self_context(self, position: int) -> SelfContext:
        return self.context.self_context(self.ids[position])

    def neighbours(self, position: int) -> tuple[int, ...]:
        return tuple(self.drawn.neighbours(position).tolist())

    def peeled(self, inside: Iterable[int]) -> tuple[int, ...]:
        """The list without whoever lost more neighbours than it may ([L2]), again and again.

        So few masks would be left that a coalition may know all of them (`selective-dropping`).
        """
        return peel(self.drawn, inside, self.withheld, self.manifest.terms.loss)

    def losing(self, positions: Iterable[int], inside: Iterable[int]) -> bool:
        """Whether one of the parties lost more neighbours than it may, for this list ([F2])."""
        lost = losses(self.drawn, inside, self.withheld)
        return any(lost[position] > self.manifest.terms.loss for position in positions)

    def packed(self, members: Iterable[int], *, final: bool = False) -> Members:
        return Members(pack_members(members, len(self.enrolled)), final)

    def removed(
        self, verdicts: Mapping[bytes, PartyVerdict], phase: Phase, step: int = 0
    ) -> tuple[Removed, ...]:
        """The verdicts as removals, in order of keys, and so of positions."""
        rows = [
            Removed(
                author,
                self.places.get(author),
                phase,
                step,
                verdict.cause,
                verdict.rule,
                verdict.entry,
            )
            for author, verdict in verdicts.items()
        ]
        return tuple(sorted(rows, key=lambda row: row.author))

    def blamed(self, verdicts: Mapping[bytes, PartyVerdict]) -> tuple[Fault, ...]:
        """The verdicts that convict their authors."""
        return tuple(
            self.fault(author, verdict.rule, verdict.fault, verdict.entry)
            for author, verdict in sorted(verdicts.items())
            if verdict.fault and verdict.entry is not None
        )

    def fault(self, author: bytes, rule: str, what: str, *entries: int) -> Fault:
        return Fault(Role.PARTY, author, rule, what, entries, self.number)

    def shortened(
        self, members: Iterable[int], verdicts: dict[bytes, PartyVerdict]
    ) -> tuple[int, ...]:
        """The list after peeling; whoever was peeled off gets a verdict."""
        kept = tuple(members)
        left = self.peeled(kept)
        for position in set(kept) - set(left):
            verdicts[self.author(position)] = PartyVerdict(RemovalCause.LOST, "04-L2")
        return left

    def culprits(self, verdicts: Mapping[bytes, PartyVerdict]) -> tuple[int, ...]:
        """Who was missing or wrong; not who lost too many neighbours ([X1])."""
        return tuple(
            sorted(
                self.places[author]
                for author, verdict in verdicts.items()
                if verdict.cause is not RemovalCause.LOST
            )
        )

    def too_few(self, members: Sized) -> bool:
        """Whether a sum would hide each party among too few ([L3], [J6]; `too-few-go-on`)."""
        return len(members) < self.manifest.terms.survivors

    def too_many_gone(self, members: Sized) -> bool:
        """The same behind the list of publish; where points were drawn then, so many may go (14).

        Who goes when the points are known chooses among equations. With one choice too many liars
        find some that hold for a wrong sum ([P11], [K2]).
        """
        if not self.published:
            return self.too_few(members)
        terms = self.manifest.terms
        gone = self.published - len(members)
        return gone > losses_allowed(self.published, terms.survivors, terms.late)

    def settle_list(  # noqa: PLR0913 - all that a list consists of
        self,
        phase: Phase,
        cut: int,
        message: Message,
        members: tuple[int, ...],
        step: int = 0,
        *,
        final: bool = False,
    ) -> tuple[int, ...]:
        """Take the list of a posted close; its numbers are shared with the first list in memory."""
        if self.lists:
            everybody, last = self.lists[0].members, self.members
            members = last if members == last else tuple(everybody[each] for each in members)
        self.lists.append(Listed(phase, step, cut, message.index, members, final))
        return members

    def removal_rows(self) -> Iterator[Removal]:
        """Everybody on the roll that is not in the final list, in order ([Z3])."""
        rows = {each.position: each for each in self.removals}
        for position in range(len(self.enrolled)):
            if position in rows:
                yield Removal(position, rows[position].phase, rows[position].cause)

    def unmask(self, seeds: Mapping[int, SecretBytes]) -> None:
        """Keep seeds that are public now."""
        self.unmasked.update(seeds)


def fails(  # noqa: PLR0913 - all that such a decision consists of
    reason: AbortReason,
    culprits: tuple[int, ...],
    removed: tuple[Removed, ...],
    faults: tuple[Fault, ...],
    laggards: frozenset[bytes] = frozenset(),
    *,
    out: Mapping[bytes, PartyVerdict],
) -> PhaseDecision:
    """An abort that the rules demand."""
    return PhaseDecision(
        Failure(reason, culprits), removed, lambda _: None, faults, laggards, out=out
    )


@dataclass(slots=True)
class PhaseRules(ABC):
    """Judges one open phase: knows what the rules make of the messages below a cut.

    The phase began with the message `opened`. `phase` is None if nobody has anything to post;
    `step` is the number of the rollback, and 0 in other phases.
    """

    phase: ClassVar[Phase | None]

    state: RoundState
    opened: Message
    step: int = field(default=0, init=False)

    @abstractmethod
    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        """What has to be said with this cut. Changes nothing that another cut could see."""

    @abstractmethod
    def awaited(self) -> Iterable[bytes]:
        """Whose message the phase waits for."""

    def sorter(
        self,
        read: Callable[[Message], T],
        rule: str,
        *,
        missing: str = "",
        then: Callable[[], None] = nothing,
        strikes: bool = True,
    ) -> Sorter[T]:
        """Make the sorter of this phase; `missing` is `rule` unless it is given."""
        phase = self.phase
        if phase is None:
            raise UsageError("nobody posts anything in this phase")
        return Sorter(
            mailbox=self.state.mail,
            phase=phase,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(self.state.manifest, phase),
            rule=rule,
            missing=missing or rule,
            read=read,
            then=then,
            strikes=strikes,
        )


@dataclass(slots=True)
class CheckedOnce(Generic[T]):
    """Checks what a message claims once, however often a cut is tried.

    `wrong` gets the messages that are new, by their authors' keys, and says at which positions
    claims do not hold. Their authors are out by `rule`, with `fault` in words.
    """

    rule: str
    fault: str
    wrong: Callable[[Sequence[tuple[Message, T]]], Collection[int]]
    _right: dict[bytes, bool] = field(default_factory=dict)

    def require(
        self, read: dict[bytes, tuple[Message, T]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Move whoever claims what does not hold from `read` to `verdicts`."""
        new = [read[author] for author in sorted(read) if read[author][0].leaf not in self._right]
        wrong = self.wrong(new)
        for number, (message, _) in enumerate(new):
            self._right[message.leaf] = number not in wrong
        for author in sorted(read):
            message = read[author][0]
            if not self._right[message.leaf]:
                del read[author]
                verdicts[author] = invalid(self.rule, message.index, self.fault)
