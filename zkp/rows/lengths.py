"""Proves that a party's vector and noise are short: their squares and eighth powers are bounded.

Statement: rows hide integers x, a and pads R with |x|^2 <= B, |a|^2 <= S, sum of a^8 <= K^8, and
the posted tests are theirs. With a private weight the last coordinate of x bounds the others, too.
Specification 14, rules E1, E6, E7, T5 and W2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec, SecretScalarVec
from commitments.tables import table_kernels
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.bits import layout_of, proof_size
from zkp.equations import Equation, Term
from zkp.range import Interval, RangeStatement, prove_range
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.opening import HiddenRow, OpeningClaim, opening_equation
from zkp.rows.parts import (
    Blindings,
    HiddenNumbers,
    ProofParts,
    proved,
    require_valid,
    statement_points,
)
from zkp.rows.product_tests import ProductTests, require_small, scalars_of_tests
from zkp.rows.rows import HiddenPads, HiddenRows, combined_rows, weighted_rows
from zkp.rows.shape import TESTS, RowShape
from zkp.rows.sumcheck import (
    EntrySummand,
    Folded,
    FoldedIntegers,
    HiddenValue,
    PairSummand,
    Polynomial,
    PowerSummand,
    SumcheckProof,
    SumClaim,
    Summand,
    TestedRows,
    TestsSummand,
    equality_at,
    follow_sum,
    prove_sum,
    vector_of,
)
from zkp.sigma import LinearRelation, RelationBuilder
from zkp.sigma.proof import Form, prove_unchecked, relation_equations
from zkp.transcript import Transcript
from zkp.vectors import vector

_DEGREE: Final = 8
_SUMS: Final = 3
_EVALUATIONS: Final = 7
_EQUATIONS: Final = 9
_SECRETS: Final = 13
# With a weight there are two more sums, two more equations, and three more secrets in them.
_WEIGHT_SUMS: Final = 2
_WEIGHT_SECRETS: Final = 3


@dataclass(frozen=True)
class LengthStatement:
    """States that what rows hide is within the bounds, and what its tests are.

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
    answers: tuple[int, ...]
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
        require_small(self.answers)

    @property
    def proof_size(self) -> int:
        """The number of bytes of every proof (rule E6)."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, int, int, int, int, int]:
        """Bytes of the sums, rounds, evaluations, Sigma proof, opening and range proof."""
        group, shape = self.group, self.shape
        point, scalar = group.point_size, group.scalar_size
        hidden = sum(len(interval.weights) for interval in self.intervals)
        more, secrets = (_WEIGHT_SUMS, _WEIGHT_SECRETS) if self.weight else (0, 0)
        return (
            (_SUMS + more) * point,
            _DEGREE * shape.bits * point,
            _EVALUATIONS * point,
            (_EQUATIONS + more) * point + (_SECRETS + secrets) * scalar,
            (2 * shape.column_bits + 1) * point + 2 * scalar,
            proof_size(group, layout_of(hidden)),
        )

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Those of the range proof."""
        return self.bounds.intervals + (self.weight.intervals if self.weight else ())

    @cached_property
    def tests_posted(self) -> ScalarVec:
        """The answers as scalars."""
        return scalars_of_tests(self.group, self.answers)

    def bind(self, transcript: Transcript) -> None:
        """Absorb the statement."""
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
        weights = _Weights.draw(transcript, self)
        rounds = parts.points(group)
        claim = follow_sum(group, rounds, shape.bits, _DEGREE, transcript)
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
        weights: _Weights,
        point: ScalarVec,
        evaluations: PointVec,
        rest: Point,
        sums: PointVec,
    ) -> LinearRelation:
        """The evaluations, their squares and powers make up what the rounds have left."""
        group = self.group
        chosen = self.choices(weights, point)
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
        w_1, w_2, w_3 = (int(weight) for weight in weights.sums[:_SUMS])
        g_x, g_a, g_R = (int(each) for each in chosen)
        left = C
        weighted = ((w_1, X_2), (w_2, A_2), (w_3, A_8), (g_x, E_x), (g_a, E_a), (g_R, E_R))
        for factor, element in weighted:
            left = left - factor * element
        build.equation(left, z * H)
        parts = [evaluations, group.points([rest])]
        if self.weight:
            V, V_2 = build.elements(_WEIGHT_SUMS)
            u, p, r = build.scalars(_WEIGHT_SECRETS)
            build.equation(V, u * G + p * H)
            build.equation(V_2, u * V + r * H)
            parts.append(sums[_SUMS:])
        return LinearRelation(build.shape(), statement_points(group, *parts))

    def choices(self, weights: _Weights, point: ScalarVec) -> ScalarVec:
        """What the weighted tests choose of x, a and R at a point; of x the weight's place, too."""
        group, shape, kernels = self.group, self.shape, table_kernels(self.group)
        rows = kernels.equality(point[: shape.row_bits], shape.rows)
        columns = kernels.equality(point[shape.row_bits :], shape.width)
        first, second = self.tests.at(rows, columns, weights.tests)
        pads = kernels.equality(point, TESTS).inner(kernels.of_scalars(weights.tests))
        if self.weight:
            last = equality_at(group, point, shape.dimension - 1)
            first = first + weights.sums[_SUMS] * last
        return vector(group, [first, second, pads.reveal()])

    def _remainder(
        self, sums: PointVec, rounds: PointVec, claim: SumClaim, weights: _Weights
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
class _Weights:
    """Holds the weights of the sums and of the tests, and the weighted answers.

    The weight of V, where there is one, comes after those of S_x, S_a and S_8.
    """

    sums: ScalarVec
    tests: ScalarVec
    answers: Scalar

    @classmethod
    def draw(cls, transcript: Transcript, statement: LengthStatement) -> _Weights:
        group, count = statement.group, _SUMS + 1 + (statement.weight is not None)
        drawn = transcript.challenges(b"long/weights", group, count)
        tests = group.powers(drawn[0], TESTS + 1)[1:]
        return cls(drawn[1:], tests, statement.tests_posted.inner(tests))


@dataclass(frozen=True, slots=True)
class HiddenLengths:
    """Holds what the rows of a statement hide."""

    inputs: HiddenRows
    noise: HiddenRows
    pads: HiddenPads


class LengthProver:
    """Makes a proof in the steps of rule E1. It does not check what it made: `prove_lengths` does.

    `relation` and `witness` are those of the Sigma proof, once there is one.
    """

    relation: LinearRelation
    witness: SecretScalarVec

    def __init__(
        self, statement: LengthStatement, hidden: HiddenLengths, transcript: Transcript, rng: Rng
    ) -> None:
        self._statement, self._hidden = statement, hidden
        self._transcript, self._rng = transcript, rng
        self._group, self._kernels = statement.group, table_kernels(statement.group)
        blindings = [each.blindings for each in (hidden.inputs, hidden.noise, hidden.pads)]
        known = blindings[0].concat(blindings[1]).concat(blindings[2])
        self._hiding = Blindings(transcript, self._group, known, rng)
        self._input, self._noise = (
            FoldedIntegers(self._group, each.values, each.bits)
            for each in (hidden.inputs, hidden.noise)
        )
        pads = Folded(self._kernels.of_scalars(hidden.pads.values[:TESTS]))
        self._tables = self._input, self._noise, pads

    def proof(self) -> bytes:
        """All messages, in order; raises `ComputationFault` for a blinding that has changed."""
        statement, transcript, group = self._statement, self._transcript, self._group
        statement.bind(transcript)
        sums = self._hiding.commit(b"long/sums", self.sums())
        weights = _Weights.draw(transcript, statement)
        summed = self.summed(sums, weights)
        evaluations = self._hiding.commit(b"long/evaluations", self.evaluated())
        linked = self.linked(sums, evaluations, summed, weights)
        opened = self.opened(evaluations, summed.point)
        committed = Opening(Pedersen(group), sums.values, sums.blindings)
        if statement.weight:
            committed = statement.weight.opened(committed)
        ranges = prove_range(statement.ranges(sums.points), committed, transcript, rng=self._rng)
        self._hiding.require_used()
        messages = (sums.points, summed.rounds, evaluations.points)
        return b"".join(each.to_bytes() for each in messages) + linked + opened + ranges

    def sums(self) -> SecretScalarVec:
        """Step 4: the squares of the vectors, and the eighth powers of the noise, added up.

        With a weight it comes next, and its square.
        """
        x, a = self._input, self._noise
        found = vector_of(self._group, x.power_sum(2), a.power_sum(2), a.power_sum(_DEGREE))
        if not self._statement.weight:
            return found
        weight = x.table.entry(self._statement.shape.dimension - 1)
        return found.concat(vector_of(self._group, weight, weight * weight))

    def summed(self, sums: HiddenNumbers, weights: _Weights) -> SumcheckProof:
        """Step 6: the sumcheck; afterwards each table is what it is at one point."""
        group, statement, tables = self._group, self._statement, self._tables
        summands: tuple[Summand, ...] = (
            PowerSummand(tables[0], 2, weights.sums[0]),
            PowerSummand(tables[1], 2, weights.sums[1]),
            PowerSummand(tables[1], _DEGREE, weights.sums[2]),
            *(TestsSummand(group, statement.tests, self._tested(at, weights)) for at in (0, 1)),
            PairSummand(self._kernels.of_scalars(weights.tests), tables[2]),
        )
        count = len(weights.sums)
        if statement.weight:
            last = statement.shape.dimension - 1
            summands += (EntrySummand(group, tables[0], last, weights.sums[_SUMS]),)
        value = sums.values[:count].inner(weights.sums) + weights.answers.secret()
        claim = HiddenValue(value, sums.blindings[:count].inner(weights.sums))
        polynomial = Polynomial(summands, tables, statement.shape.bits, _DEGREE)
        found = prove_sum(group, polynomial, claim, self._transcript, rng=self._rng)
        self._hiding.keep(found.sources)
        return found

    def evaluated(self) -> SecretScalarVec:
        """Step 7: the tables at the point, and the powers of two of them."""
        x, a, pads = (each.value for each in self._tables)
        second = a * a
        fourth = second * second
        return vector_of(self._group, x, a, pads, x * x, second, fourth, fourth * fourth)

    def linked(
        self,
        sums: HiddenNumbers,
        evaluations: HiddenNumbers,
        summed: SumcheckProof,
        weights: _Weights,
    ) -> bytes:
        """Step 8: the Sigma proof that these powers make up what the rounds have left."""
        group, statement = self._group, self._statement
        left = vector_of(group, summed.left.value), vector_of(group, summed.left.blinding)
        rest = Pedersen(group).commit(*left).points[0]
        g_x, g_a, g_R = statement.choices(weights, summed.point)
        w_1, w_2, w_3 = weights.sums[:_SUMS]
        x, a, _, _, b, c, _ = (evaluations.values[at] for at in range(_EVALUATIONS))
        e, f, e_R, i, j, l, o = (  # noqa: E741 - as in 14
            evaluations.blindings[at] for at in range(_EVALUATIONS)
        )
        z = summed.left.blinding - (i * w_1 + j * w_2 + o * w_3 + e * g_x + f * g_a + e_R * g_R)
        self.relation = statement.relation(
            weights, summed.point, evaluations.points, rest, sums.points
        )
        self.witness = vector_of(
            group, x, e, i - x * e, a, f, j - a * f, b, j, l - b * j, c, l, o - c * l, z
        )
        if statement.weight:
            u, (p, p_2) = sums.values[_SUMS], (sums.blindings[at] for at in (_SUMS, _SUMS + 1))
            self.witness = self.witness.concat(vector_of(group, u, p, p_2 - u * p))
        return prove_unchecked(
            self.relation, self.witness, self._transcript, rng=self._rng, form=Form.BATCHABLE
        )

    def opened(self, evaluations: HiddenNumbers, point: ScalarVec) -> bytes:
        """Steps 9 and 10: what was said of the tables is so of the rows."""
        group, hidden, split = self._group, self._hidden, self._statement.shape.row_bits
        eta = self._transcript.challenge(b"long/openings", group)
        factors = vector(group, [group.scalar(1), eta, eta * eta])
        vectors = (hidden.inputs, hidden.noise, hidden.pads)
        row, blinding = combined_rows(group, vectors, tuple(factors), point[:split])
        value = evaluations.blindings[:3].inner(factors)
        return self._hiding.open(HiddenRow(row, blinding, value), point[split:])

    def _tested(self, which: int, weights: _Weights) -> TestedRows:
        """What the tests choose of the input, which is 0, or of the noise, which is 1."""
        tests, kernels = self._statement.tests, self._kernels
        rows = (self._hidden.inputs, self._hidden.noise)[which]
        sums = kernels.of_integers(rows.column_sums(self._group, tests).reshape(-1))
        choices = tests.row_choices(kernels, which, kernels.of_scalars(weights.tests))
        return TestedRows(choices, sums, self._tables[which])


def prove_lengths(
    statement: LengthStatement, hidden: HiddenLengths, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that the vectors are within the bounds.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: they are not. Nothing was sent.
        ComputationFault: they are not behind the statement's rows, the tests are not theirs, or
            a computation went wrong. Nothing was sent.
    """
    before = transcript.copy()
    return proved(statement, LengthProver(statement, hidden, transcript, rng), before)


def verify_lengths(statement: LengthStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    require_valid(statement, proof, transcript)
