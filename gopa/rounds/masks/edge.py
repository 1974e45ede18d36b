"""Expands the key of an edge into committed masks: both ends get the same values and blinding.

A commitment is to one value or to many. Specification: `specs/08-masks.md`, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments import Commitment, Pedersen, VectorPedersen
from commitments.generators import MAX_BASES
from commitments.group import Group, SecretScalar, SecretScalarVec
from gopa.rounds.masks.keys import require_id, require_key
from gopa.rounds.masks.law import MaskLaw, require_law
from wire.domains import EDGE_BLINDING, EDGE_VALUES, stream_domain
from wire.errors import UsageError
from wire.secret import Guarded, SecretBytes


def commitments_to(
    group: Group,
    dimension: int,
    rows: Sequence[SecretScalarVec],
    blindings: SecretScalarVec,
    bits: int | None = None,
) -> Commitment:
    """One commitment for each row, in constant time: Pedersen for one value, else vector Pedersen.

    `bits` promises small values, as in `VectorPedersen.commit_rows`.
    """
    if dimension == 1:
        return Pedersen(group).commit(joined(group, rows), blindings)
    return VectorPedersen(group, dimension).commit_rows(rows, blindings, bits=bits)


def joined(group: Group, vectors: Sequence[SecretScalarVec]) -> SecretScalarVec:
    """All vectors one after the other."""
    total = group.secret_scalars([])
    for vector in vectors:
        total = total.concat(vector)
    return total


def single(group: Group, value: SecretScalar) -> SecretScalarVec:
    """A vector of this one scalar."""
    return group.secret_scalars([1]) * value


def require_dimension(dimension: int) -> None:
    """Raises `UsageError` for anything but a dimension of commitments."""
    if type(dimension) is not int or not 1 <= dimension <= MAX_BASES:
        raise UsageError(f"the dimension is an integer from 1 to {MAX_BASES}", "dimension")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeMask(Guarded):
    """The mask of one edge, and the blinding of its commitment."""

    group: Group
    law: MaskLaw
    values: SecretScalarVec
    blinding: SecretScalar

    def commitment(self) -> Commitment:
        """Pedersen for one value, vector Pedersen for more; in constant time."""
        dimension, blindings = len(self.values), single(self.group, self.blinding)
        return commitments_to(self.group, dimension, [self.values], blindings, self.law.bits)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeMasks(Guarded):
    """The masks of several edges, in the order of their keys."""

    group: Group
    law: MaskLaw
    dimension: int
    rows: tuple[SecretScalarVec, ...]
    blindings: SecretScalarVec

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> EdgeMask:
        return EdgeMask(self.group, self.law, self.rows[index], self.blindings[index])

    def commitments(self) -> Commitment:
        """One commitment for each edge, all at once; those of `EdgeMask.commitment`."""
        bits = self.law.bits
        return commitments_to(self.group, self.dimension, self.rows, self.blindings, bits)

    def signed_sum(self, signs: Sequence[int]) -> tuple[SecretScalarVec, SecretScalar]:
        """The sum of the masks and of the blindings with these signs; 0 leaves an edge out.

        Raises:
            UsageError: there is not one sign, -1, 0 or 1, for each edge.
        """
        if len(signs) != len(self) or any(sign not in {-1, 0, 1} for sign in signs):
            raise UsageError("each mask has one sign: 1, -1, or 0 for an edge that is left out")
        factors = self.group.scalars(signs)
        total = self.group.secret_scalars([0] * self.dimension)
        if self.rows:
            total = total + self.group.combine_scalars(factors, self.rows)
        return total, self.blindings.inner(factors)


def edge_mask(group: Group, key: SecretBytes, law: MaskLaw, dimension: int) -> EdgeMask:
    """The mask that an edge key stands for.

    Raises:
        UsageError: the key does not have 32 bytes, or the dimension is out of range.
    """
    require_dimension(dimension)
    return EdgeMask(group, law, _values(group, key, law, dimension), _blindings(group, key)[0])


def edge_masks(
    group: Group, keys: Sequence[SecretBytes], law: MaskLaw, dimension: int
) -> EdgeMasks:
    """The masks of several edge keys, each that of `edge_mask`.

    Raises:
        UsageError: as for `edge_mask`.
    """
    require_dimension(dimension)
    rows = tuple(_values(group, key, law, dimension) for key in keys)
    blindings = joined(group, [_blindings(group, key) for key in keys])
    return EdgeMasks(group, law, dimension, rows, blindings)


def sign(own: bytes, other: bytes) -> int:
    """The sign with which `own` adds the mask it shares: 1 for the smaller id, else -1.

    Raises:
        UsageError: ids that are not 32 bytes, or equal.
    """
    require_id(own, "own")
    require_id(other, "other")
    if own == other:
        raise UsageError("a party shares no mask with itself")
    return 1 if own < other else -1


def _values(group: Group, key: SecretBytes, law: MaskLaw, dimension: int) -> SecretScalarVec:
    require_key(key)
    require_law(law)
    stream = group.stream(key, stream_domain(EDGE_VALUES))
    return law.scalars(group, stream, dimension)


def _blindings(group: Group, key: SecretBytes) -> SecretScalarVec:
    return group.stream(key, stream_domain(EDGE_BLINDING)).scalars(1)
