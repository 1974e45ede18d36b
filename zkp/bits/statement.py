"""States what is proved about hidden bits, and runs the conversation (specification 06, A2 and A3).

The conversation says what is absorbed when, and which challenges follow. Prover and verifier run
the same functions, so they cannot disagree on the order. Every message is absorbed before the
challenge that follows it (06-A5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commitments import Commitment, Pedersen, VectorPedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec
from wire.errors import UsageError
from zkp.bits.shape import ConstraintShape
from zkp.transcript import Transcript
from zkp.vectors import concatenate

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(frozen=True, slots=True)
class Combined:
    """All rows of a statement merged by challenges (step 2).

    `on_bits` and `on_extension` make up c, `constant` is k. `committed` has the weight
    of each Pedersen commitment; `ranks` has eta^s and `vectors` xi_d eta^s for each
    vector commitment; `extension` has rho^n and `links` xi_d for each coordinate
    position.
    """

    on_bits: ScalarVec
    on_extension: ScalarVec
    constant: Scalar
    committed: ScalarVec
    ranks: ScalarVec
    vectors: ScalarVec
    extension: ScalarVec
    links: ScalarVec


@dataclass(frozen=True, slots=True, eq=False)
class BitStatement:
    """A shape with everything that one proof adds to it. Public.

    `constants` has one scalar for each row, in the order of the constraints; a
    vector constraint takes as many as its dimension. `commitments` has the Pedersen
    commitments of the committed constraints in order, `vectors` one commitment for
    each vector constraint, `varying` the coefficients the rows leave open, in the
    order of the rows.

    Values are compared mod the group order: whoever builds a statement shows that
    no sum wraps.
    """

    shape: ConstraintShape
    constants: ScalarVec
    commitments: PointVec
    vectors: PointVec
    varying: ScalarVec

    @classmethod
    def of(
        cls,
        shape: ConstraintShape,
        *,
        constants: Iterable[int] | Buffer,
        commitments: Sequence[Commitment] = (),
        vectors: Sequence[Commitment] = (),
        varying: Iterable[int] | Buffer = (),
    ) -> BitStatement:
        """Put a statement together.

        Raises:
            UsageError: the parts do not fit the shape, or are under another key.
        """
        group = shape.group
        empty = group.points([])
        for commitment in commitments:
            if commitment.key != Pedersen(group):
                raise UsageError("committed constraints take Pedersen commitments of the group")
        for commitment, dimension in zip(vectors, shape.vector_dimensions, strict=False):
            if commitment.key != VectorPedersen(group, dimension) or len(commitment) != 1:
                raise UsageError(f"expected one vector commitment of dimension {dimension}")
        return cls(
            shape,
            group.scalars(constants),
            concatenate([commitment.points for commitment in commitments], empty),
            concatenate([commitment.points for commitment in vectors], empty),
            group.scalars(varying),
        )

    def __post_init__(self) -> None:
        shape = self.shape
        counts = {
            "constants": (shape.row_count, len(self.constants)),
            "commitments": (len(shape.committed_rows), len(self.commitments)),
            "vectors": (len(shape.vector_dimensions), len(self.vectors)),
            "varying": (shape.varying_count, len(self.varying)),
        }
        for name, (expected, given) in counts.items():
            if expected != given:
                raise UsageError(f"the shape takes {expected}, not {given}", name)

    @property
    def group(self) -> Group:
        """The group of all commitments."""
        return self.shape.group

    @property
    def has_identity(self) -> bool:
        """Whether some commitment is the identity, which opens to zeros for everybody (06-A2)."""
        both = self.commitments, self.vectors
        return any(points.find_identity() is not None for points in both)

    def absorb(self, transcript: Transcript) -> None:
        """Bind everything the proof is about (06-A3)."""
        transcript.absorb(b"bits/shape", self.shape.digest)
        transcript.absorb_scalars(b"bits/constants", self.constants)
        transcript.absorb_scalars(b"bits/varying", self.varying)
        transcript.absorb_points(b"bits/commitments", self.commitments)
        transcript.absorb_points(b"bits/vectors", self.vectors)

    def combine(self, mixing: Mixing) -> Combined:
        """Merge all rows with powers of rho and eta."""
        shape, group = self.shape, self.shape.group
        powers = group.powers(mixing.rho, shape.number_count + 1)[1:]
        repeats = group.powers(mixing.eta, max(len(self.vectors), 1))
        weights = powers
        if len(self.vectors):
            weights = powers.gather(shape.numbers) * repeats.gather(shape.repeats)
        first = shape.number_count - shape.layout.extension
        ranked = repeats.gather(shape.vector_ranks)
        extension, links = powers[first:], mixing.xi.gather(shape.extension_keys)
        return Combined(
            on_bits=shape.combine(weights, self.varying),
            on_extension=-(extension * links.inverse()),
            constant=weights.inner(self.constants),
            committed=weights.gather(shape.committed_rows),
            ranks=ranked,
            vectors=mixing.xi.gather(shape.vector_keys) * ranked,
            extension=extension,
            links=links,
        )


@dataclass(frozen=True, slots=True)
class Mixing:
    """The challenges that merge all rows into one (step 2)."""

    rho: Scalar
    eta: Scalar
    xi: ScalarVec


@dataclass(frozen=True, slots=True)
class ArgumentRounds:
    """The transcript of one argument: its messages in order, and the challenges behind them."""

    transcript: Transcript
    group: Group

    def bits(self, point: PointVec, dimensions: int) -> Mixing:
        """Absorb A; draw rho, eta and one xi for each distinct dimension."""
        self.transcript.absorb_points(b"bits/A", point)
        drawn = self.transcript.challenges(b"bits/rho eta xi", self.group, 2 + dimensions)
        return Mixing(drawn[0], drawn[1], drawn[2:])

    def blinders(self, point: PointVec) -> tuple[Scalar, Scalar]:
        """Absorb S; draw y and z."""
        self.transcript.absorb_points(b"bits/S", point)
        drawn = self.transcript.challenges(b"bits/y z", self.group, 2)
        return drawn[0], drawn[1]

    def polynomial(self, points: PointVec) -> Scalar:
        """Absorb T_1 and T_2; draw x."""
        self.transcript.absorb_points(b"bits/T", points)
        return self.transcript.challenge(b"bits/x", self.group)

    def evaluation(self, scalars: ScalarVec) -> Scalar:
        """Absorb t, tau and mu; draw w."""
        self.transcript.absorb_scalars(b"bits/t tau mu", scalars)
        return self.transcript.challenge(b"bits/w", self.group)

    def fold(self, points: PointVec) -> Scalar:
        """Absorb L and R of one fold; draw u."""
        self.transcript.absorb_points(b"bits/L R", points)
        return self.transcript.challenge(b"bits/u", self.group)

    def pair(self, scalars: ScalarVec) -> None:
        """Absorb a pair of scalars given away, or the last one."""
        self.transcript.absorb_scalars(b"bits/l r", scalars)
