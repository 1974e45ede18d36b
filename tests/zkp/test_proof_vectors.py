"""The published proofs over hidden bits: made again without a difference, judged as they say."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.zkp import gaussian_noise_vectors, weighted_noise_vectors
from tests.zkp.proof_vectors import published, transcript, verify_record
from tests.zkp.range_vectors import LAST_LARGEST, RANGE, VECTOR_RANGE
from wire.errors import ProtocolError
from zkp.equations import holds
from zkp.noise.gaussian_table import verify_gaussian_noise
from zkp.noise.weighted_bits import verify_weighted_noise
from zkp.range import verify_last_largest, verify_range, verify_vector_range

FILES: dict[str, tuple[Any, Callable[..., None]]] = {
    "range": (RANGE, verify_range),
    "vector_range": (VECTOR_RANGE, verify_vector_range),
    "gaussian_noise": (gaussian_noise_vectors, verify_gaussian_noise),
    "weighted_noise": (weighted_noise_vectors, verify_weighted_noise),
    "last_largest": (LAST_LARGEST, verify_last_largest),
}


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_what_every_backend_makes(group: Group, name: str) -> None:
    source, _ = FILES[name]
    assert source.records(group) == published(name)


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_judged_as_it_says(group: Group, name: str) -> None:
    source, verify = FILES[name]
    for record in published(name)["proofs"]:
        answer = verify_record(group, record, source.statement_of, verify)
        assert answer == {key: record[key] for key in answer}
        assert answer["error"] == record["error"]


@pytest.mark.parametrize("name", FILES)
def test_every_reject_names_an_accepted_base(name: str) -> None:
    proofs = published(name)["proofs"]
    accepted = {record["name"] for record in proofs if record["error"] is None}
    names = [record["name"] for record in proofs]
    assert len(set(names)) == len(names)
    for record in proofs:
        assert (record["error"] is None) == (record["base"] is None), record["name"]
        assert record["base"] is None or record["base"] in accepted


@pytest.mark.parametrize(("record", "failing"), [("the value 13", 0), ("another r", 1)])
def test_neither_equation_can_be_left_out(group: Group, record: str, failing: int) -> None:
    """A verifier that checks one of A9 and A10 alone accepts one of these."""
    (found,) = (each for each in published("range")["proofs"] if each["name"] == record)
    statement = RANGE.statement_of(group, found)
    onto = transcript(bytes.fromhex(found["context"]))
    equations = statement.equations(bytes.fromhex(found["proof"]), onto)
    assert [holds(group, equation) for equation in equations] == [failing != 0, failing != 1]


@lru_cache
def accepted(group: Group, name: str) -> tuple[Callable[[bytes], None], bytes]:
    """What judges a proof of the statement that most records of the file change, and a good one."""
    source, verify = FILES[name]
    records = {record["name"]: record for record in published(name)["proofs"]}
    base = next(records[each["base"]] for each in records.values() if each["base"])
    statement, context = source.statement_of(group, base), bytes.fromhex(base["context"])

    def check(proof: bytes) -> None:
        verify(statement, proof, transcript(context))

    proof = bytes.fromhex(base["proof"])
    check(proof)
    return check, proof


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian_noise", "weighted_noise"])
def test_every_field_and_byte_counts(group: Group, name: str) -> None:
    """On the fast backend every byte, on the other one byte of every field."""
    check, proof = accepted(group, name)
    for at in range(0, len(proof), 1 if group.backend == "native" else 32):
        changed = bytearray(proof)
        changed[at] ^= 1 << at % 8
        with pytest.raises(ProtocolError):
            check(bytes(changed))


def require_change_refused(group: Group, name: str, data: st.DataObject) -> None:
    """Any stretch of a valid proof replaced by any other bytes."""
    check, proof = accepted(group, name)
    at = data.draw(st.integers(0, len(proof) - 1))
    end = data.draw(st.integers(at, len(proof)))
    changed = proof[:at] + data.draw(st.binary(max_size=64)) + proof[end:]
    if changed != proof:
        with pytest.raises(ProtocolError):
            check(changed)


MUTATIONS = (st.sampled_from(proving_groups()), st.sampled_from(sorted(FILES)), st.data())


@given(*MUTATIONS)
@settings(max_examples=examples(80), deadline=None)
def test_any_change_is_refused(group: Group, name: str, data: st.DataObject) -> None:
    require_change_refused(group, name, data)


@pytest.mark.soak
@given(*MUTATIONS)
@settings(max_examples=40_000, deadline=None)
def test_forty_thousand_changes_are_refused(group: Group, name: str, data: st.DataObject) -> None:
    require_change_refused(group, name, data)
