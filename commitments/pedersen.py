"""Commits to scalars after Pedersen: Com(v; r) = v * G + r * H, one point for each value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from commitments.commitment import Commitment, Opening, RevealedOpening
from commitments.generators import derive_generators
from commitments.group import AnyScalarVec, FixedBases, Group, Point, SecretScalarVec
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
