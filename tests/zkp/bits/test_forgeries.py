"""Forgeries that weak verifiers accept and ours refuses: of transcripts, bases and odd folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from commitments import Commitment, Pedersen, VectorPedersen, derive_generators
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec, SecretScalarVec
from tests.randomness import seeded
from tests.zkp.bits.samples import Sample, transcript
from wire.errors import InvalidProof
from zkp.bits import (
    BitForm,
    BitStatement,
    CommittedValue,
    CommittedVector,
    Layout,
    Openings,
    commit_bits,
    equations,
    prove_committed,
    prover,
)
from zkp.bits.layout import FoldingStep
from zkp.bits.prover import Bases, prove_inner_product
from zkp.bits.statement import ArgumentRounds, Mixing
from zkp.equations import holds
from zkp.transcript import NonceSource, Transcript


class Forgetful(Transcript):
    """Does not bind what is absorbed under one label."""

    __slots__ = ("_forgotten",)

    def __init__(self, forgotten: bytes) -> None:
        super().__init__(b"tests of the bit argument")
        self._forgotten = forgotten
        self.absorb(b"context", b"context")

    def copy(self) -> Forgetful:
        twin = Forgetful(self._forgotten)
        twin._sponge, twin._bound = self._sponge.copy(), self._bound
        return twin

    def _bind(self, kind: bytes, label: bytes, data: bytes) -> None:
        if label != self._forgotten:
            super()._bind(kind, label, data)


class FixedLink(Transcript):
    """Links vector commitments with the exponent 1 instead of a challenge."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(b"tests of the bit argument")
        self.absorb(b"context", b"context")

    def copy(self) -> FixedLink:
        twin = FixedLink()
        twin._sponge, twin._bound = self._sponge.copy(), self._bound
        return twin

    def challenges(self, label: bytes, group: Group, n: int) -> ScalarVec:
        drawn = super().challenges(label, group, n)
        if label != b"bits/rho eta xi":
            return drawn
        return drawn[:2].concat(group.scalars([1] * (n - 2)))


OFFSET = 1_000_003


def two_of_each(group: Group) -> Sample:
    """Two committed rows over the same varying bits, two vector commitments of one dimension."""
    made = Sample(group, [1, 0, 1, 1])
    made.constraints = [
        CommittedValue(BitForm(((1, 2), (3, 4)), (0, 2))),
        CommittedValue(BitForm(((1, 3), (3, 5)), (0, 2))),
        CommittedVector((BitForm(((0, 1),)), BitForm(((1, 1),)))),
        CommittedVector((BitForm(((2, 1),)), BitForm(((3, 1),)))),
    ]
    made.constants = [10, 20, 0, 0, 0, 0]
    made.varying = [7, 8, 9, 6]
    made.commit(10 + 4 + 7 + 8, 1)
    made.commit(20 + 5 + 9 + 6, 2)
    made.commit_vector([1, 0], 3)
    made.commit_vector([1, 1], 4)
    return made


def mixing_of(statement: BitStatement, proof: bytes, onto: Forgetful) -> Mixing:
    """The challenges rho, eta, xi that a forgetful verifier will draw again."""
    statement.absorb(onto)
    A = statement.group.decode_points(proof[:32], 1)
    return ArgumentRounds(onto, statement.group).bits(A, len(statement.shape.layout.dimensions))


def shifted(commitment: Commitment, by: Point) -> Commitment:
    return replace(commitment, points=commitment.points + by)


def forge_constants(made: Sample, m: Mixing) -> None:
    """Row 1 gains rho * OFFSET, row 2 loses OFFSET: the merged constant stays."""
    order = made.group.order
    made.constants[0] = int(made.group.scalar(made.constants[0]) + m.rho * _offset(made.group))
    made.constants[1] = (made.constants[1] - OFFSET) % order


def forge_varying(made: Sample, m: Mixing) -> None:
    made.varying[0] = int(made.group.scalar(made.varying[0]) + m.rho * _offset(made.group))
    made.varying[2] -= OFFSET


def forge_shape(made: Sample, m: Mixing) -> None:
    more = int(made.group.scalar(2) + m.rho * _offset(made.group))
    made.constraints[0] = CommittedValue(BitForm(((1, more), (3, 4)), (0, 2)))
    made.constraints[1] = CommittedValue(BitForm(((1, 3 - OFFSET), (3, 5)), (0, 2)))


def forge_commitments(made: Sample, m: Mixing) -> None:
    base = Pedersen(made.group).value_base
    made.commitments[0] = shifted(made.commitments[0], base * (m.rho * _offset(made.group)))
    made.commitments[1] = shifted(made.commitments[1], -(base * _offset(made.group)))


def forge_vectors(made: Sample, m: Mixing) -> None:
    base = VectorPedersen(made.group, 2).value_bases[1]
    made.vectors[0] = shifted(made.vectors[0], base * (m.eta * _offset(made.group)))
    made.vectors[1] = shifted(made.vectors[1], -(base * _offset(made.group)))


def _offset(group: Group) -> Scalar:
    return group.scalar(OFFSET)


FORGERIES: dict[bytes, Callable[[Sample, Mixing], None]] = {
    b"bits/shape": forge_shape,
    b"bits/constants": forge_constants,
    b"bits/varying": forge_varying,
    b"bits/commitments": forge_commitments,
    b"bits/vectors": forge_vectors,
}


@pytest.mark.parametrize("element", FORGERIES, ids=bytes.decode)
def test_every_element_of_the_statement_is_bound(group: Group, element: bytes) -> None:
    made = two_of_each(group)
    proof = made.prove(Forgetful(element))
    made.verify(proof, Forgetful(element))
    FORGERIES[element](made, mixing_of(made.statement(), proof, Forgetful(element)))
    made.verify(proof, Forgetful(element))

    honest = two_of_each(group)
    proof = honest.prove()
    honest.verify(proof)
    strong = transcript()
    honest.statement().absorb(strong)
    drawn = ArgumentRounds(strong, group).bits(group.decode_points(proof[:32], 1), 1)
    FORGERIES[element](honest, drawn)
    with pytest.raises(InvalidProof):
        honest.verify(proof)


def test_bits_are_committed_before_rho(group: Group) -> None:
    """Whoever knows rho first picks bits that make up for a false second row.

    Row 1 says x = sum of 2^i b_i over 253 bits, which is no restriction at all; row 2
    says that w is the last bit. The prover commits to w = 5 and chooses the bits of
    x so that rho (x' - x) + rho^2 (bit - 5) = 0.
    """
    order, width = group.order, 253
    made = Sample(group, [0] * (width + 1))
    made.constraints = [
        CommittedValue(BitForm.weighted(0, [1 << i for i in range(width)])),
        CommittedValue(BitForm(((width, 1),))),
    ]
    made.constants = [0, 0]
    made.commit(0, 1)
    made.commit(5, 2)

    def forge(onto: Forgetful) -> bytes:
        statement = made.statement()
        ahead = Forgetful(b"bits/A")
        statement.absorb(ahead)
        rho = ArgumentRounds(ahead, group).bits(group.points([group.generator]), 0).rho
        x = int(rho) * 5 % order
        made.bits = [*(x >> i & 1 for i in range(width)), 0]
        return made.prove(onto)

    forged = forge(Forgetful(b"bits/A"))
    made.verify(forged, Forgetful(b"bits/A"))
    with pytest.raises(InvalidProof):
        made.verify(forged)


def test_a_vector_commitment_is_linked_by_a_challenge(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinate hidden in A passes where the link is a constant (07, section 2)."""
    made = Sample(group, [1, 0, 1])
    made.constraints = [CommittedVector((BitForm(((0, 1), (1, 2))), BitForm(((2, 1),))))]
    made.constants = [0, 0]
    made.commit_vector([1, 1], 1)
    made.verify(made.prove(FixedLink()), FixedLink())
    made.verify(made.prove())

    committed_to = made.vectors[0]
    made.vectors.clear()
    made.commit_vector([1 + OFFSET, 1], 2)
    false = made.vectors[0]
    # The prover's own check would stop it here.
    monkeypatch.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
    monkeypatch.setattr("zkp.bits.prover.require_valid", lambda *_: None)
    # D holds 1 + OFFSET; A takes -OFFSET on the same base; D + A holds what is proved.
    key = VectorPedersen(group, 2)
    claimed = replace(made.vector_openings[1], values=made.vector_openings[0].values)

    def forge(onto: FixedLink | None) -> bytes:
        layout = made.shape().layout
        bits = group.secret_scalars(made.bits)
        early = commit_bits(group, layout, bits, transcript(), rng=seeded(1))
        early.point = early.point - key.value_bases[0] * group.scalar(OFFSET)
        statement = made.statement()
        openings = Openings(vectors=[claimed])
        return prove_committed(statement, early, openings, onto or transcript(), rng=seeded(2))

    assert false != committed_to
    made.verify(forge(FixedLink()), FixedLink())
    with pytest.raises(InvalidProof):
        made.verify(forge(None))


@pytest.mark.parametrize(
    "message", [b"bits/S", b"bits/T", b"bits/t tau mu", b"bits/L R", b"bits/A"]
)
def test_forgetting_a_message_changes_the_challenges(group: Group, message: bytes) -> None:
    """A proof made for a verifier that forgets a message is none for ours."""
    made = two_of_each(group)
    proof = made.prove(Forgetful(message))
    made.verify(proof, Forgetful(message))
    with pytest.raises(InvalidProof):
        made.verify(proof)


BITS, PADDING, EXTENSION, LENGTH = 13, 13, 14, 16
"""Thirteen bits, a padding bit and two coordinates."""


def zeros(group: Group) -> Sample:
    """Hidden zeros and a commitment to the vector (0, 0)."""
    made = Sample(group, [0] * BITS)
    made.constraints = [CommittedVector((BitForm(((0, 1),)), BitForm(((1, 1),))))]
    made.constants = [0, 0]
    made.commit_vector([0, 0], 1)
    layout = made.shape().layout
    assert (layout.bit_positions, layout.length) == (EXTENSION, LENGTH)
    return made


def only(group: Group, position: int, length: int) -> ScalarVec:
    return group.scalars([int(i == position) for i in range(length)])


def cheat(
    group: Group, monkeypatch: pytest.MonkeyPatch, side: str, position: int, amount: int
) -> None:
    """Provers add xi * amount to l or to y^-i r at the position, and blind nothing there."""
    placed, halves = prover._Blinders.of, prover._Proving._halves

    def quiet(layout: Layout, nonces: SecretScalarVec) -> prover._Blinders:
        drawn, one = placed(layout, nonces), group.scalar(1)
        left, right = (
            vector * (only(group, position, len(vector)) * -one + one)
            for vector in (drawn.left, drawn.right)
        )
        return replace(drawn, left=left, right=right)

    def shifted(
        proving: prover._Proving, bits: SecretScalarVec, y: Scalar, z: Scalar
    ) -> prover._Halves:
        group, made = proving.group, halves(proving, bits, y, z)
        extra = only(group, position, LENGTH) * (proving.combined.links[0] * group.scalar(amount))
        if side == "left":
            return replace(made, left_0=made.left_0 + extra)
        return replace(made, right_0=made.right_0 + extra * group.powers(y, LENGTH))

    monkeypatch.setattr(prover._Blinders, "of", staticmethod(quiet))
    monkeypatch.setattr(NonceSource, "require_used", lambda *_: None)
    monkeypatch.setattr(prover._Proving, "_halves", shifted)
    monkeypatch.setattr(prover, "require_satisfied", lambda *_: None)
    monkeypatch.setattr(prover, "require_valid", lambda *_: None)


@pytest.mark.parametrize(
    ("side", "position"),
    [
        ("left", 0),
        ("left", PADDING),
        ("right", 0),
        ("right", PADDING),
        ("right", EXTENSION),
        ("right", EXTENSION + 1),
    ],
)
def test_a_commitment_has_nothing_on_other_bases(
    group: Group, side: str, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = derive_generators(group, f"bits/{side}".encode(), LENGTH)[position]
    for amount in (0, 7):
        made = zeros(group)
        points = made.vectors[0].points + base * group.scalar(amount)
        made.vectors[0] = replace(made.vectors[0], points=points)
        with monkeypatch.context() as patched:
            cheat(group, patched, side, position, amount)
            proof = made.prove()
        if amount == 0:
            made.verify(proof)
            continue
        # l and r are those of the points that were sent; only what they give is wrong.
        claims = equations(made.statement(), proof, transcript())
        assert [holds(group, claim) for claim in claims] == [False, True]
        with pytest.raises(InvalidProof) as refused:
            made.verify(proof)
        assert refused.value.check == "06-A9"


LENGTH_FOLDING = 3
B_EXTRA, C_EXTRA = 17, 23


@dataclass(frozen=True)
class Instance:
    """Vectors, bases, and the point that claims an inner product."""

    group: Group
    left: ScalarVec
    right: ScalarVec

    @property
    def B(self) -> PointVec:
        return derive_generators(self.group, b"bits/left", LENGTH_FOLDING)

    @property
    def H(self) -> PointVec:
        return derive_generators(self.group, b"bits/right", LENGTH_FOLDING)

    @property
    def U(self) -> Point:
        return derive_generators(self.group, b"bits/inner", 1)[0]

    def claim(self, product: Scalar) -> Point:
        return self.B.vartime_msm(self.left) + self.H.vartime_msm(self.right) + self.U * product


def instance(group: Group) -> Instance:
    drawn = group.random_scalars(2 * LENGTH_FOLDING, seeded(1)).reveal()
    return Instance(group, drawn[:LENGTH_FOLDING], drawn[LENGTH_FOLDING:])


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
    for step in Layout(LENGTH_FOLDING).steps:
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
    bases = Bases(points, group.scalars([1] * len(points)), 1, LENGTH_FOLDING)
    return prove_inner_product(rounds(group), Layout(LENGTH_FOLDING), bases, it.left, it.right)


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
    for position in range(LENGTH_FOLDING):
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
