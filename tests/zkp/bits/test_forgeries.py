"""Forgeries that weak verifiers accept and ours refuses.

Each test first shows that the weak verifier accepts an honest proof and that the
forgery passes it: what is refused afterwards is a real attack, not noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from commitments import Commitment, Pedersen, VectorPedersen
from commitments.group import Group, Point, Scalar
from tests.randomness import seeded
from tests.zkp.bits.samples import Sample, transcript
from tests.zkp.bits.weak import FixedLink, Forgetful
from wire.errors import InvalidProof
from zkp.bits import (
    BitForm,
    BitStatement,
    CommittedValue,
    CommittedVector,
    ConstraintShape,
    Openings,
    Public,
    commit_bits,
    prove,
    prove_committed,
    verify,
)
from zkp.bits.statement import ArgumentRounds, Mixing

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


def test_context_is_bound(group: Group) -> None:
    made = two_of_each(group)
    proof = made.prove(transcript(b"party 1"))
    made.verify(proof, transcript(b"party 1"))
    with pytest.raises(InvalidProof):
        made.verify(proof, transcript(b"party 2"))


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


def test_a_proof_for_one_row_is_none_for_another_kind(group: Group) -> None:
    """Public and committed rows with the same coefficients are different statements."""
    shape = ConstraintShape(
        group, 2, [CommittedValue(BitForm(((0, 1),))), Public(BitForm(((1, 1),)))]
    )
    key = Pedersen(group)
    commitment, opening = key.commit_fresh(group.secret_scalars([1]), rng=seeded(1))
    statement = BitStatement.of(shape, constants=[0, 0], commitments=[commitment])
    bits = group.secret_scalars([1, 0])
    proof = prove(statement, bits, Openings([opening]), transcript(), rng=seeded(2))
    verify(statement, proof, transcript())
    swapped = ConstraintShape(
        group, 2, [Public(BitForm(((1, 1),))), CommittedValue(BitForm(((0, 1),)))]
    )
    other = BitStatement.of(swapped, constants=[0, 0], commitments=[commitment])
    with pytest.raises(InvalidProof):
        verify(other, proof, transcript())
