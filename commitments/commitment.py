"""Commitments and their openings, which are added and scaled alike.

Under one key, adding or scaling commitments adds or scales what they hide. The
same operations on openings keep each opening fitting its commitment. Objects of
different keys (another dimension, another group) never mix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from commitments.group import AnyScalar, Group, PointVec, ScalarVec, SecretScalarVec
from wire.errors import UsageError
from wire.secret import Guarded


class CommitmentKey(Protocol):
    """Public bases; how many values and blindings one commitment hides follows from them."""

    @property
    def group(self) -> Group: ...
    @property
    def values_per_commitment(self) -> int: ...
    def describe(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class Commitment:
    """One or more commitments under one key. Public."""

    key: CommitmentKey
    points: PointVec

    def __len__(self) -> int:
        return len(self.points)

    def __add__(self, other: Commitment) -> Commitment:
        _require_same(self.key, other.key, len(self), len(other))
        return Commitment(self.key, self.points + other.points)

    def __sub__(self, other: Commitment) -> Commitment:
        _require_same(self.key, other.key, len(self), len(other))
        return Commitment(self.key, self.points - other.points)

    def scale(self, factor: AnyScalar) -> Commitment:
        """Commitments to factor times the values, in constant time."""
        return Commitment(self.key, self.points * factor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Commitment):
            return NotImplemented
        return self.key == other.key and self.points == other.points

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def to_bytes(self) -> bytes:
        """The encodings of the points, one after the other."""
        return self.points.to_bytes()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Opening(Guarded):
    """What one or more commitments hide. Never prints, pickles, hashes or compares."""

    key: CommitmentKey
    values: SecretScalarVec
    blindings: SecretScalarVec

    def __post_init__(self) -> None:
        _require_shape(self.key, len(self.values), len(self.blindings))

    def __len__(self) -> int:
        return len(self.blindings)

    def __add__(self, other: Opening) -> Opening:
        _require_same(self.key, other.key, len(self), len(other))
        return Opening(self.key, self.values + other.values, self.blindings + other.blindings)

    def __sub__(self, other: Opening) -> Opening:
        _require_same(self.key, other.key, len(self), len(other))
        return Opening(self.key, self.values - other.values, self.blindings - other.blindings)

    def scale(self, factor: AnyScalar) -> Opening:
        """The opening of the commitment scaled by the same factor."""
        return Opening(self.key, self.values * factor, self.blindings * factor)

    def reveal(self) -> RevealedOpening:
        """Give the values away: the step a protocol calls opening a commitment."""
        return RevealedOpening(self.key, self.values.reveal(), self.blindings.reveal())

    def __repr__(self) -> str:
        return f"<Opening of {len(self)} under {self.key.describe()}>"


@dataclass(frozen=True, slots=True, eq=False)
class RevealedOpening:
    """Values and blindings that were made public, or received from a stranger."""

    key: CommitmentKey
    values: ScalarVec
    blindings: ScalarVec

    def __post_init__(self) -> None:
        _require_shape(self.key, len(self.values), len(self.blindings))

    def __len__(self) -> int:
        return len(self.blindings)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RevealedOpening):
            return NotImplemented
        return self.key == other.key and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def to_bytes(self) -> bytes:
        """All values, then all blindings, as canonical scalars."""
        return self.values.to_bytes() + self.blindings.to_bytes()


def decode_opening(key: CommitmentKey, data: bytes, count: int) -> RevealedOpening:
    """The opening of `count` commitments, strictly decoded.

    Raises:
        MalformedMessage: wrong length or a scalar that is not canonical.
    """
    values = key.values_per_commitment * count
    scalars = key.group.decode_scalars(data, values + count)
    return RevealedOpening(key, scalars[:values], scalars[values:])


def _require_shape(key: CommitmentKey, values: int, blindings: int) -> None:
    if values != blindings * key.values_per_commitment:
        raise UsageError(
            f"{key.describe()} takes {key.values_per_commitment} value(s) for each blinding: "
            f"got {values} value(s) and {blindings} blinding(s)"
        )


def _require_same(mine: CommitmentKey, other: CommitmentKey, here: int, there: int) -> None:
    if mine != other:
        raise UsageError(f"cannot mix {mine.describe()} with {other.describe()}: use one key")
    if here != there:
        raise UsageError(f"cannot add {here} commitment(s) to {there}: make the counts equal")
