"""L2 proofs: exact to the last unit, no wrap, and every part of the proof needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import isqrt
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Commitment, Opening, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.noise_samples import transcript
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp import sigma
from zkp.batch import ProofClaim, verify_batch
from zkp.equations import holds
from zkp.l2 import L2Statement, prove_l2, verify_l2
from zkp.sigma.proof import Form, relation_equations

GROUPS = st.sampled_from(proving_groups())


def committed(
    group: Group, values: Sequence[int], seed: int | str = 1
) -> tuple[Commitment, Opening]:
    key = VectorPedersen(group, len(values))
    secret = group.secret_scalars([value % group.order for value in values])
    return key.commit_fresh(secret, rng=seeded(seed))


def prove(group: Group, values: Sequence[int], bound: int) -> tuple[L2Statement, bytes]:
    commitment, opening = committed(group, values)
    statement = L2Statement(commitment, bound)
    return statement, prove_l2(statement, opening, transcript(), rng=seeded(2))


def check(statement: L2Statement, proof: bytes) -> None:
    verify_l2(statement, proof, transcript())


VECTORS = st.lists(st.integers(-40, 40), min_size=1, max_size=5)


@given(GROUPS, VECTORS, st.integers(0, 3))
@settings(max_examples=examples(15), deadline=None)
def test_the_bound_is_exact(group: Group, values: list[int], slack: int) -> None:
    norm = sum(value * value for value in values)
    check(*prove(group, values, max(norm + slack, 1)))
    if norm > 1:
        with pytest.raises(UsageError):
            prove(group, values, norm - 1)


def forge(group: Group, values: Sequence[int], statement: L2Statement) -> bytes:
    """A prover without checks: the bits are those of the nearest values inside."""
    _, opening = committed(group, values)

    def nearest(group: Group, residues: object, intervals: Sequence[object]) -> object:
        del residues
        inside = [0] * len(intervals)
        for place, value in enumerate([*values, sum(v * v for v in values)]):
            low, high = statement.intervals[place].low, statement.intervals[place].high
            inside[place] = min(max(value, low), high)
        found = [
            bit
            for own, interval in zip(inside, statement.intervals, strict=True)
            for bit in interval.bits(own)
        ]
        return group.secret_scalars(found)

    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.l2.verify_l2"),
        mock.patch("zkp.range.secret_bits", nearest),
    ):
        return prove_l2(statement, opening, transcript(), rng=seeded(2))


@pytest.mark.parametrize("values", [[3, 4], [0, 5], [-5, 0], [4, 3]])
def test_one_over_the_bound_is_refused(group: Group, values: list[int]) -> None:
    commitment, _ = committed(group, values)
    inside, outside = (L2Statement(commitment, bound) for bound in (25, 24))
    check(inside, forge(group, values, inside))
    with pytest.raises(UsageError):
        prove(group, values, 24)
    with pytest.raises(InvalidProof):
        check(outside, forge(group, values, outside))


def wrapping(order: int) -> list[int]:
    """Huge coordinates whose squares sum to a small residue: a^2 + b^2 = 1 mod q, a != 0."""
    ratio = 3
    inverse = pow(1 + ratio * ratio, -1, order)
    return [(1 - ratio * ratio) * inverse % order, 2 * ratio * inverse % order]


def test_squares_that_wrap_are_refused(group: Group) -> None:
    values = wrapping(group.order)
    assert sum(value * value for value in values) % group.order == 1
    assert min(min(value, group.order - value) for value in values) > 2**200
    commitment, opening = committed(group, values)
    statement = L2Statement(commitment, 25)
    with pytest.raises(UsageError):
        prove_l2(statement, opening, transcript(), rng=seeded(2))
    honest, _ = committed(group, [3, -4])
    ranged = L2Statement(honest, 25)
    check(ranged, forge(group, [3, -4], ranged))
    with pytest.raises(InvalidProof) as refused:
        check(
            statement,
            forge(group, [(v if v < 2**251 else v - group.order) for v in values], statement),
        )
    assert refused.value.check == "06-A9"


def test_without_the_ranges_of_coordinates_a_wrapped_sum_would_pass(group: Group) -> None:
    """The forged proof fails in the ranges alone: its squares do sum to 1 mod q."""
    values = wrapping(group.order)
    commitment, _ = committed(group, values)
    statement = L2Statement(commitment, 25)
    proof = forge(group, values, statement)
    results = [holds(group, each) for each in statement.equations(proof, transcript())]
    assert results == [True] * 4 + [False, True]


def test_dimension_times_bound_cannot_wrap(group: Group) -> None:
    commitment, _ = committed(group, [1, 2])
    limit = group.order // 4
    L2Statement(commitment, limit)
    for bound in (limit + 1, group.order, 0, -1, 1.0, True):
        if bound is True:
            continue
        with pytest.raises(UsageError):
            L2Statement(commitment, bound)  # type: ignore[arg-type]


def test_statements_are_about_one_vector(group: Group) -> None:
    scalar, opening = Pedersen(group).commit_fresh(group.secret_scalars([1]), rng=seeded(1))
    with pytest.raises(UsageError):
        L2Statement(scalar, 4)
    statement, proof = prove(group, [1, -1], 4)
    check(statement, proof)
    with pytest.raises(UsageError):
        prove_l2(statement, opening, transcript(), rng=seeded(1))
    for wrong in (committed(group, [1, -1], 7), committed(group, [1, 1]), committed(group, [1])):
        with pytest.raises(UsageError):
            prove_l2(statement, wrong[1], transcript(), rng=seeded(1))


@lru_cache
def small(group: Group) -> tuple[L2Statement, bytes]:
    statement, proof = prove(group, [2, -1], 6)
    check(statement, proof)
    assert len(proof) == statement.proof_size
    return statement, proof


def test_every_part_of_the_statement_is_bound(group: Group) -> None:
    statement, proof = small(group)
    other, _ = committed(group, [2, -1], 7)
    longer = Commitment(VectorPedersen(group, 3), statement.commitment.points)
    for changes in (
        {"bound": 5},
        {"bound": 7},
        {"bound": 8},
        {"bound": 60},
        {"commitment": other},
        {"commitment": longer},
    ):
        with pytest.raises(ProtocolError):
            check(replace(statement, **changes), proof)
    with pytest.raises(InvalidProof):
        verify_l2(statement, proof, transcript(b"another party"))


def test_parts_of_two_proofs_do_not_mix(group: Group) -> None:
    """Equal statements, equal contexts: each of the three parts belongs to its own proof."""
    statement, proof = small(group)
    _, opening = committed(group, [2, -1])
    other = prove_l2(statement, opening, transcript(), rng=seeded(9))
    check(statement, other)
    first, second, _ = statement._sizes()
    cuts = (first, first + second)
    for at in cuts:
        for mixed in (proof[:at] + other[at:], other[:at] + proof[at:]):
            with pytest.raises(InvalidProof):
                check(statement, mixed)


@pytest.mark.slow
def test_every_byte_counts(group: Group) -> None:
    statement, proof = small(group)
    for at in range(0, len(proof), 1 if group.backend == "native" else 8):
        changed = bytearray(proof)
        changed[at] ^= 1 << at % 8
        with pytest.raises(ProtocolError) as refused:
            check(statement, bytes(changed))
        if isinstance(refused.value, MalformedMessage):
            assert (refused.value.field, refused.value.offset) == ("proof", at - at % 32)
        else:
            assert isinstance(refused.value, InvalidProof)
            assert refused.value.check in {"02-N4", "06-A9", "06-A10"}


def require_change_refused(group: Group, data: st.DataObject) -> None:
    """Any stretch of a valid proof replaced by any other bytes."""
    statement, proof = small(group)
    at = data.draw(st.integers(0, len(proof) - 1))
    end = data.draw(st.integers(at, len(proof)))
    changed = proof[:at] + data.draw(st.binary(max_size=64)) + proof[end:]
    if changed == proof:
        return
    with pytest.raises(ProtocolError):
        check(statement, changed)


@given(GROUPS, st.data())
@settings(max_examples=examples(40), deadline=None)
def test_any_change_is_refused(group: Group, data: st.DataObject) -> None:
    require_change_refused(group, data)


@pytest.mark.soak
@given(GROUPS, st.data())
@settings(max_examples=20_000, deadline=None)
def test_twenty_thousand_changes_are_refused(group: Group, data: st.DataObject) -> None:
    require_change_refused(group, data)


def test_batches_name_the_bad_ones(group: Group) -> None:
    statement, proof = small(group)

    def claims(bound: int) -> list[ProofClaim]:
        changed = replace(statement, bound=bound)
        return [ProofClaim(each, proof, transcript()) for each in (statement, changed, statement)]

    verify_batch(claims(6), rng=seeded(1))
    with pytest.raises(InvalidProof) as refused:
        verify_batch(claims(7), rng=seeded(1))
    assert refused.value.culprits == (1,)


def test_equations_of_a_relation_are_its_verification(group: Group) -> None:
    """They hold exactly for proofs that the Sigma verifier accepts."""
    statement, proof = small(group)
    first, second, _ = statement._sizes()
    points = group.decode_points(proof[:first], 3)
    relation, part = statement.relation(points), proof[first : first + second]

    def bound() -> object:
        onto = transcript()
        statement.bind(onto)
        onto.absorb_points(b"l2/commitments", points)
        return onto

    sigma.verify(relation, part, bound(), form=Form.BATCHABLE)  # type: ignore[arg-type]
    equations = relation_equations(relation, part, bound())  # type: ignore[arg-type]
    assert [holds(group, each) for each in equations] == [True] * 4
    size = group.point_size
    for row in range(4):
        point = group.decode_point(part[size * row : size * (row + 1)]) + group.generator
        wrong = part[: size * row] + point.to_bytes() + part[size * (row + 1) :]
        with pytest.raises(InvalidProof):
            sigma.verify(relation, wrong, bound(), form=Form.BATCHABLE)  # type: ignore[arg-type]
        equations = relation_equations(relation, wrong, bound())  # type: ignore[arg-type]
        assert not any(holds(group, each) for each in equations)
    for place in range(relation.shape.scalar_count):
        at = 4 * size + 32 * place
        scalar = group.decode_scalars(part[at : at + 32], 1) + group.scalar(1)
        wrong = part[:at] + scalar.to_bytes() + part[at + 32 :]
        equations = relation_equations(relation, wrong, bound())  # type: ignore[arg-type]
        uses = [any(t.scalar == place for t in e.terms) for e in relation.shape.equations]
        assert [holds(group, each) for each in equations] == [not used for used in uses]


def test_a_vector_that_hides_nothing_is_refused(group: Group) -> None:
    """Zeros with blinding zero: the identity, whose opening everybody knows."""
    key, zero = VectorPedersen(group, 2), group.secret_scalars([0])
    statement, proof = small(group)
    check(statement, proof)
    open_to_all = replace(statement, commitment=Commitment(key, group.points([group.identity])))
    opening = Opening(key, group.secret_scalars([0, 0]), zero)
    with pytest.raises(UsageError):
        prove_l2(open_to_all, opening, transcript(), rng=seeded(1))
    with pytest.raises(InvalidProof) as refused:
        check(open_to_all, proof)
    assert refused.value.check == "02-I8"


@pytest.mark.parametrize(
    ("dimension", "largest"), [(20, 100), pytest.param(100, 1000, marks=pytest.mark.soak)]
)
def test_longer_vectors(dimension: int, largest: int) -> None:
    values = [(7919 * i) % (2 * largest + 1) - largest for i in range(dimension)]
    norm = sum(value * value for value in values)
    assert isqrt(norm) >= largest
    check(*prove(ristretto255(), values, norm))
