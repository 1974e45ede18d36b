"""Commitments to masks, for one value or many."""

from __future__ import annotations

from collections.abc import Sequence

from commitments import Commitment, Pedersen, VectorPedersen
from commitments.generators import MAX_BASES
from commitments.group import Group, SecretScalar, SecretScalarVec
from wire.errors import UsageError


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
