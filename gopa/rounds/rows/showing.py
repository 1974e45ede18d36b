"""Shows what published words are made of: masks at a few points, and the proof.

14-P5, 14-P6 and 14-P9. Who opens a key later is held to what it showed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gopa.rounds.context import RoundContext
from gopa.rounds.masks.equations import (
    EquationMask,
    EquationPoints,
    edge_equation,
    self_equation,
    signed_sum,
)
from gopa.rounds.masks.keys import SelfContext
from gopa.rounds.proofs import MaskClaim, Proofs
from gopa.rounds.rows.challenges import carry_tests, point_count, points_of
from gopa.rounds.rows.inputs import RowInput, RowNoise, answer_tests
from gopa.rounds.rows.words import LiveMasks, MaskedVector
from wire.randomness import Rng
from wire.secret import Guarded, SecretBytes
from zkp.rows.mask_prover import HiddenMasks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShownMasks(Guarded):
    """Holds the commitments to all masks of a party at the points, and what they hide together."""

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
