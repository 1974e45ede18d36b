"""Proves that posted words are an input, permuted noise and masks, but for carries.

Statement: y~(z_i) = (x + T a - 2^w c)~(z_i) + m_i at public points z_i, where rows hide x, a and c,
and the commitments of the party's edges and its own mask add up to one to m. Specification 14,
rules E8, E9 and T6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Final

import numpy as np
import numpy.typing as npt

from commitments import Pedersen, VectorPedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalar, SecretScalarVec
from commitments.tables import ResidueTable, table_kernels
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.equations import Equation, Term, require_all
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
    SumClaim,
    TestedRows,
    TestsSummand,
    follow_sum,
    prove_sum,
    vector_of,
)
from zkp.sigma import LinearRelation, RelationBuilder
from zkp.sigma.proof import Form, checking, prove_unchecked, relation_equations
from zkp.transcript import Transcript
from zkp.vectors import concatenate, vector

_DEGREE: Final = 2

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class SignedPermutation:
    """Moves entry places[j] to place j, negated where bit j of the signs is 1 (rule H2)."""

    places: Places
    signs: bytes

    def __post_init__(self) -> None:
        if len(self.signs) != -(-len(self.places) // 8):
            raise UsageError("a signed permutation has a bit for each place")

    def applied(self, vector: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The vector with its entries moved; entries behind the last place stay."""
        bits = np.unpackbits(
            np.frombuffer(self.signs, np.uint8), count=len(self.places), bitorder="little"
        )
        moved = vector.copy()
        moved[: len(self.places)] = vector[self.places] * (1 - 2 * bits.astype(np.int64))
        return moved


@dataclass(frozen=True)
class MaskStatement:
    """States what the words of one party are made of.

    `edges` are the commitments of its live edges and `signs` what they enter with; `own` is that
    of its own mask. `points` are the z_i, one vector of scalars for each.
    """

    group: Group
    shape: RowShape
    word_bits: int
    permutation: SignedPermutation
    points: tuple[ScalarVec, ...]
    tests: ProductTests
    words: Words
    words_hash: bytes
    inputs: PointVec
    noise: PointVec
    carries: PointVec
    pads: PointVec
    neighbours: tuple[int, ...]
    signs: tuple[int, ...]
    edges: PointVec
    own: PointVec
    answers: tuple[int, ...]

    def __post_init__(self) -> None:
        shape, rows = self.shape, self.shape.rows
        if self.tests.shape != shape or len(self.tests.rows) != 1:
            raise UsageError("the tests are those of one vector of this shape")
        counts = [len(each) for each in (self.inputs, self.noise, self.carries, self.pads)]
        if counts != [rows, rows, rows, shape.pad_rows]:
            raise UsageError("there is a point for every row")
        if not self.points or any(len(point) != shape.bits for point in self.points):
            raise UsageError("a point has a scalar for each bit of an index")
        if not len(self.edges) == len(self.signs) == len(self.neighbours) or len(self.own) != 1:
            raise UsageError("an edge has a neighbour, a sign and a commitment")
        if not {*self.signs} <= {1, -1} or not 16 <= self.word_bits <= 64:
            raise UsageError("signs are 1 or -1, and words have 16 to 64 bits")
        whole = self.words.shape == (shape.dimension,) and self.words.dtype == np.uint64
        if not whole or len(self.permutation.places) != shape.dimension:
            raise UsageError("there is a word and a place for every coordinate")
        require_small(self.answers)

    @cached_property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of the combined mask, the rounds, the Sigma proof and the opening (rule E9)."""
        shape, point, scalar = self.shape, self.group.point_size, self.group.scalar_size
        return (
            point,
            _DEGREE * shape.bits * point,
            2 * point + (len(self.points) + 2) * scalar,
            (2 * shape.column_bits + 1) * point + 2 * scalar,
        )

    @property
    def proof_size(self) -> int:
        """The number of bytes of every proof."""
        return sum(self.sizes)

    def bind(self, transcript: Transcript) -> None:
        """Absorb the statement."""
        shape = self.shape
        numbers = (shape.dimension, shape.column_bits, shape.row_bits)
        for value in (*numbers, self.word_bits, len(self.points)):
            transcript.absorb_int(b"long/shape", value)
        transcript.absorb(b"long/words", self.words_hash)
        for rows in (self.inputs, self.noise, self.carries, self.pads):
            transcript.absorb_points(b"long/rows", rows)
        for position in self.neighbours:
            transcript.absorb_int(b"long/live", position)
        transcript.absorb(b"long/signs", bytes(int(sign > 0) for sign in self.signs))
        transcript.absorb_points(b"long/edges", self.edges)
        transcript.absorb_points(b"long/self", self.own)
        transcript.absorb_scalars(b"long/tests", self.group.scalars(list(self.answers)))

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_masks`."""
        group, shape = self.group, self.shape
        parts = ProofParts(proof, self.sizes)
        self.bind(transcript)
        weights = _Weights.draw(transcript, self)
        mask = parts.points(group)
        transcript.absorb_points(b"long/masks", mask)
        rounds = parts.points(group)
        claim = follow_sum(group, rounds, shape.bits, _DEGREE, transcript)
        relation = self.relation(weights, mask)
        linked = parts.take(lambda part: relation_equations(relation, part, transcript))
        messages = parts.opening(group)
        vectors = (self.inputs, self.noise, self.carries, self.pads)
        equality = self.equality(weights)
        factors = self.factors(weights, claim.point, equality)
        value = self._remainder(mask, rounds, claim, weights, equality)
        rows = weighted_rows(group, shape, vectors, factors, claim.point[: shape.row_bits])
        opened = opening_equation(
            group,
            OpeningClaim(rows, value, claim.point[shape.row_bits :]),
            messages,
            transcript,
        )
        return (*linked, opened)

    def relation(self, weights: _Weights, mask: PointVec) -> LinearRelation:
        """The edges and the own mask hide m, and the combined mask its weighted sum."""
        group, count = self.group, len(self.points)
        key = Pedersen(group)
        bases = VectorPedersen(group, count).value_bases
        ends = group.points([key.value_base, key.blinding_base])
        points = ends.concat(bases).concat(self.own).concat(self.edges).concat(mask)
        build = RelationBuilder(group)
        G, H = build.elements(2)
        generators, own = build.elements(count), build.element()
        edges, W = build.elements(len(self.signs)), build.element()
        m = build.scalars(count)
        n, o = build.scalars(2)
        total = own
        for sign, edge in zip(self.signs, edges, strict=True):
            total = total + sign * edge
        terms = [each * base for each, base in zip(m, generators, strict=True)]
        build.equation(total, reduce(add, terms) + n * H)
        weighted = [int(phi) * (each * G) for phi, each in zip(weights.points, m, strict=True)]
        build.equation(W, reduce(add, weighted) + o * H)
        return LinearRelation(build.shape(), points)

    def equality(self, weights: _Weights) -> ResidueTable:
        """F: the weighted sum of the tables of equality of the points."""
        points = concatenate(self.points, self.group.scalars([]))
        return table_kernels(self.group).equality_sum(points, weights.points, self.shape.entries)

    def transposed(self, equality: ResidueTable) -> ResidueTable:
        """F^T, whose product with a is that of F with the permuted a."""
        return equality.permuted(self.permutation.places, self.permutation.signs)

    def factors(
        self, weights: _Weights, point: ScalarVec, equality: ResidueTable
    ) -> tuple[Scalar, ...]:
        """What x, a, c and the pads are multiplied by at a point."""
        group, shape, kernels = self.group, self.shape, table_kernels(self.group)
        at = kernels.equality(point, shape.entries)
        places, signs = self.permutation.places, self.permutation.signs
        moved = equality.permuted_inner(places, signs, at).reveal()
        rows = kernels.equality(point[: shape.row_bits], shape.rows)
        columns = kernels.equality(point[shape.row_bits :], shape.width)
        plain = group.scalar(0)
        for phi, z in zip(weights.points, self.points, strict=True):
            # Rows behind the last one do not exist: F is zero there.
            shared = kernels.equality(z[: shape.row_bits], shape.rows).inner(rows).reveal()
            same = _equal(group, z[shape.row_bits :], point[shape.row_bits :])
            plain = plain + phi * shared * same
        carries = self.tests.at(0, rows, columns, weights.tests)
        pads = kernels.equality(point, TESTS).inner(kernels.of_scalars(weights.tests)).reveal()
        first = weights.claim * plain
        shifted = first * group.scalar(1 << self.word_bits)
        return first, weights.claim * moved, carries - shifted, pads

    def word_sum(self, equality: ResidueTable) -> Scalar:
        """The weighted sum of y~(z_i)."""
        filled = np.zeros(self.shape.entries, np.uint64)
        filled[: self.shape.dimension] = self.words
        return equality.inner_words(filled).reveal()

    def _remainder(
        self,
        mask: PointVec,
        rounds: PointVec,
        claim: SumClaim,
        weights: _Weights,
        equality: ResidueTable,
    ) -> tuple[Term, ...]:
        """The commitment C_v that the rounds have left, as a sum of points."""
        group, key = self.group, Pedersen(self.group)
        known = weights.claim * self.word_sum(equality) + weights.answers
        ends = vector(group, [claim.first * -weights.claim, claim.first * known])
        return (
            Term(rounds, claim.rounds),
            Term(mask.concat(group.points([key.value_base])), ends),
        )


@dataclass(frozen=True, slots=True)
class _Weights:
    """Holds the weights of the tests, the points and the claim, and the weighted answers."""

    tests: ScalarVec
    points: ScalarVec
    claim: Scalar
    answers: Scalar

    @classmethod
    def draw(cls, transcript: Transcript, statement: MaskStatement) -> _Weights:
        group = statement.group
        drawn = transcript.challenges(b"long/weights", group, 3)
        tests = group.powers(drawn[0], TESTS + 1)[1:]
        points = group.powers(drawn[1], len(statement.points) + 1)[1:]
        answers = group.scalars(list(statement.answers)).inner(tests)
        return cls(tests, points, drawn[2], answers)


@dataclass(frozen=True, slots=True)
class HiddenMasks:
    """Holds what the rows and commitments of a statement hide.

    `masks` is m, and `blinding` that of the signed sum of the edges and the own mask.
    """

    inputs: HiddenRows
    noise: HiddenRows
    carries: HiddenRows
    pads: HiddenPads
    masks: SecretScalarVec
    blinding: SecretScalar


def prove_masks(
    statement: MaskStatement, hidden: HiddenMasks, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that the words are what the rows and masks make.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: they are not. Nothing was sent.
        ComputationFault: a computation went wrong. Nothing was sent.
    """
    group, shape, kernels = statement.group, statement.shape, table_kernels(statement.group)
    before = transcript.copy()
    statement.bind(transcript)
    weights = _Weights.draw(transcript, statement)
    vectors = (hidden.inputs, hidden.noise, hidden.carries, hidden.pads)
    known = hidden.masks.concat(vector_of(group, hidden.blinding))
    hiding = Blindings(transcript, group, known, rng)
    total = hidden.masks.inner(weights.points)
    drawn = hiding.draw(b"long/masks", vector_of(group, total), 1)
    mask = Pedersen(group).commit(vector_of(group, total), drawn).points
    transcript.absorb_points(b"long/masks", mask)

    x, a, c = (kernels.of_integers(each.values) for each in vectors[:3])
    one = group.scalar(1)
    shift = -group.scalar(1 << statement.word_bits)
    rest = Folded(kernels.combine(vector(group, [one, shift]), [x, c]))
    folded = rest, Folded(a), Folded(c), Folded(kernels.of_scalars(hidden.pads.values[:TESTS]))
    equality = statement.equality(weights)
    claim = vector(group, [weights.claim])
    plain, moved = (
        kernels.combine(claim, [each]) for each in (equality, statement.transposed(equality))
    )
    sums = kernels.of_integers(
        statement.tests.column_sums(group, hidden.carries.values).reshape(-1)
    )
    choices = statement.tests.row_choices(kernels, 0, kernels.of_scalars(weights.tests))
    summands = (
        PairSummand(plain, folded[0]),
        PairSummand(moved, folded[1]),
        TestsSummand(group, statement.tests, TestedRows(choices, sums, folded[2])),
        PairSummand(kernels.of_scalars(weights.tests), folded[3]),
    )
    words = weights.claim * statement.word_sum(equality) + weights.answers
    polynomial = Polynomial(summands, folded, shape.bits, _DEGREE)
    sum_claim = HiddenValue(words.secret() - total * weights.claim, -(drawn[0] * weights.claim))
    summed = prove_sum(group, polynomial, sum_claim, transcript, rng=rng)
    hiding.keep(summed.sources)
    relation = statement.relation(weights, mask)
    secret = known.concat(drawn)
    linked = prove_unchecked(relation, secret, transcript, rng=rng, form=Form.BATCHABLE)
    factors = statement.factors(weights, summed.point, equality)
    row, blinding = combined_rows(group, vectors, factors, summed.point[: shape.row_bits])
    combined = HiddenRow(row, blinding, summed.left.blinding)
    columns = summed.point[shape.row_bits :]
    opened, sources = prove_opening(group, combined, columns, transcript, rng=rng)
    hiding.keep(sources)
    hiding.require_used()
    proof = mask.to_bytes() + summed.rounds.to_bytes() + linked + opened.to_bytes()
    with checking(relation, secret):
        verify_masks(statement, proof, before)
    return proof


def verify_masks(statement: MaskStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    claims = statement.equations(proof, transcript)
    require_all(statement.group, claims, transcript)


def _equal(group: Group, left: ScalarVec, right: ScalarVec) -> Scalar:
    """eq of two points: the product of z p + (1 - z)(1 - p) over the variables."""
    order, product = group.order, 1
    for z, p in zip(left.ints(), right.ints(), strict=True):
        product = product * (z * p + (1 - z) * (1 - p)) % order
    return group.scalar(product)
