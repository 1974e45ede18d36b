"""Proves bounds on committed values: alone, in vectors, and against a vector's last coordinate.

Specification 07, section 1: ranges of the values in Pedersen commitments. One proof covers any
number of commitments; it grows with the logarithm of their total number of bits. An interval is
written in bits, with every combination of bits inside.

Section 2: all coordinates of one vector commitment lie in a public interval.

Section 5: values under a private weight. A party with weight w and values x_j in [0, 1] commits
to (w x_0, .., w x_{d-2}, w). That every product is at most w is all that anybody has to know
about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from commitments import Commitment, Opening, Pedersen, VectorPedersen
from commitments.group import Group, SecretScalarVec
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import bits
from zkp.equations import Equation
from zkp.transcript import Transcript
from zkp.vectors import constant


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included; at least two of them."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if type(self.low) is not int or type(self.high) is not int:
            raise UsageError("an interval has integer ends")
        if self.low >= self.high:
            raise UsageError("an interval holds two integers or more: open a constant instead")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """1, 2, 4, .. and a last weight such that all bits together give high - low.

        No sum of these weights leaves [0, high - low] and every number in it is one.
        """
        span = self.high - self.low
        top = span.bit_length() - 1
        return (*(1 << i for i in range(top)), span + 1 - (1 << top))

    def bits(self, value: int) -> list[int]:
        """The bits that give value - low.

        Raises:
            UsageError: the value is outside. The message does not say by how much.
        """
        offset = value - self.low
        if not 0 <= offset <= self.high - self.low:
            raise UsageError(f"a value is outside of [{self.low}, {self.high}]")
        *small, last = self.weights
        upper = offset >> len(small)
        offset -= upper * last
        return [*(offset >> i & 1 for i in range(len(small))), upper]


def require_unambiguous(interval: Interval, group: Group) -> None:
    """Residues stand for one integer of the interval at most.

    Raises:
        UsageError: the ends are not closer to zero than half the group order.
    """
    if max(-interval.low, interval.high) > group.order // 2:
        raise UsageError("the ends of an interval lie within half the group order")


def secret_bits(
    group: Group, values: SecretScalarVec, intervals: Iterable[Interval]
) -> SecretScalarVec:
    """The bits of all values, one value after the other.

    The values pass through Python integers on their way into bits, which takes no
    constant time: an attacker who times this process closely learns something about
    the sizes of values.

    Raises:
        UsageError: a value is outside of its interval.
    """
    half = group.order // 2
    bits: list[int] = []
    for residue, interval in zip(values.reveal().ints(), intervals, strict=True):
        bits += interval.bits(residue - group.order if residue > half else residue)
    return group.secret_scalars(bits)


@dataclass(frozen=True, slots=True)
class RangeStatement:
    """That the value of commitment i, as a signed residue, lies in intervals[i]."""

    commitment: Commitment
    intervals: tuple[Interval, ...]

    def __post_init__(self) -> None:
        if self.commitment.key != Pedersen(self.group):
            raise UsageError("range proofs are about Pedersen commitments")
        if len(self.intervals) != len(self.commitment):
            raise UsageError(
                f"{len(self.commitment)} commitment(s) need as many intervals, "
                f"not {len(self.intervals)}"
            )
        for interval in self.intervals:
            require_unambiguous(interval, self.group)

    @classmethod
    def up_to(cls, commitment: Commitment, maximum: int) -> RangeStatement:
        """Every value lies in [0, maximum]."""
        return cls(commitment, (Interval(0, maximum),) * len(commitment))

    @property
    def group(self) -> Group:
        """The group of the commitments."""
        return self.commitment.key.group

    def as_bits(self) -> bits.BitStatement:
        """The same claim about hidden bits."""
        spans = tuple(interval.high - interval.low for interval in self.intervals)
        return bits.BitStatement.of(
            _shape(self.group, spans),
            constants=[interval.low for interval in self.intervals],
            commitments=[self.commitment],
        )

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for a proof; raises as `verify_range`."""
        return bits.equations(self.as_bits(), proof, transcript)


def prove_range(
    statement: RangeStatement,
    opening: Opening,
    transcript: Transcript,
    *,
    rng: Rng,
) -> bytes:
    """Prove that all values lie in their intervals.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: a value is outside, or the opening does not fit. Nothing was sent.
    """
    if len(opening) != len(statement.commitment):
        raise UsageError(f"{len(statement.commitment)} opening(s) wanted, not {len(opening)}")
    hidden = secret_bits(statement.group, opening.values, statement.intervals)
    openings = bits.Openings(commitments=[opening])
    return bits.prove(statement.as_bits(), hidden, openings, transcript, rng=rng)


def verify_range(statement: RangeStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a range proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    bits.verify(statement.as_bits(), proof, transcript)


@lru_cache(maxsize=64)
def _shape(group: Group, spans: Sequence[int]) -> bits.ConstraintShape:
    rows, at = [], 0
    for span in spans:
        weights = Interval(0, span).weights
        rows.append(bits.CommittedValue(bits.BitForm.weighted(at, weights)))
        at += len(weights)
    return bits.ConstraintShape(group, at, rows)


@dataclass(frozen=True, slots=True)
class VectorStatement:
    """The one vector commitment that a statement is about."""

    commitment: Commitment

    def __post_init__(self) -> None:
        if not isinstance(self.commitment.key, VectorPedersen) or len(self.commitment) != 1:
            raise UsageError("the proof is about one vector commitment")

    @property
    def group(self) -> Group:
        """The group of the commitment."""
        return self.commitment.key.group

    @property
    def dimension(self) -> int:
        """The number of coordinates, the last one included."""
        return self.commitment.key.values_per_commitment


@dataclass(frozen=True, slots=True)
class VectorRangeStatement(VectorStatement):
    """That every coordinate, read as a signed residue, lies in the interval."""

    interval: Interval

    def __post_init__(self) -> None:
        VectorStatement.__post_init__(self)
        require_unambiguous(self.interval, self.group)

    def as_bits(self) -> bits.BitStatement:
        """The same claim about hidden bits."""
        span = self.interval.high - self.interval.low
        return bits.BitStatement.of(
            _vector_shape(self.group, self.dimension, span),
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
    return _prove_in(statement, _coordinates(statement, opening), opening, transcript, rng)


def verify_vector_range(
    statement: VectorRangeStatement, proof: bytes, transcript: Transcript
) -> None:
    """Check a vector range proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    bits.verify(statement.as_bits(), proof, transcript)


def _coordinates(statement: VectorStatement, opening: Opening) -> SecretScalarVec:
    """The values that an opening gives; `UsageError` for a wrong number of them."""
    if len(opening.values) != statement.dimension:
        raise UsageError(f"{statement.dimension} values wanted, not {len(opening.values)}")
    return opening.values


def _prove_in(
    statement: VectorRangeStatement | LastLargestStatement,
    numbers: SecretScalarVec,
    opening: Opening,
    transcript: Transcript,
    rng: Rng,
) -> bytes:
    """Prove a statement about numbers that all lie in its interval, from their bits."""
    hidden = secret_bits(statement.group, numbers, [statement.interval] * len(numbers))
    openings = bits.Openings(vectors=[opening])
    return bits.prove(statement.as_bits(), hidden, openings, transcript, rng=rng)


@lru_cache(maxsize=16)
def _vector_shape(group: Group, dimension: int, span: int) -> bits.ConstraintShape:
    weights = Interval(0, span).weights
    width = len(weights)
    rows = tuple(bits.BitForm.weighted(j * width, weights) for j in range(dimension))
    return bits.ConstraintShape(group, dimension * width, [bits.CommittedVector(rows)])


@dataclass(frozen=True, slots=True)
class LastLargestStatement(VectorStatement):
    """That all coordinates lie in [0, maximum], and none is larger than the last."""

    maximum: int

    def __post_init__(self) -> None:
        VectorStatement.__post_init__(self)
        if self.dimension < 2:
            raise UsageError("besides the last coordinate there is at least one other")
        require_unambiguous(self.interval, self.group)

    @property
    def interval(self) -> Interval:
        """Where all coordinates lie, and their distances from the last one."""
        return Interval(0, self.maximum)

    def as_bits(self) -> bits.BitStatement:
        """The same claim about hidden bits (07-R16)."""
        return bits.BitStatement.of(
            _last_largest_shape(self.group, self.dimension, self.maximum),
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
    values = _coordinates(statement, opening)
    numbers = values.concat(_below_last(statement.group, values))
    return _prove_in(statement, numbers, opening, transcript, rng)


def verify_last_largest(
    statement: LastLargestStatement, proof: bytes, transcript: Transcript
) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    bits.verify(statement.as_bits(), proof, transcript)


def last_largest_layout(dimension: int, maximum: int) -> bits.Layout:
    """The layout of the bits of every proof for this dimension and maximum."""
    count = (2 * dimension - 1) * len(Interval(0, maximum).weights)
    return bits.layout_of(count, (dimension,))


def _below_last(group: Group, values: SecretScalarVec) -> SecretScalarVec:
    """The amounts by which other coordinates stay below the last one."""
    others = len(values) - 1
    return constant(group, 1, others) * values[others] - values[:others]


@lru_cache(maxsize=16)
def _last_largest_shape(group: Group, dimension: int, maximum: int) -> bits.ConstraintShape:
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
