"""Masks a long vector: words that are published, and the carries that they leave behind.

14-P4: over the integers the words are the vector, its moved noise and
all masks, less 2^w times the carries. Additions take a time that depends on no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from commitments.group import PointVec, SecretScalarVec
from gopa.contract.words import pack_words
from gopa.rounds.context import RoundContext
from gopa.rounds.masks.equations import (
    EquationMask,
    EquationPoints,
    edge_equation,
    self_equation,
    signed_sum,
)
from gopa.rounds.masks.keys import EdgeContext, SelfContext
from gopa.rounds.masks.words import Words64, edge_words, self_words
from gopa.rounds.proofs import MaskClaim, Proofs
from gopa.rounds.rows.challenges import (
    carry_tests,
    point_count,
    points_of,
    shape_of,
    signed_permutation,
)
from gopa.rounds.rows.inputs import RowInput, RowNoise, answer_tests
from gopa.rounds.rows.statements import encoded_rows
from wire.randomness import Rng
from wire.secret import Guarded, SecretBytes
from zkp.rows.mask_prover import HiddenMasks
from zkp.rows.product_tests import draw_pads
from zkp.rows.rows import HiddenPads, HiddenRows, hide_pads, hide_rows
from zkp.rows.shape import Integers

_SIGN_BIT: Final = 63


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveEdge(Guarded):
    """The key of an edge that masks, its neighbour's position and this end's sign."""

    neighbour: int
    sign: int
    key: SecretBytes
    context: EdgeContext


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveMasks(Guarded):
    """Everything a party masks with in one round; edges in increasing position."""

    edges: tuple[LiveEdge, ...]
    seed: SecretBytes
    own: SelfContext

    @property
    def neighbours(self) -> tuple[int, ...]:
        """Where the other ends of the edges are on the roll."""
        return tuple(edge.neighbour for edge in self.edges)

    @property
    def signs(self) -> tuple[int, ...]:
        """What the masks of edges enter with."""
        return tuple(edge.sign for edge in self.edges)

    def words(self, context: RoundContext) -> Iterator[tuple[int, Words64]]:
        """The words of each mask with its sign, one mask at a time."""
        count, width, group = context.dimension, context.manifest.word_width, context.group
        for edge in self.edges:
            yield edge.sign, edge_words(edge.key, count, width, group=group)
        yield 1, self_words(self.seed, self.own, count, width, group=group)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedVector(Guarded):
    """What a publish carries, and what is behind the rows of carries and pads."""

    value: bytes
    carries: HiddenRows
    pads: HiddenPads

    @property
    def posted_carries(self) -> tuple[bytes, ...]:
        """The rows of carries."""
        return encoded_rows(self.carries.points)

    @property
    def posted_pads(self) -> tuple[bytes, ...]:
        """The rows of pads."""
        return encoded_rows(self.pads.points)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptCarries(Guarded):
    """What cannot be made again of a publish: blindings of its carries, and its pads."""

    blindings: SecretScalarVec
    points: PointVec
    pads: HiddenPads


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnmaskedVector(Guarded):
    """What the words of a party are made of; the coins `joint` and its id move its noise."""

    context: RoundContext
    input: RowInput
    noise: RowNoise
    masks: LiveMasks
    joint: bytes
    party: bytes

    def masked(self, *, rng: Rng) -> MaskedVector:
        """The words of a publish, and rows of carries and fresh pads; raises `ComputationFault`."""
        group, shape = self.context.group, shape_of(self.context)
        value, carries = self._words_and_carries()
        rows = hide_rows(group, shape, carries, self._carry_bits, rng=rng)
        return MaskedVector(value, rows, hide_pads(group, shape, draw_pads(group, rng), rng=rng))

    def masked_again(self, kept: KeptCarries) -> MaskedVector:
        """The words that were published, from what was kept: no chance is in the others."""
        value, carries = self._words_and_carries()
        padded = shape_of(self.context).padded(carries)
        rows = HiddenRows(padded, kept.blindings, kept.points, self._carry_bits)
        return MaskedVector(value, rows, kept.pads)

    @property
    def _carry_bits(self) -> int:
        """14-N1: no carry is larger."""
        return (len(self.masks.edges) + 1).bit_length()

    def _words_and_carries(self) -> tuple[bytes, Integers]:
        context, width = self.context, self.context.manifest.word_width
        permutation = signed_permutation(context, self.joint, self.party)
        moved = permutation.applied(self.noise.rows.values)
        total = (self.input.rows.values + moved)[: context.dimension]
        words, carries = masked(total, self.masks.words(context), width)
        return pack_words(words, width), carries


def masked(
    vector: Integers, masks: Iterable[tuple[int, Words64]], width: int
) -> tuple[Words64, Integers]:
    """The vector with all masks added: words of `width` bits, and what is above them."""
    lowest = np.uint64((1 << width) - 1)
    words, carries = vector.astype(np.uint64) & lowest, vector >> min(width, _SIGN_BIT)
    for sign, mask in masks:
        if sign > 0:
            words = (words + mask) & lowest
            carries = carries + (words < mask)
        else:
            carries = carries - (words < mask)
            words = (words - mask) & lowest
    return words, carries


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShownMasks(Guarded):
    """The commitments to all masks of a party at the points, and what they hide together."""

    edges: tuple[bytes, ...]
    self_mask: bytes
    total: EquationMask


def equation_points_at(context: RoundContext, leaf: bytes, listed: int) -> EquationPoints:
    """The points that a close of publish decides, which lists so many parties.

    They take 32 bytes for each point and coordinate: whoever shows or checks many masks makes
    them once.
    """
    points = points_of(context, leaf, point_count(context, listed))
    dimension, width = context.dimension, context.manifest.word_width
    return EquationPoints.of(context.group, leaf, points, dimension=dimension, width=width)


def show_masks(points: EquationPoints, masks: LiveMasks) -> ShownMasks:
    """The commitments that a prove message carries."""
    edges = [edge_equation(points, edge.key, edge.context) for edge in masks.edges]
    own = self_equation(points, masks.seed, masks.own)
    shown = tuple(edge.commitment().to_bytes() for edge in edges)
    return ShownMasks(shown, own.commitment().to_bytes(), signed_sum(own, edges, masks.signs))


def answered_masks(  # noqa: PLR0913 - what the words are made of
    claim: MaskClaim,
    given: RowInput,
    drawn: RowNoise,
    *,
    published: MaskedVector,
    shown: ShownMasks,
    proofs: Proofs,
    rng: Rng,
) -> MaskClaim:
    """The claim with the tests and the proof of what was published; it comes without both.

    A pad hides one answer: who calls this for two closes of publish shows sums of its carries
    (14-P7).
    """
    tests = carry_tests(claim.context, claim.acts_on)
    answers = answer_tests(claim.context.group, tests, (published.carries,), published.pads)
    asked = replace(claim, tests=answers)
    hidden = HiddenMasks(
        given.rows,
        drawn.rows,
        published.carries,
        published.pads,
        shown.total.values,
        shown.total.blinding,
    )
    return replace(asked, proof=proofs.prove_masks(asked, hidden, rng))


def fits_seed(points: EquationPoints, seed: SecretBytes, own: SelfContext, shown: bytes) -> bool:
    """Whether this is what somebody with this seed shows of its own mask (14-P10)."""
    return self_equation(points, seed, own).commitment().to_bytes() == shown
