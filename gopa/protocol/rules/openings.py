"""Claimed openings of commitments, checked many at a time: which of them do not hold.

All equations Com(values_i; blinding_i) = point_i, weighted with random numbers of 128 bits, become
one multi-scalar multiplication over the bases and the points. If it fails, halves are checked until
every wrong one is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from commitments import Pedersen, VectorPedersen
from commitments.group import Group, Point, PointVec, ScalarVec
from wire.domains import OPENING_WEIGHTS
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng, draw

_WEIGHT_SIZE: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedOpenings:
    """Openings and the points that they claim to open, one row of values for each."""

    key: Pedersen | VectorPedersen
    rows: Sequence[ScalarVec]
    blindings: ScalarVec
    points: PointVec

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.blindings) == len(self.points):
            raise UsageError("one row of values and one blinding for each point")
        if any(len(row) != self.key.values_per_commitment for row in self.rows):
            raise UsageError(f"{self.key.values_per_commitment} values open one point")


def wrong_openings(claimed: ClaimedOpenings, rng: Rng) -> frozenset[int]:
    """The positions of the openings that do not fit; `rng` only weighs the equations."""
    if not claimed.rows:
        return frozenset()
    everything = range(len(claimed.rows))
    weights = _weights(claimed, rng)
    total = _residue(claimed, weights, everything)
    return frozenset(_bisect(claimed, weights, everything, total))


def public(vector: object) -> ScalarVec:
    """A vector of scalars that were made of public ones only."""
    return cast("ScalarVec", vector)


def bases_of(key: Pedersen | VectorPedersen) -> PointVec:
    """The bases of a commitment's values, with that of its blinding behind them."""
    if isinstance(key, VectorPedersen):
        return key.bases
    return key.group.points([key.value_base, key.blinding_base])


def _weights(claimed: ClaimedOpenings, rng: Rng) -> ScalarVec:
    """Weights that depend on every byte of the claims and on fresh randomness."""
    digest = hashlib.shake_128(OPENING_WEIGHTS + draw(rng, 32))
    digest.update(claimed.points.to_bytes() + claimed.blindings.to_bytes())
    for row in claimed.rows:
        digest.update(row.to_bytes())
    group: Group = claimed.key.group
    return group.reduce_scalars(digest.digest(_WEIGHT_SIZE * len(claimed.rows)), _WEIGHT_SIZE)


def _residue(claimed: ClaimedOpenings, weights: ScalarVec, members: range) -> Point:
    """The weighted sum of Com(values; blinding) - point over some of the claims."""
    part = slice(members.start, members.stop)
    own, group = weights[part], claimed.key.group
    values = public(group.combine_scalars(own, claimed.rows[part]))
    blinding = group.scalars([1]) * claimed.blindings[part].inner(own)
    opened = bases_of(claimed.key).vartime_msm(values.concat(blinding))
    return opened - claimed.points[part].vartime_msm(own)


def _bisect(
    claimed: ClaimedOpenings, weights: ScalarVec, members: range, total: Point
) -> Iterator[int]:
    """The wrong ones in a range whose residue is known."""
    if total.is_identity():
        return
    if len(members) == 1:
        yield members[0]
        return
    middle = len(members) // 2
    lower = _residue(claimed, weights, members[:middle])
    yield from _bisect(claimed, weights, members[:middle], lower)
    yield from _bisect(claimed, weights, members[middle:], total - lower)


def good_points(group: Group, encodings: Sequence[bytes]) -> list[bool]:
    """Which of the encodings are canonical points other than the identity."""
    try:
        group.decode_points(b"".join(encodings), len(encodings))
    except MalformedMessage:
        if len(encodings) == 1:
            return [False]
    else:
        return [True] * len(encodings)
    middle = len(encodings) // 2
    return good_points(group, encodings[:middle]) + good_points(group, encodings[middle:])
