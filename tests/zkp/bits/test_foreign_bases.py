"""A vector commitment that passes has nothing on any base but its own.

The prover of these tests adds a multiple of another base of the argument to D and runs
the protocol with l and r changed to fit. If l were xi_d v on the extension, a multiple
of a right base there would pass where v is zero: the product that it enters is zero as
well, and a commitment that nobody can open would have been proved.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from commitments import derive_generators
from commitments.group import Group, Scalar, ScalarVec, SecretScalarVec
from tests.zkp.bits.samples import Sample, transcript
from wire.errors import InvalidProof
from zkp.bits import BitForm, CommittedVector, Layout, equations, prover
from zkp.equations import holds
from zkp.transcript import NonceSource

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
