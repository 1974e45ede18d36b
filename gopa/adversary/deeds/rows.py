"""Lies about vectors that are proved row by row: in their rows, their words and their proofs.

14-P1 to 14-P4. A liar that commits to other rows goes on with them: it
answers the tests of these rows, proves what it can, and masks them as if they were short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from commitments import VectorPedersen
from gopa.adversary.deeds.kinds import copied, key_of, knowing, only_at
from gopa.adversary.malicious import Deed
from gopa.adversary.needs import ROWS, require_met
from gopa.contract.bodies import bodies_of
from gopa.contract.framing import party_id
from gopa.contract.phases import KIND_IN, Phase
from gopa.contract.rows import ROW_COMMIT, ROW_JOIN, RowCommit, RowJoin, RowPublish
from gopa.contract.words import pack_words, unpack_words
from gopa.protocol.party import Post
from gopa.protocol.party.rows import live_masks, unanswered
from gopa.protocol.party.states import Committed, Joined, Published, RowVectors
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.script import Honest, Rounds, acts
from gopa.rounds.context import RoundContext
from gopa.rounds.rows.challenges import input_tests, shape_of
from gopa.rounds.rows.inputs import (
    RowInput,
    RowNoise,
    answer_tests,
    answered_inputs,
    hide_noise,
)
from gopa.rounds.rows.words import UnmaskedVector
from wire.errors import ComputationFault, UsageError
from zkp.rows.rows import hide_rows
from zkp.rows.shape import Integers, RowShape

_BITS: Final = 30

Altered: TypeAlias = Callable[[Integers, Integers], None]
"""Changes the entries of a vector and of its noise in place, padding included."""


def lengthen(by: int) -> Deed:
    """Speaks of a vector whose first entry is larger by so much: for join, and goes on with it."""

    def change(vector: Integers, noise: Integers) -> None:
        del noise
        vector[0] += by

    return _with_other_rows(change)


def aim_noise(height: int, count: int) -> Deed:
    """Has noise of its own choice: so many entries of this height. For join, and goes on with it.

    Whatever is within the bounds is accepted: the law of a liar's noise is not proved.
    """

    def change(vector: Integers, noise: Integers) -> None:
        del vector
        noise[:] = 0
        noise[:count] = height

    return _with_other_rows(change)


def fill_padding(size: int) -> Deed:
    """Has an entry of this size behind the last coordinate: for join, and goes on with it."""

    def change(vector: Integers, noise: Integers) -> None:
        del noise
        vector[-1] = size

    return _with_other_rows(change)


def wrap_entry() -> Deed:
    """Commits to a first entry that is larger by half of 1, mod the order of the group.

    Twice that entry is a small integer.
    """

    def lie(access: PartyAccess, content: RowJoin) -> RowJoin:
        require_met((ROWS,), access.manifest)
        half = (access.toolkit.group.order + 1) // 2
        return replace(content, input=with_more(access, content.input, half))

    return only_at(Phase.JOIN, knowing(lie))


def copy_rows(victim: int) -> Deed:
    """Joins with the rows of the victim's vector."""

    def mix(own: RowJoin, theirs: RowJoin) -> RowJoin:
        return replace(own, input=theirs.input)

    return only_at(Phase.JOIN, copied(victim, mix))


def copy_lengths(victim: int) -> Deed:
    """Commits with the victim's tests and the victim's proof about them."""

    def mix(own: RowCommit, theirs: RowCommit) -> RowCommit:
        return replace(own, tests=theirs.tests, proof=theirs.proof)

    return only_at(Phase.COMMIT, copied(victim, mix))


def old_proof() -> Deed:
    """Says again what it proved in the round before: for commit and for prove."""

    def made(phase: Phase, rounds: Rounds) -> Behaviour:
        if phase not in {Phase.COMMIT, Phase.PROVE}:
            raise UsageError("this deed is for commit and prove", "at")
        return _OldProof(phase, rounds)

    return made


def steal_permutation(victim: int) -> Deed:
    """Publishes words in which its noise is moved as the coins decide it for the victim."""

    def lie(access: PartyAccess, content: RowPublish) -> RowPublish:
        stage = _published(access)
        if stage is None or stage.unproved is None:
            return content
        return _masked(access, content, stage, stage.unproved.vectors.drawn, victim)

    return only_at(Phase.PUBLISH, knowing(lie))


def other_noise() -> Deed:
    """Publishes words with other noise than it committed to: of two it likes the larger one."""

    def lie(access: PartyAccess, content: RowPublish) -> RowPublish:
        stage = _published(access)
        if stage is None:
            return content
        drawn = [hide_noise(stage.view.context, rng=access.rng) for _ in range(2)]
        larger = max(drawn, key=lambda noise: int(noise.rows.values.sum()))
        return _masked(access, content, stage, larger, None)

    return only_at(Phase.PUBLISH, knowing(lie))


def abuse_carries(by: int) -> Deed:
    """Publishes words that are larger by so much, with carries that make up for it.

    A multiple of 2^-w is a carry mod the order of the group, and no integer.
    """

    def lie(access: PartyAccess, content: RowPublish) -> RowPublish:
        require_met((ROWS,), access.manifest)
        order, width = access.toolkit.group.order, access.manifest.word_width
        carry = by * pow(1 << width, -1, order) % order
        larger, _ = raised(access, content.value, by)
        return replace(content, value=larger, carries=with_more(access, content.carries, carry))

    return only_at(Phase.PUBLISH, knowing(lie))


def raised(access: PartyAccess, value: bytes, by: int) -> tuple[bytes, int]:
    """Packed words of which the first one is larger by so much, and how often it wrapped around."""
    width = access.manifest.word_width
    words = unpack_words(value, access.manifest.terms.dimension, width)
    turns, words[0] = divmod(int(words[0]) + by, 1 << width)
    return pack_words(words, width), turns


def with_more(access: PartyAccess, rows: Sequence[bytes], by: int) -> tuple[bytes, ...]:
    """The rows with another first entry, under the same blinding."""
    group = access.toolkit.group
    key = VectorPedersen(group, RowShape(access.manifest.terms.dimension).width)
    moved = group.decode_point(rows[0]) + key.value_bases[0] * group.scalar(by % group.order)
    return (moved.to_bytes(), *rows[1:])


def _published(access: PartyAccess) -> Published | None:
    require_met((ROWS,), access.manifest)
    stage = access.state.stage
    return stage if isinstance(stage, Published) else None


def _masked(
    access: PartyAccess,
    content: RowPublish,
    stage: Published,
    drawn: RowNoise,
    victim: int | None,
) -> RowPublish:
    """What a publish says of the same vector with other noise, or noise that is moved otherwise."""
    if stage.unproved is None:
        return content
    view = stage.view
    owner = view.own_id if victim is None else party_id(key_of(access, victim))
    given, masks = stage.unproved.vectors.input, live_masks(view, stage.keys, stage.seed)
    unmasked = UnmaskedVector(view.context, given, drawn, masks, joint=view.joint, party=owner)
    made = unmasked.masked(rng=access.rng)
    return replace(content, value=made.value, carries=made.posted_carries, pads=made.posted_pads)


def _with_other_rows(change: Altered) -> Deed:
    return only_at(Phase.JOIN, lambda _, rounds: _OtherRows(rounds, change))


@dataclass(frozen=True, slots=True)
class _OtherRows(Honest):
    rounds: Rounds
    change: Altered

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        require_met((ROWS,), access.manifest)
        stage = access.state.stage
        if not acts(self.rounds, post):
            return [post]
        if post.phase is Phase.JOIN and isinstance(stage, Joined):
            return [access.altered(post, ROW_JOIN, lambda said: self._join(access, stage, said))]
        if post.phase is Phase.COMMIT and isinstance(stage, Committed):
            return [
                access.altered(post, ROW_COMMIT, lambda said: self._commit(access, stage, said))
            ]
        return [post]

    def _join(self, access: PartyAccess, stage: Joined, content: RowJoin) -> RowJoin:
        given, drawn = stage.given.rows, stage.rows
        if given is None or drawn is None:
            return content
        group = access.toolkit.group
        context = RoundContext(access.manifest, access.session, access.round, group)
        whole = RowShape(shape_of(context).entries)  # so that padding is an entry like others
        vector, noise = given.rows.values.copy(), drawn.rows.values.copy()
        self.change(vector, noise)
        if (vector != given.rows.values).any():
            given = RowInput(hide_rows(group, whole, vector, _BITS, rng=access.rng))
        if (noise != drawn.rows.values).any():
            hidden = hide_rows(group, whole, noise, _BITS, rng=access.rng)
            drawn = replace(drawn, rows=hidden)
        access.memory["rows", access.round] = given, drawn
        return replace(content, input=given.posted, noise=drawn.posted)

    def _commit(self, access: PartyAccess, stage: Committed, content: RowCommit) -> RowCommit:
        given, drawn = access.memory.get(("rows", access.round), (None, None))
        if given is None or not isinstance(stage.masked, RowVectors):
            return content
        view = stage.view
        vectors = RowVectors(replace(stage.masked.given, rows=given), drawn)
        told = replace(vectors, drawn=replace(drawn, pads=stage.masked.drawn.pads))
        access.state = replace(access.state, stage=replace(stage, masked=told))
        claim = unanswered(view, content.acts_on, vectors)
        try:
            proofs = access.toolkit.proofs
            claim = answered_inputs(claim, given, drawn, proofs, rng=access.rng)
        except (UsageError, ComputationFault):  # no prover proves what is not so
            tests = input_tests(view.context, view.joint)
            answers = answer_tests(view.context.group, tests, (given.rows, drawn.rows), drawn.pads)
            return replace(content, tests=answers)
        return replace(content, tests=claim.tests, proof=claim.proof)


@dataclass(frozen=True, slots=True)
class _OldProof(Honest):
    phase: Phase
    rounds: Rounds

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        require_met((ROWS,), access.manifest)
        if post.phase is not self.phase:
            return [post]
        codec = bodies_of(access.manifest.path)[KIND_IN[self.phase]]
        earlier = access.memory.get(("proved", self))
        access.memory["proved", self] = codec.decode(body_of(post.entries))
        if earlier is None or not acts(self.rounds, post):
            return [post]
        old = {"tests": earlier.tests, "proof": earlier.proof}
        return [access.altered(post, codec, lambda said: replace(said, **old))]
