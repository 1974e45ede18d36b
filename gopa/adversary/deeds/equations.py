"""Lies about masks where what words are made of is proved: false M_uv and M_b.

14-P6 to 14-P10. The proofs of these liars hold: what they say about a
mask makes up for what they added to their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from commitments import VectorPedersen
from commitments.group import Point
from gopa.adversary.deeds.kinds import instead, key_of, only_at
from gopa.adversary.deeds.rows import raised, with_more
from gopa.adversary.malicious import ROWS, Deed, require_met
from gopa.contract.phases import Phase
from gopa.contract.rows import PROVE, ROW_PUBLISH, RowPublish
from gopa.protocol.party import Post
from gopa.protocol.party.rows import live_masks, prove_words, said_of, shown_masks
from gopa.protocol.party.states import Published
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.script import Honest, Rounds, acts
from gopa.protocol.simulation.setup import SeededStreams
from gopa.rounds.masks import sign
from gopa.rounds.masks.equations import edge_equation
from gopa.rounds.rows.words import MaskedVector, ShownMasks, equation_points_at
from zkp.rows.rows import HiddenRows


def add_to_the_sum(amount: int, neighbour: int | None = None) -> Deed:
    """Publishes words that are larger in the first place, and proves them with false masks.

    What makes up for it is said to be in the mask of the edge to a neighbour, or in its own one.
    Two who do this to each other with opposite amounts say the same about their edge.
    """
    return only_at(Phase.PUBLISH, lambda _, rounds: AddsToTheSum(amount, neighbour, rounds))


def blind_for_another_close(neighbour: int) -> Deed:
    """The lie about an edge's mask: at this close's points, blinded for another close."""

    def lie(access: PartyAccess, post: Post) -> Sequence[Post]:
        require_met((ROWS,), access.manifest)
        stage = access.before.stage
        if not isinstance(stage, Published) or stage.unproved is None:
            return [post]
        position = stage.view.enrolment.positions.get(key_of(access, neighbour))
        edges = live_masks(stage.view, stage.keys, stage.seed).edges
        edge = next((each for each in edges if each.neighbour == position), None)
        if edge is None:
            return [post]
        leaf, group = PROVE.decode(body_of(post.entries)).acts_on, access.toolkit.group
        here = equation_points_at(stage.view.context, leaf, listed_at(access))
        elsewhere = replace(here, leaf=sha256(leaf).digest())
        right, wrong = (edge_equation(at, edge.key, edge.context) for at in (here, elsewhere))
        said = shown_masks(stage, leaf, listed_at(access))
        told = said_of(stage.keys, said)
        told[edge.neighbour] = wrong.commitment().to_bytes()
        more, less = (group.scalar(sense % group.order) for sense in (edge.sign, -edge.sign))
        blinding = said.total.blinding + wrong.blinding * more + right.blinding * less
        total = replace(said.total, blinding=blinding)
        shown = replace(said, edges=tuple(told.values()), total=total)
        return [proved_anyway(access, stage, shown, leaf)]

    return only_at(Phase.PROVE, instead(lie))


def overlook(neighbour: int) -> Deed:
    """Does not look at what this neighbour says about their edge, and so never opens it."""

    def lie(access: PartyAccess, post: Post) -> Sequence[Post]:
        require_met((ROWS,), access.manifest)
        stage = access.state.stage
        if isinstance(stage, Published):
            other = stage.view.enrolment.positions.get(key_of(access, neighbour))
            said = {v: what for v, what in stage.said.items() if v != other}
            access.state = replace(access.state, stage=replace(stage, said=said))
        return [post]

    return only_at(Phase.PROVE, instead(lie))


@dataclass(frozen=True, slots=True)
class AddsToTheSum(Honest):
    """A lie: words that are larger by so much in the first place, with a proof that holds.

    The masks that it proves with make up for it: its own, or that of the edge to a neighbour.
    """

    amount: int
    neighbour: int | None = None
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        require_met((ROWS,), access.manifest)
        if not acts(self.rounds, post):
            return [post]
        if post.phase is Phase.PUBLISH and self._has_occasion(access, access.state.stage):
            return [access.altered(post, ROW_PUBLISH, lambda said: self._publish(access, said))]
        stage = access.before.stage
        if post.phase is not Phase.PROVE or not isinstance(stage, Published):
            return [post]
        if stage.unproved is None or not self._has_occasion(access, stage):
            return [post]
        moved = self._masked(access, stage.unproved.masked)
        stage = replace(stage, unproved=replace(stage.unproved, masked=moved))
        leaf = PROVE.decode(body_of(post.entries)).acts_on
        return [proved_anyway(access, stage, self._shown(access, stage, leaf), leaf)]

    def _publish(self, access: PartyAccess, content: RowPublish) -> RowPublish:
        value, turns = raised(access, content.value, self.amount)
        return replace(content, value=value, carries=with_more(access, content.carries, turns))

    def _masked(self, access: PartyAccess, masked: MaskedVector) -> MaskedVector:
        """What the liar can prove: where a larger word wraps around, its carry is another one."""
        value, turns = raised(access, masked.value, self.amount)
        carries, posted = masked.carries, with_more(access, masked.posted_carries, turns)
        numbers = carries.values.copy()
        numbers[0] += turns
        points = access.toolkit.group.decode_points(b"".join(posted), len(posted))
        rows = HiddenRows(numbers, carries.blindings, points, carries.bits)
        return replace(masked, value=value, carries=rows)

    def _has_occasion(self, access: PartyAccess, stage: object) -> bool:
        """Whether there is a mask that can make up for it: the neighbour may have left."""
        if self.neighbour is None or not isinstance(stage, Published):
            return self.neighbour is None
        other = stage.view.enrolment.positions.get(key_of(access, self.neighbour))
        return other in stage.keys

    def _shown(self, access: PartyAccess, stage: Published, leaf: bytes) -> ShownMasks:
        view, listed = stage.view, listed_at(access)
        context, group = view.context, view.context.group
        first = np.zeros(context.dimension, np.uint64)
        first[0] = abs(self.amount)
        more = equation_points_at(context, leaf, listed).at(first)
        blinding = group.random_scalars(1, self._known_to_both(access).named("blinding"))[0]
        point = VectorPedersen(group, len(more)).commit(more, blinding).points[0]
        sense = 1 if self.amount > 0 else -1
        factor, said = group.scalar(sense % group.order), shown_masks(stage, leaf, listed)
        total = replace(
            said.total,
            values=said.total.values + more * factor,
            blinding=said.total.blinding + blinding * factor,
        )
        said = replace(said, total=total)
        if self.neighbour is None:
            return replace(said, self_mask=_plus(stage, said.self_mask, point, sense))
        other = view.enrolment.positions[key_of(access, self.neighbour)]
        edges = said_of(stage.keys, said)
        enters = sense * sign(view.own_id, view.id_of(other))
        edges[other] = _plus(stage, edges[other], point, enters)
        return replace(said, edges=tuple(edges.values()))

    def _known_to_both(self, access: PartyAccess) -> SeededStreams:
        ends = [access.key.public.data]
        if self.neighbour is not None:
            ends.append(key_of(access, self.neighbour))
        return SeededStreams(b"".join(sorted(ends)))


def listed_at(access: PartyAccess) -> int:
    """The number of parties in the close of publish, where a party has just heard it; else 0."""
    stage = access.state.stage
    return stage.published if isinstance(stage, Published) else 0


def proved_anyway(access: PartyAccess, stage: Published, said: ShownMasks, leaf: bytes) -> Post:
    """The message that proves the words of a stage with these masks.

    The liar's own machine goes on as if it had said that itself.
    """
    now = access.state.stage
    if isinstance(now, Published):
        told = replace(now, said=said_of(stage.keys, said))
        access.state = replace(access.state, stage=told)
    proofs = access.toolkit.proofs
    body = prove_words(stage, said, leaf, listed_at(access), proofs, rng=access.rng)
    return access.sign(Phase.PROVE, body)


def _plus(stage: Published, encoding: bytes, point: Point, times: int) -> bytes:
    moved = stage.view.context.group.decode_point(encoding)
    return (moved + point if times > 0 else moved - point).to_bytes()
