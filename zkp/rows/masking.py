"""States that posted words are an input, moved noise and masks, but for carries; checks proofs.

Statement: y~(z_i) = (x + T a - 2^w c)~(z_i) + m_i at public points z_i, where rows hide x, a and c,
and the commitments of the party's edges and its own mask add up to one to m.
Rules 14-E8, 14-E9 and 14-T6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from operator import add
from typing import Final

import numpy as np
import numpy.typing as npt

from commitments import Pedersen, VectorPedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec
from commitments.tables import Places, ResidueTable, table_kernels
from wire.errors import UsageError
from zkp.equations import Equation, Term
from zkp.rows.opening import OpeningClaim, opening_equation
from zkp.rows.parts import ProofParts, require_valid, statement_points
from zkp.rows.product_tests import ProductTests, check_tests, powers_for_tests, scalars_of_tests
from zkp.rows.rows import weighted_rows
from zkp.rows.shape import TESTS, Integers, RowShape
from zkp.rows.sumcheck import (
    SumClaim,
    follow_sum,
)
from zkp.sigma import LinearRelation, RelationBuilder
from zkp.sigma.pattern import RelationPattern
from zkp.sigma.proof import relation_equations
from zkp.transcript import Transcript
from zkp.vectors import concatenate, vector

DEGREE: Final = 2
_HASH_SIZE: Final = 32

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class MaskStatement:
    """What the words of one party are made of.

    `edges` are the commitments of its live edges, in increasing position of the neighbours, and
    `signs` what they enter with; `own` is that of its own mask. `points` are the z_i, one vector
    of scalars for each; `answers` are the posted tests as messages carry them (14-M1).

    A transcript absorbs all of it but the permutation, the points and the tests, and of the words
    `words_hash`. So the context that the caller binds decides those three (in a session the leaf
    that the message acts on does), and the caller has computed the hash from the words.
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
    answers: bytes

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
        if not all(a < b for a, b in pairwise((-1, *self.neighbours))):
            raise UsageError("neighbours have increasing positions: each edge counts once")
        whole = self.words.shape == (shape.dimension,) and self.words.dtype == np.uint64
        if not whole or len(self.permutation.places) != shape.dimension:
            raise UsageError("there is a word and a place for every coordinate")
        if int(self.words.max()) >> self.word_bits or len(self.words_hash) != _HASH_SIZE:
            raise UsageError(f"words have {self.word_bits} bits, and their hash 32 bytes")
        check_tests(self.answers)

    @cached_property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of the combined mask, the rounds, the Sigma proof and the opening (14-E9)."""
        shape, point, scalar = self.shape, self.group.point_size, self.group.scalar_size
        return (
            point,
            DEGREE * shape.bits * point,
            2 * point + (len(self.points) + 2) * scalar,
            (2 * shape.column_bits + 1) * point + 2 * scalar,
        )

    @property
    def proof_size(self) -> int:
        """The number of bytes of every proof."""
        return sum(self.sizes)

    @cached_property
    def tests_posted(self) -> ScalarVec:
        """The answers as scalars."""
        return scalars_of_tests(self.group, self.answers)

    def bind(self, transcript: Transcript) -> None:
        """Absorb the whole statement into a transcript."""
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
        transcript.absorb_scalars(b"long/tests", self.tests_posted)

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_masks`."""
        group, shape = self.group, self.shape
        parts = ProofParts(proof, self.sizes)
        self.bind(transcript)
        weights = MaskWeights.draw(transcript, self)
        mask = parts.points(group)
        transcript.absorb_points(b"long/masks", mask)
        rounds = parts.points(group)
        claim = follow_sum(group, rounds, shape.bits, DEGREE, transcript)
        relation = self.relation(weights, mask)
        linked = parts.take(lambda part: relation_equations(relation, part, transcript))
        messages = parts.opening(group)
        vectors = (self.inputs, self.noise, self.carries, self.pads)
        factors = self.factors(weights, claim.point)
        value = self._remainder(mask, rounds, claim, weights)
        rows = weighted_rows(group, shape, vectors, factors, claim.point[: shape.row_bits])
        opened = opening_equation(
            group,
            OpeningClaim(rows, value, claim.point[shape.row_bits :]),
            messages,
            transcript,
        )
        return (*linked, opened)

    def relation(self, weights: MaskWeights, mask: PointVec) -> LinearRelation:
        """The edges and the own mask hide m, and the combined mask its weighted sum."""
        group, count = self.group, len(self.points)
        bases = VectorPedersen(group, count).value_bases
        points = statement_points(group, bases, self.own, self.edges, mask)
        one = group.scalars([1])
        signs = one.concat(group.scalars(self.signs))
        pattern = _pattern(group, count, len(self.signs))
        return LinearRelation(pattern.shape(signs, weights.points.concat(one)), points)

    def equality(self, weights: MaskWeights) -> ResidueTable:
        """w_0 F: the weighted sum of the tables of equality of the points."""
        factors = weights.points * weights.claim
        return table_kernels(self.group).equality_sum(self._points, factors, self.shape.entries)

    def transposed(self, equality: ResidueTable) -> ResidueTable:
        """F^T, whose product with a is that of F with the permuted a."""
        return equality.permuted(self.permutation.places, self.permutation.signs)

    @property
    def _points(self) -> ScalarVec:
        return concatenate(self.points, self.group.scalars([]))

    def factors(self, weights: MaskWeights, point: ScalarVec) -> tuple[Scalar, ...]:
        """What x, a, c and the pads are multiplied by at a point."""
        group, shape, kernels = self.group, self.shape, table_kernels(self.group)
        moves = self.permutation.places, self.permutation.signs
        moved = kernels.equality_moved(
            self._points, weights.points, moves, point, shape.entries
        ).reveal()
        rows = kernels.equality(point[: shape.row_bits], shape.rows)
        columns = kernels.equality(point[shape.row_bits :], shape.width)
        plain = group.scalar(0)
        for phi, z in zip(weights.points, self.points, strict=True):
            # Rows behind the last one do not exist: F is zero there.
            shared = kernels.equality(z[: shape.row_bits], shape.rows).inner(rows).reveal()
            same = _equal(group, z[shape.row_bits :], point[shape.row_bits :])
            plain = plain + phi * shared * same
        (carries,) = self.tests.at(rows, columns, weights.tests)
        pads = kernels.equality(point, TESTS).inner(weights.tests).reveal()
        first = weights.claim * plain
        shifted = first * group.scalar(1 << self.word_bits)
        return first, weights.claim * moved, carries - shifted, pads

    def word_sum(self, weights: MaskWeights) -> Scalar:
        """The weighted sum of y~(z_i)."""
        kernels = table_kernels(self.group)
        return kernels.equality_words(self._points, weights.points, self.words).reveal()

    def _remainder(
        self, mask: PointVec, rounds: PointVec, claim: SumClaim, weights: MaskWeights
    ) -> tuple[Term, ...]:
        """The commitment C_v that the rounds have left, as a sum of points."""
        group, key = self.group, Pedersen(self.group)
        known = weights.claim * self.word_sum(weights) + weights.answers
        ends = vector(group, [claim.first * -weights.claim, claim.first * known])
        return (
            Term(rounds, claim.rounds),
            Term(mask.concat(group.points([key.value_base])), ends),
        )


@dataclass(frozen=True, slots=True)
class MaskWeights:
    """The weights of the tests, the points and the claim, and the weighted answers."""

    tests: ResidueTable
    points: ScalarVec
    claim: Scalar
    answers: Scalar

    @classmethod
    def draw(cls, transcript: Transcript, statement: MaskStatement) -> MaskWeights:
        group = statement.group
        drawn = transcript.challenges(b"long/weights", group, 3)
        tests = powers_for_tests(group, drawn[0])
        posted = table_kernels(group).of_scalars(statement.tests_posted)
        points = group.powers(drawn[1], len(statement.points) + 1)[1:]
        return cls(tests, points, drawn[2], posted.inner(tests).reveal())


@lru_cache(maxsize=64)
def _pattern(group: Group, points: int, edges: int) -> RelationPattern:
    """Step 6 of 14-E8, with a factor of 1 for each sign and each phi_i."""
    build = RelationBuilder(group)
    G, H = build.elements(2)
    generators, own = build.elements(points), build.element()
    commitments, W = build.elements(edges), build.element()
    m = build.scalars(points)
    n, o = build.scalars(2)
    terms = [each * base for each, base in zip(m, generators, strict=True)]
    build.equation(reduce(add, [own, *commitments]), reduce(add, terms) + n * H)
    build.equation(W, reduce(add, [each * G for each in m]) + o * H)
    return RelationPattern(build.shape(), images=[0], terms=[1])


def verify_masks(statement: MaskStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    require_valid(statement, proof, transcript)


def _equal(group: Group, left: ScalarVec, right: ScalarVec) -> Scalar:
    """eq of two points: the product of z p + (1 - z)(1 - p) over the variables."""
    order, product = group.order, 1
    for z, p in zip(left.ints(), right.ints(), strict=True):
        product = product * (z * p + (1 - z) * (1 - p)) % order
    return group.scalar(product)


@dataclass(frozen=True)
class SignedPermutation:
    """Entry places[j] moved to place j, negated where bit j of the signs is 1 (14-H2)."""

    places: Places
    signs: bytes

    def __post_init__(self) -> None:
        if len(self.signs) != -(-len(self.places) // 8):
            raise UsageError("a signed permutation has a bit for each place")
        if not self._is_permutation():
            raise UsageError("places are a permutation of 32-bit integers: each of them once")

    def _is_permutation(self) -> bool:
        found = np.zeros(len(self.places), bool)
        if self.places.dtype != np.uint32 or self.places.max(initial=0) >= max(1, len(found)):
            return False
        found[self.places.astype(np.intp)] = True
        return bool(found.all())

    def applied(self, vector: Integers) -> Integers:
        """The vector with its entries moved; entries behind the last place stay."""
        bits = np.unpackbits(
            np.frombuffer(self.signs, np.uint8), count=len(self.places), bitorder="little"
        )
        moved = vector.copy()
        moved[: len(self.places)] = vector[self.places] * (1 - 2 * bits.astype(np.int64))
        return moved
