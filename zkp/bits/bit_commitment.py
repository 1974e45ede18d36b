"""The commitment to the bits of one argument (specification 06, step 1)."""

from __future__ import annotations

from functools import lru_cache

from commitments import Pedersen
from commitments.group import Group, Point, PointVec, SecretScalar, SecretScalarVec
from wire.errors import ComputationFault, UsageError
from wire.randomness import Rng
from wire.secret import Guarded
from zkp.bits.layout import LEFT, RIGHT, Layout
from zkp.nonces import NonceSource
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
        blinding: SecretScalarVec,
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
        return bits, self._blinding[0]

    def require_blinding(self, source: NonceSource) -> None:
        """Raises `ComputationFault` unless the blinding is the one that was drawn."""
        source.require_used(self._blinding)

    def require_point(self) -> None:
        """Raises `ComputationFault` unless the point hides the bits behind the blinding."""
        if self._bits is None or self.point != _same_point(self.group, self._bits, self._blinding):
            raise ComputationFault("the commitment to the bits is not the one that was asked for")


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
        ComputationFault: the point is not what it should be; nothing may be published.
    """
    commitment, source = draw_commitment(group, layout, bits, transcript, rng, hedge)
    # The point goes out before any proof: a fault that leaves the blinding out would show
    # the bits to whoever guesses them.
    commitment.require_blinding(source)
    commitment.require_point()
    return commitment


def draw_commitment(  # noqa: PLR0913, PLR0917  as above
    group: Group,
    layout: Layout,
    bits: SecretScalarVec,
    transcript: Transcript,
    rng: Rng,
    hedge: SecretScalarVec | None,
) -> tuple[BitCommitment, NonceSource]:
    """As `commit_bits`, but for the check, which the caller makes before anything is released."""
    if len(bits) != layout.bits:
        raise UsageError(f"the statement has {layout.bits} bits, not {len(bits)}")
    padding = layout.bit_positions - layout.bits
    padded = bits.concat(constant(group, 0, padding))
    # The products are all zero where the values are bits, so nothing leaks.
    wrong = (padded * (padded - group.scalar(1))).reveal()
    if wrong != constant(group, 0, layout.bit_positions):
        raise UsageError("a hidden value is neither 0 nor 1")
    secrets = padded if hedge is None else padded.concat(hedge)
    source = transcript.nonce_source(b"bits/alpha", group, 1, secrets, rng)
    blinding = source.draw()
    point = _point(group, padded, blinding)
    return BitCommitment(group, layout, point, padded, blinding), source


def _same_point(group: Group, padded: SecretScalarVec, blinding: SecretScalarVec) -> Point:
    """A by another way, several times faster: for bits, which it takes them for."""
    bases, zero_bits = _bases(group, len(padded))
    hidden = bases[:-1].msms([padded], bits=1)[0]
    return hidden + bases[len(padded)] * blinding[0] - zero_bits


def _point(group: Group, padded: SecretScalarVec, blinding: SecretScalarVec) -> Point:
    """A."""
    bases, zero_bits = _bases(group, len(padded))
    return bases.msm(padded.concat(blinding)) - zero_bits


@lru_cache(maxsize=16)
def _bases(group: Group, count: int) -> tuple[PointVec, Point]:
    """Bases and offset with a_i G_i + (a_i - 1) H_i = a_i (G_i + H_i) - H_i."""
    right = RIGHT.points(group, count)
    blinding = group.points([Pedersen(group).blinding_base])
    return (LEFT.points(group, count) + right).concat(blinding), right.sum()
