"""Proves what a combination of committed rows is at a point, in a logarithm of their width.

Row commitments Y_i with public factors, and a commitment E: E hides the inner product of the
combined row with public weights. Each round halves the vector; what is left at last is shown by a
Sigma protocol. Rules 14-E4 and 14-T2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul

from commitments import Pedersen, VectorPedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalar, SecretScalarVec
from commitments.pedersen import BLINDING_FAMILY, VALUE_FAMILY, VECTOR_FAMILY
from commitments.tables import table_kernels
from wire.randomness import Rng
from zkp.equations import Equation, Family, Term
from zkp.rows.sumcheck import Sources, vector_of
from zkp.transcript import NonceSource, Transcript
from zkp.vectors import concatenate, vector

CHECK = "14-E4"


@dataclass(frozen=True, slots=True)
class OpeningMessages:
    """What the prover sends: the points of the folds, the last one, and two answers."""

    folds: PointVec
    last: PointVec
    answers: ScalarVec

    def to_bytes(self) -> bytes:
        """All of them, in order."""
        return self.folds.to_bytes() + self.last.to_bytes() + self.answers.to_bytes()


@dataclass(frozen=True, slots=True)
class HiddenRow:
    """A combined row, the blinding of its commitment, and that of its value."""

    row: SecretScalarVec
    blinding: SecretScalar
    value_blinding: SecretScalar


@dataclass(frozen=True, slots=True)
class OpeningClaim:
    """The claim that a sum of points hides the value at a point of the row behind a sum of rows."""

    rows: Term
    value: tuple[Term, ...]
    point: ScalarVec


def prove_opening(
    group: Group, hidden: HiddenRow, point: ScalarVec, transcript: Transcript, *, rng: Rng
) -> tuple[OpeningMessages, Sources]:
    """Prove the inner product of a combined row with the table of equality of a point."""
    scale, row = transcript.challenge(b"long/opening", group), hidden.row
    blinding = hidden.blinding + hidden.value_blinding * scale
    weights = table_kernels(group).equality(point, len(row)).scalars().reveal()
    bases = VectorPedersen(group, len(row)).value_bases
    key = Pedersen(group)
    ends = group.points([key.value_base, key.blinding_base])
    folds: list[PointVec] = []
    sources: list[tuple[NonceSource, SecretScalarVec]] = []
    while len(row) > 1:
        half = len(row) // 2
        low, high = row[:half], row[half:]
        source = transcript.nonce_source(
            b"long/fold", group, 2, row.concat(vector_of(group, blinding)), rng
        )
        hiding = source.draw()
        sources.append((source, hiding))
        left = vector_of(group, low.inner(weights[half:]) * scale, hiding[0])
        right = vector_of(group, high.inner(weights[:half]) * scale, hiding[1])
        message = group.points(
            [
                bases[half:].concat(ends).msm(low.concat(left)),
                bases[:half].concat(ends).msm(high.concat(right)),
            ]
        )
        transcript.absorb_points(b"long/fold", message)
        by = transcript.challenge(b"long/fold", group)
        inverse = by.inverse()
        row, weights = low + high * by, weights[:half] + weights[half:] * inverse
        bases = bases[:half] + bases[half:] * inverse
        blinding = blinding + hiding[0] * inverse + hiding[1] * by
        folds.append(message)
    source = transcript.nonce_source(
        b"long/last", group, 2, row.concat(vector_of(group, blinding)), rng
    )
    hiding = source.draw()
    sources.append((source, hiding))
    factor = weights[0] * scale
    base = group.points([bases[0], *ends])
    last = group.points([base.msm(vector_of(group, hiding[0], hiding[0] * factor, hiding[1]))])
    transcript.absorb_points(b"long/last", last)
    by = transcript.challenge(b"long/last", group)
    answers = vector_of(group, hiding[0] + row[0] * by, hiding[1] + blinding * by).reveal()
    transcript.absorb_scalars(b"long/answers", answers)
    return OpeningMessages(concatenate(folds, group.points([])), last, answers), tuple(sources)


def opening_equation(
    group: Group, claim: OpeningClaim, messages: OpeningMessages, transcript: Transcript
) -> Equation:
    """What has to hold for the claim."""
    point, folds, last, answers = claim.point, messages.folds, messages.last, messages.answers
    order, width = group.order, 1 << len(point)
    scale = int(transcript.challenge(b"long/opening", group))
    encoded, size = folds.to_bytes(), 2 * group.point_size
    challenges: list[Scalar] = []
    for at in range(len(point)):
        transcript.absorb_encoded_points(b"long/fold", encoded[size * at : size * (at + 1)])
        challenges.append(transcript.challenge(b"long/fold", group))
    transcript.absorb_points(b"long/last", last)
    by = transcript.challenge(b"long/last", group)
    transcript.absorb_scalars(b"long/answers", answers)
    drawn = vector(group, challenges)
    inverses, kernels = drawn.inverse(), table_kernels(group)
    # The last base is the sum of the bases times the products of inverses at the bits of an index.
    last_base = kernels.combine(-answers[:1], [kernels.products(inverses, width)])
    pairs = zip(inverses.ints(), point.ints(), strict=True)
    weight = reduce(mul, (1 - p + p * e for e, p in pairs), 1) * scale % order
    answer = int(answers[0])
    sides = inverses.concat(drawn).gather(_sides(len(point))) * by
    scaled = by * group.scalar(scale)
    return Equation(
        CHECK,
        (
            Term(last, group.scalars([1])),
            Term(folds, sides),
            Term(claim.rows.points, claim.rows.scalars * by),
            *(Term(each.points, each.scalars * scaled) for each in claim.value),
            Term(Family(VECTOR_FAMILY, width), last_base.scalars().reveal()),
            Term(Family(VALUE_FAMILY), group.scalars([-answer * weight % order])),
            Term(Family(BLINDING_FAMILY), -answers[1:]),
        ),
    )


def _sides(folds: int) -> list[int]:
    """The places of each fold's inverse, which L takes, and of its challenge, which R takes.

    All inverses come first, then all challenges.
    """
    return [place for at in range(folds) for place in (at, folds + at)]
