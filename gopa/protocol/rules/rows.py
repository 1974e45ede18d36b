"""Vectors that are proved row by row: what their messages prove, and the phase prove.

Rows are fixed in the join (14-M1); a commit proves that input and noise are short (14-P3); words
are published, and whether they are those that their author owes is for the phase behind it. The
close of publish has fixed the words, and its leaf the points at which everybody proves. From the
close of prove on the list is judged as that of publish is in other sessions: whoever is missing had
better not have published, and an edge about which both ends disagree is opened like one that leads
out. Both ends of an edge derive its mask from its key and the close of publish: an opened key shows
of each end by itself whether it lied (14-K6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import compress
from typing import Any, ClassVar, Final, TypeAlias

from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason
from gopa.contract.phases import Phase
from gopa.contract.row_terms import losses_allowed
from gopa.contract.rows import (
    NOT_LIVE,
    PROVE,
    ROW_COMMIT,
    ROW_JOIN,
    ROW_PUBLISH,
    Prove,
    RowCommit,
)
from gopa.contract.words import check_words
from gopa.protocol.rules.mailbox import (
    BreaksRule,
    CheckedAhead,
    PartyVerdict,
    Sorter,
    Tools,
    checked_with,
)
from gopa.protocol.rules.openings import good_points
from gopa.protocol.rules.roll_and_edges import (
    CommitContent,
    CommitRead,
    Dealt,
    Drawn,
    Edges,
    JoinContent,
    Lies,
    Masked,
    PublishedValues,
)
from gopa.protocol.rules.round_state import (
    CloseInputs,
    PhaseDecision,
    PhaseRules,
    Proving,
    RoundState,
    nonce_size,
)
from gopa.rounds.context import RoundContext
from gopa.rounds.masks.equations import EquationPoints, edge_equation
from gopa.rounds.proofs import LengthClaim, MaskClaim
from gopa.rounds.rows.challenges import shape_of
from gopa.rounds.rows.statements import decoded_points
from gopa.rounds.rows.words import equation_points_at, fits_seed
from wire.errors import MalformedMessage
from wire.secret import SecretBytes
from zkp.rows.product_tests import check_tests

Rows: TypeAlias = tuple[bytes, ...]
"""Commitments to the rows of a vector, in order."""

_BATCH: Final = 16
"""So many mask proofs are checked together: each goes over all words of its author."""


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """The rows that a party fixed before the coins: of its input, its noise and pads."""

    input: Rows
    noise: Rows
    pads: Rows


@dataclass(frozen=True, slots=True)
class FixedRows:
    """The rows of everybody on the roll, until the close of commit."""

    joined: Sequence[JoinedRows]


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """What a listed party fixed before its masked words; `entry` is where it committed."""

    input: Rows
    noise: Rows
    entry: int


@dataclass(frozen=True, slots=True)
class ProvableRows:
    """The rows of those whom the close of commit lists, until their words are proved."""

    committed: Mapping[int, CommittedRows]


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """The rows that came with masked words: those of their carries, and of pads."""

    carries: Rows
    pads: Rows


@dataclass(frozen=True, slots=True)
class PublishedRows:
    """The rows that came with the words of those whom the close of publish lists."""

    carried: Mapping[int, CarriedRows]


@dataclass(frozen=True, slots=True)
class Proved:
    """What a party whose mask proof holds stated about masks: by edges, and of its own.

    `entries` are where it committed and where it proved.
    """

    edges: Mapping[int, bytes]
    own: bytes
    entries: tuple[int, int]


@dataclass(frozen=True, eq=False)
class ProvedMasks:
    """What was proved about masks, and the edges about which listed ends disagree.

    `published` parties were listed at the close of publish with this leaf.
    """

    context: RoundContext
    leaf: bytes
    published: int
    masks: Mapping[int, Proved]
    disputed: tuple[int, ...]

    @cached_property
    def points(self) -> EquationPoints:
        """The points of the round, with tables that are made once, when a key is first open."""
        return equation_points_at(self.context, self.leaf, self.published)


def require_rows(context: RoundContext, rows: Rows, count: int) -> None:
    """Require so many rows, each of which hides something (14-M1, 14-L3).

    A row that is the identity hides nothing, and no honest one is.

    Raises:
        BreaksRule: there are more or fewer, or one is no commitment.
    """
    if len(rows) != count:
        raise BreaksRule("14-M1", f"{count} rows, not {len(rows)}")
    try:
        decoded_points(context.group, b"".join(rows), count)
    except MalformedMessage:
        raise BreaksRule("14-L3", "a row that is no commitment") from None


class RowProving(Proving):
    """What is proved of vectors row by row; masks are words, behind hashes."""

    unproved: ClassVar[tuple[str, str]] = (
        "14-P3",
        "no proof that its input, and its noise, are as short as they have to be",
    )
    proves_values: ClassVar[bool] = True

    def read_join(self, message: Message, context: RoundContext) -> JoinContent:
        join, shape = ROW_JOIN.decode(message.body), shape_of(context)
        if len(join.nonce_hash) != nonce_size(context):
            raise BreaksRule("04-J2", "a hash of a nonce exactly if there are nonces")
        context.group.decode_point(join.key)
        for rows, count in (
            (join.input, shape.rows),
            (join.noise, shape.rows),
            (join.pads, shape.pad_rows),
        ):
            require_rows(context, rows, count)
        fixed = JoinedRows(join.input, join.noise, join.pads)
        given = sha256(b"".join(join.input)).digest()
        return JoinContent(join.key, join.possession, join.nonce_hash, given, fixed=fixed)

    def enrol(self, state: RoundState, joins: Sequence[JoinContent]) -> None:
        state.reach(FixedRows([join.fixed for join in joins if isinstance(join.fixed, JoinedRows)]))

    def commits_checked(self, tools: Tools) -> CheckedAhead[Any]:
        return checked_with(tools, tools.toolkit.proofs.bad_lengths)

    def read_commit(self, state: RoundState, message: Message, acts_on: bytes) -> CommitRead:
        commit, place = ROW_COMMIT.decode(message.body), state.places[message.author]
        state.require_counts(state.drawn.neighbours(place).size, commit)
        if not all(good_points(state.group, commit.coefficients)):
            raise BreaksRule("04-K2", "a point that is not valid")
        try:
            check_tests(commit.tests)
        except MalformedMessage as error:  # a large entry would show in some of them (14-T1)
            raise BreaksRule("14-P3", error.message) from None
        dealt = Dealt(b"".join(commit.coefficients), b"".join(commit.shares), message.index)
        content = CommitContent(commit.self_mask, b"", dealt)
        claim = self._length_claim(state, place, commit, acts_on)
        return CommitRead(content, b"".join(commit.edges), claim)

    def _length_claim(
        self, state: RoundState, place: int, commit: RowCommit, acts_on: bytes
    ) -> LengthClaim:
        joined = state.at(FixedRows).joined[place]
        return LengthClaim(
            context=state.context,
            acts_on=acts_on,
            party=state.ids[place],
            joint=state.at(Drawn).joint,
            input=joined.input,
            noise=joined.noise,
            pads=joined.pads,
            tests=commit.tests,
            proof=commit.proof,
        )

    def keep_commits(self, state: RoundState, commits: Mapping[int, CommitContent]) -> None:
        """Keep the rows of listed parties: their words are held against them (14-P6)."""
        joined = state.at(FixedRows).joined
        rows = {
            place: CommittedRows(joined[place].input, joined[place].noise, commit.dealt.entry)
            for place, commit in commits.items()
        }
        state.reach(ProvableRows(rows))
        state.leave(FixedRows)

    def read_value(self, state: RoundState, message: Message) -> Masked:
        publish, context = ROW_PUBLISH.decode(message.body), state.context
        check_words(publish.value, context.dimension, context.manifest.word_width)
        shape = shape_of(context)
        require_rows(context, publish.carries, shape.rows)
        require_rows(context, publish.pads, shape.pad_rows)
        return Masked(publish.value, carried=CarriedRows(publish.carries, publish.pads))

    def keep_values(self, state: RoundState, values: Mapping[int, Masked]) -> None:
        rows = {
            place: masked.carried
            for place, masked in values.items()
            if isinstance(masked.carried, CarriedRows)
        }
        state.reach(PublishedRows(rows))

    def disputed(self, state: RoundState) -> tuple[int, ...]:
        return state.at(ProvedMasks).disputed

    def too_many_gone(self, state: RoundState, members: Sized) -> bool:
        return too_many_gone(state, state.at(ProvedMasks).published, members)

    def liars_about_edges(
        self, state: RoundState, keys: Sequence[tuple[int, SecretBytes]]
    ) -> Sequence[Lies]:
        proved, found = state.at(ProvedMasks), []
        for edge, key in keys:
            ends = state.matched.ends(edge)
            right = edge_equation(proved.points, key, state.edge_context(*ends)).commitment()
            stated = {end: proved.masks[end] for end in ends if end in proved.masks}
            found.append(
                {
                    end: mask.entries
                    for end, mask in stated.items()
                    if mask.edges[edge] != right.to_bytes()
                }
            )
        return found

    def liars_about_seeds(
        self, state: RoundState, seeds: Sequence[tuple[int, SecretBytes]]
    ) -> Lies:
        proved = state.at(ProvedMasks)
        return {
            place: proved.masks[place].entries
            for place, seed in seeds
            if not fits_seed(
                proved.points, seed, state.self_context(place), proved.masks[place].own
            )
        }


def too_many_gone(state: RoundState, published: int, members: Sized) -> bool:
    """Whether more have gone since points were drawn at the close of publish than may.

    Who goes when the points are known chooses among equations. With one choice too many liars find
    some that hold for a wrong sum (14-P11, 14-K2).
    """
    terms = state.manifest.terms
    gone = published - len(members)
    return gone > losses_allowed(published, terms.survivors, terms.late)


def disputed_edges(
    edges: Edges, proved: Mapping[int, Proved], members: Collection[int]
) -> tuple[int, ...]:
    """The live edges between listed parties whose ends stated different things (14-P8, 14-K5)."""
    listed, found = frozenset(members), []
    for place in listed:
        for edge, stated in proved[place].edges.items():
            low, high = edges.ends(edge)
            if place == low and high in listed and proved[high].edges[edge] != stated:
                found.append(edge)
    return tuple(sorted(found))


@dataclass(slots=True)
class ProveRules(PhaseRules):
    """The judge from the close of publish to that of prove; `members` is L_0."""

    phase = Phase.PROVE

    members: tuple[int, ...] = field(init=False)
    _sorter: Sorter[Proved] = field(init=False)
    _proofs: CheckedAhead[MaskClaim] = field(init=False)

    def __post_init__(self) -> None:
        state = self.state
        self.members = state.members
        bad_masks = state.tools.toolkit.proofs.bad_masks
        self._proofs = checked_with(state.tools, bad_masks, batch=_BATCH)
        self._sorter = self.sorter(
            self._read, "14-P6", missing="14-P8", then=self._proofs.flush_full_batches
        )

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(self.members)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        found = self._sorter.sort(self.awaited(), cut)
        verdicts = found.out
        self._require_proofs(found.read, verdicts)
        proved = {state.places[author]: said for author, (_, said) in found.read.items()}
        members = state.shortened(sorted(proved), verdicts)
        disputed = disputed_edges(state.matched, proved, members)
        final = not disputed and not state.matched.crossing(members)
        if too_many_gone(state, len(self.members), members):
            return self.abort(AbortReason.TOO_FEW_LEFT, verdicts)
        if not final and not state.manifest.max_rollbacks:
            return self.abort(AbortReason.TOO_MANY_ROLLBACKS, verdicts)

        def settle(message: Message) -> None:
            leaf, published = self.opened.leaf, len(self.members)
            state.reach(ProvedMasks(state.context, leaf, published, proved, disputed))
            state.leave(ProvableRows)
            state.leave(PublishedRows)
            state.settle_list(Phase.PROVE, cut, message, members, final=final)

        return self.decision(state.packed(members, final=final), verdicts, settle=settle)

    def _read(self, message: Message) -> Proved:
        """Require what the author says about each of its edges, and tests of small entries (14-K4).

        An edge about which nothing is said would leave a mask that nothing is proved about: its
        author could add whatever it likes to the sum.
        """
        stated, state = PROVE.decode(message.body), self.state
        place = state.places[message.author]
        if place not in state.at(PublishedRows).carried:  # there is nothing to be proved
            raise BreaksRule("14-P8", "its author is not in the list of publish")
        neighbours = state.neighbours(place)
        if len(stated.edges) != len(neighbours):
            raise BreaksRule("14-P6", f"{len(neighbours)} neighbours and {len(stated.edges)} edges")
        edges = state.matched.find_each(place, neighbours)
        live = [edge is not None for edge in edges]
        void = [encoding for encoding, lives in zip(stated.edges, live, strict=True) if not lives]
        if any(encoding != NOT_LIVE for encoding in void):
            raise BreaksRule("14-P6", "something is said about an edge that masks nothing")
        shown = b"".join(compress(stated.edges, live))
        try:
            decoded_points(state.group, shown, sum(live))
            decoded_points(state.group, stated.self_mask, 1)
        except MalformedMessage:
            raise BreaksRule("14-P6", "a commitment that is none") from None
        try:
            check_tests(stated.tests)
        except MalformedMessage as error:  # a large carry would show in some of them (14-T1)
            raise BreaksRule("14-P6", error.message) from None
        about = {
            edge: encoding
            for edge, encoding in zip(edges, stated.edges, strict=True)
            if edge is not None
        }
        masked, rows = tuple(compress(neighbours, live)), state.at(ProvableRows).committed
        self._proofs.add(message.leaf, self._claim(place, masked, about, stated))
        return Proved(about, stated.self_mask, (rows[place].entry, message.index))

    def _require_proofs(
        self, read: dict[bytes, tuple[Message, Proved]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Remove parties whose words are not proved to be what they owe (14-P6, 14-K4).

        Stops a party that proves one input and publishes words that hide another one.
        """
        fault = "no proof that its words are its input, its noise and its masks"
        self._proofs.require(read, verdicts, "14-P6", fault)

    def _claim(
        self, place: int, neighbours: tuple[int, ...], about: Mapping[int, bytes], said: Prove
    ) -> MaskClaim:
        """The claim of a party; `about` has its live edges in the order of these neighbours."""
        state = self.state
        rows = state.at(ProvableRows).committed[place]
        carried = state.at(PublishedRows).carried[place]
        return MaskClaim(
            context=state.context,
            acts_on=self.opened.leaf,
            party=state.ids[place],
            joint=state.at(Drawn).joint,
            listed=len(self.members),
            input=rows.input,
            noise=rows.noise,
            value=state.at(PublishedValues).values[place],
            carries=carried.carries,
            pads=carried.pads,
            neighbours=neighbours,
            signs=state.matched.signs_at(list(about), place),
            edges=tuple(about.values()),
            self_mask=said.self_mask,
            tests=said.tests,
            proof=said.proof,
        )
