"""What coins and closes decide about long vectors: tests, permutations, points.

`specs/14-long-vectors.md`, section 3. All of it is public, and the same for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from commitments.group import Group, ScalarVec, Stream
from gopa.contract.beacon.coins import (
    carry_tests_seed,
    equation_point_bytes,
    input_tests_seed,
    permutation_seed,
)
from gopa.contract.row_terms import equation_points, losses_allowed
from gopa.rounds.context import RoundContext
from wire.domains import CARRY_TESTS, INPUT_TESTS, SIGNED_PERMUTATION, Domain, stream_domain
from wire.secret import SecretBytes
from zkp.rows.masking import SignedPermutation
from zkp.rows.product_tests import ProductTests
from zkp.rows.shape import RowShape

_SCALAR: Final = 48


def shape_of(context: RoundContext) -> RowShape:
    """How the vectors of the session lie in rows (14-L2)."""
    return RowShape(context.dimension)


def input_tests(context: RoundContext, joint: bytes) -> ProductTests:
    """The tests of vector and noise, common to all parties (14-H1)."""
    seed = input_tests_seed(joint, context.session, context.round)
    return _drawn_tests(_Drawn(context.group, seed, context.dimension, 2), INPUT_TESTS)


def carry_tests(context: RoundContext, publish_leaf: bytes) -> ProductTests:
    """The tests of carries (14-H3); they depend on the close of publish."""
    seed = carry_tests_seed(context.session, context.round, publish_leaf)
    return _drawn_tests(_Drawn(context.group, seed, context.dimension, 1), CARRY_TESTS)


def signed_permutation(context: RoundContext, joint: bytes, party: bytes) -> SignedPermutation:
    """Where the noise of a party is moved, and what of it is negated (14-H2)."""
    seed = permutation_seed(joint, context.session, context.round, party)
    stream = _stream(context.group, seed, SIGNED_PERMUTATION)
    places = np.frombuffer(stream.permutation(context.dimension), np.uint32)
    return SignedPermutation(places, stream.bytes(-(-context.dimension // 8)))


def point_count(context: RoundContext, listed: int) -> int:
    """How many points the close of publish decides if it lists so many parties (14-K2)."""
    terms = context.manifest.terms
    losses = losses_allowed(listed, terms.survivors, terms.late)
    return equation_points(listed, losses, shape_of(context).bits)


def points_of(context: RoundContext, publish_leaf: bytes, count: int) -> tuple[ScalarVec, ...]:
    """The points at which equations are checked (14-H4); they depend on the close of publish."""
    return _drawn_points(
        context.group, context.session, context.round, publish_leaf, count, shape_of(context).bits
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The tests of a round: it is the key of a cache, as all parties have the same."""

    group: Group
    seed: bytes
    dimension: int
    vectors: int


@lru_cache(maxsize=8)
def _drawn_tests(drawn: _Drawn, label: Domain) -> ProductTests:
    stream = _stream(drawn.group, drawn.seed, label)
    return ProductTests.draw(RowShape(drawn.dimension), drawn.vectors, stream)


@lru_cache(maxsize=8)
def _drawn_points(  # noqa: PLR0913, PLR0917 - what the points depend on, as the key of a cache
    group: Group, session: bytes, number: int, leaf: bytes, count: int, bits: int
) -> tuple[ScalarVec, ...]:
    data = equation_point_bytes(session, number, leaf, count, _SCALAR * bits * count)
    scalars = group.reduce_scalars(data, _SCALAR)
    return tuple(scalars[at : at + bits] for at in range(0, bits * count, bits))


def _stream(group: Group, seed: bytes, label: Domain) -> Stream:
    return group.stream(SecretBytes(seed), stream_domain(label))
