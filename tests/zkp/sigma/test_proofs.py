"""Sigma proofs: what is proved and accepted, published ones, and nonces that do not repeat."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from commitments import Pedersen
from commitments.group import Group, Scalar, SecretScalarVec
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.vectors.registry import FOLDER
from tests.zkp import transcript_vectors
from tests.zkp.p256 import p256_group
from tests.zkp.sigma import sigma_vectors
from tests.zkp.sigma.samples import (
    Sample,
    accepted,
    base,
    commit,
    context,
    proved,
    refused,
    sample,
    samples,
    secret,
)
from tests.zkp.sigma.sigma_vectors import case_of, culprits, judge, prove_again, session_of
from wire.errors import InvalidProof, UsageError
from zkp.sigma import (
    AllOf,
    AnyOf,
    BatchVerifier,
    ChildWitnesses,
    Form,
    LinearRelation,
    Statement,
    Witness,
    conjoin,
    discrete_log,
    dleq,
    linear_among_values,
    opens_to,
    product,
    product_witness,
    prove,
    representation,
    same_logarithm,
    verify,
    witness,
)
from zkp.sigma.proof import bind_statement, challenge_bytes, prove_narg, verify_narg
from zkp.sigma.prover import SigmaProver, flatten_witness
from zkp.transcript import Transcript, decode_challenges, derive_session_id

NAMES = [found.name for found in samples(installed_groups()[0])]


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("name", NAMES)
def test_true_statements_are_proved(group: Group, name: str, form: Form) -> None:
    accepted(group, name, form)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_witness_is_refused_before_anything_is_released(group: Group, name: str) -> None:
    found = sample(group, name)
    prove(found.statement, found.witness, context(), rng=seeded(1))
    size = len(flatten_witness(found.statement, found.witness))
    for position in range(size):
        wrong = changed_at(found.statement, found.witness, position)
        if wrong is None:
            continue
        refused(found.statement, wrong)


def changed_at(statement: Statement, old: Witness, position: int) -> Witness | None:
    """The witness with one more at this position; None where it is not known there."""
    group = statement.group
    if isinstance(statement, LinearRelation):
        assert not isinstance(old, ChildWitnesses)
        unit = [int(i == position) for i in range(len(old))]
        return old + group.scalars(unit)
    assert isinstance(old, ChildWitnesses)
    parts = list(old.parts)
    for i, (child, part) in enumerate(zip(statement.children, parts, strict=True)):
        size = len(flatten_witness(child, part))
        if position < size:
            parts[i] = None if part is None else changed_at(child, part, position)
            return None if parts[i] is None else ChildWitnesses(*parts)
        position -= size
    raise AssertionError(position)


def test_product_of_the_wrong_value(group: Group) -> None:
    key, x, y, r, s, t = Pedersen(group), *(secret(group, name) for name in "xyrst")
    fitting = product_witness(group, (x, r), (y, s), t)
    left, right = commit(group, x, r), commit(group, y, s)
    good = product(group, key, left, right, commit(group, x * y, t))
    proved(good, fitting)
    refused(product(group, key, left, right, commit(group, x + y, t)), fitting)


def test_linear_relation_with_the_wrong_constant(group: Group) -> None:
    key, x, r = Pedersen(group), group.secret_scalar(21), secret(group, "r")
    row = group.points([commit(group, x, r)])
    good = linear_among_values(group, key, row, [2], 42)
    proved(good, witness(group, r + r))
    refused(linear_among_values(group, key, row, [2], 41), witness(group, r + r))


def test_opens_to_another_value(group: Group) -> None:
    key, r = Pedersen(group), secret(group, "r")
    point = commit(group, group.secret_scalar(5), r)
    good = opens_to(group, key, point, group.scalar(5))
    proved(good, witness(group, r))
    refused(opens_to(group, key, point, group.scalar(6)), witness(group, r))


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("disguise", [bytearray, memoryview, lambda proof: proof.hex(), list])
def test_a_proof_is_bytes(group: Group, form: Form, disguise: Callable[[bytes], Any]) -> None:
    """A buffer could change between being bound and being checked."""
    statement, proof = accepted(group, "discrete_log", form)
    with pytest.raises(UsageError):
        verify(statement, disguise(proof), context(), form=form)
    batch = BatchVerifier(group, rng=seeded(1))
    with pytest.raises(UsageError):
        batch.add(statement, disguise(proof), context())
    assert len(batch) == 0


def test_a_float_neither_passes_for_a_coefficient_nor_spoils_one(group: Group) -> None:
    key, r = Pedersen(group), secret(group, "r")
    points = group.points([commit(group, group.secret_scalar(5), r)])
    for coefficients, constant in (([7.0], 35), ([7], 35.0), (["7"], 35)):
        with pytest.raises(UsageError):
            linear_among_values(group, key, points, coefficients, constant)  # type: ignore[arg-type]
    for seven in (7, np.uint8(7)):
        good = linear_among_values(group, key, points, [seven], 35)  # type: ignore[list-item]
        sevenfold = witness(group, r * group.scalar(7))
        proved(good, sevenfold)


def test_statements_refuse_counts_that_do_not_fit(group: Group) -> None:
    one, two = group.points([group.generator]), group.points([group.generator] * 2)
    for build in (
        lambda: dleq(group, two, two),
        lambda: same_logarithm(group, one, two),
        lambda: linear_among_values(group, Pedersen(group), two, [1], 0),
        lambda: conjoin([]),
        lambda: conjoin([(dleq(group, two, one), [0, 1])]),
        lambda: representation(group, group.points([]), group.generator),
        lambda: AllOf(()),
        lambda: AnyOf(1, ()),
    ):
        with pytest.raises(UsageError):
            build()


def test_a_witness_of_the_wrong_form_is_refused(group: Group) -> None:
    key, both = sample(group, "discrete_log"), sample(group, "all_of")
    one_of, two_of = sample(group, "one_of_two"), sample(group, "two_of_four")
    known = key.witness
    cases: list[tuple[Sample, Witness]] = [
        (key, group.secret_scalars([])),
        (key, group.secret_scalars([1, 2])),
        (key, ChildWitnesses(known)),
        (both, known),
        (both, ChildWitnesses(known)),
        (both, ChildWitnesses(known, None)),
        (one_of, known),
        (one_of, ChildWitnesses(None, None)),
        (one_of, ChildWitnesses(None, known, None)),
        (two_of, ChildWitnesses(sample(group, "dleq").witness, None, None, None)),
    ]
    for found, wrong in cases:
        prove(found.statement, found.witness, context(), rng=seeded(1))
        refused(found.statement, wrong)


def test_groups_do_not_mix(group: Group) -> None:
    here, other = sample(group, "discrete_log"), p256_group()
    there = dleq(other, other.points([other.generator] * 2), other.points([other.generator]))
    mine = here.statement
    assert isinstance(mine, LinearRelation)
    with pytest.raises(UsageError):
        AllOf((mine, there))
    with pytest.raises(UsageError):
        AnyOf(1, (mine, there))
    with pytest.raises(UsageError):
        conjoin([(mine, [0]), (there, [0])])
    with pytest.raises(UsageError):
        BatchVerifier(group, rng=seeded(1)).add(there, bytes(98), context())


def test_a_transcript_without_context_proves_nothing(group: Group) -> None:
    found = sample(group, "discrete_log")
    proof = prove(found.statement, found.witness, context(), rng=seeded(1))
    with pytest.raises(UsageError):
        prove(found.statement, found.witness, Transcript(b"tests"), rng=seeded(1))
    with pytest.raises(UsageError):
        verify(found.statement, proof, Transcript(b"tests"))


def test_transcripts_go_on_in_step_and_bind_statement_and_proof(group: Group) -> None:
    found = sample(group, "one_of_two")
    prover, verifier, batch = context(), context(), context()
    proof = prove(found.statement, found.witness, prover, rng=seeded(1))
    verify(found.statement, proof, verifier)
    BatchVerifier(group, rng=seeded(1)).add(found.statement, proof, batch)
    after = prover.digest(b"after")
    assert verifier.digest(b"after") == batch.digest(b"after") == after

    again = context()
    prove(found.statement, found.witness, again, rng=seeded(2))
    assert again.digest(b"after") != after


def test_what_follows_depends_on_the_statement(group: Group) -> None:
    after = set()
    for name in NAMES:
        transcript = context()
        bind_statement(transcript, sample(group, name).statement, Form.BATCHABLE)
        after.add(transcript.digest(b"after"))
    assert len(after) == len(NAMES)


def test_two_proofs_in_one_transcript_keep_their_order(group: Group) -> None:
    first, second = sample(group, "discrete_log"), sample(group, "dleq")
    transcript = context()
    one = prove(first.statement, first.witness, transcript, rng=seeded(1))
    two = prove(second.statement, second.witness, transcript, rng=seeded(1))
    transcript = context()
    verify(first.statement, one, transcript)
    verify(second.statement, two, transcript)
    with pytest.raises(InvalidProof):
        verify(second.statement, two, context())


PUBLISHED: Final[dict[str, Any]] = json.loads((FOLDER / "sigma.json").read_text())
RECORDS: Final[list[dict[str, Any]]] = PUBLISHED["proofs"]
BY_NAME: Final = {record["name"]: record for record in RECORDS}


@pytest.mark.parametrize("module", [sigma_vectors, transcript_vectors], ids=["sigma", "transcript"])
def test_every_backend_makes_the_same_file(
    group: Group, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ristretto255", lambda: group)
    name = module.__name__.rpartition(".")[2].removesuffix("_vectors")
    make: Callable[[], dict[str, object]] = module.records
    assert make() == json.loads((FOLDER / f"{name}.json").read_text())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_record(group: Group, record: dict[str, Any]) -> None:
    case = case_of(record)
    assert session_of(group, case) == record["session_id"]
    if record["base"] is None:
        assert record["error"] is None
        assert prove_again(group, case) == case.proof
    else:
        assert judge(group, case_of(BY_NAME[record["base"]])) == {"error": None}
        assert record["error"] is not None
    answer = judge(group, case)
    assert answer == {field: record[field] for field in answer}


@pytest.mark.parametrize("index", range(len(PUBLISHED["batches"])))
def test_batch(group: Group, index: int) -> None:
    record = PUBLISHED["batches"][index]
    members = [case_of(BY_NAME[name]) for name in record["proofs"]]
    assert culprits(group, members) == record["culprits"]
    bad = [i for i, name in enumerate(record["proofs"]) if BY_NAME[name]["error"] is not None]
    assert record["culprits"] == bad


def test_every_check_of_the_specification_has_a_record() -> None:
    cited = {record["check"] for record in RECORDS if record["error"] == "InvalidProof"}
    structure = {f"02-I{n}" for n in (1, 4, 5, 6, 9, 10)}
    assert cited == structure | {"02-T1", "02-T2", "02-N4", "02-N5", "02-N6"}


def parts(
    group: Group, statement: LinearRelation, session: bytes, proof: bytes
) -> tuple[Scalar, Scalar]:
    """The challenge and the response of a proof about one discrete logarithm."""
    challenge = decode_challenges(group, challenge_bytes(session, statement, proof[:32]))
    return challenge[0], group.decode_scalars(proof[32:], 1)[0]


def test_one_nonce_in_two_proofs_gives_the_witness_away(group: Group) -> None:
    x = group.secret_scalar(123456789)
    statement = discrete_log(group, group.generator * x)
    sessions = [derive_session_id(name) for name in (b"first", b"second")]
    found = []
    for session in sessions:
        nonce = group.random_scalars(1, seeded("a generator that repeats"))
        proof = prove_narg(Form.BATCHABLE, session, statement, witness(group, x), nonce)
        verify_narg(Form.BATCHABLE, session, statement, proof)
        found.append(parts(group, statement, session, proof))
    (c, z), (d, y) = found
    assert (z - y) * (c - d).inverse() == x.reveal()


def commitment(
    group: Group,
    *,
    value: int = 5,
    party: bytes = b"alice",
    seed: str = "broken",
    form: Form = Form.BATCHABLE,
) -> bytes:
    """What a prover commits to, seen through its first message."""
    x = group.secret_scalar(value)
    statement = discrete_log(group, group.generator * x)
    proof = prove(statement, witness(group, x), context(party), rng=seeded(seed), form=form)
    verify(statement, proof, context(party), form=form)
    if form is Form.BATCHABLE:
        return proof[:32]
    scalars = group.decode_scalars(proof, 2)
    return statement.simulate(scalars[0], scalars[1:]).to_bytes()


def test_hedged_nonces_repeat_only_with_everything_else(group: Group) -> None:
    reference = commitment(group)
    assert commitment(group) == reference
    others = [
        commitment(group, value=6),
        commitment(group, party=b"bob"),
        commitment(group, seed="other"),
        commitment(group, form=Form.COMPACT),
    ]
    assert len({reference, *others}) == 5


def test_one_witness_for_two_statements_in_one_context_gets_two_nonces(group: Group) -> None:
    """With a broken generator, only the statement keeps these nonces apart."""
    x = group.secret_scalar(5)
    firsts = set()
    for name in ("H", "K"):
        H = base(group, name)
        statement = dleq(group, group.points([group.generator * x, H * x]), group.points([H]))
        proof = prove(statement, witness(group, x), context(), rng=bytes)
        verify(statement, proof, context())
        firsts.add(proof[:32])
    assert len(firsts) == 2


def test_a_generator_stuck_on_zero_still_gives_different_nonces(group: Group) -> None:
    x = witness(group, group.secret_scalar(5))
    statement = discrete_log(group, group.generator * group.scalar(5))
    proofs = [prove(statement, x, context(name), rng=bytes) for name in (b"a", b"b")]
    assert proofs[0][:32] != proofs[1][:32]


def test_nonces_depend_on_which_branch_is_known(group: Group) -> None:
    found = sample(group, "two_of_two")
    statement, x = found.statement, group.secret_scalars([5])
    first = flatten_witness(statement, ChildWitnesses(x, None)).reveal()
    second = flatten_witness(statement, ChildWitnesses(None, x)).reveal()
    assert first.ints() == [5, 0]
    assert second.ints() == [0, 5]


def test_a_commitment_answers_once(group: Group) -> None:
    found = sample(group, "one_of_two")
    prover = SigmaProver(found.statement, found.witness, group.random_scalars(3, seeded(1)))
    prover.commit()
    prover.respond(group.scalar(5))
    with pytest.raises(UsageError):
        prover.respond(group.scalar(6))


def test_a_prover_is_not_copied(group: Group) -> None:
    """A copy would answer a second challenge, and two answers give the witness away."""
    found = sample(group, "discrete_log")
    prover = SigmaProver(found.statement, found.witness, group.random_scalars(1, seeded(1)))
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(UsageError):
            duplicate(prover)
    prover.respond(group.scalar(5))


@pytest.mark.parametrize("n", [0, 2, 4])
def test_randomness_of_the_wrong_size_is_refused(group: Group, n: int) -> None:
    found = sample(group, "one_of_two")
    SigmaProver(found.statement, found.witness, group.random_scalars(3, seeded(1)))
    with pytest.raises(UsageError):
        SigmaProver(found.statement, found.witness, group.random_scalars(n, seeded(1)))


def test_nothing_of_the_witness_is_printed_or_pickled(group: Group) -> None:
    value = 987654321987654321
    secret: SecretScalarVec = group.secret_scalars([value])
    statement = discrete_log(group, group.generator * group.scalar(value))
    prover = SigmaProver(statement, secret, group.random_scalars(1, seeded(1)))
    for thing in (prover, ChildWitnesses(secret, None), statement):
        assert str(value) not in repr(thing)
    for thing in (prover, ChildWitnesses(secret, None)):
        with pytest.raises(UsageError):
            pickle.dumps(thing)
    with pytest.raises(UsageError) as refusal:
        prove(discrete_log(group, base(group, "other")), secret, context(), rng=seeded(1))
    assert str(value) not in str(refusal.value)
