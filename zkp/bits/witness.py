"""What a prover knows besides the bits: the openings of all commitments. Secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments import Opening, Pedersen, VectorPedersen
from commitments.group import Group, SecretScalar, SecretScalarVec
from wire.errors import UsageError
from wire.secret import Guarded
from zkp.bits.layout import left_bases
from zkp.bits.statement import Combined, Statement
from zkp.vectors import constant


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
class Secrets(Guarded):
    """All openings, flattened."""

    values: SecretScalarVec
    blindings: SecretScalarVec
    vectors: tuple[SecretScalarVec, ...]
    vector_blindings: SecretScalarVec

    @classmethod
    def of(cls, statement: Statement, openings: Openings) -> Secrets:
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
        """Everything in one vector."""
        joined = self.values.concat(self.blindings).concat(self.vector_blindings)
        for vector in self.vectors:
            joined = joined.concat(vector)
        return joined

    def merge(self, statement: Statement, combined: Combined) -> Merged:
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
    statement: Statement, combined: Combined, bits: SecretScalarVec, merged: Merged
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


def _vectors_fit(statement: Statement, combined: Combined, merged: Merged) -> bool:
    group, layout = statement.group, statement.shape.layout
    bases = left_bases(group, layout)[layout.bit_positions :]
    linked = bases.msm(merged.coordinates * combined.links)
    opened = linked + Pedersen(group).blinding_base * merged.link
    return opened == statement.vectors.vartime_msm(combined.vectors)


def as_vector(group: Group, scalar: SecretScalar) -> SecretScalarVec:
    """A vector of one secret."""
    return group.scalars([1]) * scalar
