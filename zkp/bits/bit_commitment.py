"""The commitment to the bits of one argument (specification 06, step 1)."""

from __future__ import annotations

from functools import lru_cache

from commitments import Pedersen
from commitments.group import Group, Point, PointVec, SecretScalar, SecretScalarVec
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import Guarded
from zkp.bits.layout import LEFT, RIGHT, Layout
from zkp.transcript import Transcript
from zkp.vectors import constant


class BitCommitment(Guarded):
    """The bits of one argument behind the public point A. Serves one proof.

    A protocol that needs bits fixed before something is known (public coins, say)
    makes this early, publishes `point` and proves later; its verifiers then demand
    that point of the proof (rule A12).
    """

    __slots__ = ("_bits", "_blinding", "group", "layout", "point")

    def __init__(
        self,
        group: Group,
        layout: Layout,
        point: Point,
        bits: SecretScalarVec,
        blinding: SecretScalar,
    ) -> None:
        self.group = group
        self.layout = layout
        self.point = point
        self._bits: SecretScalarVec | None = bits
        self._blinding = blinding

    def take(self) -> tuple[SecretScalarVec, SecretScalar]:
        """The bits, padding included, and the blinding; once.

        Raises:
            UsageError: they were taken before.
        """
        bits, self._bits = self._bits, None
        if bits is None:
            raise UsageError("a bit commitment serves one proof: commit again")
        return bits, self._blinding


def commit_bits(  # noqa: PLR0913  two of them by name
    group: Group,
    layout: Layout,
    bits: SecretScalarVec,
    transcript: Transcript,
    *,
    rng: Rng,
    hedge: SecretScalarVec | None = None,
) -> BitCommitment:
    """Commit to the bits of an argument (step 1).

    The layout comes from the statement, or from what is known of it: its number of
    bits and the dimensions of its vector commitments. The transcript, bound to the
    context, only hedges the blinding; it does not change. So does `hedge`: bits can be
    guessed, and secrets that cannot (blindings of other commitments) keep the bits
    hidden should `rng` be predictable.

    Raises:
        UsageError: a wrong number of bits, or a value that is not a bit.
    """
    if len(bits) != layout.bits:
        raise UsageError(f"the statement has {layout.bits} bits, not {len(bits)}")
    # The products are all zero where the values are bits, so nothing leaks.
    wrong = (bits * (bits - group.scalar(1))).reveal()
    if wrong != constant(group, 0, layout.bits):
        raise UsageError("a hidden value is neither 0 nor 1")
    padding = layout.bit_positions - layout.bits
    padded = bits.concat(constant(group, 0, padding))
    secrets = padded if hedge is None else padded.concat(hedge)
    blinding = transcript.nonces(b"bits/alpha", group, 1, secrets, rng)
    bases, zero_bits = _bases(group, layout.bit_positions)
    point = bases.msm(padded.concat(blinding)) - zero_bits
    return BitCommitment(group, layout, point, padded, blinding[0])


@lru_cache(maxsize=16)
def _bases(group: Group, count: int) -> tuple[PointVec, Point]:
    """Bases and offset with a_i G_i + (a_i - 1) H_i = a_i (G_i + H_i) - H_i."""
    right = RIGHT.points(group, count)
    blinding = group.points([Pedersen(group).blinding_base])
    return (LEFT.points(group, count) + right).concat(blinding), right.sum()
