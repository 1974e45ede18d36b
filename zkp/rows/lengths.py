"""Proves that a party's vector and noise are short: their squares and eighth powers are bounded.

Statement: rows hide integers x, a and pads R with |x|^2 <= B, |a|^2 <= S, sum of a^8 <= K^8, and
the posted tests are theirs. Specification 14, rules E1, E6, E7 and T5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec
from commitments.tables import ResidueTable, table_kernels
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.bits import layout_of, proof_size
from zkp.equations import Equation, Term, require_all
from zkp.range import Interval, RangeStatement, prove_range
from zkp.rows.opening import HiddenRow, OpeningClaim, opening_equation, prove_opening
from zkp.rows.parts import Blindings, ProofParts
from zkp.rows.product_tests import ProductTests, require_small
from zkp.rows.rows import HiddenPads, HiddenRows, combined_rows, weighted_rows
from zkp.rows.shape import TESTS, RowShape
from zkp.rows.sumcheck import (
    Folded,
    HiddenValue,
    PairSummand,
    Polynomial,
    PowerSummand,
    SumClaim,
    Summand,
    TestedRows,
    TestsSummand,
    follow_sum,
    prove_sum,
    vector_of,
)
from zkp.sigma import LinearRelation, RelationBuilder
from zkp.sigma.proof import Form, checking, prove_unchecked, relation_equations
from zkp.transcript import Transcript
from zkp.vectors import vector

T = TypeVar("T")

_DEGREE: Final = 8
_EVALUATIONS: Final = 7
_EQUATIONS: Final = 9
_SECRETS: Final = 13


@dataclass(frozen=True, slots=True)
class LengthBounds:
    """Bounds squared lengths of an input and of noise, and eighth powers of noise by spike^8."""

    squared_norm: int
    noise_square: int
    spike: int

    def __post_init__(self) -> None:
        squares = 1 <= self.squared_norm < 1 << 62 and 1 <= self.noise_square < 1 << 62
        if not squares or not 1 <= self.spike < 1 << 31:
            raise UsageError("squared lengths lie between 1 and 2^62, a spike between 1 and 2^31")

    @property
    def intervals(self) -> tuple[Interval, Interval, Interval]:
        """Where the three sums lie."""
        largest = (self.squared_norm, self.noise_square, self.spike**_DEGREE)
        first, second, third = (Interval(0, each) for each in largest)
        return first, second, third


@dataclass(frozen=True)
class LengthStatement:
    """States that what rows hide is within the bounds, and what its tests are."""

    group: Group
    shape: RowShape
    bounds: LengthBounds
    tests: ProductTests
    inputs: PointVec
    noise: PointVec
    pads: PointVec
    answers: tuple[int, ...]

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
        hidden = sum(len(interval.weights) for interval in self.bounds.intervals)
        return (
            3 * point,
            _DEGREE * shape.bits * point,
            _EVALUATIONS * point,
            _EQUATIONS * point + _SECRETS * scalar,
            (2 * shape.column_bits + 1) * point + 2 * scalar,
            proof_size(group, layout_of(hidden)),
        )

    def bind(self, transcript: Transcript) -> None:
        """Absorb the statement."""
        shape, bounds, group = self.shape, self.bounds, self.group
        for value in (shape.dimension, shape.column_bits, shape.row_bits):
            transcript.absorb_int(b"long/shape", value)
        for value in (bounds.squared_norm, bounds.noise_square, bounds.spike):
            transcript.absorb_int(b"long/bounds", value)
        for rows in (self.inputs, self.noise, self.pads):
            transcript.absorb_points(b"long/rows", rows)
        transcript.absorb_scalars(b"long/tests", _tests(group, self.answers))

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_lengths`."""
        group, shape = self.group, self.shape
        parts = ProofParts(proof, self.sizes)
        self.bind(transcript)
        sums = parts.points(group)
        transcript.absorb_points(b"long/sums", sums)
        weights = _Weights.draw(transcript, group, self.answers)
        rounds = parts.points(group)
        claim = follow_sum(group, rounds, shape.bits, _DEGREE, transcript)
        evaluations = parts.points(group)
        transcript.absorb_points(b"long/evaluations", evaluations)
        rest = self._remainder(sums, rounds, claim, weights)
        relation = self.relation(weights, claim.point, evaluations, rest)
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
        """The three sums are within the bounds."""
        return RangeStatement(Commitment(Pedersen(self.group), sums), self.bounds.intervals)

    def relation(
        self, weights: _Weights, point: ScalarVec, evaluations: PointVec, rest: Point
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
        w_1, w_2, w_3 = (int(weight) for weight in weights.sums)
        g_x, g_a, g_R = (int(each) for each in chosen)
        parts = ((w_1, X_2), (w_2, A_2), (w_3, A_8), (g_x, E_x), (g_a, E_a), (g_R, E_R))
        left = C
        for factor, element in parts:
            left = left - factor * element
        build.equation(left, z * H)
        key = Pedersen(group)
        ends = group.points([key.value_base, key.blinding_base])
        points = ends.concat(evaluations).concat(group.points([rest]))
        return LinearRelation(build.shape(), points)

    def choices(self, weights: _Weights, point: ScalarVec) -> ScalarVec:
        """What the weighted tests choose of x, a and R at a point."""
        group, shape, kernels = self.group, self.shape, table_kernels(self.group)
        rows = kernels.equality(point[: shape.row_bits], shape.rows)
        columns = kernels.equality(point[shape.row_bits :], shape.width)
        first, second = (self.tests.at(each, rows, columns, weights.tests) for each in (0, 1))
        pads = kernels.equality(point, TESTS).inner(kernels.of_scalars(weights.tests))
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
        points = rounds.concat(sums).concat(base)
        return points.vartime_msm(claim.rounds.concat(scalars))


@dataclass(frozen=True, slots=True)
class _Weights:
    """Holds the weights of the sums and of the tests, and the weighted answers."""

    sums: ScalarVec
    tests: ScalarVec
    answers: Scalar

    @classmethod
    def draw(cls, transcript: Transcript, group: Group, answers: tuple[int, ...]) -> _Weights:
        drawn = transcript.challenges(b"long/weights", group, 4)
        tests = group.powers(drawn[0], TESTS + 1)[1:]
        return cls(drawn[1:], tests, _tests(group, answers).inner(tests))


@dataclass(frozen=True, slots=True)
class HiddenLengths:
    """Holds what the rows of a statement hide."""

    inputs: HiddenRows
    noise: HiddenRows
    pads: HiddenPads


def prove_lengths(
    statement: LengthStatement, hidden: HiddenLengths, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that the vectors are within the bounds.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: they are not, or they are not behind the statement's rows. Nothing was sent.
        ComputationFault: a computation went wrong. Nothing was sent.
    """
    group, shape, kernels = statement.group, statement.shape, table_kernels(statement.group)
    before = transcript.copy()
    statement.bind(transcript)
    x, a = (kernels.of_integers(each.values) for each in (hidden.inputs, hidden.noise))
    pads = kernels.of_scalars(hidden.pads.values[:TESTS])
    fourth = _squares(_squares(a))
    sums = vector_of(group, x.inner(x), a.inner(a), fourth.inner(fourth))
    rows = hidden.inputs.blindings.concat(hidden.noise.blindings).concat(hidden.pads.blindings)
    hiding = Blindings(transcript, group, rows, rng)
    first = hiding.draw(b"long/sums", sums, 3)
    commitment = Pedersen(group).commit(sums, first)
    transcript.absorb_points(b"long/sums", commitment.points)
    weights = _Weights.draw(transcript, group, statement.answers)

    folded = Folded(x), Folded(a), Folded(pads)
    summands: tuple[Summand, ...] = (
        PowerSummand(folded[0], 2, weights.sums[0]),
        PowerSummand(folded[1], 2, weights.sums[1]),
        PowerSummand(folded[1], _DEGREE, weights.sums[2]),
        *(
            TestsSummand(group, statement.tests, _tested(statement, weights, each, hidden, table))
            for each, table in enumerate(folded[:2])
        ),
        PairSummand(kernels.of_scalars(weights.tests), folded[2]),
    )
    value = sums.inner(weights.sums) + weights.answers.secret()
    polynomial = Polynomial(summands, folded, shape.bits, _DEGREE)
    claim = HiddenValue(value, first.inner(weights.sums))
    summed = prove_sum(group, polynomial, claim, transcript, rng=rng)
    hiding.keep(summed.sources)
    x_p, a_p, pads_p = (each.value for each in folded)
    square = a_p * a_p
    powers = [square, square * square]
    powers.append(powers[1] * powers[1])
    evaluated = vector_of(group, x_p, a_p, pads_p, x_p * x_p, *powers)
    drawn = hiding.draw(b"long/evaluations", evaluated, _EVALUATIONS)
    evaluations = Pedersen(group).commit(evaluated, drawn).points
    transcript.absorb_points(b"long/evaluations", evaluations)

    rest = Pedersen(group).commit(
        vector_of(group, summed.left.value), vector_of(group, summed.left.blinding)
    )
    relation = statement.relation(weights, summed.point, evaluations, rest.points[0])
    g_x, g_a, g_R = statement.choices(weights, summed.point)
    w_1, w_2, w_3 = weights.sums
    e, f, e_R, i, j, l, o = (drawn[at] for at in range(_EVALUATIONS))  # noqa: E741 - as in 14
    secret = vector_of(
        group,
        x_p,
        e,
        i - x_p * e,
        a_p,
        f,
        j - a_p * f,
        powers[0],
        j,
        l - powers[0] * j,
        powers[1],
        l,
        o - powers[1] * l,
        summed.left.blinding - (i * w_1 + j * w_2 + o * w_3 + e * g_x + f * g_a + e_R * g_R),
    )
    linked = prove_unchecked(relation, secret, transcript, rng=rng, form=Form.BATCHABLE)
    eta = transcript.challenge(b"long/openings", group)
    factors = (group.scalar(1), eta, eta * eta)
    row, blinding = combined_rows(
        group,
        (hidden.inputs, hidden.noise, hidden.pads),
        factors,
        summed.point[: shape.row_bits],
    )
    combined = HiddenRow(row, blinding, e + f * eta + e_R * (eta * eta))
    columns = summed.point[shape.row_bits :]
    opened, sources = prove_opening(group, combined, columns, transcript, rng=rng)
    hiding.keep(sources)
    committed = Opening(Pedersen(group), sums, first)
    ranges = prove_range(statement.ranges(commitment.points), committed, transcript, rng=rng)
    hiding.require_used()
    proof = (
        commitment.points.to_bytes()
        + summed.rounds.to_bytes()
        + evaluations.to_bytes()
        + linked
        + opened.to_bytes()
        + ranges
    )
    with checking(relation, secret):
        verify_lengths(statement, proof, before)
    return proof


def verify_lengths(statement: LengthStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    claims = statement.equations(proof, transcript)
    require_all(statement.group, claims, transcript)


def _squares(table: ResidueTable) -> ResidueTable:
    return table.times(table)


def _tested(
    statement: LengthStatement,
    weights: _Weights,
    which: int,
    hidden: HiddenLengths,
    table: Folded,
) -> TestedRows:
    group, tests, kernels = statement.group, statement.tests, table_kernels(statement.group)
    values = (hidden.inputs, hidden.noise)[which].values
    sums = kernels.of_integers(tests.column_sums(group, values).reshape(-1))
    choices = tests.row_choices(kernels, which, kernels.of_scalars(weights.tests))
    return TestedRows(choices, sums, table)


def _tests(group: Group, answers: tuple[int, ...]) -> ScalarVec:
    return group.scalars(list(answers))
