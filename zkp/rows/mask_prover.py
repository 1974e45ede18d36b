"""Proves what posted words are made of, in the steps of 14-E8."""

from __future__ import annotations

from dataclasses import dataclass

from commitments.group import SecretScalar, SecretScalarVec
from commitments.tables import table_kernels
from wire.randomness import Rng
from zkp.rows.masking import DEGREE, MaskStatement, MaskWeights
from zkp.rows.opening import HiddenRow
from zkp.rows.parts import Blindings, HiddenNumbers, proved
from zkp.rows.rows import HiddenPads, HiddenRows, combined_rows
from zkp.rows.shape import TESTS
from zkp.rows.sumcheck import (
    Folded,
    HiddenValue,
    PairSummand,
    Polynomial,
    SumcheckProof,
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
class HiddenMasks:
    """What the rows and commitments of a statement hide.

    `masks` is m, and `blinding` that of the signed sum of the edges and the own mask.
    """

    inputs: HiddenRows
    noise: HiddenRows
    carries: HiddenRows
    pads: HiddenPads
    masks: SecretScalarVec
    blinding: SecretScalar


class MaskProver:
    """The prover of 14-E8, step by step. It does not check its proof: `prove_masks` does.

    `relation` and `witness` are those of the Sigma proof, once there is one.
    """

    relation: LinearRelation
    witness: SecretScalarVec

    def __init__(
        self, statement: MaskStatement, hidden: HiddenMasks, transcript: Transcript, rng: Rng
    ) -> None:
        self._statement, self._hidden = statement, hidden
        self._transcript, self._rng = transcript, rng
        self._group, self._kernels = statement.group, table_kernels(statement.group)
        self._known = hidden.masks.concat(vector_of(self._group, hidden.blinding))
        self._hiding = Blindings(transcript, self._group, self._known, rng)

    def proof(self) -> bytes:
        """All messages, in order; raises `ComputationFault` for a blinding that has changed."""
        statement, transcript = self._statement, self._transcript
        statement.bind(transcript)
        weights = MaskWeights.draw(transcript, statement)
        total = self._hidden.masks.inner(weights.points)
        mask = self._hiding.commit(b"long/masks", vector_of(self._group, total))
        summed = self.summed(mask, weights)
        linked = self.linked(mask, weights)
        opened = self.opened(summed, weights)
        self._hiding.require_used()
        return mask.points.to_bytes() + summed.rounds.to_bytes() + linked + opened

    def summed(self, mask: HiddenNumbers, weights: MaskWeights) -> SumcheckProof:
        """Step 5: the sumcheck of what words, rows and masks have to make up together."""
        group, statement = self._group, self._statement
        words = weights.claim * statement.word_sum(weights) + weights.answers
        value = words.secret() - mask.values[0] * weights.claim
        claim = HiddenValue(value, -(mask.blindings[0] * weights.claim))
        polynomial = self.polynomial(weights)
        found = prove_sum(group, polynomial, claim, self._transcript, rng=self._rng)
        self._hiding.keep(found.sources)
        return found

    def polynomial(self, weights: MaskWeights) -> Polynomial:
        """f: the tables of the rows, each with what it is multiplied by."""
        group, kernels, statement = self._group, self._kernels, self._statement
        tests, hidden = statement.tests, self._hidden
        vectors = (hidden.inputs, hidden.noise, hidden.carries)
        x, a, c = (kernels.of_integers(each.values) for each in vectors)
        shift = -group.scalar(1 << statement.word_bits)
        rest = Folded(kernels.combine(vector(group, [group.scalar(1), shift]), [x, c]))
        noise, carries = Folded(a), Folded(c)
        pads = Folded(kernels.of_scalars(hidden.pads.values[:TESTS]))
        equality = statement.equality(weights)
        moved, chosen = statement.transposed(equality), weights.tests
        sums = kernels.of_integers(hidden.carries.column_sums(group, tests).reshape(-1))
        choices = tests.row_choices(kernels, 0, chosen)
        summands = (
            PairSummand(equality, rest),
            PairSummand(moved, noise),
            TestsSummand(group, tests, TestedRows(choices, sums, carries)),
            PairSummand(chosen, pads),
        )
        return Polynomial(summands, (rest, noise, carries, pads), statement.shape.bits, DEGREE)

    def linked(self, mask: HiddenNumbers, weights: MaskWeights) -> bytes:
        """Step 6: the Sigma proof that the combined mask is that of the edges and the own one."""
        self.relation = self._statement.relation(weights, mask.points)
        self.witness = self._known.concat(mask.blindings)
        return prove_unchecked(
            self.relation, self.witness, self._transcript, rng=self._rng, form=Form.BATCHABLE
        )

    def opened(self, summed: SumcheckProof, weights: MaskWeights) -> bytes:
        """Step 7: what was said of the tables is so of the rows."""
        group, hidden, point = self._group, self._hidden, summed.point
        split = self._statement.shape.row_bits
        factors = self._statement.factors(weights, point)
        vectors = (hidden.inputs, hidden.noise, hidden.carries, hidden.pads)
        row, blinding = combined_rows(group, vectors, factors, point[:split])
        return self._hiding.open(HiddenRow(row, blinding, summed.left.blinding), point[split:])


def prove_masks(
    statement: MaskStatement, hidden: HiddenMasks, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that the words are what the rows and masks make.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: the masks are not behind the statement's commitments. Nothing was sent.
        ComputationFault: the words are something else, the tests are not those of the carries,
            or a computation went wrong. Nothing was sent.
    """
    before = transcript.copy()
    return proved(statement, MaskProver(statement, hidden, transcript, rng), before)
