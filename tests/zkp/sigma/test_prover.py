"""Nonces: what their reuse gives away, and why ours do not repeat."""

from __future__ import annotations

import copy
import pickle

import pytest

from commitments.group import Group, Scalar, SecretScalarVec
from tests.randomness import seeded
from tests.zkp.sigma.samples import base, context, sample
from wire.errors import UsageError
from zkp.sigma import (
    ChildWitnesses,
    Form,
    LinearRelation,
    discrete_log,
    dleq,
    prove,
    verify,
    witness,
)
from zkp.sigma.proof import challenge_bytes, prove_narg, verify_narg
from zkp.sigma.prover import SigmaProver, flatten_witness
from zkp.transcript import decode_challenges, derive_session_id


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
