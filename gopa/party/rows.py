"""Makes what a party says where vectors are proved row by row: rows, tests, words and proofs.

`specs/14-long-vectors.md`, [P1], [P3], [P4] and [P6]. A pad hides the tests of one proof and is used
once: the state behind a proof holds none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from commitments.group import SecretScalar, SecretScalarVec
from gopa.masks import (
    EdgeContext,
    SelfContext,
    UniformMask,
    add_edge_words,
    add_self_words,
    pack_words,
    sign,
)
from gopa.messages.long_vectors import PROVE, LongJoin, LongPublish, Prove
from gopa.messages.manifest import Manifest
from gopa.messages.party import Join
from gopa.messages.row_terms import origin
from gopa.party.context import PartyContext
from gopa.party.events import Supplied
from gopa.party.states import (
    Committed,
    FreshRows,
    HiddenVectors,
    Published,
    RoundInput,
    UnprovedWords,
)
from gopa.party.view import RoundView
from gopa.rounds import row_tmp as R
from gopa.rounds.unproved_noise import add_noise
from wire.errors import UsageError
from wire.secret import Guarded
from zkp.rows.lengths import HiddenLengths, prove_lengths
from zkp.rows.masking import HiddenMasks, prove_masks
from zkp.rows.product_tests import draw_pads, encode_tests, hidden_tests
from zkp.rows.rows import hide_pads, hide_rows

NOT_LIVE = bytes(32)
"""Stands for the edge of a neighbour that masks nothing."""


def centred(manifest: Manifest, values: Sequence[int]) -> list[int]:
    """The steps of an input from zero: a weight, in the last place, is one already."""
    zero = origin(manifest.terms)
    kept = list(values)
    moved = [value - zero for value in kept]
    if manifest.weighted:
        moved[-1] = kept[-1]
    return moved


def require_short(manifest: Manifest, values: Sequence[int]) -> None:
    """Refuse an input that is longer than the session proves inputs to be."""
    if sum(value * value for value in centred(manifest, values)) > manifest.terms.squared_norm:
        raise UsageError("a vector no longer than the session's norm allows", "values")


def row_input(party: PartyContext, supplied: Supplied) -> RoundInput:
    """The rows of an input, drawn once for all attempts of a logical round ([J5])."""
    context, terms = party.context(1), party.manifest.terms
    vector = np.array(centred(party.manifest, supplied.values), dtype=np.int64)
    bits = isqrt(terms.squared_norm).bit_length()
    rows = hide_rows(context.group, context.shape, vector, bits, rng=party.rng)
    return RoundInput(
        supplied.logical, supplied.values, commitment=rows.points.to_bytes(), rows=rows
    )


def fresh_rows(party: PartyContext) -> FreshRows:
    """Noise of the plan's law within its bounds ([Y1] of 14), and pads, both under rows."""
    context, terms = party.context(1), party.manifest.terms
    while True:
        noise = np.zeros(terms.dimension, np.int64)
        add_noise(noise, terms.noise, context.group, party.rng)
        drawn = noise.tolist()
        if (
            sum(a * a for a in drawn) <= terms.noise_square
            and sum(a**8 for a in drawn) <= terms.spike**8
        ):
            break
    bits = min(terms.spike, isqrt(terms.noise_square)).bit_length()
    pads = hide_pads(
        context.group, context.shape, draw_pads(context.group, party.rng), rng=party.rng
    )
    return FreshRows(hide_rows(context.group, context.shape, noise, bits, rng=party.rng), pads)


def split(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[at : at + 32] for at in range(0, len(data), 32))


def with_rows(join: Join, given: RoundInput, fresh: FreshRows) -> LongJoin:
    """A join with rows in place of one commitment and a seed."""
    return LongJoin(
        join.acts_on,
        join.key,
        join.possession,
        join.nonce_hash,
        split(given.commitment),
        split(fresh.noise.points.to_bytes()),
        split(fresh.pads.points.to_bytes()),
    )


def hidden_vectors(given: RoundInput, fresh: FreshRows, view: RoundView) -> HiddenVectors:
    """The vectors of a round, with the permutation of the noise that its coins decide."""
    if given.rows is None:
        raise UsageError("the input has rows")
    return HiddenVectors(
        given.rows, fresh.noise, R.permutation(view.context, view.joint, view.own_id)
    )


def prove_input(
    party: PartyContext, view: RoundView, leaf: bytes, vectors: HiddenVectors, pads: Any
) -> tuple[bytes, bytes]:
    context, group = view.context, view.context.group
    tests = R.input_tests(context, view.joint)
    sums = tests.sums(
        [tests.column_sums(group, each.values) for each in (vectors.inputs, vectors.noise)]
    )
    answers = encode_tests(hidden_tests(group, sums, pads.values[:360]))
    claim = R.LengthClaim(
        context,
        leaf,
        view.own_id,
        view.joint,
        vectors.inputs.points.to_bytes(),
        vectors.noise.points.to_bytes(),
        pads.points.to_bytes(),
        answers,
        b"",
    )
    proof = prove_lengths(
        claim.statement(),
        HiddenLengths(vectors.inputs, vectors.noise, pads),
        claim.transcript(),
        rng=party.rng,
    )
    return answers, proof


def mask_rows(
    party: PartyContext, committed: Committed, vectors: HiddenVectors, live: Sequence[int]
) -> UnprovedWords:
    view, context = committed.view, committed.view.context
    width = context.manifest.word_width
    limit = 1 << width

    def words_of(add: Any) -> list[int]:
        words = R.words_of(context)
        add(words)
        return [w % limit for w in words.astype(np.uint64).tolist()]

    assert committed.seed is not None
    total = (
        vectors.inputs.values[: context.dimension]
        + vectors.permutation.applied(vectors.noise.values)[: context.dimension]
    ).tolist()
    own = SelfContext(context.session, context.round, view.own_id)
    for mask, s in [
        (words_of(lambda w: add_self_words(w, committed.seed, own, group=context.group)), 1)
    ] + [
        (
            words_of(
                lambda w, v=v: add_edge_words(
                    w, committed.edges[v].key, 1, UniformMask(), group=context.group
                )
            ),
            committed.edges[v].sign,
        )
        for v in live
    ]:
        total = [t + s * m for t, m in zip(total, mask, strict=True)]
    words = np.array([t % limit for t in total], dtype=np.uint64)
    carries = np.array([t // limit for t in total], dtype=np.int64)
    bits = (len(live) + 1).bit_length()
    hidden = hide_rows(context.group, context.shape, carries, bits, rng=party.rng)
    pads = hide_pads(
        context.group, context.shape, draw_pads(context.group, party.rng), rng=party.rng
    )
    return UnprovedWords(vectors, pack_words(words, width), hidden, pads)


def words_message(leaf: bytes, unproved: UnprovedWords) -> LongPublish:
    return LongPublish(
        leaf,
        unproved.words,
        split(unproved.carries.points.to_bytes()),
        split(unproved.pads.points.to_bytes()),
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SaidMasks(Guarded):
    """Holds what a party says about its masks at the points of a round, and what is behind it.

    `edges` are the M_uv by neighbour, `own` is M_b; `masks` and `blinding` open their signed sum.
    """

    edges: Mapping[int, bytes]
    own: bytes
    masks: SecretScalarVec
    blinding: SecretScalar


def say_masks(published: Published, leaf: bytes, listed: int) -> SaidMasks:
    """Compute M_uv for every live edge, and M_b: both follow from keys and the close ([H5])."""
    view, context = published.view, published.view.context
    if published.seed is None:
        raise UsageError("who proves has a mask of its own")
    group, z = context.group, R.points(context, leaf, listed)
    own = SelfContext(context.session, context.round, view.own_id)
    masks, blinding, own_point = R.self_equation(context, own, published.seed, leaf, z)
    said = {}
    for v, key in sorted(published.keys.items()):
        edge = EdgeContext.between(context.session, context.round, view.own_id, view.id_of(v))
        values, hiding, said[v] = R.edge_equation(context, edge, key, leaf, z)
        factor = group.scalar(sign(view.own_id, view.id_of(v)) % group.order)
        masks, blinding = masks + values * factor, blinding + hiding * factor
    return SaidMasks(said, own_point, masks, blinding)


def prove_words(
    party: PartyContext, published: Published, said: SaidMasks, leaf: bytes, listed: int
) -> bytes:
    """The message that proves what the words are; its pads are used up by it ([P6], [P7])."""
    view, context, unproved = published.view, published.view.context, published.unproved
    if unproved is None:
        raise UsageError("what was published is proved once")
    group = context.group
    tests = R.carry_tests(context, leaf)
    sums = tests.sums([tests.column_sums(group, unproved.carries.values)])
    answers = encode_tests(hidden_tests(group, sums, unproved.pads.values[:360]))
    vectors = unproved.vectors
    live = tuple(sorted(said.edges))
    claim = R.MaskClaim(
        context=context,
        acts_on=leaf,
        party=view.own_id,
        joint=view.joint,
        listed=listed,
        words=unproved.words,
        inputs=vectors.inputs.points.to_bytes(),
        noise=vectors.noise.points.to_bytes(),
        carries=unproved.carries.points.to_bytes(),
        pads=unproved.pads.points.to_bytes(),
        neighbours=live,
        signs=tuple(sign(view.own_id, view.id_of(v)) for v in live),
        edges=b"".join(said.edges[v] for v in live),
        own=said.own,
        tests=answers,
        proof=b"",
    )
    hidden = HiddenMasks(
        vectors.inputs, vectors.noise, unproved.carries, unproved.pads, said.masks, said.blinding
    )
    proof = prove_masks(claim.statement(), hidden, claim.transcript(), rng=party.rng)
    edges = tuple(said.edges.get(v, NOT_LIVE) for v in view.neighbours)
    return PROVE.encode(Prove(leaf, edges, said.own, answers, proof))
