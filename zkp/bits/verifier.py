"""Verifies a bit argument (specification 06, section 6).

It turns a proof into two equations and leaves checking them to the caller, so that
many proofs share one multi-scalar multiplication. Everything is public and
variable-time. Sizes come from the statement alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commitments.group import Group, Point, Scalar, ScalarVec
from commitments.pedersen import BLINDING_FAMILY, VALUE_FAMILY, VECTOR_FAMILY
from wire.errors import InvalidProof
from zkp.bits.layout import INNER, LEFT, RIGHT, FoldingStep, Layout, Proof, decode_proof
from zkp.bits.statement import ArgumentRounds, BitStatement, Combined
from zkp.equations import Equation, Family, Term, require_all
from zkp.transcript import Transcript
from zkp.vectors import vector

VALUE: Final = Family(VALUE_FAMILY)
BLINDING: Final = Family(BLINDING_FAMILY)

IDENTITY_CHECK: Final = "06-A2"
EVALUATION_CHECK: Final = "06-A9"
INNER_PRODUCT_CHECK: Final = "06-A10"
EARLY_COMMITMENT_CHECK: Final = "06-A12"


def verify(
    statement: BitStatement,
    proof: bytes,
    transcript: Transcript,
    *,
    committed: Point | None = None,
) -> None:
    """Check one proof. The transcript is bound as the prover's was.

    `committed` is the point A where the protocol had the bits committed early.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    claims = equations(statement, proof, transcript, committed=committed)
    require_all(statement.group, claims, transcript)


def equations(
    statement: BitStatement,
    proof: bytes,
    transcript: Transcript,
    *,
    committed: Point | None = None,
) -> tuple[Equation, ...]:
    """What must hold for the proof to be valid; the caller checks it.

    The transcript has bound statement and proof afterwards.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: a commitment is the identity, A is not the point that was committed,
            or a challenge is zero.
    """
    group, layout = statement.group, statement.shape.layout
    require_no_identity(statement)
    decoded = decode_proof(group, layout, proof)  # A7
    # Bits that are chosen after the public coins are known give any noise that the prover likes.
    if committed is not None and decoded.points[0] != committed:  # A12
        raise InvalidProof("the bits are not those committed before", EARLY_COMMITMENT_CHECK)
    statement.absorb(transcript)
    conversation = _replay(statement, decoded, transcript)  # A8
    return conversation.evaluation(), conversation.inner_product()


def require_no_identity(statement: BitStatement) -> None:
    """Raises `InvalidProof` where a commitment of the statement is the identity (06-A2)."""
    if statement.has_identity:
        raise InvalidProof("a commitment of the statement is the identity", IDENTITY_CHECK)


def _replay(statement: BitStatement, proof: Proof, transcript: Transcript) -> _Conversation:
    """Absorb all messages and draw all challenges, in the prover's order."""
    group, layout = statement.group, statement.shape.layout
    rounds = ArgumentRounds(transcript, group)
    mixing = rounds.bits(proof.points[:1], len(layout.dimensions))
    y, z = rounds.blinders(proof.points[1:2])
    x = rounds.polynomial(proof.points[2:4])
    w = rounds.evaluation(proof.scalars[:3])
    folds, point, scalar = [], 4, 3
    for step in layout.steps:
        if step is FoldingStep.FOLD:
            folds.append(rounds.fold(proof.points[point : point + 2]))
            point += 2
        else:
            rounds.pair(proof.scalars[scalar : scalar + 2])
            scalar += 2
    rounds.pair(proof.scalars[scalar:])
    inverses = vector(group, [y, *folds]).inverse()
    return _Conversation(
        statement,
        proof,
        statement.combine(mixing),
        y,
        z,
        x,
        w,
        vector(group, folds),
        inverses[0],
        inverses[1:],
    )


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A statement, a proof and the challenges between them."""

    statement: BitStatement
    proof: Proof
    combined: Combined
    y: Scalar
    z: Scalar
    x: Scalar
    w: Scalar
    folds: ScalarVec
    y_inverse: Scalar
    fold_inverses: ScalarVec

    @property
    def _group(self) -> Group:
        return self.statement.group

    @property
    def _layout(self) -> Layout:
        return self.statement.shape.layout

    def evaluation(self) -> Equation:
        """The equation of 06-A9, all on one side."""
        group, combined, x, z = self._group, self.combined, self.x, self.z
        squared = z * z
        t, tau = self.proof.scalars[0], self.proof.scalars[1]
        powers = group.powers(self.y, self._layout.bit_positions).sum()
        total = combined.on_bits.sum() + combined.on_extension.sum()
        delta = (z - squared) * powers - squared * z * total
        on_value = delta - squared * combined.constant - t
        return Equation(
            EVALUATION_CHECK,
            (
                Term(VALUE, vector(group, [on_value])),
                Term(BLINDING, vector(group, [-tau])),
                Term(self.statement.commitments, combined.committed * squared),
                Term(self.proof.points[2:4], vector(group, [x, x * x])),
            ),
        )

    def inner_product(self) -> Equation:
        """The equation of 06-A10, all on one side."""
        group, layout, combined = self._group, self._layout, self.combined
        left, right, given = self._unrolled()
        bits = layout.bit_positions
        public = combined.on_bits.concat(combined.on_extension) * (self.z * self.z)
        on_left = -(left + self.z)
        on_right = (public - right) * group.powers(self.y_inverse, layout.length)
        on_right = (on_right[:bits] + self.z).concat(on_right[bits:])
        t, mu = self.proof.scalars[0], self.proof.scalars[2]
        terms = [
            Term(LEFT, on_left[:bits]),
            Term(RIGHT, on_right),
            Term(INNER, vector(group, [(t - given) * self.w])),
            Term(BLINDING, vector(group, [-mu])),
            Term(self.proof.points[:2], vector(group, [group.scalar(1), self.x])),
            Term(self.proof.points[4:], self._fold_scalars()),
            Term(self.statement.vectors, combined.vectors),
        ]
        at = bits
        for dimension in layout.dimensions:
            family = Family(VECTOR_FAMILY, dimension)
            terms.append(Term(family, on_left[at : at + dimension]))
            at += dimension
        return Equation(INNER_PRODUCT_CHECK, tuple(terms))

    def _unrolled(self) -> tuple[ScalarVec, ScalarVec, Scalar]:
        """Compute l* and r* of 06-A10, and the sum of all products of the pairs sent."""
        pairs = self.proof.scalars[3:]
        evens = pairs.gather(range(0, len(pairs), 2))
        odds = pairs.gather(range(1, len(pairs), 2))
        pair, fold = len(evens) - 1, len(self.folds)
        left, right = evens[pair:], odds[pair:]
        for step in reversed(self._layout.steps):
            if step is FoldingStep.FOLD:
                fold -= 1
                u, inverse = self.folds[fold], self.fold_inverses[fold]
                left = (left * inverse).concat(left * u)
                right = (right * u).concat(right * inverse)
            else:
                pair -= 1
                left = left.concat(evens[pair : pair + 1])
                right = right.concat(odds[pair : pair + 1])
        return left, right, evens.inner(odds)

    def _fold_scalars(self) -> ScalarVec:
        """The factors of folds: u^2 on each L and u^-2 on each R, in the order L, R, L, R, .."""
        squares = self.folds * self.folds
        both = squares.concat(self.fold_inverses * self.fold_inverses)
        count = len(self.folds)
        return both.gather([side + i for i in range(count) for side in (0, count)])
