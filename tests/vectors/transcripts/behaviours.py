"""Departures that transcripts need besides those of the simulation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bulletin_board import sign_entry
from bulletin_board.tree import leaf_hash
from commitments import ristretto255
from commitments.group import Group
from gopa.adversary.deeds import change, instead
from gopa.adversary.malicious import Deed
from gopa.contract.framing import NO_LEAF, MessageSlot, party_id, sign_message
from gopa.contract.party import COMMIT, JOIN, Commit, Join
from gopa.contract.phases import KIND_IN, Phase
from gopa.protocol.party import Post
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from gopa.protocol.simulation.script import Honest
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import PossessionClaim
from tests.contract.samples import signing_key
from tests.lies import lying
from tests.randomness import seeded

GENERATOR: Final = ristretto255().generator.to_bytes()
"""A point that no honest party posts: everybody knows its logarithm."""


def shifted(group: Group, data: bytes, by: int) -> bytes:
    """The commitment to a value that is larger by so much, with the same blinding."""
    return (group.decode_point(data) + group.generator * group.scalar(by)).to_bytes()


@dataclass(frozen=True, slots=True)
class ShiftedInput(Honest):
    """Commits to an input that is `by` steps above the one that it proves things about."""

    by: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.JOIN:
            return [post]
        group = access.toolkit.group

        def change(content: Join) -> Join:
            return replace(content, input=shifted(group, content.input, self.by))

        return [access.altered(post, JOIN, change)]


@dataclass(frozen=True, slots=True)
class ShiftedNoise(Honest):
    """Commits to more noise than its seed and the coins decide."""

    by: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.COMMIT:
            return [post]
        group = access.toolkit.group

        def change(content: Commit) -> Commit:
            return replace(content, output=shifted(group, content.output, self.by))

        return [access.altered(post, COMMIT, change)]


@dataclass(frozen=True, slots=True)
class KeyOfTwo(Honest):
    """Joins with a key whose secret somebody else has too."""

    secret: str

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.JOIN:
            return [post]
        group = access.toolkit.group
        secret = group.random_scalars(1, seeded(self.secret))[0]
        context = RoundContext(access.manifest, access.session, access.round, group)

        def change(content: Join) -> Join:
            key = (group.generator * secret).to_bytes()
            own = party_id(access.key.public.data)
            claim = PossessionClaim(context, content.acts_on, own, key, b"")
            proof = access.toolkit.proofs.prove_possession(claim, secret, access.rng)
            return replace(content, key=key, possession=proof)

        return [access.altered(post, JOIN, change)]


def no_self_mask() -> Behaviour:
    """Commits to the identity in place of a self-mask."""
    return lying("commit", change(lambda content: replace(content, self_mask=bytes(32))))


def joins_with_nothing() -> Behaviour:
    """Commits to its input by the identity: zero, and no blinding."""
    return lying("join", change(lambda content: replace(content, input=bytes(32))))


def no_noise() -> Behaviour:
    """Puts the identity in place of its commitment to the seed of its noise."""
    return lying("join", change(lambda content: replace(content, seed=bytes(32))))


def no_output() -> Behaviour:
    """Commits to its noisy value by the identity."""
    return lying("commit", change(lambda content: replace(content, output=bytes(32))))


def flat_shares() -> Behaviour:
    """Puts the identity for its last coefficient: fewer shares than T would do."""

    def lie(content: Commit) -> Commit:
        return replace(content, coefficients=(*content.coefficients[:-1], bytes(32)))

    return lying("commit", change(lie))


def generator_as_input(rounds: Collection[int]) -> Behaviour:
    """Joins with the generator for a commitment to its input."""
    return lying("join", change(lambda content: replace(content, input=GENERATOR)), rounds)


def first_edge_is(data: bytes) -> Behaviour:
    """Commits to this on its first edge, and goes on as if it had not."""

    def lie(content: Commit) -> Commit:
        return replace(content, edges=(data, *content.edges[1:]))

    return lying("commit", instead(lambda access, post: [access.altered(post, COMMIT, lie)]))


def in_one_entry() -> Deed:
    """Posts its message in one entry, where parties have a head of their own."""
    return instead(lambda access, post: [_pieces(access, post, body_of(post.entries))])


def cut_elsewhere() -> Deed:
    """Cuts its message one byte behind its head."""

    def lie(access: PartyAccess, post: Post) -> Sequence[Post]:
        body, head = body_of(post.entries), len(first_entry(post.entries).body)
        return [_pieces(access, post, body[: head + 1], body[head + 1 :])]

    return instead(lie)


def _pieces(access: PartyAccess, post: Post, *pieces: bytes) -> Post:
    """The same message with these bodies of entries."""
    made: list[bytes] = []
    first, previous = first_entry(post.entries), NO_LEAF
    for chunk, body in enumerate(pieces):
        entry = replace(
            first,
            chunk=chunk,
            chunks=len(pieces),
            seq=chunk,
            prev_own_leaf=previous if chunk else first.prev_own_leaf,
            body=body,
        )
        made.append(sign_entry(entry, access.key))
        previous = leaf_hash(made[-1])
    return Post(post.phase, post.round, tuple(made))


@dataclass(frozen=True, slots=True)
class WithStranger(Honest):
    """Brings somebody along who is not on the roster and posts a join as well."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.JOIN:
            return [post]
        place = MessageSlot(access.session, Phase.JOIN, KIND_IN[Phase.JOIN], post.round, 0, NO_LEAF)
        stranger = sign_message(body_of(post.entries), place, signing_key("stranger"))
        return [post, Post(Phase.JOIN, post.round, stranger.entries)]
