"""Departures that small worlds need besides those of the simulation.

All of them name other parties by their keys, and do nothing where there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gopa.adversary.deeds import other_seed
from gopa.adversary.deeds.kinds import flipped
from gopa.contract.framing import party_id
from gopa.contract.party import (
    ACCUSATION,
    COMMIT,
    OPENING,
    PUBLISH,
    About,
    Accusation,
    Commit,
    EdgeOpenings,
    OpenedEdge,
    Publish,
)
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.party.states import Accusing, Committed, Comparing, Confirmed, Published
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from gopa.protocol.simulation.script import Honest
from gopa.rounds.context import commit
from gopa.rounds.masks import EdgeMask, UniformMask, edge_mask, sign
from gopa.rounds.proofs import SharedKeyClaim
from tests.lies import lying
from wire.randomness import draw
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class Cut(Honest):
    """Posts its message of a phase without the last byte."""

    phase: Phase

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not self.phase:
            return [post]
        seq = first_entry(post.entries).seq
        return [access.sign(post.phase, body_of(post.entries)[:-1], seq)]


@dataclass(frozen=True, slots=True)
class Echo(Honest):
    """Waits for another party's message of a phase and posts the body as its own."""

    phase: Phase
    victim: bytes

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not self.phase:
            return [post]
        access.memory["echo"] = first_entry(post.entries).seq
        return []

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        seq = access.memory.pop("echo", None) if phase is self.phase else None
        close = access.state.chain.leaf
        seen = [
            posted.entry.body
            for posted in access.board.stream(self.victim, self.phase, access.round)
            if posted.entry.body.startswith(close)
        ]
        return [] if seq is None or not seen else [access.sign(phase, seen[0], seq)]


@dataclass(frozen=True, slots=True)
class EdgeOfItsOwn(Honest):
    """Commits to something else on the edge to one neighbour."""

    neighbour: bytes

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        at = _neighbour_at(access, post, self.neighbour)
        if at is None:
            return [post]
        data = _encoding(access)

        def change(content: Commit) -> Commit:
            return replace(content, edges=_with(content.edges, at, data))

        return [access.altered(post, COMMIT, change)]


@dataclass(frozen=True, slots=True)
class EdgeMissing(Honest):
    """Commits to one edge less than it has neighbours, or to one that is nobody's."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.COMMIT:
            return [post]
        return [access.altered(post, COMMIT, lambda c: replace(c, edges=self._edges(access, c)))]

    def _edges(self, access: PartyAccess, content: Commit) -> tuple[bytes, ...]:
        return content.edges[:-1] if content.edges else (_encoding(access),)


@dataclass(frozen=True, slots=True)
class ProofOfNothing(Honest):
    """Commits with a proof in which one bit is wrong."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.COMMIT:
            return [post]
        return [access.altered(post, COMMIT, self._change)]

    def _change(self, content: Commit) -> Commit:
        return replace(content, proof=flipped(content.proof, len(content.proof) // 2))


@dataclass(frozen=True, slots=True)
class ShareOfNothing(Honest):
    """Deals one neighbour a share that does not fit."""

    neighbour: bytes

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        at = _neighbour_at(access, post, self.neighbour)
        if at is None:
            return [post]

        def change(content: Commit) -> Commit:
            return replace(content, shares=_with(content.shares, at, flipped(content.shares[at])))

        return [access.altered(post, COMMIT, change)]


@dataclass(frozen=True, slots=True)
class Accuse(Honest):
    """Accuses a party, whatever it did, behind its own accusations.

    With `proved` the shared key and the proof are right.
    """

    accused: bytes
    about: About = About.EDGE
    proved: bool = True

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is Phase.ACCUSE:
            access.memory["accusations"] = first_entry(post.entries).seq + 1
        stage = access.before.stage
        comparing = stage.comparing if isinstance(stage, Accusing) else stage
        if post.phase is not Phase.PUBLISH or not isinstance(comparing, Comparing):
            return [post]
        place = comparing.committed.view.enrolment.positions.get(self.accused)
        if place is None:
            return [post]
        body = ACCUSATION.encode(self._content(access, comparing, place))
        return [access.sign(Phase.ACCUSE, body, access.memory.pop("accusations", 0)), post]

    def _content(self, access: PartyAccess, comparing: Comparing, place: int) -> Accusation:
        committed, leaf = comparing.committed, comparing.leaf
        view = committed.view
        parties = view.enrolment.roll.parties
        shared = view.context.group.decode_point(parties[place].key) * committed.secret
        claim = SharedKeyClaim(
            context=view.context,
            acts_on=leaf,
            party=view.own_id,
            own=parties[view.position].key,
            other=parties[place].key,
            shared=shared.to_bytes(),
            proof=b"",
        )
        proof = access.toolkit.proofs.prove_shared(claim, committed.secret, access.rng)
        return Accusation(
            leaf, self.about, place, claim.shared, proof if self.proved else flipped(proof)
        )


@dataclass(frozen=True, slots=True)
class Tell(Honest):
    """Confirms the final close and then opens all of its edges inside the final list."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        before, now = access.before.stage, access.state.stage
        if isinstance(before, Published) and isinstance(now, Confirmed):
            keys = [(v, before.keys[v]) for v in sorted(before.keys) if v in now.final]
            access.memory["told"] = EdgeOpenings(
                now.leaf, tuple(OpenedEdge(v, key.reveal()) for v, key in keys)
            )
            access.memory["told at"] = before.next_seq
        return [post]

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        told = access.memory.pop("told", None) if phase is Phase.CONFIRM else None
        if told is None or not told.edges:
            return []
        return [access.sign(Phase.ROLLBACK, OPENING.encode(told), access.memory["told at"])]


@dataclass(frozen=True, slots=True)
class Conspire(Honest):
    """Two neighbours agree on a mask of their own instead of the one from their keys.

    Nothing shows that: the edge is live. But neither can open it.
    """

    partner: bytes

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is Phase.ACCUSE and self._is_partner(access, post):
            return []
        at = _neighbour_at(access, post, self.partner)
        if at is not None:
            return [access.altered(post, COMMIT, lambda content: self._commit(access, content, at))]
        if post.phase is Phase.PUBLISH and "conspired" in access.memory:
            return [access.altered(post, PUBLISH, lambda content: self._publish(access, content))]
        return [post]

    def _mask(self, access: PartyAccess) -> EdgeMask:
        """Known to both; a uniform one is as huge as masks get."""
        ends = sorted([self.partner, access.key.public.data])
        key = SecretBytes(party_id(b"".join(ends)))
        return edge_mask(access.toolkit.group, key, UniformMask(), access.manifest.terms.dimension)

    def _commit(self, access: PartyAccess, content: Commit, at: int) -> Commit:
        stage, mask = access.state.stage, self._mask(access)
        assert isinstance(stage, Committed)
        access.memory["conspired"] = True
        data = commit(stage.view.context.key, mask.values, mask.blinding).to_bytes()
        return replace(content, edges=_with(content.edges, at, data))

    def _publish(self, access: PartyAccess, content: Publish) -> Publish:
        """The machine holds the edge for void and has left it out."""
        stage, group = access.state.stage, access.toolkit.group
        assert isinstance(stage, Published)
        if stage.view.enrolment.positions.get(self.partner) not in stage.members:
            return content
        mask = self._mask(access)
        factor = group.scalar(sign(party_id(access.key.public.data), party_id(self.partner)))
        values = group.decode_scalars(content.value, len(mask.values)).secret()
        blinding = group.decode_scalars(content.blinding, 1)[0].secret()
        return replace(
            content,
            value=(values + mask.values * factor).reveal().to_bytes(),
            blinding=(blinding + mask.blinding * factor).reveal().to_bytes(),
        )

    def _is_partner(self, access: PartyAccess, post: Post) -> bool:
        stage = access.state.stage
        assert isinstance(stage, Published)
        accused = ACCUSATION.decode(body_of(post.entries)).accused
        return stage.view.enrolment.positions.get(self.partner) == accused


def _neighbour_at(access: PartyAccess, post: Post, author: bytes) -> int | None:
    """Which of its edges leads to the author, while it commits."""
    stage = access.state.stage
    if post.phase is not Phase.COMMIT or not isinstance(stage, Committed):
        return None
    place = stage.view.enrolment.positions.get(author)
    return stage.view.neighbours.index(place) if place in stage.view.neighbours else None


def _encoding(access: PartyAccess) -> bytes:
    """What an edge could be committed to, and no other party would."""
    stage = access.state.stage
    assert isinstance(stage, Committed)
    if not stage.view.context.committed_masks:
        return draw(access.rng, 32)
    group = access.toolkit.group
    return (group.generator * group.random_scalars(1, access.rng)[0]).to_bytes()


def _with(items: tuple[Any, ...], at: int, item: object) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


__all__ = [
    "Accuse",
    "Conspire",
    "Cut",
    "Echo",
    "EdgeMissing",
    "EdgeOfItsOwn",
    "ProofOfNothing",
    "ShareOfNothing",
    "Tell",
]


@dataclass(frozen=True, slots=True)
class VetoWithAnotherSeed(Honest):
    """Deals right shares of another seed than its own, and keeps its own."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        return (
            [] if post.phase is Phase.UNMASK else lying("commit", other_seed()).says(access, post)
        )
