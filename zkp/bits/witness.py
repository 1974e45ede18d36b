"""Commits to the bits of one argument, and holds the openings of all commitments. Secret.

The commitment is step 1 of specification 06.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commitments import Opening, Pedersen, VectorPedersen
from commitments.group import Group, Point, PointVec, SecretScalar, SecretScalarVec
from wire.errors import ComputationFault, UsageError
from wire.randomness import Rng
from wire.secret import Guarded
from zkp.bits.layout import LEFT, RIGHT, Layout, left_bases
from zkp.bits.statement import BitStatement, Combined
from zkp.transcript import NonceSource, Transcript
from zkp.vectors import constant


class BitCommitment(Guarded):
    """The bits of one argument behind the public point A. Serves one proof.

    A protocol that needs bits fixed before something is known (public coins, say)
    makes this early, publishes `point` and proves later; its verifiers then demand
    that point of the proof (06-A12).
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

    @classmethod
    def kept(
        cls, group: Group, layout: Layout, point: bytes, bits: SecretScalarVec, blinding: bytes
    ) -> BitCommitment:
        """A commitment of before that has served no proof; its bits come without the padding."""
        padded = bits.concat(constant(group, 0, layout.bit_positions - layout.bits))
        blindings = group.decode_scalars(blinding, 1).secret()
        return cls(group, layout, group.decode_point(point), padded, blindings)

    def reveal(self) -> tuple[bytes, bytes]:
        """Blinding and point, to be kept with the bits until the proof is made."""
        return self._blinding.reveal().to_bytes(), self.point.to_bytes()

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
    """Do as `commit_bits` without the check, which the caller makes before any release."""
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
    """Compute A in another way, several times faster, that is right for bits only."""
    bases, zero_bits = _bases(group, len(padded))
    hidden = bases[:-1].msms([padded], bits=1)[0]
    return hidden + bases[len(padded)] * blinding[0] - zero_bits


def _point(group: Group, padded: SecretScalarVec, blinding: SecretScalarVec) -> Point:
    """Compute A, the commitment to all bits."""
    bases, zero_bits = _bases(group, len(padded))
    return bases.msm(padded.concat(blinding)) - zero_bits


@lru_cache(maxsize=16)
def _bases(group: Group, count: int) -> tuple[PointVec, Point]:
    """Bases and offset with a_i G_i + (a_i - 1) H_i = a_i (G_i + H_i) - H_i."""
    right = RIGHT.points(group, count)
    blinding = group.points([Pedersen(group).blinding_base])
    return (LEFT.points(group, count) + right).concat(blinding), right.sum()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Openings(Guarded):
    """Openings of the statement's commitments, in the statement's order."""

    commitments: Sequence[Opening] = ()
    vectors: Sequence[Opening] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Merged(Guarded):
    """Openings under the weights of a combined statement.

    `value` and `blinding` open the merged Pedersen commitment, `coordinates` and
    `link` (the sum of xi_d r_d) the merged vector commitments.
    """

    value: SecretScalar
    blinding: SecretScalar
    coordinates: SecretScalarVec
    link: SecretScalar


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WitnessScalars(Guarded):
    """All openings, flattened."""

    values: SecretScalarVec
    blindings: SecretScalarVec
    vectors: tuple[SecretScalarVec, ...]
    vector_blindings: SecretScalarVec

    @classmethod
    def of(cls, statement: BitStatement, openings: Openings) -> WitnessScalars:
        """Sort the openings of a statement.

        Raises:
            UsageError: too few, too many, or under another key.
        """
        group, shape = statement.group, statement.shape
        keys = [VectorPedersen(group, dimension) for dimension in shape.vector_dimensions]
        if any(opening.key != Pedersen(group) for opening in openings.commitments):
            raise UsageError("committed constraints take Pedersen openings of the group")
        if [opening.key for opening in openings.vectors] != keys:
            raise UsageError("each vector constraint takes one opening of its dimension")
        if any(len(opening) != 1 for opening in openings.vectors):
            raise UsageError("each vector constraint takes an opening of one commitment")
        empty = group.secret_scalars([])
        values, blindings, vector_blindings = empty, empty, empty
        for opening in openings.commitments:
            values = values.concat(opening.values)
            blindings = blindings.concat(opening.blindings)
        for opening in openings.vectors:
            vector_blindings = vector_blindings.concat(opening.blindings)
        if len(values) != len(statement.commitments):
            raise UsageError(f"{len(statement.commitments)} openings wanted, not {len(values)}")
        vectors = tuple(opening.values for opening in openings.vectors)
        return cls(values, blindings, vectors, vector_blindings)

    def flat(self) -> SecretScalarVec:
        """Give everything in one vector."""
        joined = self.values.concat(self.blindings).concat(self.vector_blindings)
        for vector in self.vectors:
            joined = joined.concat(vector)
        return joined

    def merge(self, statement: BitStatement, combined: Combined) -> Merged:
        """Apply the weights of the combined statement."""
        group, shape = statement.group, statement.shape
        coordinates = group.secret_scalars([])
        for key, dimension in enumerate(shape.layout.dimensions):
            # The commitments of this dimension, one behind the other, weigh eta^s.
            picks = [i for i, own in enumerate(shape.vector_keys) if own == key]
            total = constant(group, 0, dimension).secret()
            for pick in picks:
                total = total + self.vectors[pick] * combined.ranks[pick]
            coordinates = coordinates.concat(total)
        return Merged(
            self.values.inner(combined.committed),
            self.blindings.inner(combined.committed),
            coordinates,
            self.vector_blindings.inner(combined.vectors),
        )


def require_satisfied(
    statement: BitStatement, combined: Combined, bits: SecretScalarVec, merged: Merged
) -> None:
    """Check the merged statement, as good as checking every row.

    The challenges were drawn after the bits were committed and the statement was
    bound, so an error of some row survives merging. What is compared is public for
    an honest prover: zeros and commitments.

    Raises:
        UsageError: a row does not hold, or an opening does not fit its commitment.
    """
    group, layout = statement.group, statement.shape.layout
    rows = bits.inner(combined.on_bits) - merged.value + combined.constant
    error = rows - merged.coordinates.inner(combined.extension)
    if not error.reveal().is_zero():
        raise UsageError("the bits do not satisfy the statement for the opened values")
    opened = Pedersen(group).commit(
        as_vector(group, merged.value), as_vector(group, merged.blinding)
    )
    if opened.points[0] != statement.commitments.vartime_msm(combined.committed):
        raise UsageError("an opening does not fit its commitment")
    if layout.extension and not _vectors_fit(statement, combined, merged):
        raise UsageError("an opening does not fit its vector commitment")


def _vectors_fit(statement: BitStatement, combined: Combined, merged: Merged) -> bool:
    group, layout = statement.group, statement.shape.layout
    bases = left_bases(group, layout)[layout.bit_positions :]
    linked = bases.msm(merged.coordinates * combined.links)
    opened = linked + Pedersen(group).blinding_base * merged.link
    return opened == statement.vectors.vartime_msm(combined.vectors)


def as_vector(group: Group, scalar: SecretScalar) -> SecretScalarVec:
    """Make a vector of one secret."""
    return group.scalars([1]) * scalar
