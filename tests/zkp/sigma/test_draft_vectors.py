"""The vectors of draft-irtf-cfrg-sigma-protocols over P-256, byte for byte."""

from __future__ import annotations

import json
from functools import cache
from itertools import chain, combinations
from typing import Any, Final

import pytest

from commitments.group import SecretScalarVec
from tests.external import vectors
from tests.randomness import seeded
from tests.zkp.p256 import p256_group
from tests.zkp.sigma.sigma_vectors import parse_relation
from wire.errors import InvalidProof, ProtocolError
from zkp.sigma import BatchVerifier, Form
from zkp.sigma.proof import prove_narg, verify_narg
from zkp.transcript import DuplexSponge, derive_session_id

SUITE: Final = "Shake128_P256"
GROUP: Final = p256_group()
FORMS: Final = {"batchable": Form.BATCHABLE, "compact": Form.COMPACT}
Record = dict[str, Any]


def load(name: str) -> list[Record]:
    records: list[Record] = json.loads(vectors(f"sigma/{name}.json").read_text())
    assert records
    return records


VALID: Final = load(f"sigma-proofs_{SUITE}")
INVALID: Final = load(f"sigma-proofs-invalid_{SUITE}")
BASES: Final = {record["Id"]: record for record in VALID}
BASELINES: Final = [record for record in INVALID if record["Expected"] == "accept"]
MUTATED: Final = [record for record in INVALID if record["Expected"] == "reject"]


def session(record: Record) -> bytes:
    return derive_session_id(record["Tag"].encode())


def pinned_nonces(record: Record, n: int) -> SecretScalarVec:
    """The randomness that the draft prescribes for its own vectors."""
    marker = FORMS[record["Flavor"]].value
    tag = f"TestDRNG-SIGMA-PROOFS-{marker}-{record['Ciphersuite']}-{record['Relation']}"
    stream = DuplexSponge(derive_session_id(tag.encode()))
    return GROUP.reduce_scalars(stream.squeeze(48 * n), 48).secret()


def check(record: Record) -> None:
    relation = parse_relation(GROUP, bytes.fromhex(record["Instance"]))
    proof = bytes.fromhex(record["NargString"])
    verify_narg(FORMS[record["Flavor"]], session(record), relation, proof)


def by_id(record: Record) -> str:
    return str(record["Id"]).removeprefix("sigma-protocols/p256/")


@pytest.mark.parametrize("record", VALID, ids=by_id)
def test_valid_records_are_proved_again_and_accepted(record: Record) -> None:
    assert record["Expected"] == "accept"
    assert session(record).hex() == record["SessionId"]
    encoded = bytes.fromhex(record["Instance"])
    relation = parse_relation(GROUP, encoded)
    assert relation.serialize() == encoded
    n = relation.shape.scalar_count
    witness = GROUP.decode_scalars(bytes.fromhex(record["Witness"]), n).secret()
    form = FORMS[record["Flavor"]]
    proof = prove_narg(form, session(record), relation, witness, pinned_nonces(record, n))
    assert proof.hex() == record["NargString"]
    check(record)


@pytest.mark.parametrize("record", BASELINES, ids=by_id)
def test_baselines_are_accepted(record: Record) -> None:
    check(record)


@pytest.mark.parametrize("record", MUTATED, ids=by_id)
def test_mutated_records_are_refused_and_their_twins_accepted(record: Record) -> None:
    check(BASES[record["BaseId"]])
    with pytest.raises(ProtocolError):
        check(record)


def test_no_record_is_left_out() -> None:
    assert len(BASELINES) + len(MUTATED) == len(INVALID) == 33


EXPECTED_CHECKS: Final = {
    "batchable/E1": "02-I6",
    "batchable/E1b": "02-I6",
    "batchable/E2": "02-I9",
    "batchable/E4": "02-I4",
    "batchable/F1b": "02-N4",
    "batchable/F2b": "02-N4",
    "batchable/F3": "02-N4",
    "batchable/F4b": "02-N4",
    "batchable/H1": "02-N4",
    "batchable/H2": "02-N4",
    "compact/D1": "02-N5",
    "compact/F1b": "02-N6",
    "compact/F2b": "02-N6",
    "compact/F3": "02-N6",
    "compact/F4": "02-N6",
    "compact/H3": "02-N6",
}


@pytest.mark.parametrize("record", MUTATED, ids=by_id)
def test_proofs_that_do_not_hold_are_told_from_bytes_that_do_not_parse(record: Record) -> None:
    check(BASES[record["BaseId"]])
    with pytest.raises(ProtocolError) as refusal:
        check(record)
    expected = EXPECTED_CHECKS.get(by_id(record).removeprefix("discrete_logarithm/"))
    assert isinstance(refusal.value, InvalidProof) == (expected is not None)
    assert getattr(refusal.value, "check", None) == expected


def batch_of(records: list[Record]) -> BatchVerifier:
    batch = BatchVerifier(GROUP, rng=seeded("batch"))
    for record in records:
        relation = parse_relation(GROUP, bytes.fromhex(record["Instance"]))
        batch.add_narg(session(record), relation, bytes.fromhex(record["NargString"]))
    return batch


BATCHABLE: Final = [record for record in VALID if record["Flavor"] == "batchable"]


@cache
def subsets() -> list[list[Record]]:
    sizes = range(len(BATCHABLE) + 1)
    return [list(s) for s in chain.from_iterable(combinations(BATCHABLE, n) for n in sizes)]


@pytest.mark.slow
def test_every_subset_of_the_valid_batchable_proofs_is_a_valid_batch() -> None:
    assert len(subsets()) == 2 ** len(BATCHABLE)
    for records in subsets():
        batch_of(records).verify()


# E3 has a statement that does not decode, so it never gets into a batch.
BATCHABLE_MUTATIONS: Final = [
    record for record in MUTATED if record["Flavor"] == "batchable" and record["Id"][-2:] != "E3"
]


@pytest.mark.parametrize("record", BATCHABLE_MUTATIONS, ids=by_id)
def test_a_batch_names_the_invalid_record_in_it(record: Record) -> None:
    batch_of(BATCHABLE[:2]).verify()
    with pytest.raises(InvalidProof) as refusal:
        batch_of([BATCHABLE[0], record, BATCHABLE[1]]).verify()
    assert refusal.value.culprits == (1,)
