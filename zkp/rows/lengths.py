"""States that a vector and noise are short, by their squares and eighth powers, and checks proofs.

Statement: rows hide integers x, a and pads R with |x|^2 <= B, |a|^2 <= S, sum of a^8 <= K^8, and
the posted tests are theirs. With a private weight the last coordinate of x bounds the others, too.
Rules 14-E1, 14-E6, 14-E7, 14-T5 and 14-W2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from commitments import Commitment, Pedersen
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec
from commitments.tables import ResidueTable, table_kernels
from wire.errors import UsageError
from zkp.bits import layout_of, proof_size
from zkp.equations import Equation, Term
from zkp.range import Interval, RangeStatement
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.opening import OpeningClaim, opening_equation
from zkp.rows.parts import ProofParts, require_valid, statement_points
from zkp.rows.product_tests import ProductTests, check_tests, powers_for_tests, scalars_of_tests
from zkp.rows.rows import weighted_rows
from zkp.rows.shape import TESTS, RowShape
from zkp.rows.sumcheck import (
    SumClaim,
    equality_at,
    follow_sum,
)
from zkp.sigma import LinearRelation, RelationBuilder
from zkp.sigma.pattern import RelationPattern
from zkp.sigma.proof import relation_equations
from zkp.transcript import Transcript
from zkp.vectors import vector

DEGREE: Final = 8
SUMS: Final = 3
EVALUATIONS: Final = 7
_EQUATIONS: Final = 9
_SECRETS: Final = 13
# With a weight there are two more sums, two more equations, and three more secrets in them.
_WEIGHT_SUMS: Final = 2
_WEIGHT_SECRETS: Final = 3


@dataclass(frozen=True)
class LengthStatement:
    """That what rows hide is within the bounds, and what its tests are.

    `answers` are the posted tests as messages carry them (14-M1).

    A transcript absorbs all of it but the tests. So the context that the caller binds decides them:
    in a session the leaf that the message acts on does.
    """

    group: Group
    shape: RowShape
    bounds: LengthBounds
    tests: ProductTests
    inputs: PointVec
    noise: PointVec
    pads: PointVec
    answers: bytes
    weight: WeightBound | None = None

    def __post_init__(self) -> None:
        shape = self.shape
        if self.tests.shape != shape or len(self.tests.rows) != 2:
            raise UsageError("the tests are those of two vectors of this shape")
        if (len(self.inputs), len(self.noise), len(self.pads)) != (
            shape.rows,
            shape.rows,
            shape.pad_rows,
        ):
            raise UsageError("there is a point for every row")
        check_tests(self.answers)

    @property
    def proof_size(self) -> int:
        """The number of bytes of every proof (14-E6)."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, int, int, int, int, int]:
        """Bytes of the sums, rounds, evaluations, Sigma proof, opening and range proof."""
        group, shape = self.group, self.shape
        point, scalar = group.point_size, group.scalar_size
        hidden = sum(len(interval.weights) for interval in self.intervals)
        more, secrets = (_WEIGHT_SUMS, _WEIGHT_SECRETS) if self.weight else (0, 0)
        return (
            (SUMS + more) * point,
            DEGREE * shape.bits * point,
            EVALUATIONS * point,
            (_EQUATIONS + more) * point + (_SECRETS + secrets) * scalar,
            (2 * shape.column_bits + 1) * point + 2 * scalar,
            proof_size(group, layout_of(hidden)),
        )

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The intervals of the range proof."""
        return self.bounds.intervals + (self.weight.intervals if self.weight else ())

    @cached_property
    def tests_posted(self) -> ScalarVec:
        """The answers as scalars."""
        return scalars_of_tests(self.group, self.answers)

    def bind(self, transcript: Transcript) -> None:
        """Absorb the whole statement into a transcript."""
        shape, bounds = self.shape, self.bounds
        for value in (shape.dimension, shape.column_bits, shape.row_bits):
            transcript.absorb_int(b"long/shape", value)
        for value in (bounds.squared_norm, bounds.noise_square, bounds.spike):
            transcript.absorb_int(b"long/bounds", value)
        for value in self.weight.terms if self.weight else ():
            transcript.absorb_int(b"long/weight", value)
        for rows in (self.inputs, self.noise, self.pads):
            transcript.absorb_points(b"long/rows", rows)
        transcript.absorb_scalars(b"long/tests", self.tests_posted)

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_lengths`."""
        group, shape = self.group, self.shape
        parts = ProofParts(proof, self.sizes)
        self.bind(transcript)
        sums = parts.points(group)
        transcript.absorb_points(b"long/sums", sums)
        weights = LengthWeights.draw(transcript, self)
        rounds = parts.points(group)
        claim = follow_sum(group, rounds, shape.bits, DEGREE, transcript)
        evaluations = parts.points(group)
        transcript.absorb_points(b"long/evaluations", evaluations)
        rest = self._remainder(sums, rounds, claim, weights)
        relation = self.relation(weights, claim.point, evaluations, rest, sums)
        linked = parts.take(lambda part: relation_equations(relation, part, transcript))
        eta = transcript.challenge(b"long/openings", group)
        factors = [group.scalar(1), eta, eta * eta]
        messages = parts.opening(group)
        vectors = (self.inputs, self.noise, self.pads)
        rows = weighted_rows(group, shape, vectors, factors, claim.point[: shape.row_bits])
        value = Term(evaluations[:3], vector(group, factors))
        opened = opening_equation(
            group,
            OpeningClaim(rows, (value,), claim.point[shape.row_bits :]),
            messages,
            transcript,
        )
        ranges = parts.take(lambda part: self.ranges(sums).equations(part, transcript))
        return (*linked, opened, *ranges)

    def ranges(self, sums: PointVec) -> RangeStatement:
        """The sums are within the bounds, and the vector within that of its weight."""
        committed = Commitment(Pedersen(self.group), sums)
        return RangeStatement(
            self.weight.ranged(committed) if self.weight else committed, self.intervals
        )

    def relation(
        self,
        weights: LengthWeights,
        point: ScalarVec,
        evaluations: PointVec,
        rest: Point,
        sums: PointVec,
    ) -> LinearRelation:
        """The evaluations, their squares and powers make up what the rounds have left."""
        group = self.group
        factors = weights.sums[:SUMS].concat(self.choices(weights, point))
        left = group.scalars([1]).concat(-factors)
        shape = _pattern(group, weighted=self.weight is not None).shape(left, group.scalars([]))
        parts = [evaluations, group.points([rest])]
        if self.weight:
            parts.append(sums[SUMS:])
        return LinearRelation(shape, statement_points(group, *parts))

    def choices(self, weights: LengthWeights, point: ScalarVec) -> ScalarVec:
        """What the weighted tests choose of x, a and R at a point; of x the weight's place, too."""
        group, shape, kernels = self.group, self.shape, table_kernels(self.group)
        rows = kernels.equality(point[: shape.row_bits], shape.rows)
        columns = kernels.equality(point[shape.row_bits :], shape.width)
        first, second = self.tests.at(rows, columns, weights.tests)
        pads = kernels.equality(point, TESTS).inner(weights.tests)
        if self.weight:
            last = equality_at(group, point, shape.dimension - 1)
            first = first + weights.sums[SUMS] * last
        return vector(group, [first, second, pads.reveal()])

    def _remainder(
        self, sums: PointVec, rounds: PointVec, claim: SumClaim, weights: LengthWeights
    ) -> Point:
        """The commitment C_v that the rounds have left of the first claim."""
        group = self.group
        base = group.points([Pedersen(group).value_base])
        scalars = (weights.sums * claim.first).concat(
            group.scalars([int(weights.answers * claim.first)])
        )
        points = rounds.concat(sums[: len(weights.sums)]).concat(base)
        return points.vartime_msm(claim.rounds.concat(scalars))


@dataclass(frozen=True, slots=True)
class LengthWeights:
    """The weights of the sums and of the tests, and the weighted answers.

    The weight of V, where there is one, comes after those of S_x, S_a and S_8.
    """

    sums: ScalarVec
    tests: ResidueTable
    answers: Scalar

    @classmethod
    def draw(cls, transcript: Transcript, statement: LengthStatement) -> LengthWeights:
        group, count = statement.group, SUMS + 1 + (statement.weight is not None)
        drawn = transcript.challenges(b"long/weights", group, count)
        tests = powers_for_tests(group, drawn[0])
        posted = table_kernels(group).of_scalars(statement.tests_posted)
        return cls(drawn[1:], tests, posted.inner(tests).reveal())


@lru_cache(maxsize=8)
def _pattern(group: Group, *, weighted: bool) -> RelationPattern:
    """Step 8 of 14-E1, with a factor of 1 for each element that makes up what is left."""
    build = RelationBuilder(group)
    G, H = build.elements(2)
    E_x, E_a, E_R, X_2, A_2, A_4, A_8, C = build.elements(8)
    x, e, i, a, f, j, b, k, l, c, m, o, z = build.scalars(_SECRETS)  # noqa: E741 - as in 14
    build.equation(E_x, x * G + e * H)
    build.equation(X_2, x * E_x + i * H)
    build.equation(E_a, a * G + f * H)
    build.equation(A_2, a * E_a + j * H)
    build.equation(A_2, b * G + k * H)
    build.equation(A_4, b * A_2 + l * H)
    build.equation(A_4, c * G + m * H)
    build.equation(A_8, c * A_4 + o * H)
    build.equation(C + X_2 + A_2 + A_8 + E_x + E_a + E_R, z * H)
    if weighted:
        V, V_2 = build.elements(_WEIGHT_SUMS)
        u, p, r = build.scalars(_WEIGHT_SECRETS)
        build.equation(V, u * G + p * H)
        build.equation(V_2, u * V + r * H)
    return RelationPattern(build.shape(), images=[_EQUATIONS - 1])


def verify_lengths(statement: LengthStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    require_valid(statement, proof, transcript)
