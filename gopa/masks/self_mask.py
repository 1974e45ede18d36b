"""The mask a party adds for itself: nothing it published is readable before it opens the seed.

Specification: `specs/08-masks.md`, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from commitments import Commitment
from commitments.group import Group, SecretScalar, SecretScalarVec
from gopa.masks.committed import commitments_to, require_dimension, single
from gopa.masks.context import SelfContext
from gopa.masks.keys import derived_key, require_key
from wire.domains import SELF_BLINDING, SELF_KEY, SELF_VALUES, stream_domain
from wire.secret import Guarded, SecretBytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SelfMask(Guarded):
    """Uniform values, and the blinding of their commitment."""

    group: Group
    values: SecretScalarVec
    blinding: SecretScalar

    def commitment(self) -> Commitment:
        """Pedersen for one value, vector Pedersen for more; in constant time."""
        blindings = single(self.group, self.blinding)
        return commitments_to(self.group, len(self.values), [self.values], blindings)


def self_mask(group: Group, seed: SecretBytes, context: SelfContext, dimension: int) -> SelfMask:
    """The mask that a seed stands for in one round. The caller draws a fresh seed for each.

    Raises:
        UsageError: the seed does not have 32 bytes, or the dimension is out of range.
    """
    require_dimension(dimension)
    key = self_key(seed, context)
    values = group.stream(key, stream_domain(SELF_VALUES)).scalars(dimension)
    blinding = group.stream(key, stream_domain(SELF_BLINDING)).scalars(1)
    return SelfMask(group, values, blinding[0])


def self_key(seed: SecretBytes, context: SelfContext) -> SecretBytes:
    """The key that all streams of a party's own mask start from.

    Raises:
        UsageError: the seed does not have 32 bytes.
    """
    require_key(seed)
    return derived_key(seed.reveal(), context.session, SELF_KEY, context.to_bytes())
