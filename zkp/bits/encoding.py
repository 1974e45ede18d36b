"""The bytes of a proof (specification 06, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from commitments.group import Group, PointVec, ScalarVec
from wire.errors import MalformedMessage
from zkp.bits.layout import Layout


@dataclass(frozen=True, slots=True)
class Proof:
    """All messages of an argument; the counts are those of its layout.

    `points`: A, S, T_1, T_2, then L and R of each fold. `scalars`: t, tau, mu, then
    the pairs given away, the last pair included.
    """

    points: PointVec
    scalars: ScalarVec

    def to_bytes(self) -> bytes:
        """All points, then all scalars."""
        return self.points.to_bytes() + self.scalars.to_bytes()


def proof_size(group: Group, layout: Layout) -> int:
    """The number of bytes of every proof of this layout."""
    return layout.point_count * group.point_size + layout.scalar_count * group.scalar_size


def decode_proof(group: Group, layout: Layout, data: bytes) -> Proof:
    """Strict decoding (rule A7).

    Raises:
        MalformedMessage: wrong length, a point that does not decode or is the
            identity, or a scalar that is not canonical.
    """
    expected = proof_size(group, layout)
    if len(data) != expected:
        raise MalformedMessage(
            f"a proof of {expected} bytes was expected, not {len(data)}", "proof"
        )
    split = layout.point_count * group.point_size
    try:
        points = group.decode_points(data[:split], layout.point_count)
    except MalformedMessage as error:
        raise MalformedMessage(error.message, "proof", error.offset) from error
    try:
        scalars = group.decode_scalars(data[split:], layout.scalar_count)
    except MalformedMessage as error:
        offset = None if error.offset is None else split + error.offset
        raise MalformedMessage(error.message, "proof", offset) from error
    return Proof(points, scalars)
