"""Proofs damaged in every place and way: each damage is refused with a typed error."""

from __future__ import annotations

import json
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commitments.group import Group
from tests.external import vectors
from tests.group.backends import installed_groups
from tests.pace import examples
from tests.zkp.sigma.samples import accepted, context, samples
from wire.errors import InvalidProof, MalformedMessage, ProtocolError
from zkp.sigma import Form, verify
from zkp.sigma.composition import count

BOTH: Final = pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
SOME: Final = pytest.mark.parametrize("name", ["discrete_log", "dleq", "one_of_two"])


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


@SOME
def test_the_published_invalid_points_are_refused_in_every_position(
    group: Group, name: str
) -> None:
    published = json.loads(vectors("ristretto255.json").read_text())
    encodings = [bytes.fromhex(entry["encoding"]) for entry in published["invalid_encodings"]]
    assert len(encodings) == 29
    statement, proof = accepted(group, name)
    for encoding in encodings:
        for at in range(0, 32 * count(statement).commitments, 32):
            with pytest.raises(MalformedMessage) as refusal:
                verify(statement, proof[:at] + encoding + proof[at + 32 :], context())
            assert (refusal.value.field, refusal.value.offset) == ("proof", at)
