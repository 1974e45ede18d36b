"""Rounds of long vectors without messages: what each party holds, says and claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from commitments import ristretto255
from commitments.group import Group
from gopa.contract.manifest import Manifest
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import EdgeContext, EquationPoints, SelfContext, sign
from gopa.rounds.proofs import LengthClaim, MaskClaim, Proofs
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.rows.inputs import RowInput, RowNoise, answered_inputs, hide_input, hide_noise
from gopa.rounds.rows.words import (
    LiveEdge,
    LiveMasks,
    MaskedVector,
    ShownMasks,
    UnmaskedVector,
    answered_masks,
    equation_points_at,
    show_masks,
)
from tests.contract.samples import row_manifest, row_terms
from tests.randomness import seeded
from wire.randomness import Rng
from wire.secret import SecretBytes
from zkp.rows.shape import Integers

JOINT = b"\x21" * 32
COINS = b"\x31" * 32
PUBLISH = b"\x32" * 32
SESSION = b"\x33" * 32
REAL = RealProofs()


@lru_cache
def manifest_of(dimension: int, width: int, weighted: bool) -> Manifest:
    """A session of three to five parties."""
    changes: dict[str, Any] = {}
    if dimension < 4:
        changes |= {"squared_norm": 64, "squared_sensitivity": 256}
    elif dimension > 100:
        square = 4 * dimension
        changes |= {"squared_norm": square, "squared_sensitivity": 4 * square}
        changes["noise_square"] = square
    if weighted:
        changes |= {"squared_sensitivity": 6000, "weight_length": 1, "weight_scale": 2}
        changes["squared_norm"] = 2000
    terms = row_terms(dimension, low=Decimal(-1), **changes)
    return row_manifest(terms, word_width=width, weighted=weighted)


def context_of(
    dimension: int = 40, width: int = 16, *, weighted: bool = False, group: Group | None = None
) -> RoundContext:
    """One round of such a session."""
    agreed = manifest_of(dimension, width, weighted)
    return RoundContext(agreed, SESSION, 1, group or ristretto255())


def party_number(number: int) -> bytes:
    return sha256(f"long party {number}".encode()).digest()


def vector_of(context: RoundContext, number: int) -> Integers:
    """A short vector; with weights the last coordinate is one that allows its length."""
    draws = np.random.default_rng(number)
    found = draws.integers(-2, 3, context.dimension)
    if context.manifest.weighted:
        found[-1] = 8 + number
    return found


@dataclass(frozen=True)
class RowParty:
    """Holds what one party knows after publish, and what it shows."""

    position: int
    name: bytes
    vector: Integers
    given: RowInput
    drawn: RowNoise
    masks: LiveMasks
    published: MaskedVector
    shown: ShownMasks
    lengths: LengthClaim
    words: MaskClaim


@dataclass(frozen=True)
class RowRound:
    """Holds a round in which all parties are neighbours and everybody has published."""

    context: RoundContext
    parties: tuple[RowParty, ...]
    points: EquationPoints

    @property
    def lengths(self) -> list[LengthClaim]:
        return [party.lengths for party in self.parties]

    @property
    def words(self) -> list[MaskClaim]:
        return [party.words for party in self.parties]


def edge_key(one: int, other: int) -> SecretBytes:
    """What two parties derive."""
    low, high = sorted((one, other))
    return SecretBytes(sha256(f"edge {low} {high}".encode()).digest())


def masks_of(context: RoundContext, position: int, others: list[int]) -> LiveMasks:
    """What a party masks with."""
    place, name = (context.session, context.round), party_number(position)
    edges = tuple(
        LiveEdge(
            other,
            sign(name, party_number(other)),
            edge_key(position, other),
            EdgeContext.between(*place, name, party_number(other)),
        )
        for other in sorted(others)
    )
    seed = SecretBytes(sha256(f"seed {position}".encode()).digest())
    return LiveMasks(edges, seed, SelfContext(*place, name))


def run(
    context: RoundContext, parties: int = 3, proofs: Proofs = REAL, listed: int | None = None
) -> RowRound:
    """Everybody keeps the rules; the close of publish lists these parties, or so many."""
    count = parties if listed is None else listed
    points = equation_points_at(context, PUBLISH, count)
    made = []
    for position in range(parties):
        rng = seeded(f"long {position}")
        others = [other for other in range(parties) if other != position]
        made.append(play(context, points, masks_of(context, position, others), count, proofs, rng))
    return RowRound(context, tuple(made), points)


def play(  # noqa: PLR0917 - what a party needs
    context: RoundContext,
    points: EquationPoints,
    masks: LiveMasks,
    listed: int,
    proofs: Proofs,
    rng: Rng,
) -> RowParty:
    """One party from join to prove."""
    name = masks.own.party
    position = next(at for at in range(100) if party_number(at) == name)
    vector = vector_of(context, position)
    given, drawn = hide_input(context, vector, rng=rng), hide_noise(context, rng=rng)
    asked = length_claim(context, name, given, drawn)
    lengths = answered_inputs(asked, given, drawn, proofs, rng=rng)
    unmasked = UnmaskedVector(context, given, drawn, masks, joint=JOINT, party=name)
    published = unmasked.masked(rng=rng)
    shown = show_masks(points, masks)
    claim = replace(mask_claim(context, lengths, masks, published, shown), listed=listed)
    words = answered_masks(
        claim, given, drawn, published=published, shown=shown, proofs=proofs, rng=rng
    )
    return RowParty(position, name, vector, given, drawn, masks, published, shown, lengths, words)


def length_claim(
    context: RoundContext, name: bytes, given: RowInput, drawn: RowNoise
) -> LengthClaim:
    """What a commit claims, without tests and proof."""
    return LengthClaim(
        context=context,
        acts_on=COINS,
        party=name,
        joint=JOINT,
        input=given.posted,
        noise=drawn.posted,
        pads=drawn.posted_pads,
        tests=b"",
        proof=b"",
    )


def mask_claim(
    context: RoundContext,
    lengths: LengthClaim,
    masks: LiveMasks,
    published: MaskedVector,
    shown: ShownMasks,
) -> MaskClaim:
    """What a prove message claims, without tests and proof."""
    return MaskClaim(
        context=context,
        acts_on=PUBLISH,
        party=lengths.party,
        joint=JOINT,
        listed=len(masks.edges) + 1,
        input=lengths.input,
        noise=lengths.noise,
        value=published.value,
        carries=published.posted_carries,
        pads=published.posted_pads,
        neighbours=masks.neighbours,
        signs=masks.signs,
        edges=shown.edges,
        self_mask=shown.self_mask,
        tests=b"",
        proof=b"",
    )
