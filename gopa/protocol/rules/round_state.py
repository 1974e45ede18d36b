"""A round as its closes have established it, and the base of the rules of a phase.

Each close reaches stages: frozen records that exist from then on, and not before. To read one that
is not reached is an error of whoever reads it. What parties of a session prove is a `Proving` that
the round is made with: of numbers, or of vectors row by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from commitments import Commitment, Pedersen, VectorPedersen
from commitments.group import Group
from gopa.contract.framing import NO_LEAF, Message
from gopa.contract.limits import POINT, largest_body
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import (
    AbortReason,
    Content,
    Members,
    Removal,
    RemovalCause,
    pack_members,
)
from gopa.contract.parameters import CommitReveal, Trust
from gopa.contract.party import Commit
from gopa.contract.phases import MAY_BE_FINAL, OWED_ONCE_COMMITTED, Phase
from gopa.contract.rows import RowCommit
from gopa.graph import Graph
from gopa.protocol.rules.findings import BeaconValue, Fault, Listed, Removed, Role, SessionMemory
from gopa.protocol.rules.mailbox import (
    BreaksRule,
    CheckedAhead,
    Conviction,
    Mailbox,
    PartyVerdict,
    Sorter,
    Tools,
    nothing,
)
from gopa.protocol.rules.roll_and_edges import (
    CommitContent,
    CommitRead,
    Commits,
    CommittedEdges,
    Drawn,
    Edges,
    EnrolledRoll,
    JoinContent,
    Lies,
    Masked,
    PackedRoll,
    RollPositions,
)
from gopa.rounds.context import RoundContext
from gopa.rounds.graph import losses, peel
from gopa.rounds.masks import (
    EdgeContext,
    SelfContext,
    decode_commitments,
    decode_seed_commitments,
)
from wire.errors import UsageError
from wire.secret import SecretBytes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CloseInputs:
    """What a close may contain besides what the rules compute."""

    checkpoint: bytes = b""
    beacon: BeaconValue | None = None
    root: bytes = NO_LEAF


@dataclass(frozen=True, slots=True)
class Sums:
    """The result of the round."""

    sums: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the round has no result."""

    reason: AbortReason
    culprits: tuple[int, ...] = ()


Said: TypeAlias = Content | Sums | Failure


@dataclass(frozen=True, slots=True)
class PhaseDecision:
    """What the rules demand with one cut.

    `settle` stores what it established, once it is posted. `laggards` did not do what the final
    list obliges them to (04-X5); `convicted` are members of it that are barred for good (04-U5).
    Accusations below `heard` have been judged. `out` says why a message does not count, for
    everybody whose message does not.
    """

    said: Said
    removed: tuple[Removed, ...]
    settle: Callable[[Message], None]
    faults: tuple[Fault, ...]
    laggards: frozenset[bytes]
    heard: int
    convicted: frozenset[bytes]
    out: Mapping[bytes, PartyVerdict]


@dataclass(slots=True)
class RoundState:
    """A round: what it began with, the stages that it has reached, and what adds up meanwhile.

    `publish_leaves` are the closes from that of publish to the final one, `openings` the keys of
    edges that rollbacks opened, `confirmed_at` the indexes of confirmations by position.
    """

    tools: Tools
    context: RoundContext
    proving: Proving
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
    laggards: set[bytes] = field(default_factory=set)
    convicted: set[bytes] = field(default_factory=set)
    publish_leaves: set[bytes] = field(default_factory=set)
    openings: dict[int, SecretBytes] = field(default_factory=dict)
    confirmed_at: dict[int, int] = field(default_factory=dict)
    late_accusations: list[Message] = field(default_factory=list)
    stray_openings: list[Message] = field(default_factory=list)
    _stages: dict[type, object] = field(default_factory=dict)

    def reach(self, stage: object) -> None:
        """Keep what a close established."""
        self._stages[type(stage)] = stage

    def leave(self, stage: type) -> None:
        """Forget a stage that no later phase needs."""
        self._stages.pop(stage, None)

    def reached(self, stage: type[T]) -> T | None:
        """The stage; None before the close that reaches it."""
        return cast("T | None", self._stages.get(stage))

    def at(self, stage: type[T]) -> T:
        """The stage of this kind.

        Raises:
            UsageError: no close has reached it, or it is left.
        """
        found = self.reached(stage)
        if found is None:
            raise UsageError(f"the round has not reached {stage.__name__}")
        return found

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
    def enrolled(self) -> PackedRoll:
        """The roll of the round."""
        return self.at(EnrolledRoll).roll

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
        """The members of the last list."""
        return self.lists[-1].members

    @property
    def final(self) -> tuple[int, ...]:
        """The final list."""
        if not self.released:
            raise UsageError("the round has no final list")
        return next(each.members for each in self.lists if each.final)

    @property
    def released(self) -> bool:
        """Whether there is a final list: masked values may be of use from then on."""
        return any(each.final for each in self.lists)

    @property
    def releases(self) -> int:
        """Valid final closes of the logical round, this round included."""
        return self.earlier_releases + self.released

    @property
    def drawn(self) -> Graph:
        """The graph of the round."""
        return self.at(Drawn).graph

    @property
    def committed(self) -> Commits:
        """The commits of listed parties."""
        return self.at(CommittedEdges).commits

    @property
    def matched(self) -> Edges:
        """The edges between listed parties."""
        return self.at(CommittedEdges).edges

    def position(self, author: bytes) -> int | None:
        """Where the author stands on the roll; None if it does not, or there is none yet."""
        enrolled = self.reached(EnrolledRoll)
        return None if enrolled is None else enrolled.roll.places.get(author)

    def author(self, position: int) -> bytes:
        return self.enrolled.author(position)

    def authors(self, positions: Iterable[int]) -> tuple[bytes, ...]:
        return tuple(map(self.enrolled.author, positions))

    def edge_context(self, one: int, other: int) -> EdgeContext:
        return self.context.edge_context(self.ids[one], self.ids[other])

    def self_context(self, position: int) -> SelfContext:
        return self.context.self_context(self.ids[position])

    def dealt_commitments(self, dealer: int) -> Commitment:
        """C_0 .. C_(T-1) of a listed dealer with neighbours; C_0 is B_u unless it deals seeds."""
        coefficients = self.committed.dealt(dealer).coefficients
        count = len(coefficients) // POINT
        if self.manifest.deals_seeds:
            return decode_seed_commitments(self.group, coefficients, count)
        own = Pedersen(self.group).decode(self.committed.self_mask(dealer), 1)
        return decode_commitments(own, coefficients, count + 1)

    def require_counts(self, degree: int, commit: Commit | RowCommit) -> None:
        """Require an edge for each neighbour, and what is dealt where masks are shared (04-K1).

        The log says how many items there are, and never the message: a party with fewer edges or
        shares than it owes would be without masks, or could not be recovered (attacks
        `missing-edge`, `no-shares`).
        """
        shared = degree if self.recovers else 0
        if len(commit.edges) != degree:
            raise BreaksRule("04-K1", f"{degree} neighbours and {len(commit.edges)} edges")
        coefficients = self.manifest.coefficients(degree)
        if len(commit.coefficients) != coefficients or len(commit.shares) != shared:
            raise BreaksRule("04-K1", f"{coefficients} coefficients and {shared} shares")

    def neighbours(self, position: int) -> tuple[int, ...]:
        return tuple(self.drawn.neighbours(position).tolist())

    def peeled(self, inside: Iterable[int]) -> tuple[int, ...]:
        """The list without whoever lost more neighbours than it may (04-L2), again and again.

        So few masks would be left that a coalition may know all of them (`selective-dropping`).
        """
        return peel(self.drawn, inside, self.at(Drawn).withheld, self.manifest.terms.loss)

    def losing(self, positions: Iterable[int], inside: Iterable[int]) -> bool:
        """Whether one of the parties lost more neighbours than it may, for this list (04-F2)."""
        lost = losses(self.drawn, inside, self.at(Drawn).withheld)
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
                self.position(author),
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

    def false_mask(self, place: int, entries: tuple[int, int], *shown: int) -> Fault:
        """Convict a party by its commit, its prove message and the messages that show key or seed.

        What its proof says would shift the sum by the difference of two masks. Nobody else's
        message plays a part: none can make an honest party look so.
        """
        what = "it said something false about a mask"
        return self.fault(self.author(place), "14-K6", what, *entries, *shown)

    def convicts(self, one: Conviction) -> Fault:
        """The fault of whom an accusation convicts."""
        return self.fault(one.author, one.rule, one.what, one.entry)

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
        """Who was missing or wrong; not who lost too many neighbours (04-X1)."""
        return tuple(
            sorted(
                self.places[author]
                for author, verdict in verdicts.items()
                if verdict.cause is not RemovalCause.LOST
            )
        )

    def too_few(self, members: Sized) -> bool:
        """Whether a sum would hide each party among too few (04-L3, 04-J6; `too-few-go-on`)."""
        return len(members) < self.manifest.terms.survivors

    def settle_list(  # noqa: PLR0913 - all that a list consists of
        self,
        phase: Phase,
        cut: int,
        message: Message,
        members: tuple[int, ...],
        step: int = 0,
        *,
        final: bool = False,
    ) -> None:
        """Take the list of a posted close; its numbers are shared with the first list in memory."""
        if self.lists:
            everybody, last = self.lists[0].members, self.members
            members = last if members == last else tuple(everybody[each] for each in members)
        self.lists.append(Listed(phase, step, cut, message.index, members, final))
        if phase in MAY_BE_FINAL:
            self.publish_leaves.add(message.leaf)

    def removal_rows(self) -> Iterator[Removal]:
        """Everybody on the roll that is not in the final list, in order (04-Z3)."""
        rows = {each.position: each for each in self.removals}
        for position in range(len(self.enrolled)):
            if position in rows:
                yield Removal(position, rows[position].phase, rows[position].cause)


def _settle_nothing(_: Message) -> None:
    """An abort establishes nothing."""


@dataclass(slots=True)
class PhaseRules(ABC):
    """The judge of one open phase: what the rules make of the messages below a cut.

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

    def decision(
        self,
        said: Said,
        out: Mapping[bytes, PartyVerdict],
        *more: Fault,
        settle: Callable[[Message], None] = _settle_nothing,
        convicted: frozenset[bytes] = frozenset(),
        heard: int = 0,
    ) -> PhaseDecision:
        """What the rules demand where these verdicts keep parties out; `more` are other faults.

        Up to the final list they are removed, behind it they have failed what it obliges them to.
        """
        state, phase = self.state, self.phase
        lists = phase is not None and phase.place < Phase.CONFIRM.place
        failed = phase in OWED_ONCE_COMMITTED and not lists
        return PhaseDecision(
            said=said,
            removed=state.removed(out, phase, self.step) if phase and lists else (),
            settle=settle,
            faults=(*state.blamed(out), *more),
            laggards=frozenset(out if failed else ()),
            heard=heard,
            convicted=convicted,
            out=out,
        )

    def abort(
        self,
        reason: AbortReason,
        out: Mapping[bytes, PartyVerdict],
        *more: Fault,
        convicted: frozenset[bytes] = frozenset(),
        heard: int = 0,
    ) -> PhaseDecision:
        """An abort that the rules demand; it names who was missing or wrong."""
        failure = Failure(reason, self.state.culprits(out))
        return self.decision(failure, out, *more, convicted=convicted, heard=heard)

    def edges_owed(self) -> Mapping[int, tuple[int, ...]]:
        """The neighbours to which each party has to open an edge."""
        return {}

    def shares_owed(self) -> Mapping[int, tuple[int, ...]]:
        """Whose shares are owed, for each party that may give some."""
        return {}

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


class Proving(ABC):
    """What the parties of a session prove, and what is kept of it until it is due."""

    unproved: ClassVar[tuple[str, str]]
    """What a commit breaks whose proof does not hold, and in words."""

    proves_values: ClassVar[bool] = False
    """Whether a phase follows publish in which is proved what the values are."""

    @abstractmethod
    def read_join(self, message: Message, context: RoundContext) -> JoinContent:
        """Decode a join, and require the sizes and points that the session has (04-J2).

        With the identity for a key everybody would know all of its masks (attack `no-key`).

        Raises:
            MalformedMessage: it does not decode.
            BreaksRule: a field has another size, or a point is the identity.
        """

    def used_seed(self, message: Message, context: RoundContext) -> bytes | None:
        """C_y (or A) of a join, if it is well-formed: it counts as used from then on (04-J5)."""
        del message, context
        return None

    @abstractmethod
    def enrol(self, state: RoundState, joins: Sequence[JoinContent]) -> None:
        """Keep what those on the roll have fixed, until they commit."""

    @abstractmethod
    def commits_checked(self, tools: Tools) -> CheckedAhead[Any]:
        """What checks the claims of commits."""

    @abstractmethod
    def read_commit(self, state: RoundState, message: Message, acts_on: bytes) -> CommitRead:
        """Decode a commit, and require the sizes that graph and mode prescribe (04-K1)."""

    @abstractmethod
    def keep_commits(self, state: RoundState, commits: Mapping[int, CommitContent]) -> None:
        """Keep what later phases need of the commits that are listed, besides masks."""

    @abstractmethod
    def read_value(self, state: RoundState, message: Message) -> Masked:
        """Decode a masked value of this session. Raises `MalformedMessage` for anything else."""

    def keep_values(self, state: RoundState, values: Mapping[int, Masked]) -> None:
        """Keep what came with the values that are listed."""
        del state, values

    def disputed(self, state: RoundState) -> tuple[int, ...]:
        """The live edges about which listed ends disagree: both owe the key."""
        del state
        return ()

    def too_many_gone(self, state: RoundState, members: Sized) -> bool:
        """Whether too few are left of a list behind that of publish."""
        return state.too_few(members)

    def liars_about_edges(
        self, state: RoundState, keys: Sequence[tuple[int, SecretBytes]]
    ) -> Sequence[Lies]:
        """The ends that lied about an edge, for each key that is right by its hash."""
        del state
        return [{}] * len(keys)

    def liars_about_seeds(
        self, state: RoundState, seeds: Sequence[tuple[int, SecretBytes]]
    ) -> Lies:
        """Owners of seeds that are right by their hash who said something else about them."""
        del state, seeds
        return {}


def nonce_size(context: RoundContext) -> int:
    """The length of a nonce's hash in a join: there is one where coins are made of nonces."""
    return 32 if isinstance(context.manifest.beacon, CommitReveal) else 0
