"""What a party says where vectors are proved row by row: rows, tests, words and proofs.

14-P1, 14-P3, 14-P4 and 14-P6. A pad hides the answers to one set of tests:
whoever answered keeps none of it (14-P7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from commitments.group import Group
from gopa.contract.manifest import Manifest
from gopa.contract.party import Join
from gopa.contract.rows import NOT_LIVE, PROVE, Prove, RowJoin, RowPublish
from gopa.protocol.party.events import Supplied
from gopa.protocol.party.reading import RoundView
from gopa.protocol.party.states import Published, RoundInput, RowVectors, UnprovedWords
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import sign
from gopa.rounds.proofs import LengthClaim, MaskClaim, Proofs
from gopa.rounds.rows.challenges import shape_of
from gopa.rounds.rows.inputs import (
    RowInput,
    RowNoise,
    answered_inputs,
    hide_input,
    input_bits,
    noise_bits,
    noise_from,
)
from gopa.rounds.rows.words import (
    KeptCarries,
    LiveEdge,
    LiveMasks,
    ShownMasks,
    UnmaskedVector,
    answered_masks,
    equation_points_at,
    show_masks,
)
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes
from zkp.rows.rows import HiddenPads, HiddenRows
from zkp.rows.shape import Integers


def row_input(context: RoundContext, supplied: Supplied, *, rng: Rng) -> RoundInput:
    """The rows of an input, drawn once for all attempts of a logical round (04-J5).

    Raises:
        UsageError: the vector is longer than the session proves vectors to be.
    """
    rows = hide_input(context, _measured(context.manifest, supplied.values), rng=rng)
    return RoundInput(
        supplied.logical, supplied.values, commitment=b"".join(rows.posted), rows=rows
    )


def _measured(manifest: Manifest, values: Sequence[int]) -> Integers:
    """Values of the grid as lengths from zero; a weight is measured from 0."""
    vector = np.array(values, dtype=np.int64)
    lengths = vector[:-1] if manifest.weighted else vector
    lengths -= manifest.origin
    return vector


def kept_input(
    context: RoundContext, blindings: bytes, points: bytes, given: RoundInput
) -> RoundInput:
    """An input with its rows, from their blindings and points in bytes.

    What they hide follows from the values, when it is needed. Raises `MalformedMessage`.
    """
    values, manifest = given.values, context.manifest
    bits = input_bits(manifest.terms)
    rows = _kept_rows(context, lambda: _measured(manifest, values), blindings, points, bits)
    return replace(given, commitment=points, rows=RowInput(rows))


def kept_noise(
    context: RoundContext, seed: SecretBytes, blindings: bytes, points: bytes, pads: HiddenPads
) -> RowNoise:
    """The noise of a round from its seed, its blindings and points. Raises `MalformedMessage`."""
    bits = noise_bits(context.manifest.terms)
    rows = _kept_rows(context, lambda: noise_from(context, seed), blindings, points, bits)
    return RowNoise(rows, pads, seed)


def _kept_rows(
    context: RoundContext,
    vector: Callable[[], Integers],
    blindings: bytes,
    points: bytes,
    bits: int,
) -> HiddenRows:
    """Rows from their blindings and points in bytes; their vector is made when it is needed."""
    group, shape = context.group, shape_of(context)
    return HiddenRows(
        lambda: shape.padded(vector()),
        group.decode_scalars(blindings, shape.rows).secret(),
        group.decode_points(points, shape.rows),
        bits,
    )


def with_rows(join: Join, given: RowInput, drawn: RowNoise) -> RowJoin:
    """A join with rows in place of one commitment and a seed."""
    return RowJoin(
        acts_on=join.acts_on,
        key=join.key,
        possession=join.possession,
        nonce_hash=join.nonce_hash,
        input=given.posted,
        noise=drawn.posted,
        pads=drawn.posted_pads,
    )


def answer_inputs(
    view: RoundView, leaf: bytes, vectors: RowVectors, proofs: Proofs, *, rng: Rng
) -> tuple[LengthClaim, RowVectors]:
    """Answer the tests of the coins and prove them; what is left has no pad any more (14-P3)."""
    drawn, claim = vectors.drawn, unanswered(view, leaf, vectors)
    answered = answered_inputs(claim, vectors.input, drawn, proofs, rng=rng)
    used = replace(drawn, pads=no_pads(view.context.group))
    return answered, replace(vectors, drawn=used)


def unanswered(view: RoundView, leaf: bytes, vectors: RowVectors) -> LengthClaim:
    """What a party claims of its vectors, without the tests and the proof."""
    given, drawn = vectors.input, vectors.drawn
    return LengthClaim(
        context=view.context,
        acts_on=leaf,
        party=view.own_id,
        joint=view.joint,
        input=given.posted,
        noise=drawn.posted,
        pads=drawn.posted_pads,
        tests=b"",
        proof=b"",
    )


def no_pads(group: Group) -> HiddenPads:
    """Stands for pads that are used up."""
    nothing = group.secret_scalars([])
    return HiddenPads(nothing, nothing, group.points([]))


def mask_rows(
    view: RoundView,
    vectors: RowVectors,
    keys: Mapping[int, SecretBytes],
    seed: SecretBytes | None,
    *,
    rng: Rng,
) -> UnprovedWords:
    """The words to publish, and rows of their carries and of fresh pads (14-P4)."""
    return UnprovedWords(vectors, _unmasked(view, vectors, keys, seed).masked(rng=rng))


def kept_words(
    view: RoundView,
    vectors: RowVectors,
    keys: Mapping[int, SecretBytes],
    seed: SecretBytes | None,
    carries: KeptCarries,
) -> UnprovedWords:
    """Words that were published, from what was kept of them."""
    return UnprovedWords(vectors, _unmasked(view, vectors, keys, seed).masked_again(carries))


def _unmasked(
    view: RoundView,
    vectors: RowVectors,
    keys: Mapping[int, SecretBytes],
    seed: SecretBytes | None,
) -> UnmaskedVector:
    masks = live_masks(view, keys, seed)
    given, drawn = vectors.input, vectors.drawn
    return UnmaskedVector(view.context, given, drawn, masks, joint=view.joint, party=view.own_id)


def words_message(leaf: bytes, unproved: UnprovedWords) -> RowPublish:
    """The message that publishes them."""
    masked = unproved.masked
    return RowPublish(leaf, masked.value, masked.posted_carries, masked.posted_pads)


def live_masks(
    view: RoundView, keys: Mapping[int, SecretBytes], seed: SecretBytes | None
) -> LiveMasks:
    """Everything that a party masks with: the keys of its live edges, and its own seed."""
    if seed is None:
        raise UsageError("who proves its words has a mask of its own")
    context = view.context
    edges = tuple(
        LiveEdge(
            neighbour=v,
            sign=sign(view.own_id, view.id_of(v)),
            key=keys[v],
            context=context.edge_context(view.own_id, view.id_of(v)),
        )
        for v in sorted(keys)
    )
    return LiveMasks(edges, seed, context.self_context(view.own_id))


def shown_masks(published: Published, leaf: bytes, listed: int) -> ShownMasks:
    """M_uv for every live edge, and M_b: both follow from keys and the close of publish (14-H5)."""
    view = published.view
    points = equation_points_at(view.context, leaf, listed)
    return show_masks(points, live_masks(view, published.keys, published.seed))


def prove_words(  # noqa: PLR0913 - what is claimed, and what proves it
    published: Published,
    shown: ShownMasks,
    leaf: bytes,
    listed: int,
    proofs: Proofs,
    *,
    rng: Rng,
) -> bytes:
    """The message that proves what the words are; its pads are used up by it (14-P6)."""
    view, unproved = published.view, published.unproved
    if unproved is None:
        raise UsageError("what was published is proved once")
    vectors, masked = unproved.vectors, unproved.masked
    masks = live_masks(view, published.keys, published.seed)
    claim = MaskClaim(
        context=view.context,
        acts_on=leaf,
        party=view.own_id,
        joint=view.joint,
        listed=listed,
        input=vectors.input.posted,
        noise=vectors.drawn.posted,
        value=masked.value,
        carries=masked.posted_carries,
        pads=masked.posted_pads,
        neighbours=masks.neighbours,
        signs=masks.signs,
        edges=shown.edges,
        self_mask=shown.self_mask,
        tests=b"",
        proof=b"",
    )
    answered = answered_masks(
        claim,
        vectors.input,
        vectors.drawn,
        published=masked,
        shown=shown,
        proofs=proofs,
        rng=rng,
    )
    by_neighbour = said_of(masks.neighbours, shown)
    edges = tuple(by_neighbour.get(v, NOT_LIVE) for v in view.neighbours)
    return PROVE.encode(Prove(leaf, edges, shown.self_mask, answered.tests, answered.proof))


def said_of(neighbours: Iterable[int], shown: ShownMasks) -> dict[int, bytes]:
    """What was said about each live edge, in increasing position of the neighbours."""
    return dict(zip(sorted(neighbours), shown.edges, strict=True))
