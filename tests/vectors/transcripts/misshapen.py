"""Messages in the wrong shape or place: chunks, kinds, accusations, openings, shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from bulletin_board import Submission, sign_entry
from gopa.adversary.deeds import instead, unproved_key
from gopa.adversary.deeds.organising import close_of
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.organiser import AbortReason
from gopa.contract.party import (
    ACCUSATION,
    JOIN,
    OPENING,
    RECOVER,
    About,
    Accusation,
    EdgeOpenings,
    OpenedEdge,
    Recover,
    RecoveredShare,
)
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.organiser import SendMessage
from gopa.protocol.party import Post
from gopa.protocol.simulation import OrganiserBehaviour, Script
from gopa.protocol.simulation.access import OrganiserAccess, PartyAccess, body_of, first_entry
from gopa.protocol.simulation.script import Honest, Skip
from tests.lies import lying
from tests.vectors.transcripts.cases import Case, aborts, blame, sums
from tests.vectors.transcripts.organisers import cheat
from tests.vectors.transcripts.parties import (
    FIRST,
    LEAVER,
    LIAR,
    REST,
    leaves,
    lie,
    of_six,
    recovered,
    vetoes,
)
from tests.vectors.transcripts.worlds import (
    LONG,
    ONCE,
    RECOVERY,
    SIGNED,
    SIX,
    TWICE,
    WITNESSED,
    World,
)

LEAF: Final = 32
NOBODY: Final = 99
NO_POINT: Final = b"\xff" * 32


def signed(
    access: PartyAccess, phase: Phase, body: bytes, seq: int = 0, kind: Kind | None = None
) -> Post:
    """A message of this party, of whatever kind."""
    place = MessageSlot(access.session, phase, kind or KIND_IN[phase], access.round, seq, NO_LEAF)
    return Post(phase, access.round, sign_message(body, place, access.key).entries)


def announced(access: PartyAccess, post: Post) -> Sequence[Post]:
    """An entry that announces a second one which never comes, then the message as it should be."""
    first = sign_entry(replace(first_entry(post.entries), chunks=2), access.key)
    whole = signed(access, post.phase, body_of(post.entries), 1)
    return [Post(post.phase, post.round, (first,)), whole]


def unlinked(access: PartyAccess, post: Post) -> Sequence[Post]:
    """A second chunk that names another chunk before it than the first one."""
    first, second = (Submission.decode(raw).entry for raw in post.entries)
    strange = sign_entry(replace(second, prev_own_leaf=first.prev_own_leaf), access.key)
    return [Post(post.phase, post.round, (post.entries[0], strange))]


def of_another_kind(access: PartyAccess, post: Post) -> Sequence[Post]:
    """The right body, called something else."""
    return [signed(access, post.phase, body_of(post.entries), kind=Kind.CONFIRM)]


def three_times(access: PartyAccess, post: Post) -> Sequence[Post]:
    """To another close, to this one, and to this one again."""
    body = body_of(post.entries)
    strange = bytes(LEAF) + body[LEAF:]
    return [signed(access, post.phase, each, seq) for seq, each in enumerate((strange, body, body))]


def opens_then(access: PartyAccess, post: Post) -> Sequence[Post]:
    """Confirms, and opens an edge behind that, with a key that fits nothing."""
    opening = EdgeOpenings(body_of(post.entries), (OpenedEdge(0, bytes(32)),))
    return [post, signed(access, Phase.ROLLBACK, OPENING.encode(opening))]


def around_a_gap(access: PartyAccess, post: Post) -> Sequence[Post]:
    """An entry at 1, the right message at 0, and an entry at 2."""
    behind, beyond = (signed(access, post.phase, b"behind the gap", seq) for seq in (1, 2))
    return [behind, post, beyond]


@cache
def seed_of(world: World, party: int) -> bytes:
    """The commitment to the seed of its noise that this party will join with."""
    simulation = world.simulation(Script())
    simulation.run_round(world.inputs(0))
    author = simulation.parties[party].author
    entries = (Submission.decode(raw).entry for raw in simulation.log().entries())
    join = next(e for e in entries if e.author.data == author and e.phase == Phase.JOIN)
    return JOIN.decode(join.body).seed


@dataclass(frozen=True, slots=True)
class CopiesInNoJoin(Honest):
    """Joins in front of the victim, whose message it delays, with its seed and without an input."""

    victim: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.JOIN:
            return [post]
        seed = seed_of(ONCE, self.victim)
        return [access.altered(post, JOIN, lambda j: replace(j, seed=seed, input=bytes(LEAF)))]


Accusing = Callable[[bytes], tuple[Kind, bytes]]


@dataclass(frozen=True, slots=True)
class Accuses(Honest):
    """Posts this in *accuse*, and goes on."""

    says_of: Accusing

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.PUBLISH:
            return [post]
        kind, body = self.says_of(body_of(post.entries)[:LEAF])
        return [signed(access, Phase.ACCUSE, body, kind=kind), post]


def accusation(acts_on: bytes, accused: int, shared: bytes = NO_POINT) -> tuple[Kind, bytes]:
    """Of a share, with a proof of zeros."""
    content = Accusation(acts_on, About.SHARE, accused, shared, bytes(96))
    return Kind.ACCUSATION, ACCUSATION.encode(content)


@dataclass(frozen=True, slots=True)
class GivesUnasked(Honest):
    """Does not confirm, and gives out a share of its neighbour's self-mask all the same."""

    dealer: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        return [] if post.phase is Phase.CONFIRM else [post]

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        if phase is not Phase.RECOVER:
            return []
        given = Recover(access.state.chain.leaf, (RecoveredShare(self.dealer, bytes(64)),))
        return [signed(access, Phase.RECOVER, RECOVER.encode(given))]


@dataclass(frozen=True, slots=True)
class InAnotherPlace(OrganiserBehaviour):
    """The close of commit, with something in front of it or in another slot."""

    change: Callable[[OrganiserAccess, SendMessage], Sequence[SendMessage]]

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        close = close_of(control)
        if close is None or close.phase is not Phase.COMMIT:
            return [control]
        return self.change(access, control)


def moved(access: OrganiserAccess, control: SendMessage, leaf: bytes) -> SendMessage:
    """The message one number later."""
    first = first_entry(control.entries)
    place = MessageSlot(
        access.session, Phase.ORGANISER, control.kind, first.round, first.seq + 1, leaf
    )
    entries = sign_message(body_of(control.entries), place, access.key).entries
    return SendMessage(control.kind, control.round, entries)


def begun_anew(access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
    """The first of two chunks, and then the whole message."""
    first = sign_entry(replace(first_entry(control.entries), chunks=2), access.key)
    begun = SendMessage(control.kind, control.round, (first,))
    return [begun, moved(access, control, Submission.decode(first).leaf)]


def behind_a_gap(access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
    return [moved(access, control, first_entry(control.entries).prev_own_leaf)]


def among_parties(access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
    """An entry of its own in a phase of the parties, then the message."""
    number = control.round
    place = MessageSlot(access.session, Phase.COMMIT, Kind.COMMIT, number, 0, NO_LEAF)
    entries = sign_message(b"", place, access.key).entries
    return [SendMessage(Kind.COMMIT, number, entries), control]


CASES: Final = {
    "publish_announced_too_long": lie(
        "An entry announces more chunks than any honest message has: it uses its number, so that "
        "the message behind it is not the first.",
        lying("publish", instead(announced)),
        *("04-S4", "04-E2"),
    ),
    "join_in_front_of_a_gap": lie(
        "An entry at number 1, the join at 0 and an entry at 2: the join counts, the others are no "
        "messages.",
        lying("join", instead(around_a_gap)),
        ends=(sums(0, 1, 2, 3),),
        world=SIGNED,
        twin="clean_signed",
        verdict="SIGNED-ONLY",
    ),
    "join_misshapen_with_a_copied_seed": lie(
        "In front of party 3 its commitment to noise, in a join without an input: that uses "
        "nothing up, and party 3 stays.",
        CopiesInNoJoin(LEAVER),
        "04-J2",
        ends=(sums(0, 2, 3),),
        world=ONCE,
        twin="clean_one_attempt",
    ),
    "publish_unlinked_chunks": Case(
        "The second chunk of a value does not continue the first one: no message, and no fault.",
        (aborts(AbortReason.TOO_FEW_LEFT),),
        Script().misbehave(LIAR, lying("publish", instead(unlinked))),
        LONG,
        liars=(LIAR,),
        twin="clean_two_chunks",
        verdict="SIGNED-ONLY",
    ),
    "accuse_misshapen": Case(
        "In *accuse*, bytes that are no accusation, and a message of another kind: both convict.",
        (sums(0, 3, 4, 5),),
        Script()
        .misbehave(LIAR, Accuses(lambda leaf: (Kind.ACCUSATION, leaf + b"\x09")))
        .misbehave(2, Accuses(lambda leaf: (Kind.PUBLISH, leaf))),
        SIX,
        liars=(LIAR, 2),
        twin="clean_six",
        blamed=blame(LIAR, "04-A1") | blame(2, "04-E2"),
    ),
    "accuse_no_point": Case(
        "A shared key that is no point, and an accusation that is too long: both convict.",
        (sums(0, 3, 4, 5),),
        Script()
        .misbehave(LIAR, Accuses(lambda leaf: accusation(leaf, 0)))
        .misbehave(2, Accuses(lambda leaf: (Kind.ACCUSATION, leaf + bytes(200)))),
        SIX,
        liars=(LIAR, 2),
        twin="clean_six",
        blamed=blame(LIAR, "04-A2") | blame(2, "04-S4"),
    ),
    "accuse_nobody": Case(
        "A position beyond the roll convicts; what acts on another close is no accusation.",
        (sums(*REST),),
        Script()
        .misbehave(LIAR, Accuses(lambda leaf: accusation(leaf, NOBODY)))
        .misbehave(2, Accuses(lambda leaf: accusation(leaf[::-1], NOBODY))),
        RECOVERY,
        liars=(LIAR, 2),
        twin="clean_recovery",
        blamed=blame(LIAR, "04-A1"),
    ),
    "rollback_another_kind": of_six(
        "The edge that it owes is opened in a message of another kind: invalid.",
        lying("rollback", instead(of_another_kind)),
        "04-E2",
    ),
    "rollback_opens_three_times": lie(
        "An opening that acts on another close, the one that counts, and that one again in front "
        "of its confirmation: no fault.",
        lying("rollback", instead(three_times)),
        ends=(sums(0, 1, 2, 4),),
        twin="dropout_before_publish",
        others=leaves,
    ),
    "confirm_then_opens": recovered(
        "Confirms, and opens an edge behind that.", lying("confirm", instead(opens_then)), "04-F3"
    ),
    "confirm_then_opens_and_aborts": Case(
        "Confirms and opens an edge, and the round ends because too few others confirm.",
        (aborts(AbortReason.NOT_CONFIRMED, released=True),),
        Script()
        .misbehave(LIAR, lying("confirm", instead(opens_then)))
        .misbehave(2, Skip(Phase.CONFIRM))
        .misbehave(3, Skip(Phase.CONFIRM)),
        ONCE,
        liars=(LIAR, 2, 3),
        twin="clean_one_attempt",
        blamed=blame(LIAR, "04-F3"),
    ),
    "recover_unasked": recovered(
        "Does not confirm, and gives out a share that nobody asks it for.",
        GivesUnasked(LEAVER),
        "04-U3",
        twin="dropout_before_unmask",
        others=vetoes,
    ),
    "two_rounds_key_without_possession": lie(
        "A proof of possession that fails in the first round: not admitted to the second.",
        lying("join", unproved_key(), FIRST),
        "04-J3",
        ends=(sums(0, 2, 3), sums(0, 2, 3)),
        world=TWICE,
        twin="clean_two_rounds",
        rounds=2,
    ),
    "organiser_begins_again": cheat(
        "The first of two chunks of a close, and then the whole close at the next number.",
        InAnotherPlace(begun_anew),
        "04-C1",
        world=WITNESSED,
        twin="clean_witnessed",
    ),
    "organiser_skips_a_number": cheat(
        "A close behind a gap: it continues nothing.", InAnotherPlace(behind_a_gap), "04-E1"
    ),
    "organiser_among_parties": cheat(
        "The organiser posts in a phase of the parties: parties that see it stop, the rules go on.",
        InAnotherPlace(among_parties),
        "04-E2",
        ends=(
            aborts(AbortReason.TOO_FEW_LEFT),
            aborts(AbortReason.TOO_FEW_JOINED),
            aborts(AbortReason.TOO_FEW_JOINED),
        ),
    ),
}
