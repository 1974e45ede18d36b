"""What a party knows between two events. Each step consumes one stage and makes the next.

A stage holds what later stages need and nothing else: one that has confirmed has no key
of an edge left to open, one that has ended has no secret at all. `specs/04-protocol.md`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from commitments import Opening
from commitments.group import Group, SecretScalar, SecretScalarVec
from gopa.contract.framing import NO_LEAF
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.events import Fetch, Part, Post
from gopa.protocol.party.reading import Closed, DecodedRoll, RoundView
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import EdgeMasks, Share, SharedPoint
from gopa.rounds.rows.inputs import RowInput, RowNoise
from gopa.rounds.rows.words import MaskedVector
from wire.errors import ProtocolError, UsageError
from wire.secret import Guarded, SecretBytes
from zkp.noise import NoiseSeed

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundInput(Guarded):
    """The input of one logical round. In full mode with the one opening it ever has.

    Where vectors are proved row by row `rows` are that, and `commitment` is all of them.
    """

    logical: int
    values: Sequence[int]
    opening: Opening | None = None
    commitment: bytes = b""
    rows: RowInput | None = None

    def hidden(self, group: Group) -> SecretScalarVec:
        """Secrets that differ from those of any other input: its blindings, if it has some."""
        if self.rows is not None:
            return self.rows.rows.blindings
        if self.opening is not None:
            return self.opening.blindings
        digest = hashlib.sha256(np.array(self.values, "<i8").tobytes()).digest()
        return group.reduce_scalars(digest, len(digest)).secret()

    @property
    def blindings(self) -> bytes:
        """What hides it in its commitment, in bytes: to be kept as the values are."""
        if self.rows is not None:
            return self.rows.rows.blindings.reveal().to_bytes()
        return b"" if self.opening is None else self.opening.blindings.reveal().to_bytes()


@dataclass(frozen=True, slots=True)
class AttemptCount:
    """The attempts as a party counts them itself, over all rounds (04-X3, 04-X4).

    `releases` of the current logical round had a valid final close; `decided`: it has a
    result. `excused`: the party may be barred from its next attempt (04-X5).
    """

    logical: int = 0
    attempts: int = 0
    releases: int = 0
    decided: bool = False
    excused: bool = False


@dataclass(frozen=True, slots=True)
class RoundOpened:
    """The message that opened the round."""

    context: RoundContext
    leaf: bytes
    logical: int
    attempt: int


@dataclass(frozen=True, slots=True)
class BetweenRounds:
    """The state between rounds, and before the manifest."""


@dataclass(frozen=True, slots=True)
class Invited:
    """The state in which the input of the logical round that has opened is awaited."""

    opened: RoundOpened


@dataclass(frozen=True, slots=True)
class Outside:
    """Waits for the next round: the party has left this one and keeps no secret of it (04-X6)."""

    opened: RoundOpened
    part: Part


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joined(Guarded):
    """The wait for the roll; the join is posted."""

    opened: RoundOpened
    given: RoundInput
    secret: SecretScalar
    key: bytes
    nonce: SecretBytes | None
    nonce_hash: bytes
    seeds: NoiseSeed | None
    rows: RowNoise | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Enrolled(Guarded):
    """The wait for the coins: the party is on the roll, and with commit-reveal posts its nonce.

    `noted` is the time at which a party that was told one knew the roll.
    """

    joined: Joined
    enrolment: DecodedRoll
    leaf: bytes
    cut: int
    noted: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Checking(Guarded):
    """The reading of what others signed before the coins came out; nothing is committed yet.

    `nonces` are those that the close of coins lists, in the order of members.
    """

    enrolled: Enrolled
    view: RoundView
    leaf: bytes
    nonces: tuple[bytes, ...]
    wanted: Fetch


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeSecret(Guarded):
    """What both ends of an edge derive. `posted` is what this end committed to."""

    shared: SharedPoint
    key: SecretBytes
    sign: int
    posted: bytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowVectors(Guarded):
    """An input, and the noise of a round whose pads are used up."""

    given: RoundInput
    drawn: RowNoise

    @property
    def input(self) -> RowInput:
        """The rows of the input; raises `UsageError` if it has none."""
        if self.given.rows is None:
            raise UsageError("vectors that are proved row by row have rows")
        return self.given.rows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnprovedWords(Guarded):
    """Masked words that are posted, and what there is to prove about them (14-P7)."""

    vectors: RowVectors
    masked: MaskedVector


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Committed(Guarded):
    """The wait for the list of commit; the party's own masks and noisy input are committed to.

    `masks` are those of the edges in the order of neighbours, where they are committed to.
    `masked` is input, noise and own mask: an opening where masks are, else words; where vectors
    are proved row by row it is what the words are made of. Without self-masks there is no
    `seed`. `roll_cut` is the cut of the close of join.
    """

    opened: RoundOpened
    view: RoundView
    leaf: bytes
    roll_cut: int
    edges: Mapping[int, EdgeSecret]
    masks: EdgeMasks | None
    masked: Opening | npt.NDArray[np.integer] | RowVectors
    seed: SecretBytes | None
    secret: SecretScalar


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparing(Guarded):
    """The reading of listed neighbours' commits, to find out which edges are live."""

    committed: Committed
    leaf: bytes
    listed: frozenset[int]
    wanted: Fetch


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A neighbour that lied about an edge or a share."""

    position: int
    about: About


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Accusing(Guarded):
    """The reading of joins of neighbours that lied: only an owner of its key is accused."""

    comparing: Comparing
    live: tuple[int, ...]
    shares: Mapping[int, Share]
    suspicions: tuple[Suspicion, ...]
    wanted: Fetch


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Published(Guarded):
    """The keys of live edges, for those whose other end is gone; the masked value is posted.

    `members` is the last list; `phase` is open, in its step number `rollbacks` if it is a
    rollback. `keys` are those of live edges that are not open. Where vectors are proved row by
    row the party proves `unproved` behind the close of publish, which listed `published`
    parties and has the leaf `proved_on`. From then on `said` has what it said about each live
    edge, and `disputed` are the neighbours who said something else.
    """

    opened: RoundOpened
    view: RoundView
    keys: Mapping[int, SecretBytes]
    shares: Mapping[int, Share]
    seed: SecretBytes | None
    members: frozenset[int]
    phase: Phase = Phase.PUBLISH
    rollbacks: int = 0
    next_seq: int = 0
    unproved: UnprovedWords | None = None
    published: int = 0
    proved_on: bytes = b""
    said: Mapping[int, bytes] = field(default_factory=dict)
    disputed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reconciling(Guarded):
    """The reading of neighbours' words about the edges to this party, before it opens any."""

    published: Published
    closed: Closed
    inside: frozenset[int]
    wanted: Fetch


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confirmed(Guarded):
    """The wait for confirmations; no key of an edge is left that the party could open."""

    opened: RoundOpened
    view: RoundView
    leaf: bytes
    final: frozenset[int]
    shares: Mapping[int, Share]
    seed: SecretBytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counting(Guarded):
    """The reading of others' confirmations, before the party opens its seed."""

    confirmed: Confirmed
    leaf: bytes
    listed: frozenset[int]
    wanted: Fetch


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unmasked(Guarded):
    """The shares of neighbours in the final list; the party's own seed is open.

    `confirmed` are the parties whose timely confirmations were read.
    """

    opened: RoundOpened
    view: RoundView
    final: frozenset[int]
    confirmed: frozenset[int]
    shares: Mapping[int, Share]


@dataclass(frozen=True, slots=True)
class Settled:
    """The wait for the result or an abort; the party has nothing left to post."""

    opened: RoundOpened
    view: RoundView
    final: frozenset[int]


@dataclass(frozen=True, slots=True)
class Done:
    """The end of the session for this party: all rounds are over."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The end of the session for this party: its own checks failed."""

    error: ProtocolError


Stage: TypeAlias = (
    BetweenRounds
    | Invited
    | Outside
    | Joined
    | Enrolled
    | Checking
    | Committed
    | Comparing
    | Accusing
    | Published
    | Reconciling
    | Confirmed
    | Counting
    | Unmasked
    | Settled
    | Done
    | Stopped
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartyState(Guarded):
    """Everything a party knows. `sent` are all posts of the round: only they are resent.

    `landed` has leaf and index of own entries that the log is known to hold. `final_seen`:
    the round has a final close. `listed`: this party is in its list of commit.
    """

    chain: Chain
    stage: Stage = BetweenRounds()
    tally: AttemptCount = AttemptCount()
    inputs: tuple[RoundInput, ...] = ()
    sent: tuple[Post, ...] = ()
    landed: tuple[tuple[bytes, int], ...] = ()
    final_seen: bool = False
    listed: bool = False
    own_leaf: bytes = NO_LEAF
    seen_size: int = 0
    seen_root: bytes = NO_LEAF


def opened_of(stage: Stage) -> RoundOpened | None:
    """The round that is open, if one is."""
    if isinstance(stage, BetweenRounds | Done | Stopped):
        return None
    if isinstance(stage, Enrolled | Checking):
        return (stage.enrolled if isinstance(stage, Checking) else stage).joined.opened
    if isinstance(stage, Comparing):
        return stage.committed.opened
    if isinstance(stage, Accusing):
        return stage.comparing.committed.opened
    if isinstance(stage, Counting | Reconciling):
        return (stage.confirmed if isinstance(stage, Counting) else stage.published).opened
    return stage.opened


def view_at(stage: Stage) -> RoundView:
    """The view of a stage behind the coins; `UsageError` before."""
    if isinstance(stage, Committed | Published | Confirmed | Unmasked | Settled):
        return stage.view
    raise UsageError("the round has no coins yet", "stage")
