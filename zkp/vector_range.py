"""Bounded vectors: all coordinates of one vector commitment lie in a public interval.

Specification 07, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from commitments import Commitment, Opening, VectorPedersen
from commitments.group import Group
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import bits
from zkp.equations import Equation
from zkp.interval import Interval, require_unambiguous, secret_bits
from zkp.transcript import Transcript


@dataclass(frozen=True, slots=True)
class VectorRangeStatement:
    """Every coordinate, read as a signed residue, lies in the interval."""

    commitment: Commitment
    interval: Interval

    def __post_init__(self) -> None:
        if not isinstance(self.commitment.key, VectorPedersen) or len(self.commitment) != 1:
            raise UsageError("a vector range proof is about one vector commitment")
        require_unambiguous(self.interval, self.group)

    @property
    def group(self) -> Group:
        """The group of the commitment."""
        return self.commitment.key.group

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.commitment.key.values_per_commitment

    def as_bits(self) -> bits.Statement:
        """The same claim about hidden bits."""
        span = self.interval.high - self.interval.low
        return bits.Statement.of(
            _shape(self.group, self.dimension, span),
            constants=[self.interval.low] * self.dimension,
            vectors=[self.commitment],
        )

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_vector_range`."""
        return bits.equations(self.as_bits(), proof, transcript)


def prove_vector_range(
    statement: VectorRangeStatement, opening: Opening, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that all coordinates lie in the interval.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: a coordinate is outside, or the opening does not fit. Nothing was sent.
    """
    if len(opening.values) != statement.dimension:
        raise UsageError(f"{statement.dimension} values wanted, not {len(opening.values)}")
    intervals = [statement.interval] * statement.dimension
    hidden = secret_bits(statement.group, opening.values, intervals)
    openings = bits.Openings(vectors=[opening])
    return bits.prove(statement.as_bits(), hidden, openings, transcript, rng=rng)


def verify_vector_range(
    statement: VectorRangeStatement, proof: bytes, transcript: Transcript
) -> None:
    """Check a vector range proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    bits.verify(statement.as_bits(), proof, transcript)


@lru_cache(maxsize=16)
def _shape(group: Group, dimension: int, span: int) -> bits.Shape:
    weights = Interval(0, span).weights
    width = len(weights)
    rows = tuple(bits.Row.weighted(j * width, weights) for j in range(dimension))
    return bits.Shape(group, dimension * width, [bits.Vector(rows)])
