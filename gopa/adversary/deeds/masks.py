"""Lies about edges, self-masks and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from commitments.group import Scalar, SecretScalar, SecretScalarVec
from gopa.adversary.deeds.kinds import (
    change,
    copied,
    flipped,
    key_of,
    knowing,
    only_at,
    require_full,
)
from gopa.adversary.malicious import RECOVERY, SEEDS, Deed, require_met
from gopa.contract.framing import party_id
from gopa.contract.party import ACCUSATION, COMMIT, PUBLISH, Commit, Publish
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.party.committing import sealed_shares
from gopa.protocol.party.states import Committed, Published
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.script import Honest, Rounds, acts
from gopa.rounds.context import commit
from gopa.rounds.masks import (
    EdgeMask,
    SelfContext,
    UniformMask,
    deal_seed,
    edge_mask,
    self_mask,
    share_point,
    shareable_seed,
    sign,
)
from wire.errors import UsageError
from wire.randomness import draw
from wire.secret import SecretBytes


def wrong_edge(neighbour: int | None = None) -> Deed:
    """Commits to another mask on one edge than the keys of both ends give.

    The edge is the one to this neighbour, or its first one; likewise for shares.
    """

    def lie(access: PartyAccess, content: Commit) -> Commit:
        at = _place_of(access, neighbour)
        if at is None:
            return content
        return replace(content, edges=_with(content.edges, at, _anything(access)))

    return only_at(Phase.COMMIT, knowing(lie))


def missing_edge() -> Deed:
    """Commits to one edge less than it has neighbours."""
    return only_at(Phase.COMMIT, change(lambda c: replace(c, edges=c.edges[:-1])))


def same_edge_twice() -> Deed:
    """Commits to the mask of its second edge on its first one too."""
    return only_at(Phase.COMMIT, change(lambda c: replace(c, edges=(*c.edges[1:2], *c.edges[1:]))))


def no_shares() -> Deed:
    """Deals nobody a share of its self-mask, so that nobody can recover it."""
    return only_at(Phase.COMMIT, change(lambda c: replace(c, coefficients=(), shares=())))


def copy_self_mask(victim: int) -> Deed:
    """Commits to the victim's self-mask."""

    def mix(own: Commit, theirs: Commit) -> Commit:
        return replace(own, self_mask=theirs.self_mask)

    return only_at(Phase.COMMIT, copied(victim, mix))


def no_self_mask() -> Deed:
    """Takes part without a self-mask: for commit, the identity, and for publish."""

    def unmasked(access: PartyAccess, content: Publish) -> Publish:
        stage, group = access.state.stage, access.toolkit.group
        if not isinstance(stage, Published) or stage.seed is None:
            return content
        place = SelfContext(access.session, access.round, party_id(access.key.public.data))
        mask = self_mask(group, stage.seed, place, access.manifest.terms.dimension)
        return _with_mask(access, content, mask.values, mask.blinding, group.scalar(-1))

    deeds = {
        Phase.COMMIT: change(lambda content: replace(content, self_mask=bytes(32))),
        Phase.PUBLISH: knowing(unmasked),
    }

    def made(phase: Phase, rounds: Rounds) -> Behaviour:
        if phase not in deeds:
            raise UsageError("this deed is for commit and publish", "at")
        return deeds[phase](phase, rounds)

    return made


def wrong_share(neighbour: int | None = None) -> Deed:
    """Deals one neighbour a share that does not fit its coefficients."""

    def lie(access: PartyAccess, content: Commit) -> Commit:
        require_met((RECOVERY,), access.manifest)
        at = _place_of(access, neighbour)
        if at is None:
            return content
        return replace(content, shares=_with(content.shares, at, flipped(content.shares[at])))

    return only_at(Phase.COMMIT, knowing(lie))


def other_seed() -> Deed:
    """Deals right shares of another seed than that of its self-mask."""

    def lie(access: PartyAccess, content: Commit) -> Commit:
        require_met((SEEDS,), access.manifest)
        return _of_another_seed(access, content)

    return only_at(Phase.COMMIT, knowing(lie))


def conspire(partner: int, mask: int | None = None) -> Deed:
    """Masks the edge to a partner with a number that no key gives, as the partner does.

    Both have to do so, with the same `mask`, or with one that is as huge as masks are.
    Nobody can open such an edge; while both stay, it cancels.
    """

    def made(phase: Phase, rounds: Rounds) -> Honest:
        return _Conspiring(phase, rounds, partner, mask)

    return only_at(Phase.COMMIT, made)


@dataclass(frozen=True, slots=True)
class _Conspiring(Honest):
    phase: Phase
    rounds: Rounds
    partner: int
    number: int | None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post):
            return [post]
        if post.phase is Phase.ACCUSE and self._accuses_partner(access, post):
            return []
        if post.phase is Phase.COMMIT:
            return [access.altered(post, COMMIT, lambda content: self._commit(access, content))]
        if post.phase is Phase.PUBLISH and ("conspired", access.round) in access.memory:
            return [access.altered(post, PUBLISH, lambda content: self._publish(access, content))]
        return [post]

    def _commit(self, access: PartyAccess, content: Commit) -> Commit:
        require_full(access)
        at, stage = _place_of(access, self.partner), access.state.stage
        if at is None or not isinstance(stage, Committed):
            return content
        access.memory["conspired", access.round] = True
        mask = self._mask(access)
        data = commit(stage.view.context.key, mask.values, mask.blinding).to_bytes()
        return replace(content, edges=_with(content.edges, at, data))

    def _publish(self, access: PartyAccess, content: Publish) -> Publish:
        """The machine holds the edge for void and has left it out."""
        stage, group = access.state.stage, access.toolkit.group
        partner = key_of(access, self.partner)
        if not isinstance(stage, Published):
            return content
        if stage.view.enrolment.positions.get(partner) not in stage.members:
            return content
        mask = self._mask(access)
        factor = group.scalar(sign(party_id(access.key.public.data), party_id(partner)))
        return _with_mask(access, content, mask.values, mask.blinding, factor)

    def _mask(self, access: PartyAccess) -> EdgeMask:
        """Known to both ends."""
        ends = sorted([key_of(access, self.partner), access.key.public.data])
        key = SecretBytes(party_id(b"".join(ends)))
        group, dimension = access.toolkit.group, access.manifest.terms.dimension
        mask = edge_mask(group, key, UniformMask(), dimension)
        if self.number is None:
            return mask
        return replace(mask, values=group.secret_scalars([self.number] * dimension))

    def _accuses_partner(self, access: PartyAccess, post: Post) -> bool:
        stage = access.state.stage
        if not isinstance(stage, Published):
            return False
        accused = ACCUSATION.decode(body_of(post.entries)).accused
        return stage.view.enrolment.positions.get(key_of(access, self.partner)) == accused


def _of_another_seed(access: PartyAccess, content: Commit) -> Commit:
    """The commit with shares of a fresh seed, which fit the coefficients that come with them."""
    stage = access.state.stage
    if not isinstance(stage, Committed):
        return content
    view, group, needed = stage.view, access.toolkit.group, len(content.coefficients)
    points = [share_point(v) for v in view.neighbours]
    dealt = deal_seed(group, shareable_seed(group, access.rng), points, needed, access.rng)
    data = dealt.commitments.to_bytes()
    return replace(
        content,
        coefficients=tuple(data[at : at + 32] for at in range(0, len(data), 32)),
        shares=sealed_shares(view, stage.edges, dealt),
    )


def _place_of(access: PartyAccess, party: int | None) -> int | None:
    """Which of its edges leads to the party, or its first one; None if none does."""
    stage = access.state.stage
    if not isinstance(stage, Committed):
        return None
    if party is None:
        return 0 if stage.view.neighbours else None
    position = stage.view.enrolment.positions.get(key_of(access, party))
    neighbours = stage.view.neighbours
    return neighbours.index(position) if position in neighbours else None


def _anything(access: PartyAccess) -> bytes:
    """What an edge could be committed to, and nobody else would."""
    stage = access.state.stage
    if isinstance(stage, Committed) and not stage.view.context.committed_masks:
        return draw(access.rng, 32)
    group = access.toolkit.group
    return (group.generator * group.random_scalars(1, access.rng)[0]).to_bytes()


def _with(items: tuple[Any, ...], at: int, item: object) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


def _with_mask(
    access: PartyAccess,
    content: Publish,
    mask: SecretScalarVec,
    blinding: SecretScalar,
    factor: Scalar,
) -> Publish:
    """A published value with a multiple of another mask added to it."""
    group = access.toolkit.group
    values = group.decode_scalars(content.value, len(mask)).secret()
    own = group.decode_scalars(content.blinding, 1)[0].secret()
    return replace(
        content,
        value=(values + mask * factor).reveal().to_bytes(),
        blinding=(own + blinding * factor).reveal().to_bytes(),
    )
