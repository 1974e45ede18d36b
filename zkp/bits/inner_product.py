"""The prover of the inner-product argument (specification 06, section 4).

Everything here is public: l and r are blinded before they arrive, and the verifier
could compute with them as well if they were sent. All arithmetic is variable-time.

Folding the bases as the verifier imagines it costs two scalar multiplications for
each pair. Instead the original bases are kept with a weight for each (the product of
the challenges it met), and L and R are sums over them; only after several folds are
the bases really summed, many at a time, which is several times cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commitments.group import Group, PointVec, Scalar, ScalarVec
from zkp.bits.layout import Layout, Step
from zkp.bits.rounds import Rounds
from zkp.vectors import constant, vector

_SUM_AT_BLOCKS: Final = 8
_WORTH_SUMMING: Final = 4


@dataclass(frozen=True, slots=True)
class Bases:
    """Left bases, right bases and U, each list in `blocks` blocks of `length`.

    Folded base j of the argument is the sum over the blocks s of
    weights[s * length + j] * points[s * length + j]; the right ones follow behind the
    left ones, U with its weight is the last point.
    """

    points: PointVec
    weights: ScalarVec
    blocks: int
    length: int

    def cross_terms(self, group: Group, left: ScalarVec, right: ScalarVec) -> PointVec:
        """L and R of one fold."""
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
    rounds: Rounds, layout: Layout, bases: Bases, left: ScalarVec, right: ScalarVec
) -> tuple[PointVec, ScalarVec]:
    """The messages that prove P = <left, B> + <right, H'> + <left, right> wU."""
    group = rounds.group
    points, scalars = group.points([]), group.scalars([])
    for step in layout.steps:
        if step is Step.GIVE:
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
