"""The published range proofs: made again without a difference, judged as they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from commitments.group import Group
from tests.zkp import range_vectors, vector_range_vectors
from tests.zkp.bits.samples import Sample
from tests.zkp.bits.slow_verifier import Refused, slow_verify
from tests.zkp.proof_vectors import published, transcript, verify_record
from zkp.bits import Committed, Row, Vector
from zkp.equations import holds
from zkp.interval import Interval
from zkp.range import verify_range
from zkp.vector_range import verify_vector_range

FILES: dict[str, tuple[Any, Callable[..., None]]] = {
    "range": (range_vectors, verify_range),
    "vector_range": (vector_range_vectors, verify_vector_range),
}


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_what_every_backend_makes(
    group: Group, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = FILES[name]
    monkeypatch.setattr(module, "ristretto255", lambda: group)
    assert module.records() == published(name)


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_judged_as_it_says(group: Group, name: str) -> None:
    module, verify = FILES[name]
    for record in published(name)["proofs"]:
        answer = verify_record(group, record, module.statement_of, verify)
        assert answer == {key: record[key] for key in answer}
        assert answer["error"] == record["error"]


@pytest.mark.parametrize("name", FILES)
def test_every_reject_names_an_accepted_base(name: str) -> None:
    proofs = published(name)["proofs"]
    accepted = {record["name"] for record in proofs if record["error"] is None}
    names = [record["name"] for record in proofs]
    assert len(set(names)) == len(names)
    for record in proofs:
        assert (record["error"] is None) == (record["base"] is None)
        assert record["base"] is None or record["base"] in accepted


def row(first: int, interval: Interval) -> Row:
    return Row.weighted(first, interval.weights)


def range_sample(group: Group, record: dict[str, str]) -> Sample:
    statement = range_vectors.statement_of(group, record)
    made, at = Sample(group, []), 0
    for interval in statement.intervals:
        made.constraints.append(Committed(row(at, interval)))
        made.constants.append(interval.low)
        at += len(interval.weights)
    made.bits, made.commitments = [0] * at, [statement.commitment]
    return made


def vector_sample(group: Group, record: dict[str, str]) -> Sample:
    statement = vector_range_vectors.statement_of(group, record)
    width, d = len(statement.interval.weights), statement.dimension
    made = Sample(group, [0] * (width * d))
    made.constraints = [Vector(tuple(row(j * width, statement.interval) for j in range(d)))]
    made.constants = [statement.interval.low] * d
    made.vectors = [statement.commitment]
    return made


SAMPLES = {"range": range_sample, "vector_range": vector_sample}


@pytest.mark.parametrize("name", FILES)
def test_the_verifier_of_the_specification_agrees(group: Group, name: str) -> None:
    for record in published(name)["proofs"]:
        made, onto = SAMPLES[name](group, record), transcript(bytes.fromhex(record["context"]))
        proof = bytes.fromhex(record["proof"])
        if record["error"] is None:
            slow_verify(made, proof, onto)
            continue
        with pytest.raises(Refused) as refused:
            slow_verify(made, proof, onto)
        assert f"06-{refused.value.rule}" == record.get("check", "06-A7"), record["name"]


@pytest.mark.parametrize(("record", "failing"), [("the value 13", 0), ("another r", 1)])
def test_neither_equation_can_be_left_out(group: Group, record: str, failing: int) -> None:
    """A verifier that checks one of A9 and A10 alone accepts one of these."""
    (found,) = (each for each in published("range")["proofs"] if each["name"] == record)
    statement = range_vectors.statement_of(group, found)
    onto = transcript(bytes.fromhex(found["context"]))
    equations = statement.equations(bytes.fromhex(found["proof"]), onto)
    assert [holds(group, equation) for equation in equations] == [failing != 0, failing != 1]
