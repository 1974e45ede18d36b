"""A party's vector, noise and pads in rows, and the answers to the tests of them.

The vector is committed to once in a logical round, noise and pads anew in every round.
14-P1 to 14-P3 and 14-Y1. No step takes a time that depends on an entry
of a vector, but for how often noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Final

import numpy as np

from commitments.group import Group
from commitments.tables import ResidueTable, table_kernels
from gopa.contract.row_terms import weight_bound
from gopa.contract.terms import Terms
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import LengthClaim, Proofs
from gopa.rounds.rows.challenges import input_tests, shape_of
from gopa.rounds.rows.statements import encoded_rows
from gopa.rounds.unproved_noise import add_noise
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes
from zkp.rows.length_prover import HiddenLengths
from zkp.rows.product_tests import ProductTests, draw_pads, encode_tests, hidden_tests
from zkp.rows.rows import HiddenPads, HiddenRows, hide_pads, hide_rows
from zkp.rows.shape import TESTS, Integers

_MOST_DRAWS: Final = 64
_SEED_SIZE: Final = 32


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowInput(Guarded):
    """The vector of one logical round in the one commitment that it ever has."""

    rows: HiddenRows

    @property
    def posted(self) -> tuple[bytes, ...]:
        """What every join of the logical round carries."""
        return encoded_rows(self.rows.points)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowNoise(Guarded):
    """The noise of one round, and the pads that hide one answer to the tests.

    The noise can be made again from its `seed`, the pads cannot: they are used once.
    """

    rows: HiddenRows
    pads: HiddenPads
    seed: SecretBytes

    @property
    def posted(self) -> tuple[bytes, ...]:
        """The rows of noise that the join carries."""
        return encoded_rows(self.rows.points)

    @property
    def posted_pads(self) -> tuple[bytes, ...]:
        """The rows of pads that the join carries."""
        return encoded_rows(self.pads.points)


def hide_input(context: RoundContext, vector: Integers, *, rng: Rng) -> RowInput:
    """Commit to the vector of a logical round: integers x = k - k_0, without padding.

    Raises:
        UsageError: it is longer than the terms allow. Nothing was said.
        ComputationFault: a computation went wrong. Nothing was said.
    """
    _require_short(context, vector)
    bits = input_bits(context.manifest.terms)
    return RowInput(hide_rows(context.group, shape_of(context), vector, bits, rng=rng))


def hide_noise(context: RoundContext, *, rng: Rng) -> RowNoise:
    """Draw noise and pads for one round, and commit to them. Raises as `hide_input`."""
    group, shape, terms = context.group, shape_of(context), context.manifest.terms
    seed, noise = draw_noise(context, rng=rng)
    rows = hide_rows(group, shape, noise, noise_bits(terms), rng=rng)
    pads = hide_pads(group, shape, draw_pads(group, rng), rng=rng)
    return RowNoise(rows, pads, seed)


def input_bits(terms: Terms) -> int:
    """How many bits an entry of an input has at most."""
    return isqrt(terms.squared_norm).bit_length()


def noise_bits(terms: Terms) -> int:
    """How many bits an entry of noise has at most."""
    return min(terms.spike, isqrt(terms.noise_square)).bit_length()


def noise_from(context: RoundContext, seed: SecretBytes) -> Integers:
    """The noise that a seed gives, whatever its length."""
    drawn = np.zeros(context.dimension, np.int64)
    add_noise(drawn, context.manifest.terms.noise, context.group, lambda _: seed.reveal())
    return drawn


def draw_noise(context: RoundContext, *, rng: Rng) -> tuple[SecretBytes, Integers]:
    """Noise of the plan's law with its seed, drawn again while it is too long (14-Y1).

    Raises `UsageError` if that never ends: no plan has such terms (14-M7).
    """
    terms = context.manifest.terms
    for _ in range(_MOST_DRAWS):
        seed = SecretBytes(draw(rng, _SEED_SIZE))
        drawn = noise_from(context, seed)
        table = table_kernels(context.group).of_integers(drawn)
        square, eighth = _square(table), _square(table.times(table).times(table.times(table)))
        if square <= terms.noise_square and eighth <= terms.spike**8:
            return seed, drawn
    raise UsageError("noise of this law is hardly ever within the terms' bounds", "noise_square")


def answered_inputs(
    claim: LengthClaim, given: RowInput, drawn: RowNoise, proofs: Proofs, *, rng: Rng
) -> LengthClaim:
    """The claim with the tests and the proof of what was posted; it comes without both.

    A pad hides one answer: who calls this twice in one round, for two values of the coins, shows
    sums of its vector (14-P7).
    """
    tests = input_tests(claim.context, claim.joint)
    answers = answer_tests(claim.context.group, tests, (given.rows, drawn.rows), drawn.pads)
    asked = replace(claim, tests=answers)
    hidden = HiddenLengths(given.rows, drawn.rows, drawn.pads)
    return replace(asked, proof=proofs.prove_lengths(asked, hidden, rng))


def answer_tests(
    group: Group, tests: ProductTests, vectors: tuple[HiddenRows, ...], pads: HiddenPads
) -> bytes:
    """What the tests of these vectors give, under the pads."""
    sums = tests.sums([each.column_sums(group, tests) for each in vectors])
    return encode_tests(hidden_tests(group, sums, pads.values[:TESTS]))


def _require_short(context: RoundContext, vector: Integers) -> None:
    """14-L5, and with weights 14-W1: what the proof will say. No sum of squares of words wraps."""
    terms, group = context.manifest.terms, context.group
    square = _square(table_kernels(group).of_integers(vector))
    if square > terms.squared_norm:
        raise UsageError("the vector is longer than the terms allow", "input")
    if not context.manifest.weighted:
        return
    bound = weight_bound(terms)
    if not (vector[-1:] >= 0).all() or not (vector[-1:] <= bound.most).all():
        raise UsageError(f"a weight lies between 0 and {bound.most} steps", "input")
    weight = group.secret_scalars(vector[-1:])[0]
    reach = weight * group.scalar(bound.numerator) + group.scalar(bound.slack).secret()
    scale = group.scalar(bound.denominator**2)
    others = (group.secret_scalar(square) - weight * weight) * scale
    if int((reach * reach - others).reveal()) > group.order // 2:
        raise UsageError("the vector is longer than its weight allows", "input")


def _square(table: ResidueTable) -> int:
    """The sum of the squares of a table's entries, of which this is all that is seen."""
    return int(table.inner(table).reveal())
