"""Proves a bit argument (specification 06, sections 3 and 4).

Constant time on the native backend until l and r are revealed: before that the bits,
the openings and all blinders are secret vectors, and the types of the group see to it.

The inner-product argument comes with it. Everything here is public: l and r are blinded before
they arrive, and the verifier could compute with them as well if they were sent. All arithmetic is
variable-time.

Folding the bases as the verifier imagines it costs two scalar multiplications for
each pair. Instead the original bases are kept with a weight for each (the product of
the challenges it met), and L and R are sums over them; only after several folds are
the bases really summed, many at a time, which is several times cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from commitments import Pedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalar, SecretScalarVec
from wire.errors import ComputationFault, InvalidProof, MalformedMessage, UsageError
from wire.randomness import Rng
from wire.secret import Guarded
from zkp.bits.layout import INNER, RIGHT, FoldingStep, Layout, Proof, left_bases
from zkp.bits.statement import ArgumentRounds, BitStatement, Combined
from zkp.bits.verifier import verify
from zkp.bits.witness import (
    BitCommitment,
    Merged,
    Openings,
    WitnessScalars,
    as_vector,
    draw_commitment,
    require_satisfied,
)
from zkp.transcript import Transcript
from zkp.vectors import constant, vector

_SUM_AT_BLOCKS: Final = 8
_WORTH_SUMMING: Final = 4


@dataclass(frozen=True, slots=True)
class Bases:
    """The left bases, the right bases and U, folded: each list in `blocks` blocks of `length`.

    Folded base j of the argument is the sum over the blocks s of
    weights[s * length + j] * points[s * length + j]; the right ones follow behind the
    left ones, U with its weight is the last point.
    """

    points: PointVec
    weights: ScalarVec
    blocks: int
    length: int

    def cross_terms(self, group: Group, left: ScalarVec, right: ScalarVec) -> PointVec:
        """Compute the points L and R of one fold."""
        half = self.length // 2
        low, high = self._halves(0)
        right_low, right_high = self._halves(self.blocks * self.length)
        inner = 2 * self.blocks * self.length
        picks = [*high, *right_low, inner, *low, *right_high, inner]
        repeat = list(range(half)) * self.blocks
        pattern = [*repeat, *(half + j for j in repeat), 2 * half]
        scalars = _with_product(group, left[:half], right[half:]).gather(pattern)
        scalars = scalars.concat(_with_product(group, left[half:], right[:half]).gather(pattern))
        return self.points.gather(picks).vartime_segment_msm(
            self.weights.gather(picks) * scalars, [len(pattern), len(pattern)]
        )

    def fold(self, group: Group, u: Scalar, inverse: Scalar) -> Bases:
        """B = u^-1 B_lo + u B_hi and H' = u H'_lo + u^-1 H'_hi."""
        half = self.length // 2
        left = ([1] * half + [0] * half) * self.blocks
        right = ([0] * half + [1] * half) * self.blocks
        factors = vector(group, [u, inverse, group.scalar(1)]).gather([*left, *right, 2])
        folded = Bases(self.points, self.weights * factors, 2 * self.blocks, half)
        if folded.blocks >= _SUM_AT_BLOCKS and half >= _WORTH_SUMMING:
            return folded.sum_blocks(group)
        return folded

    def without_last(self) -> Bases:
        """Drop the last left and the last right base."""
        rows = range(2 * self.blocks)
        kept = [s * self.length + j for s in rows for j in range(self.length - 1)]
        kept.append(len(self.points) - 1)
        return Bases(
            self.points.gather(kept), self.weights.gather(kept), self.blocks, self.length - 1
        )

    def sum_blocks(self, group: Group) -> Bases:
        """The same bases in one block: every folded base is computed."""
        size = self.blocks * self.length
        columns = [side + j for side in (0, size) for j in range(self.length)]
        picks = [column + s * self.length for column in columns for s in range(self.blocks)]
        summed = self.points.gather(picks).vartime_segment_msm(
            self.weights.gather(picks), [self.blocks] * len(columns)
        )
        weights = constant(group, 1, len(columns)).concat(self.weights[2 * size :])
        return Bases(summed.concat(self.points[2 * size :]), weights, 1, self.length)

    def _halves(self, start: int) -> tuple[list[int], list[int]]:
        """Positions of the lower and of the upper halves of one side."""
        half = self.length // 2
        low = [start + s * self.length + j for s in range(self.blocks) for j in range(half)]
        return low, [position + half for position in low]


def prove_inner_product(
    rounds: ArgumentRounds, layout: Layout, bases: Bases, left: ScalarVec, right: ScalarVec
) -> tuple[PointVec, ScalarVec]:
    """The messages that prove P = <left, B> + <right, H'> + <left, right> wU."""
    group = rounds.group
    points, scalars = group.points([]), group.scalars([])
    for step in layout.steps:
        if step is FoldingStep.GIVE:
            pair = left[-1:].concat(right[-1:])
            rounds.pair(pair)
            scalars = scalars.concat(pair)
            left, right, bases = left[:-1], right[:-1], bases.without_last()
        else:
            crossed = bases.cross_terms(group, left, right)
            u = rounds.fold(crossed)
            points = points.concat(crossed)
            inverse, half = u.inverse(), len(left) // 2
            left = left[:half] * u + left[half:] * inverse
            right = right[:half] * inverse + right[half:] * u
            bases = bases.fold(group, u, inverse)
    pair = left.concat(right)
    rounds.pair(pair)
    return points, scalars.concat(pair)


def _with_product(group: Group, left: ScalarVec, right: ScalarVec) -> ScalarVec:
    return left.concat(right).concat(vector(group, [left.inner(right)]))


def prove(
    statement: BitStatement,
    bits: SecretScalarVec,
    openings: Openings,
    transcript: Transcript,
    *,
    rng: Rng,
) -> bytes:
    """Prove that the bits satisfy the statement.

    The caller has bound session, round, party, role and parameters to the
    transcript. After an error the transcript is spent.

    Raises:
        UsageError: bits and openings do not satisfy the statement. Nothing was sent.
        ComputationFault: a computation went wrong. Nothing was sent.
    """
    group, layout = statement.group, statement.shape.layout
    bound = transcript.copy()
    statement.absorb(bound)
    hedge = WitnessScalars.of(statement, openings).flat()
    commitment, source = draw_commitment(group, layout, bits, bound, rng, hedge)
    commitment.require_blinding(source)
    return prove_committed(statement, commitment, openings, transcript, rng=rng)


def prove_committed(
    statement: BitStatement,
    commitment: BitCommitment,
    openings: Openings,
    transcript: Transcript,
    *,
    rng: Rng,
) -> bytes:
    """Do as `prove`, for bits that were committed before. Uses the commitment up.

    Raises:
        UsageError: the commitment was used before or has another layout, or bits and
            openings do not satisfy the statement. Nothing was sent.
        ComputationFault: a computation went wrong. Nothing was sent.
    """
    group, layout = statement.group, statement.shape.layout
    if statement.has_identity:
        raise UsageError("a commitment of the statement is the identity: commit again")
    if commitment.layout != layout or commitment.group != group:
        raise UsageError("the bits were committed for another layout or group")
    before = transcript.copy()
    secrets = WitnessScalars.of(statement, openings)
    bits, alpha = commitment.take()
    statement.absorb(transcript)
    rounds = ArgumentRounds(transcript, group)
    A = group.points([commitment.point])
    combined = statement.combine(rounds.bits(A, len(layout.dimensions)))
    merged = secrets.merge(statement, combined)
    require_satisfied(statement, combined, bits, merged)
    witness = secrets.flat().concat(bits).concat(as_vector(group, alpha))
    count = _Blinders.count(layout)
    source = transcript.nonce_source(b"bits/blinders", group, count, witness, rng)
    blinders = _Blinders.of(layout, source.draw())
    proof = _Proving(group, layout, rounds, combined, merged, blinders).run(A, alpha, bits)
    source.require_used(blinders.flat(group))
    require_valid(statement, proof, before)
    return proof


def require_valid(statement: BitStatement, proof: bytes, transcript: Transcript) -> None:
    """Verify the finished proof, as everybody else will.

    One step gone wrong, in a vector that hides the bits for example, makes an answer that
    tells them, and with it a proof that does not hold.
    """
    try:
        verify(statement, proof, transcript)
    except (InvalidProof, MalformedMessage) as error:
        raise ComputationFault("a finished proof does not hold: prove again") from error


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Blinders(Guarded):
    """Everything random in one proof but alpha, the blinding of A."""

    sigma: SecretScalar
    taus: SecretScalarVec
    left: SecretScalarVec
    right: SecretScalarVec

    @staticmethod
    def count(layout: Layout) -> int:
        """How many scalars one proof takes."""
        return 3 + layout.length + layout.bit_positions

    @classmethod
    def of(cls, layout: Layout, drawn: SecretScalarVec) -> _Blinders:
        """Put drawn scalars in their places."""
        split = 3 + layout.length
        return cls(drawn[0], drawn[1:3], drawn[3:split], drawn[split:])

    def flat(self, group: Group) -> SecretScalarVec:
        """Give all of them in one vector."""
        head = as_vector(group, self.sigma).concat(self.taus)
        return head.concat(self.left).concat(self.right)

    def commit(self, group: Group, layout: Layout) -> PointVec:
        """Compute S, the commitment to these blinders (step 3)."""
        scalars = as_vector(group, self.sigma).concat(self.left).concat(self.right)
        return group.points([_blinder_bases(group, layout).msm(scalars)])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Halves(Guarded):
    """L(X) = left_0 + left_1 X and r(X) = right_0 + right_1 X (step 4).

    right_1 covers the bit positions only: on the extension r is public and constant.
    """

    left_0: SecretScalarVec
    left_1: SecretScalarVec
    right_0: SecretScalarVec
    right_1: SecretScalarVec

    def middle(self, group: Group) -> SecretScalarVec:
        """Compute t_1 and t_2, the coefficients of X and X^2 in <l(X), r(X)>."""
        bits = len(self.right_1)
        t_1 = self.left_0[:bits].inner(self.right_1) + self.left_1.inner(self.right_0)
        t_2 = self.left_1[:bits].inner(self.right_1)
        return as_vector(group, t_1).concat(as_vector(group, t_2))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Proving(Guarded):
    """Steps 3 to 7 for bits that were committed and checked."""

    group: Group
    layout: Layout
    rounds: ArgumentRounds
    combined: Combined
    merged: Merged
    blinders: _Blinders

    def run(self, A: PointVec, alpha: SecretScalar, bits: SecretScalarVec) -> bytes:
        group, rounds, blinders = self.group, self.rounds, self.blinders
        S = blinders.commit(group, self.layout)
        y, z = rounds.blinders(S)
        halves = self._halves(bits, y, z)
        T = Pedersen(group).commit(halves.middle(group), blinders.taus).points
        x = rounds.polynomial(T)
        bit_count = self.layout.bit_positions
        right = (halves.right_0[:bit_count] + halves.right_1 * x).concat(halves.right_0[bit_count:])
        # From here on l and r are public: s_L and s_R, used nowhere else, hide the bits.
        revealed_left, revealed_right = (halves.left_0 + halves.left_1 * x).reveal(), right.reveal()
        tau = self.merged.blinding * (z * z) + blinders.taus.inner(vector(group, [x, x * x]))
        mu = alpha + self.merged.link + blinders.sigma * x
        t = revealed_left.inner(revealed_right)
        sent = vector(group, [t, tau.reveal(), mu.reveal()])
        w = rounds.evaluation(sent)
        points, scalars = prove_inner_product(
            rounds, self.layout, self._bases(y, w), revealed_left, revealed_right
        )
        sent_points = A.concat(S).concat(T).concat(points)
        return Proof(sent_points, sent.concat(scalars)).to_bytes()

    def _halves(self, bits: SecretScalarVec, y: Scalar, z: Scalar) -> _Halves:
        one, squared, combined = self.group.scalar(1), z * z, self.combined
        powers = self.group.powers(y, self.layout.bit_positions)
        on_bits = (bits - (one - z)) * powers + combined.on_bits * squared
        return _Halves(
            # On the extension too: without z, r would be free where a coordinate is zero,
            # and a commitment that nobody can open would pass.
            left_0=bits.concat(self.merged.coordinates * combined.links) - z,
            left_1=self.blinders.left,
            right_0=on_bits.concat(combined.on_extension * squared),
            right_1=self.blinders.right * powers,
        )

    def _bases(self, y: Scalar, w: Scalar) -> Bases:
        group, length = self.group, self.layout.length
        left_weights = constant(group, 1, length)
        weights = left_weights.concat(group.powers(y.inverse(), length))
        return Bases(
            _argument_bases(group, self.layout), weights.concat(vector(group, [w])), 1, length
        )


@lru_cache(maxsize=16)
def _blinder_bases(group: Group, layout: Layout) -> PointVec:
    """The bases of S: H, B, and H_i on the bits."""
    blinding = group.points([Pedersen(group).blinding_base])
    right = RIGHT.points(group, layout.bit_positions)
    return blinding.concat(left_bases(group, layout)).concat(right)


@lru_cache(maxsize=16)
def _argument_bases(group: Group, layout: Layout) -> PointVec:
    """The bases B, H_i and U of the inner-product argument."""
    right = RIGHT.points(group, layout.length)
    return left_bases(group, layout).concat(right).concat(INNER.points(group, 1))
