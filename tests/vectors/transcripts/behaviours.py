"""Departures that transcripts need besides those of the simulation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from bulletin_board import sign_entry
from bulletin_board.tree import leaf_hash
from commitments import ristretto255
from gopa.adversary.deeds import change, instead, knowing
from gopa.adversary.malicious import Deed
from gopa.contract.framing import NO_LEAF, MessageSlot, party_id, sign_message
from gopa.contract.party import COMMIT, Commit, Join
from gopa.contract.phases import KIND_IN, Phase
from gopa.protocol.party import Post
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import PossessionClaim
from tests.contract.samples import signing_key
from tests.lies import lying, says
from tests.randomness import seeded

GENERATOR: Final = ristretto255().generator.to_bytes()
"""A point that no honest party posts: everybody knows its logarithm."""


def shifted(at: str, name: str, by: int) -> Behaviour:
    """Posts one commitment of a message to a value that is larger by so many steps."""

    def lie(access: PartyAccess, content: Any) -> Any:
        group = access.toolkit.group
        point = group.decode_point(getattr(content, name)) + group.generator * group.scalar(by)
        return replace(content, **{name: point.to_bytes()})

    return lying(at, knowing(lie))


def nothing_as(at: str, name: str) -> Behaviour:
    """Posts the identity for one commitment of a message: zero, and no blinding."""
    return says(at, lambda content: replace(content, **{name: bytes(32)}))


def key_of_two(name: str) -> Behaviour:
    """Joins with a key whose secret somebody else has too."""

    def lie(access: PartyAccess, content: Join) -> Join:
        group = access.toolkit.group
        secret = group.random_scalars(1, seeded(name))[0]
        context = RoundContext(access.manifest, access.session, access.round, group)
        key, own = (group.generator * secret).to_bytes(), party_id(access.key.public.data)
        claim = PossessionClaim(context, content.acts_on, own, key, b"")
        proof = access.toolkit.proofs.prove_possession(claim, secret, access.rng)
        return replace(content, key=key, possession=proof)

    return lying("join", knowing(lie))


def flat_shares() -> Behaviour:
    """Puts the identity for its last coefficient: fewer shares than T would do."""

    def lie(content: Commit) -> Commit:
        return replace(content, coefficients=(*content.coefficients[:-1], bytes(32)))

    return says("commit", lie)


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


def with_stranger() -> Behaviour:
    """Brings somebody along who is not on the roster and posts a join as well."""

    def both(access: PartyAccess, post: Post) -> Sequence[Post]:
        place = MessageSlot(access.session, Phase.JOIN, KIND_IN[Phase.JOIN], post.round, 0, NO_LEAF)
        stranger = sign_message(body_of(post.entries), place, signing_key("stranger"))
        return [post, Post(Phase.JOIN, post.round, stranger.entries)]

    return lying("join", instead(both))
