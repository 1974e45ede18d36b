"""Proofs damaged in every place and way: each damage is refused with a typed error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commitments.group import Group
from tests.external import vectors
from tests.group.backends import installed_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.sigma.samples import context, sample, samples
from wire.errors import InvalidProof, MalformedMessage, ProtocolError
from zkp.sigma import Form, Statement, prove, verify
from zkp.sigma.composition import count

BOTH: Final = pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
SOME: Final = pytest.mark.parametrize("name", ["discrete_log", "dleq", "one_of_two"])


def accepted(group: Group, name: str, form: Form) -> tuple[Statement, bytes]:
    """A statement with a proof that was just accepted."""
    found = sample(group, name)
    proof = prove(found.statement, found.witness, context(), rng=seeded(1), form=form)
    verify(found.statement, proof, context(), form=form)
    return found.statement, proof


def point_positions(statement: Statement, form: Form) -> range:
    """Where points begin in a proof."""
    commitments = count(statement).commitments if form is Form.BATCHABLE else 0
    return range(0, 32 * commitments, 32)


def scalar_positions(statement: Statement, form: Form, proof: bytes) -> range:
    """Where scalars begin in a proof."""
    return range(32 * len(point_positions(statement, form)), len(proof), 32)


@BOTH
@SOME
def test_every_flipped_bit_is_noticed(group: Group, name: str, form: Form) -> None:
    statement, proof = accepted(group, name, form)
    for bit in range(8 * len(proof)):
        flipped = bytearray(proof)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises((InvalidProof, MalformedMessage)):
            verify(statement, bytes(flipped), context(), form=form)


@pytest.mark.soak
@BOTH
@pytest.mark.parametrize("name", [found.name for found in samples(installed_groups()[0])])
def test_every_flipped_bit_of_every_kind_of_proof(group: Group, name: str, form: Form) -> None:
    test_every_flipped_bit_is_noticed(group, name, form)


@BOTH
@SOME
@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,  # groups do not change
        HealthCheck.too_slow,
    ],
)
@given(data=st.data())
def test_any_bytes_are_refused_with_a_typed_error(
    group: Group, name: str, form: Form, data: st.DataObject
) -> None:
    statement, proof = accepted(group, name, form)
    received = data.draw(
        st.binary(max_size=100) | st.binary(min_size=len(proof), max_size=len(proof))
    )
    with pytest.raises(ProtocolError):
        verify(statement, received, context(), form=form)


LENGTHS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "empty": lambda proof: proof[:0],
    "one byte": lambda proof: proof[:1],
    "a byte missing at the end": lambda proof: proof[:-1],
    "a byte missing at the start": lambda proof: proof[1:],
    "a byte more at the end": lambda proof: proof + b"\0",
    "a byte more at the start": lambda proof: b"\0" + proof,
    "an element missing": lambda proof: proof[:-32],
    "an element more": lambda proof: proof + proof[-32:],
    "twice": lambda proof: proof * 2,
    "with a length in front": lambda proof: len(proof).to_bytes(4, "little") + proof,
    "with the largest length in front": lambda proof: b"\xff" * 4 + proof,
}


@BOTH
@SOME
@pytest.mark.parametrize("change", LENGTHS)
def test_other_lengths_are_refused(group: Group, name: str, form: Form, change: str) -> None:
    statement, proof = accepted(group, name, form)
    with pytest.raises(MalformedMessage) as refusal:
        verify(statement, LENGTHS[change](proof), context(), form=form)
    assert refusal.value.field == "proof"


@BOTH
@SOME
def test_scalars_that_are_not_reduced_are_refused(group: Group, name: str, form: Form) -> None:
    statement, proof = accepted(group, name, form)
    for at in scalar_positions(statement, form, proof):
        value = int.from_bytes(proof[at : at + 32], "little")
        for other in (group.order, group.order + 1, 2**256 - 1, value + group.order):
            changed = proof[:at] + other.to_bytes(32, "little") + proof[at + 32 :]
            with pytest.raises(MalformedMessage) as refusal:
                verify(statement, changed, context(), form=form)
            assert (refusal.value.field, refusal.value.offset) == ("proof", at)


@BOTH
@SOME
def test_zeros_in_place_of_scalars_are_refused(group: Group, name: str, form: Form) -> None:
    statement, proof = accepted(group, name, form)
    for at in scalar_positions(statement, form, proof):
        with pytest.raises(InvalidProof):
            verify(statement, proof[:at] + bytes(32) + proof[at + 32 :], context(), form=form)
    with pytest.raises(ProtocolError):
        verify(statement, bytes(len(proof)), context(), form=form)


INVALID_POINTS: Final = {
    "the identity": bytes(32),
    "all ones": b"\xff" * 32,
    "the field's characteristic": (2**255 - 19).to_bytes(32, "little"),
    "one more than that": (2**255 - 18).to_bytes(32, "little"),
    "a negative number": (1).to_bytes(32, "little"),
    "a number with the top bit": (2**255 + 2).to_bytes(32, "little"),
    "minus one": (2**255 - 20).to_bytes(32, "little"),
}


@SOME
@pytest.mark.parametrize("encoding", INVALID_POINTS)
def test_invalid_points_are_refused_in_every_position(
    group: Group, name: str, encoding: str
) -> None:
    refuse_in_every_position(group, name, INVALID_POINTS[encoding])


@SOME
def test_the_published_invalid_points_are_refused_in_every_position(
    group: Group, name: str
) -> None:
    published = json.loads(vectors("ristretto255.json").read_text())
    encodings = [bytes.fromhex(entry["encoding"]) for entry in published["invalid_encodings"]]
    assert len(encodings) == 29
    for encoding in encodings:
        refuse_in_every_position(group, name, encoding)


def refuse_in_every_position(group: Group, name: str, encoding: bytes) -> None:
    statement, proof = accepted(group, name, Form.BATCHABLE)
    positions = point_positions(statement, Form.BATCHABLE)
    assert positions
    for at in positions:
        with pytest.raises(MalformedMessage) as refusal:
            verify(statement, proof[:at] + encoding + proof[at + 32 :], context())
        assert (refusal.value.field, refusal.value.offset) == ("proof", at)
