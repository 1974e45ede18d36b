"""Every statement: true ones are proved and accepted, false ones are not proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from commitments import Pedersen
from commitments.group import Group
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.zkp.p256 import p256_group
from tests.zkp.sigma.samples import Sample, commit, context, relations, sample, samples, secret
from wire.errors import InvalidProof, ProtocolError, UsageError
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
from zkp.sigma.proof import bind_statement
from zkp.sigma.prover import flatten_witness
from zkp.transcript import Transcript

NAMES = [found.name for found in samples(installed_groups()[0])]


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("name", NAMES)
def test_true_statements_are_proved(group: Group, name: str, form: Form) -> None:
    found = sample(group, name)
    proof = prove(found.statement, found.witness, context(), rng=seeded(1), form=form)
    verify(found.statement, proof, context(), form=form)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_witness_is_refused_before_anything_is_released(group: Group, name: str) -> None:
    found = sample(group, name)
    prove(found.statement, found.witness, context(), rng=seeded(1))
    size = len(flatten_witness(found.statement, found.witness))
    for position in range(size):
        wrong = changed_at(found.statement, found.witness, position)
        if wrong is None:
            continue
        with pytest.raises(UsageError):
            prove(found.statement, wrong, context(), rng=seeded(1))


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


@pytest.mark.parametrize("name", NAMES)
def test_the_two_forms_do_not_pass_for_each_other(group: Group, name: str) -> None:
    found = sample(group, name)
    for form, other in ((Form.BATCHABLE, Form.COMPACT), (Form.COMPACT, Form.BATCHABLE)):
        proof = prove(found.statement, found.witness, context(), rng=seeded(1), form=form)
        verify(found.statement, proof, context(), form=form)
        with pytest.raises(ProtocolError):
            verify(found.statement, proof, context(), form=other)


def test_proofs_of_one_statement_do_not_pass_for_another(group: Group) -> None:
    proofs = {
        found.name: prove(found.statement, found.witness, context(), rng=seeded(1))
        for found in relations(group)
    }
    for found in relations(group):
        for name, proof in proofs.items():
            if name == found.name:
                verify(found.statement, proof, context())
            else:
                with pytest.raises(ProtocolError):
                    verify(found.statement, proof, context())


def refused(statement: Statement, wrong: Witness) -> None:
    """No proof comes out, because the witness does not fit."""
    assert statement.violation is None
    with pytest.raises(UsageError):
        prove(statement, wrong, context(), rng=seeded(1))


def test_product_of_the_wrong_value(group: Group) -> None:
    key, x, y, r, s, t = Pedersen(group), *(secret(group, name) for name in "xyrst")
    fitting = product_witness(group, (x, r), (y, s), t)
    left, right = commit(group, x, r), commit(group, y, s)
    good = product(group, key, left, right, commit(group, x * y, t))
    verify(good, prove(good, fitting, context(), rng=seeded(1)), context())
    refused(product(group, key, left, right, commit(group, x + y, t)), fitting)


def test_linear_relation_with_the_wrong_constant(group: Group) -> None:
    key, x, r = Pedersen(group), group.secret_scalar(21), secret(group, "r")
    row = group.points([commit(group, x, r)])
    good = linear_among_values(group, key, row, [2], 42)
    verify(good, prove(good, witness(group, r + r), context(), rng=seeded(1)), context())
    refused(linear_among_values(group, key, row, [2], 41), witness(group, r + r))


def test_opens_to_another_value(group: Group) -> None:
    key, r = Pedersen(group), secret(group, "r")
    point = commit(group, group.secret_scalar(5), r)
    good = opens_to(group, key, point, group.scalar(5))
    verify(good, prove(good, witness(group, r), context(), rng=seeded(1)), context())
    refused(opens_to(group, key, point, group.scalar(6)), witness(group, r))


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
@pytest.mark.parametrize("disguise", [bytearray, memoryview, lambda proof: proof.hex(), list])
def test_a_proof_is_bytes(group: Group, form: Form, disguise: Callable[[bytes], Any]) -> None:
    """A buffer could change between being bound and being checked."""
    found = sample(group, "discrete_log")
    proof = prove(found.statement, found.witness, context(), rng=seeded(1), form=form)
    verify(found.statement, proof, context(), form=form)
    with pytest.raises(UsageError):
        verify(found.statement, disguise(proof), context(), form=form)
    batch = BatchVerifier(group, rng=seeded(1))
    with pytest.raises(UsageError):
        batch.add(found.statement, disguise(proof), context())
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
        verify(good, prove(good, sevenfold, context(), rng=seeded(1)), context())


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
        with pytest.raises(UsageError):
            prove(found.statement, wrong, context(), rng=seeded(1))


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


def test_a_compact_proof_of_zeros_is_refused_for_its_identity(group: Group) -> None:
    found = sample(group, "dleq")
    proof = prove(found.statement, found.witness, context(), rng=seeded(1), form=Form.COMPACT)
    verify(found.statement, proof, context(), form=Form.COMPACT)
    with pytest.raises(InvalidProof) as refusal:
        verify(found.statement, bytes(len(proof)), context(), form=Form.COMPACT)
    assert refusal.value.check == "02-N5"


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
