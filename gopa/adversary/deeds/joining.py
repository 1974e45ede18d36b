"""Lies about keys and about what is fixed before the coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from commitments import ristretto255
from gopa.adversary.deeds.kinds import (
    change,
    context_of,
    copied,
    flipped,
    instead,
    knowing,
    only_at,
)
from gopa.adversary.malicious import Deed
from gopa.contract.bodies import bodies_of
from gopa.contract.framing import NO_LEAF, MessageSlot, party_id, sign_message
from gopa.contract.party import Join
from gopa.contract.phases import KIND_IN, Phase
from gopa.protocol.party import Post, Supplied
from gopa.protocol.party.joining import take_input
from gopa.protocol.party.states import Invited, Joined
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.script import Honest, Rounds, acts
from gopa.protocol.simulation.setup import SeededStreams
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import PossessionClaim
from wire.codec import Codec
from wire.ed25519 import SigningKey


def unproved_key() -> Deed:
    """Joins with a key and a proof of possession that does not hold."""
    return only_at(
        Phase.JOIN,
        change(lambda content: replace(content, possession=flipped(content.possession))),
    )


def no_key() -> Deed:
    """Joins with the identity for a key: every mask with it would be known."""
    return only_at(Phase.JOIN, change(lambda content: replace(content, key=bytes(32))))


def copy_key(victim: int) -> Deed:
    """Joins with the victim's key and the victim's proof of possession."""

    def mix(own: Join, theirs: Join) -> Join:
        return replace(own, key=theirs.key, possession=theirs.possession)

    return only_at(Phase.JOIN, copied(victim, mix))


def related_key(victim: int) -> Deed:
    """Joins with twice the victim's key: an edge that it opens would open one of the victim."""

    def mix(own: Join, theirs: Join) -> Join:
        point = ristretto255().decode_point(theirs.key)
        return replace(own, key=(point + point).to_bytes(), possession=theirs.possession)

    return only_at(Phase.JOIN, copied(victim, mix))


def common_key(name: bytes) -> Deed:
    """Joins with a key whose secret follows from a name, as everybody else with that name."""

    def lie(access: PartyAccess, content: Join) -> Join:
        group = access.toolkit.group
        secret = group.random_scalars(1, SeededStreams(name).named("secret"))[0]
        context = RoundContext(access.manifest, access.session, access.round, group)
        key = (group.generator * secret).to_bytes()
        own = party_id(access.key.public.data)
        claim = PossessionClaim(context, content.acts_on, own, key, b"")
        proof = access.toolkit.proofs.prove_possession(claim, secret, access.rng)
        return replace(content, key=key, possession=proof)

    return only_at(Phase.JOIN, knowing(lie))


def copy_seed(victim: int) -> Deed:
    """Joins with the victim's commitment to the seed of its noise."""

    def mix(own: Join, theirs: Join) -> Join:
        return replace(own, seed=theirs.seed)

    return only_at(Phase.JOIN, copied(victim, mix))


def another_input() -> Deed:
    """Joins with a commitment to nothing that it knows."""

    def lie(access: PartyAccess, content: Join) -> Join:
        group = access.toolkit.group
        point = group.generator * group.random_scalars(1, access.rng)[0]
        return replace(content, input=point.to_bytes())

    return only_at(Phase.JOIN, knowing(lie))


def old_key() -> Deed:
    """Joins with its key of the round before and the proof of possession that came with it."""
    return only_at(Phase.JOIN, _OldKey)


def key_of_another_session() -> Deed:
    """Joins with a proof of possession that it made for another session."""

    def lie(access: PartyAccess, content: Join) -> Join:
        joined = access.state.stage
        if not isinstance(joined, Joined):
            return content
        elsewhere = party_id(access.session)
        context = RoundContext(access.manifest, elsewhere, access.round, access.toolkit.group)
        own = party_id(access.key.public.data)
        claim = PossessionClaim(context, content.acts_on, own, content.key, b"")
        proof = access.toolkit.proofs.prove_possession(claim, joined.secret, access.rng)
        return replace(content, possession=proof)

    return only_at(Phase.JOIN, knowing(lie))


def mirrored_input() -> Deed:
    """Joins with the other end of the range as seen from its input, and goes on with that."""
    return only_at(Phase.JOIN, instead(_mirrored))


def bring_stranger() -> Deed:
    """Lets somebody who is not on the roster join beside it, with a key of its own."""

    def both(access: PartyAccess, post: Post) -> list[Post]:
        stranger = SigningKey.generate(access.rng)
        group = access.toolkit.group
        context = RoundContext(access.manifest, access.session, access.round, group)
        secrets = group.random_scalars(3, access.rng)
        key, given, seed = ((group.generator * secrets[at]).to_bytes() for at in range(3))
        codec = _codec(access)
        own, content = party_id(stranger.public.data), codec.decode(body_of(post.entries))
        claim = PossessionClaim(context, content.acts_on, own, key, b"")
        proof = access.toolkit.proofs.prove_possession(claim, secrets[0], access.rng)
        content = replace(content, key=key, possession=proof)
        if context.proved and not context.in_rows:
            content = replace(content, input=given, seed=seed)
        place = MessageSlot(access.session, Phase.JOIN, KIND_IN[Phase.JOIN], post.round, 0, NO_LEAF)
        entries = sign_message(codec.encode(content), place, stranger).entries
        return [post, Post(Phase.JOIN, post.round, entries)]

    return only_at(Phase.JOIN, instead(both))


def another_nonce() -> Deed:
    """Reveals another nonce than the one whose hash it joined with."""
    return only_at(
        Phase.COINS, change(lambda content: replace(content, nonce=flipped(content.nonce)))
    )


@dataclass(frozen=True, slots=True)
class _OldKey(Honest):
    phase: Phase
    rounds: Rounds

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        joined = access.state.stage
        if post.phase is not self.phase or not isinstance(joined, Joined):
            return [post]
        before = access.memory.get("key before")
        codec = _codec(access)
        content = codec.decode(body_of(post.entries))
        access.memory["key before"] = joined.secret, content
        if before is None or not acts(self.rounds, post):
            return [post]
        secret, old = before
        access.state = replace(access.state, stage=replace(joined, secret=secret, key=old.key))

        def lie(own: Any) -> Any:
            return replace(own, key=old.key, possession=old.possession)

        return [access.altered(post, codec, lie)]


def _codec(access: PartyAccess) -> Codec[Any]:
    """How a join is written in this session: with one commitment, or with rows."""
    return bodies_of(access.manifest.path)[KIND_IN[Phase.JOIN]]


def _mirrored(access: PartyAccess, post: Post) -> Sequence[Post]:
    joined, state = access.state.stage, access.state
    if not isinstance(joined, Joined):
        return [post]
    logical, steps = joined.opened.logical, access.manifest.terms.steps
    others = tuple(each for each in state.inputs if each.logical != logical)
    mirrored = tuple(steps - value for value in joined.given.values)
    undone = replace(state, inputs=others, stage=Invited(joined.opened), sent=())
    context = context_of(access)
    access.state, said = take_input(context, undone, Supplied(logical, mirrored))
    return [each for each in said if isinstance(each, Post)]
