"""Proves that a vector and noise are short, in the steps of 14-E1."""

from __future__ import annotations

from dataclasses import dataclass

from commitments import Opening, Pedersen
from commitments.group import ScalarVec, SecretScalarVec
from commitments.tables import table_kernels
from wire.randomness import Rng
from zkp.range import prove_range
from zkp.rows.lengths import DEGREE, EVALUATIONS, SUMS, LengthStatement, LengthWeights
from zkp.rows.opening import HiddenRow
from zkp.rows.parts import Blindings, HiddenNumbers, proved
from zkp.rows.rows import HiddenPads, HiddenRows, combined_rows
from zkp.rows.shape import TESTS
from zkp.rows.sumcheck import (
    EntrySummand,
    Folded,
    FoldedIntegers,
    HiddenValue,
    PairSummand,
    Polynomial,
    PowerSummand,
    SumcheckProof,
    Summand,
    TestedRows,
    TestsSummand,
    prove_sum,
    vector_of,
)
from zkp.sigma import LinearRelation
from zkp.sigma.proof import Form, prove_unchecked
from zkp.transcript import Transcript
from zkp.vectors import vector


@dataclass(frozen=True, slots=True)
class HiddenLengths:
    """What the rows of a statement hide."""

    inputs: HiddenRows
    noise: HiddenRows
    pads: HiddenPads


class LengthProver:
    """The prover of 14-E1, step by step. It does not check its proof: `prove_lengths` does.

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
        weights = LengthWeights.draw(transcript, statement)
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
        found = vector_of(self._group, x.power_sum(2), a.power_sum(2), a.power_sum(DEGREE))
        if not self._statement.weight:
            return found
        weight = x.table.entry(self._statement.shape.dimension - 1)
        return found.concat(vector_of(self._group, weight, weight * weight))

    def summed(self, sums: HiddenNumbers, weights: LengthWeights) -> SumcheckProof:
        """Step 6: the sumcheck; afterwards each table is what it is at one point."""
        group, statement, tables = self._group, self._statement, self._tables
        summands: tuple[Summand, ...] = (
            PowerSummand(tables[0], 2, weights.sums[0]),
            PowerSummand(tables[1], 2, weights.sums[1]),
            PowerSummand(tables[1], DEGREE, weights.sums[2]),
            *(TestsSummand(group, statement.tests, self._tested(at, weights)) for at in (0, 1)),
            PairSummand(weights.tests, tables[2]),
        )
        count = len(weights.sums)
        if statement.weight:
            last = statement.shape.dimension - 1
            summands += (EntrySummand(group, tables[0], last, weights.sums[SUMS]),)
        value = sums.values[:count].inner(weights.sums) + weights.answers.secret()
        claim = HiddenValue(value, sums.blindings[:count].inner(weights.sums))
        polynomial = Polynomial(summands, tables, statement.shape.bits, DEGREE)
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
        weights: LengthWeights,
    ) -> bytes:
        """Step 8: the Sigma proof that these powers make up what the rounds have left."""
        group, statement = self._group, self._statement
        left = vector_of(group, summed.left.value), vector_of(group, summed.left.blinding)
        rest = Pedersen(group).commit(*left).points[0]
        g_x, g_a, g_R = statement.choices(weights, summed.point)
        w_1, w_2, w_3 = weights.sums[:SUMS]
        x, a, _, _, b, c, _ = (evaluations.values[at] for at in range(EVALUATIONS))
        e, f, e_R, i, j, l, o = (  # noqa: E741 - as in 14
            evaluations.blindings[at] for at in range(EVALUATIONS)
        )
        z = summed.left.blinding - (i * w_1 + j * w_2 + o * w_3 + e * g_x + f * g_a + e_R * g_R)
        self.relation = statement.relation(
            weights, summed.point, evaluations.points, rest, sums.points
        )
        self.witness = vector_of(
            group, x, e, i - x * e, a, f, j - a * f, b, j, l - b * j, c, l, o - c * l, z
        )
        if statement.weight:
            u, (p, p_2) = sums.values[SUMS], (sums.blindings[at] for at in (SUMS, SUMS + 1))
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

    def _tested(self, which: int, weights: LengthWeights) -> TestedRows:
        """What the tests choose of the input, which is 0, or of the noise, which is 1."""
        tests, kernels = self._statement.tests, self._kernels
        rows = (self._hidden.inputs, self._hidden.noise)[which]
        sums = kernels.of_integers(rows.column_sums(self._group, tests).reshape(-1))
        choices = tests.row_choices(kernels, which, weights.tests)
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
