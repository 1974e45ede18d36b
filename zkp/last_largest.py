"""No coordinate of a bounded vector exceeds its last one: values under a private weight.

A party with weight w and values x_j in [0, 1] commits to (w x_0, .., w x_{d-2}, w). That
every product is at most w is all that anybody has to know about them. Specification 07,
section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from commitments import Commitment, Opening, VectorPedersen
from commitments.group import Group, SecretScalarVec
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import bits
from zkp.equations import Equation
from zkp.range import Interval, require_unambiguous, secret_bits
from zkp.transcript import Transcript
from zkp.vectors import constant


@dataclass(frozen=True, slots=True)
class LastLargestStatement:
    """All coordinates lie in [0, maximum], and none is larger than the last."""

    commitment: Commitment
    maximum: int

    def __post_init__(self) -> None:
        if not isinstance(self.commitment.key, VectorPedersen) or len(self.commitment) != 1:
            raise UsageError("the proof is about one vector commitment")
        if self.dimension < 2:
            raise UsageError("besides the last coordinate there is at least one other")
        require_unambiguous(self.interval, self.group)

    @property
    def group(self) -> Group:
        """The group of the commitment."""
        return self.commitment.key.group

    @property
    def dimension(self) -> int:
        """The number of coordinates, the last one included."""
        return self.commitment.key.values_per_commitment

    @property
    def interval(self) -> Interval:
        """Where all coordinates lie, and their distances from the last one."""
        return Interval(0, self.maximum)

    def as_bits(self) -> bits.BitStatement:
        """The same claim about hidden bits (rule R25)."""
        return bits.BitStatement.of(
            _shape(self.group, self.dimension, self.maximum),
            constants=[0] * (2 * self.dimension - 1),
            vectors=[self.commitment],
        )

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_last_largest`."""
        return bits.equations(self.as_bits(), proof, transcript)


def prove_last_largest(
    statement: LastLargestStatement, opening: Opening, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that all coordinates are in range and none is larger than the last.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: it is not so, or the opening does not fit. Nothing was sent.
    """
    if len(opening.values) != statement.dimension:
        raise UsageError(f"{statement.dimension} values wanted, not {len(opening.values)}")
    counted = opening.values.concat(_below_last(statement.group, opening.values))
    hidden = secret_bits(statement.group, counted, [statement.interval] * len(counted))
    openings = bits.Openings(vectors=[opening])
    return bits.prove(statement.as_bits(), hidden, openings, transcript, rng=rng)


def verify_last_largest(
    statement: LastLargestStatement, proof: bytes, transcript: Transcript
) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    bits.verify(statement.as_bits(), proof, transcript)


def proof_layout(dimension: int, maximum: int) -> bits.Layout:
    """The layout of the bits of every proof for this dimension and maximum."""
    count = (2 * dimension - 1) * len(Interval(0, maximum).weights)
    return bits.layout_of(count, (dimension,))


def _below_last(group: Group, values: SecretScalarVec) -> SecretScalarVec:
    """By how much each other coordinate stays below the last one."""
    others = len(values) - 1
    return constant(group, 1, others) * values[others] - values[:others]


@lru_cache(maxsize=16)
def _shape(group: Group, dimension: int, maximum: int) -> bits.ConstraintShape:
    """Bits of the coordinates in order, then those of the distances from the last one."""
    weights = Interval(0, maximum).weights
    width, others = len(weights), dimension - 1
    negative = [-weight for weight in weights]
    rows = tuple(bits.BitForm.weighted(j * width, weights) for j in range(dimension))
    distances = [
        rows[others]
        + bits.BitForm.weighted(j * width, negative)
        + bits.BitForm.weighted((dimension + j) * width, negative)
        for j in range(others)
    ]
    return bits.ConstraintShape(
        group,
        (dimension + others) * width,
        [*map(bits.Public, distances), bits.CommittedVector(rows)],
    )
