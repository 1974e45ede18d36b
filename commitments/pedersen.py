"""Pedersen commitments: Com(v; r) = v * G + r * H for a scalar, one point for a whole vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commitments.commitment import Commitment, Opening, RevealedOpening
from commitments.generators import MAX_BASES, derive_generators
from commitments.group import (
    AnyScalarVec,
    FixedBases,
    Group,
    Point,
    PointVec,
    ScalarVec,
    SecretScalar,
    SecretScalarVec,
)
from wire.errors import InvalidProof, UsageError
from wire.randomness import Rng

VALUE_FAMILY = b"pedersen/value"
BLINDING_FAMILY = b"pedersen/blinding"
OPENING_CHECK = "01-P4"


@dataclass(frozen=True, slots=True)
class Pedersen:
    """Commitments to scalars. Perfectly hiding, binding under discrete log."""

    group: Group

    @property
    def value_base(self) -> Point:
        """G, hashed to the group from a public label."""
        return derive_generators(self.group, VALUE_FAMILY, 1)[0]

    @property
    def blinding_base(self) -> Point:
        """H, shared with the vector commitments."""
        return derive_generators(self.group, BLINDING_FAMILY, 1)[0]

    @property
    def values_per_commitment(self) -> int:
        """One value hides in one point."""
        return 1

    def describe(self) -> str:
        """A name for messages."""
        return f"Pedersen over {self.group.name} ({self.group.backend})"

    def commit(self, values: AnyScalarVec, blindings: SecretScalarVec) -> Commitment:
        """Commit to each value with the blinding beside it, in constant time.

        The caller draws every blinding uniformly and uses it once.
        """
        if len(values) != len(blindings):
            raise UsageError(f"{len(values)} value(s) need as many blindings, not {len(blindings)}")
        return Commitment(self, _tables(self.group).combine(values, blindings))

    def commit_fresh(self, values: SecretScalarVec, *, rng: Rng) -> tuple[Commitment, Opening]:
        """Commit with blindings drawn from `rng`."""
        blindings = self.group.random_scalars(len(values), rng)
        return self.commit(values, blindings), Opening(self, values, blindings)

    def verify_opening(self, commitment: Commitment, opening: RevealedOpening) -> None:
        """Check that the opening fits.

        Raises:
            InvalidProof: with the positions of the commitments that do not fit.
        """
        if commitment.key != self or opening.key != self:
            raise UsageError(f"commitment and opening must both be under {self.describe()}")
        if len(commitment) != len(opening):
            raise UsageError(f"{len(commitment)} commitment(s) but {len(opening)} opening(s)")
        expected = _tables(self.group).combine(opening.values, opening.blindings)
        if expected == commitment.points:
            return
        pairs = zip(expected, commitment.points, strict=True)
        wrong = tuple(i for i, (fits, posted) in enumerate(pairs) if fits != posted)
        raise InvalidProof("the opening does not fit the commitment", OPENING_CHECK, wrong)

    def decode(self, data: bytes, count: int) -> Commitment:
        """Strictly decode `count` commitments; the identity is refused.

        Raises:
            MalformedMessage: wrong length, not canonical, or the identity.
        """
        return Commitment(self, self.group.decode_points(data, count))


@lru_cache(maxsize=8)
def _tables(group: Group) -> FixedBases:
    key = Pedersen(group)
    return group.fixed_bases(group.points([key.value_base, key.blinding_base]))


VECTOR_FAMILY = b"vector-pedersen/value"
VECTOR_OPENING_CHECK = "01-V4"


@dataclass(frozen=True, slots=True)
class VectorPedersen:
    """Commitments to vectors of one dimension.

    The bases depend on the dimension, so a commitment to (1, 2) is unrelated to
    one of (1, 2, 0): nobody can pass one off as the other.
    """

    group: Group
    dimension: int

    def __post_init__(self) -> None:
        if type(self.dimension) is not int or not 1 <= self.dimension <= MAX_BASES:
            raise UsageError(f"the dimension is an integer from 1 to {MAX_BASES}")

    @property
    def value_bases(self) -> PointVec:
        """G[0] .. G[dimension - 1]."""
        return derive_generators(
            self.group, VECTOR_FAMILY, self.dimension, dimension=self.dimension
        )

    @property
    def blinding_base(self) -> Point:
        """H, shared with the scalar commitments."""
        return derive_generators(self.group, BLINDING_FAMILY, 1)[0]

    @property
    def bases(self) -> PointVec:
        """The value bases with the blinding base behind them."""
        return self.value_bases.concat(self.group.points([self.blinding_base]))

    @property
    def values_per_commitment(self) -> int:
        """The dimension: one commitment hides so many values."""
        return self.dimension

    def describe(self) -> str:
        """A name for messages."""
        return (
            f"VectorPedersen of dimension {self.dimension} "
            f"over {self.group.name} ({self.group.backend})"
        )

    def commit(self, values: SecretScalarVec, blinding: SecretScalar) -> Commitment:
        """Commit to one vector in constant time.

        The caller draws the blinding uniformly and uses it once.
        """
        self._require_dimension(len(values))
        point = self.value_bases.msm(values) + self.blinding_base * blinding
        return Commitment(self, self.group.points([point]))

    def commit_rows(
        self,
        rows: Sequence[SecretScalarVec],
        blindings: SecretScalarVec,
        *,
        bits: int | None = None,
    ) -> Commitment:
        """Commit to each row with the blinding beside it, in constant time.

        Many vectors at once; with `bits`, which promises that every value lies in
        [-2^bits, 2^bits), several times faster. Blindings are those of `commit`.
        """
        if len(rows) != len(blindings):
            raise UsageError(f"{len(rows)} row(s) need as many blindings, not {len(blindings)}")
        for row in rows:
            self._require_dimension(len(row))
        hidden = _blinding_table(self.group).combine(blindings)
        return Commitment(self, self.value_bases.msms(rows, bits=bits) + hidden)

    def commit_fresh(self, values: SecretScalarVec, *, rng: Rng) -> tuple[Commitment, Opening]:
        """Commit to one vector with a blinding drawn from `rng`."""
        blindings = self.group.random_scalars(1, rng)
        return self.commit(values, blindings[0]), Opening(self, values, blindings)

    def vartime_commit(self, values: ScalarVec, blinding: SecretScalar) -> Commitment:
        """Commit to values that are public already; only the blinding stays hidden.

        About ten times faster than `commit` for small values.
        """
        self._require_dimension(len(values))
        point = self.value_bases.vartime_msm(values) + self.blinding_base * blinding
        return Commitment(self, self.group.points([point]))

    def verify_opening(self, commitment: Commitment, opening: RevealedOpening) -> None:
        """Check that the opening of one vector fits.

        Raises:
            InvalidProof: it does not.
        """
        if commitment.key != self or opening.key != self:
            raise UsageError(f"commitment and opening must both be under {self.describe()}")
        if len(commitment) != 1 or len(opening) != 1:
            raise UsageError("one commitment and one opening at a time")
        expected = self.bases.vartime_msm(opening.values.concat(opening.blindings))
        if expected != commitment.points[0]:
            raise InvalidProof("the opening does not fit the commitment", VECTOR_OPENING_CHECK)

    def decode(self, data: bytes) -> Commitment:
        """Strictly decode one commitment; the identity is refused.

        Raises:
            MalformedMessage: wrong length, not canonical, or the identity.
        """
        return Commitment(self, self.group.decode_points(data, 1))

    def _require_dimension(self, count: int) -> None:
        if count != self.dimension:
            raise UsageError(
                f"{self.describe()} takes {self.dimension} values, not {count}: "
                "use a key of the dimension of the vector"
            )


@lru_cache(maxsize=8)
def _blinding_table(group: Group) -> FixedBases:
    return group.fixed_bases(derive_generators(group, BLINDING_FAMILY, 1))
