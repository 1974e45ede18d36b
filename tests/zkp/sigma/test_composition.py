"""Conjunctions and thresholds: sub-challenges, hiding, extraction, and what is not linked."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group, Point, SecretScalar
from tests.randomness import seeded
from tests.zkp.sigma.samples import base, context, proved, refused, sample, secret
from wire.errors import InvalidProof, UsageError
from zkp.sigma import (
    AllOf,
    AnyOf,
    ChildWitnesses,
    Form,
    LinearRelation,
    conjoin,
    discrete_log,
    prove,
    representation,
    verify,
    witness,
)
from zkp.sigma.composition import evaluate, interpolate, leaf_challenges, leaves
from zkp.sigma.proof import Conversation, bind_statement, verify_narg
from zkp.sigma.prover import SigmaProver, randomness_count

ORDER = 2**252 + 27742317777372353535851937790883648493


def keys(group: Group, n: int) -> tuple[list[SecretScalar], tuple[LinearRelation, ...]]:
    secrets = [secret(group, f"key {i}") for i in range(n)]
    return secrets, tuple(discrete_log(group, group.generator * x) for x in secrets)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_threshold_with_every_set_of_known_witnesses(group: Group, n: int) -> None:
    secrets, statements = keys(group, n)
    for threshold in range(1, n + 1):
        statement = AnyOf(threshold, statements)
        for size in range(n + 1):
            for known in combinations(range(n), size):
                parts = (witness(group, secrets[i]) if i in known else None for i in range(n))
                (proved if size >= threshold else refused)(statement, ChildWitnesses(*parts))


def test_one_statement_does_not_count_twice(group: Group) -> None:
    secrets, statements = keys(group, 2)
    known = ChildWitnesses(*(witness(group, x) for x in secrets))
    good = AnyOf(2, statements)
    proof = proved(good, known)
    twice = AnyOf(2, (statements[0], discrete_log(group, group.generator * secrets[0])))
    with pytest.raises(UsageError):
        prove(twice, ChildWitnesses(*known.parts[:1] * 2), context(), rng=seeded(1))
    with pytest.raises(InvalidProof) as refusal:
        verify(twice, proof, context())
    assert refusal.value.check == "02-T2"


def test_a_threshold_is_part_of_the_statement(group: Group) -> None:
    secrets, statements = keys(group, 3)
    known = ChildWitnesses(*(witness(group, x) for x in secrets))
    everyone = proved(AnyOf(3, statements), known)
    conjunction = proved(AllOf(statements), known)
    assert len(conjunction) == len(everyone)
    with pytest.raises(InvalidProof):
        verify(AllOf(statements), everyone, context())
    with pytest.raises(InvalidProof):
        verify(AnyOf(3, statements), conjunction, context())


def test_simulating_every_branch_gives_a_challenge_that_is_not_the_hash(group: Group) -> None:
    """Sub-challenges of the cheat's choice: they cannot be made to belong together."""
    statement = AnyOf(1, tuple(discrete_log(group, base(group, name)) for name in "AB"))
    chosen = group.scalars([11, 22])
    responses = group.scalars([33, 44])
    polynomial = interpolate(group.order, {1: 11, 2: 22})
    root, slope = group.scalar(polynomial[0]), group.scalars(polynomial[1:])
    fake = Conversation(statement, root, slope, responses)
    assert leaf_challenges(statement, root, slope) == list(chosen)
    session = context().digest(Form.COMPACT.label(statement))

    compact = root.to_bytes() + slope.to_bytes() + responses.to_bytes()
    with pytest.raises(InvalidProof) as refusal:
        verify_narg(Form.COMPACT, session, statement, compact)
    assert refusal.value.check == "02-N6"

    batchable = fake.commitment().to_bytes() + slope.to_bytes() + responses.to_bytes()
    with pytest.raises(InvalidProof) as refusal:
        verify_narg(Form.BATCHABLE, session, statement, batchable)
    assert refusal.value.check == "02-N4"


def test_two_answers_to_one_commitment_give_as_many_witnesses_as_the_threshold(
    group: Group,
) -> None:
    """Special soundness: differing polynomials of degree n - t differ in at least t places."""
    secrets, statements = keys(group, 4)
    statement = AnyOf(2, statements)
    known = ChildWitnesses(None, witness(group, secrets[1]), None, witness(group, secrets[3]))
    randomness = group.random_scalars(randomness_count(statement), seeded(1))
    answers = []
    for challenge in (group.scalar(5), group.scalar(6)):
        prover = SigmaProver(statement, known, randomness)
        commitment = prover.commit()
        coefficients, responses = prover.respond(challenge)
        assert (
            Conversation(statement, challenge, coefficients, responses).commitment() == commitment
        )
        answers.append((leaf_challenges(statement, challenge, coefficients), responses))
    (first, one), (second, two) = answers
    differing = [i for i in range(4) if first[i] != second[i]]
    assert len(differing) >= 2
    for i in differing:
        extracted = (one[i] - two[i]) * (first[i] - second[i]).inverse()
        assert group.generator * extracted == statements[i].points[0]


def test_every_proof_could_come_from_either_branch(group: Group) -> None:
    """Perfect hiding: for each proof made with one witness there is exactly one choice of
    randomness with which the other witness makes the same proof."""
    (x, y), statements = keys(group, 2)
    statement = AnyOf(1, statements)
    randomness = group.random_scalars(randomness_count(statement), seeded(1))
    first = SigmaProver(statement, ChildWitnesses(witness(group, x), None), randomness)
    commitment, challenge = first.commit(), group.scalar(77)
    coefficients, responses = first.respond(challenge)

    own, other = leaf_challenges(statement, challenge, coefficients)
    nonces = witness(group, responses[0], responses[1] - y * other)
    second = SigmaProver(
        statement, ChildWitnesses(None, witness(group, y)), witness(group, own).concat(nonces)
    )
    assert second.commit() == commitment
    assert second.respond(challenge) == (coefficients, responses)


def two_bases(group: Group, x: SecretScalar) -> tuple[Point, Point]:
    H = base(group, "H")
    return group.generator * x, H * x


def in_second_base(group: Group, image: Point) -> LinearRelation:
    return representation(group, group.points([base(group, "H")]), image)


def test_one_witness_inside_and_outside_a_threshold_is_not_linked(group: Group) -> None:
    """The trap: this statement does not say that one x is behind X and behind Y or Z."""
    x, unrelated = secret(group, "x"), secret(group, "unrelated")
    X, _ = two_bases(group, x)
    _, Y = two_bases(group, unrelated)
    either = AnyOf(1, (in_second_base(group, Y), in_second_base(group, base(group, "Z"))))
    statement = AllOf((discrete_log(group, X), either))
    unlinked = ChildWitnesses(witness(group, x), ChildWitnesses(witness(group, unrelated), None))
    proved(statement, unlinked)


def test_linking_puts_the_outer_equation_into_every_branch(group: Group) -> None:
    x, unrelated = secret(group, "x"), secret(group, "unrelated")
    X, fitting = two_bases(group, x)
    _, other = two_bases(group, unrelated)

    def linked(image: Point) -> LinearRelation:
        return conjoin([(discrete_log(group, X), [0]), (in_second_base(group, image), [0])])

    good = AnyOf(1, (linked(fitting), linked(base(group, "Z"))))
    known = ChildWitnesses(witness(group, x), None)
    proved(good, known)
    bad = AnyOf(1, (linked(other), linked(base(group, "Z"))))
    for wrong in (x, unrelated):
        refused(bad, ChildWitnesses(witness(group, wrong), None))


def test_conjunctions_with_shared_scalars_need_one_value(group: Group) -> None:
    x, y = secret(group, "x"), secret(group, "y")
    X, fitting = two_bases(group, x)
    good = conjoin([(discrete_log(group, X), [0]), (in_second_base(group, fitting), [0])])
    proved(good, witness(group, x))
    _, other = two_bases(group, y)
    bad = conjoin([(discrete_log(group, X), [0]), (in_second_base(group, other), [0])])
    for wrong in (x, y):
        refused(bad, witness(group, wrong))
    apart = conjoin([(discrete_log(group, X), [0]), (in_second_base(group, other), [1])])
    proved(apart, witness(group, x, y))


def test_a_deep_statement_keeps_its_leaves_in_order(group: Group) -> None:
    found = sample(group, "nested")
    assert [leaf.shape.equation_count for leaf in leaves(found.statement)] == [
        1, 1, 1, 2, 1, 1, 1, 2,
    ]  # fmt: skip
    assert bind_statement(context(), found.statement, Form.COMPACT) != bind_statement(
        context(), found.statement, Form.BATCHABLE
    )


values = st.integers(0, ORDER - 1)


@given(st.dictionaries(st.integers(0, 50), values, min_size=1, max_size=8))
def test_interpolation_goes_through_its_points(points: dict[int, int]) -> None:
    polynomial = interpolate(ORDER, points)
    assert len(polynomial) == len(points)
    for place, value in points.items():
        assert sum(c * place**k for k, c in enumerate(polynomial)) % ORDER == value


def test_evaluation_agrees_with_interpolation(group: Group) -> None:
    points = {0: 5, 1: 2**200, 2: 0, 7: group.order - 1}
    polynomial = interpolate(group.order, points)
    public = [group.scalar(c) for c in polynomial]
    hidden = [group.secret_scalar(c) for c in polynomial]
    for place, value in points.items():
        assert int(evaluate(group, public, place)) == value
        assert int(evaluate(group, hidden, place).reveal()) == value
