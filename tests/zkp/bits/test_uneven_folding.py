"""Rule A6: an argument that folds an odd length without giving an element away is unsound.

The inner-product argument alone, over three pairs. The naive version lets the middle
pair through a fold without a partner; a prover then adds to L and R what makes any
inner product pass. The same prover fails against the argument of the specification.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from commitments import derive_generators
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec
from tests.randomness import seeded
from tests.zkp.bits.samples import transcript
from zkp.bits.layout import FoldingStep, Layout
from zkp.bits.prover import Bases, prove_inner_product
from zkp.bits.statement import ArgumentRounds

LENGTH = 3
B_EXTRA, C_EXTRA = 17, 23


@dataclass(frozen=True)
class Instance:
    """Vectors, bases, and the point that claims an inner product."""

    group: Group
    left: ScalarVec
    right: ScalarVec

    @property
    def B(self) -> PointVec:
        return derive_generators(self.group, b"bits/left", LENGTH)

    @property
    def H(self) -> PointVec:
        return derive_generators(self.group, b"bits/right", LENGTH)

    @property
    def U(self) -> Point:
        return derive_generators(self.group, b"bits/inner", 1)[0]

    def claim(self, product: Scalar) -> Point:
        return self.B.vartime_msm(self.left) + self.H.vartime_msm(self.right) + self.U * product


def instance(group: Group) -> Instance:
    drawn = group.random_scalars(2 * LENGTH, seeded(1)).reveal()
    return Instance(group, drawn[:LENGTH], drawn[LENGTH:])


def rounds(group: Group) -> ArgumentRounds:
    return ArgumentRounds(transcript(), group)


def mixed(low: PointVec, high: PointVec, at_low: Scalar, at_high: Scalar) -> PointVec:
    return low * at_low + high * at_high


def naive_prove(it: Instance, b: int, c: int) -> tuple[PointVec, PointVec, ScalarVec]:
    """Messages of two naive folds, 3 -> 2 -> 1; b = c = 0 is the honest prover."""
    group, talk = it.group, rounds(it.group)
    l, r, B, H = it.left, it.right, it.B, it.H
    extra_b, extra_c = group.scalar(b), group.scalar(c)
    # Positions 0 and 2 are partners, position 1 has none.
    L = B[2] * l[0] + H[0] * r[2] + it.U * (l[0] * r[2]) + B[1] * extra_b + it.U * (extra_b * r[1])
    R = B[0] * l[2] + H[2] * r[0] + it.U * (l[2] * r[0]) + H[1] * extra_c + it.U * (extra_c * l[1])
    first = group.points([L, R])
    u = talk.fold(first)
    v = u.inverse()
    alone_left = u * l[1] + u * u * u * extra_b
    alone_right = v * r[1] + v * v * v * extra_c
    l = group.scalars([int(u * l[0] + v * l[2]), int(alone_left)])
    r = group.scalars([int(v * r[0] + u * r[2]), int(alone_right)])
    B, H = naive_fold(group, B, H, u)
    L = B[1] * l[0] + H[0] * r[1] + it.U * (l[0] * r[1])
    R = B[0] * l[1] + H[1] * r[0] + it.U * (l[1] * r[0])
    second = group.points([L, R])
    u = talk.fold(second)
    v = u.inverse()
    last = group.scalars([int(u * l[0] + v * l[1]), int(v * r[0] + u * r[1])])
    return first, second, last


def naive_fold(group: Group, B: PointVec, H: PointVec, u: Scalar) -> tuple[PointVec, PointVec]:
    v = u.inverse()
    return (
        group.points([B[0] * v + B[2] * u, B[1] * v]),
        group.points([H[0] * u + H[2] * v, H[1] * u]),
    )


def naive_accepts(it: Instance, P: Point, proof: tuple[PointVec, PointVec, ScalarVec]) -> bool:
    first, second, last = proof
    group, talk = it.group, rounds(it.group)
    u = talk.fold(first)
    v = u.inverse()
    P = P + first[0] * (u * u) + first[1] * (v * v)
    B, H = naive_fold(group, it.B, it.H, u)
    u = talk.fold(second)
    v = u.inverse()
    P = P + second[0] * (u * u) + second[1] * (v * v)
    final = (B[0] * v + B[1] * u) * last[0] + (H[0] * u + H[1] * v) * last[1]
    return bool(final + it.U * (last[0] * last[1]) == P)


def accepts(it: Instance, P: Point, points: PointVec, scalars: ScalarVec) -> bool:
    """The argument of section 4, step by step."""
    talk, B, H = rounds(it.group), it.B, it.H
    point = scalar = 0
    for step in Layout(LENGTH).steps:
        if step is FoldingStep.GIVE:
            talk.pair(scalars[scalar : scalar + 2])
            l, r = scalars[scalar], scalars[scalar + 1]
            P = P - B[-1] * l - H[-1] * r - it.U * (l * r)
            B, H, scalar = B[:-1], H[:-1], scalar + 2
        else:
            half = len(B) // 2
            u = talk.fold(points[point : point + 2])
            v = u.inverse()
            P = P + points[point] * (u * u) + points[point + 1] * (v * v)
            B, H = mixed(B[:half], B[half:], v, u), mixed(H[:half], H[half:], u, v)
            point += 2
    l, r = scalars[scalar], scalars[scalar + 1]
    return bool(B[0] * l + H[0] * r + it.U * (l * r) == P)


def prove_properly(it: Instance) -> tuple[PointVec, ScalarVec]:
    group = it.group
    points = it.B.concat(it.H).concat(group.points([it.U]))
    bases = Bases(points, group.scalars([1] * len(points)), 1, LENGTH)
    return prove_inner_product(rounds(group), Layout(LENGTH), bases, it.left, it.right)


def test_naive_folding_accepts_a_false_product(group: Group) -> None:
    it = instance(group)
    product = it.left.inner(it.right)
    assert naive_accepts(it, it.claim(product), naive_prove(it, 0, 0))
    assert not naive_accepts(it, it.claim(product + group.scalar(1)), naive_prove(it, 0, 0))
    false = product + group.scalar(B_EXTRA * C_EXTRA)
    assert naive_accepts(it, it.claim(false), naive_prove(it, B_EXTRA, C_EXTRA))


@pytest.mark.parametrize(("b", "c"), [(B_EXTRA, C_EXTRA), (B_EXTRA, 0), (0, C_EXTRA)])
def test_pairs_leave_no_room_for_the_same_trick(group: Group, b: int, c: int) -> None:
    it = instance(group)
    points, scalars = prove_properly(it)
    product = it.left.inner(it.right)
    assert accepts(it, it.claim(product), points, scalars)
    for position in range(LENGTH):
        extra_l = it.B[position] * group.scalar(b) + it.U * (group.scalar(b) * it.right[position])
        extra_r = it.H[position] * group.scalar(c) + it.U * (group.scalar(c) * it.left[position])
        changed = group.points([points[0] + extra_l, points[1] + extra_r])
        for gain in (0, b * c):
            false = it.claim(product + group.scalar(gain))
            assert not accepts(it, false, changed, scalars)
        with_own_challenge = finish_with(it, changed)
        assert not accepts(it, it.claim(product + group.scalar(b * c)), changed, with_own_challenge)


def finish_with(it: Instance, points: PointVec) -> ScalarVec:
    """The last pair computed for the challenge that the changed L and R give."""
    group, talk = it.group, rounds(it.group)
    given = it.left[2:].concat(it.right[2:])
    talk.pair(given)
    u = talk.fold(points)
    v = u.inverse()
    left = u * it.left[0] + v * it.left[1]
    right = v * it.right[0] + u * it.right[1]
    return given.concat(group.scalars([int(left), int(right)]))
