"""Commits to what the words of a mask are at a few points, so that equations about words add up.

Both ends of an edge make the same bytes, and no blinding serves two closes: the difference of two
commitments with one blinding would say something about the mask. `specs/14-long-vectors.md`, rules
P6 and H5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments import VectorPedersen
from commitments.group import Group, PointVec, ScalarVec, SecretScalar, SecretScalarVec
from commitments.tables import ResidueTable, table_kernels
from gopa.rounds.masks.keys import EdgeContext, SelfContext, derived_key
from gopa.rounds.masks.self_masks import self_key
from gopa.rounds.masks.words import Words64, edge_words, self_words
from wire.domains import EDGE_EQUATION, EQUATION_KEY, SELF_EQUATION, Domain, stream_domain
from wire.secret import Guarded, SecretBytes


@dataclass(frozen=True, slots=True)
class EquationPoints:
    """The tables of equality of the points that a close of publish decides.

    A mask has `dimension` words of `width` bits. The tables take 32 bytes for each point and word.
    """

    group: Group
    leaf: bytes
    width: int
    tables: tuple[ResidueTable, ...]

    @classmethod
    def of(
        cls, group: Group, leaf: bytes, points: Sequence[ScalarVec], *, dimension: int, width: int
    ) -> EquationPoints:
        """The tables of these points."""
        kernels = table_kernels(group)
        tables = tuple(kernels.equality(point, dimension) for point in points)
        return cls(group, leaf, width, tables)

    @property
    def dimension(self) -> int:
        """The words of a mask."""
        return len(self.tables[0])

    def at(self, words: Words64) -> SecretScalarVec:
        """The multilinear extension of words at each point, in constant time."""
        found = self.group.secret_scalars([])
        zero = self.group.secret_scalars([0])
        for table in self.tables:
            found = found.concat(zero + table.inner_words(words))
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EquationMask(Guarded):
    """What a mask is at the points, and the blinding of the commitment to it."""

    group: Group
    values: SecretScalarVec
    blinding: SecretScalar

    def commitment(self) -> PointVec:
        """One point, M_uv or M_b; in constant time."""
        key = VectorPedersen(self.group, len(self.values))
        return key.commit(self.values, self.blinding).points


def edge_equation(points: EquationPoints, key: SecretBytes, context: EdgeContext) -> EquationMask:
    """What the mask of an edge is at the points: equal at both ends, and for who opens its key."""
    words = edge_words(key, points.dimension, points.width, group=points.group)
    return _masked(points, words, key, context.to_bytes(), EDGE_EQUATION)


def self_equation(points: EquationPoints, seed: SecretBytes, context: SelfContext) -> EquationMask:
    """What a party's own mask is at the points: the same for who opens its seed."""
    words = self_words(seed, context, points.dimension, points.width, group=points.group)
    key = self_key(seed, context)
    return _masked(points, words, key, context.to_bytes(), SELF_EQUATION)


def signed_sum(
    own: EquationMask, edges: Sequence[EquationMask], signs: Sequence[int]
) -> EquationMask:
    """The own mask and those of edges with their signs, added up."""
    group, values, blinding = own.group, own.values, own.blinding
    for sign, edge in zip(signs, edges, strict=True):
        factor = group.scalar(sign % group.order)
        values, blinding = values + edge.values * factor, blinding + edge.blinding * factor
    return EquationMask(group, values, blinding)


def _masked(
    points: EquationPoints, words: Words64, key: SecretBytes, info: bytes, label: Domain
) -> EquationMask:
    group = points.group
    fresh = derived_key(key.reveal(), points.leaf, EQUATION_KEY, info)
    blinding = group.stream(fresh, stream_domain(label)).scalars(1)[0]
    return EquationMask(group, points.at(words), blinding)
