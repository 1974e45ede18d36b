"""Values under a weight: in range, none above the last, and no way around either."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Commitment, Opening, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.test_range import transcript
from wire.errors import InvalidProof, ProtocolError, UsageError
from zkp.batch import ProofClaim, verify_batch
from zkp.bits import ConstraintShape
from zkp.bits import shape as shape_module
from zkp.range import (
    Interval,
    LastLargestStatement,
    VectorRangeStatement,
    _last_largest_shape,
    prove_last_largest,
    prove_vector_range,
    verify_last_largest,
    verify_vector_range,
)

GROUPS = st.sampled_from(proving_groups())


def committed(group: Group, values: Sequence[int], seed: int = 1) -> tuple[Commitment, Opening]:
    reduced = group.secret_scalars([value % group.order for value in values])
    return VectorPedersen(group, len(values)).commit_fresh(reduced, rng=seeded(seed))


def prove(group: Group, values: Sequence[int], maximum: int) -> tuple[LastLargestStatement, bytes]:
    commitment, opening = committed(group, values)
    statement = LastLargestStatement(commitment, maximum)
    return statement, prove_last_largest(statement, opening, transcript(), rng=seeded(2))


def check(statement: LastLargestStatement, proof: bytes) -> None:
    verify_last_largest(statement, proof, transcript())


@given(GROUPS, st.integers(1, 40), st.integers(1, 5), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_values_under_their_weight_are_proved(
    group: Group, maximum: int, others: int, data: st.DataObject
) -> None:
    weight = data.draw(st.integers(0, maximum))
    values = data.draw(st.lists(st.integers(0, weight), min_size=others, max_size=others))
    check(*prove(group, [*values, weight], maximum))


@given(GROUPS, st.integers(1, 40), st.integers(1, 4), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_a_value_above_its_weight_is_not_proved(
    group: Group, maximum: int, others: int, data: st.DataObject
) -> None:
    weight = data.draw(st.integers(0, maximum - 1))
    values = data.draw(st.lists(st.integers(0, weight), min_size=others, max_size=others))
    check(*prove(group, [*values, weight], maximum))
    values[data.draw(st.integers(0, others - 1))] = data.draw(st.integers(weight + 1, maximum))
    with pytest.raises(UsageError):
        prove(group, [*values, weight], maximum)


HONEST = ([3, 0, 5], 5)
"""Distances from the last: 2 and 5."""

FALSE = [
    [6, 0, 5],  # above the weight and the range
    [4, 0, 3],  # above the weight alone
    [5, 5, 4],
    [3, 0, 6],  # a weight out of range
    [-1, 0, 5],
    [3, 0, -1],
    [3, 2**252, 5],
]


@pytest.mark.parametrize("values", FALSE, ids=str)
def test_false_claims_have_no_proof(
    group: Group, values: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prover without its own checks, with the bits of an honest one."""
    check(*prove(group, *HONEST))
    interval = Interval(0, 5)
    honest_bits = [bit for each in (3, 0, 5, 2, 5) for bit in interval.bits(each)]
    with pytest.raises(UsageError):
        prove(group, values, 5)
    monkeypatch.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
    monkeypatch.setattr("zkp.bits.prover.require_valid", lambda *_: None)
    monkeypatch.setattr("zkp.range.secret_bits", lambda *_: group.secret_scalars(honest_bits))
    statement, forged = prove(group, values, 5)
    with pytest.raises(InvalidProof):
        check(statement, forged)


def test_every_distance_counts(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other coordinate in turn exceeds the weight, with bits that fit all the others."""
    check(*prove(group, [1, 1, 1, 2], 3))
    interval = Interval(0, 3)
    monkeypatch.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
    monkeypatch.setattr("zkp.bits.prover.require_valid", lambda *_: None)
    for place in range(3):
        values = [1, 1, 1, 2]
        values[place] = 3
        distances = [max(0, 2 - value) for value in values[:3]]
        bits = [bit for each in values + distances for bit in interval.bits(each)]
        monkeypatch.setattr(
            "zkp.range.secret_bits",
            lambda *_, bits=bits: group.secret_scalars(bits),
        )
        statement, forged = prove(group, values, 3)
        with pytest.raises(InvalidProof):
            check(statement, forged)


def test_a_proof_of_ranges_alone_is_no_proof_of_weights(group: Group) -> None:
    commitment, opening = committed(group, [5, 3])
    ranges = VectorRangeStatement(commitment, Interval(0, 7))
    proof = prove_vector_range(ranges, opening, transcript(), rng=seeded(2))
    verify_vector_range(ranges, proof, transcript())
    with pytest.raises(ProtocolError):
        check(LastLargestStatement(commitment, 7), proof)


@pytest.mark.parametrize("maximum", [4, 6, 7, 8, 15])
def test_the_maximum_is_bound(group: Group, maximum: int) -> None:
    statement, proof = prove(group, [3, 0, 4], 5)
    check(statement, proof)
    with pytest.raises(ProtocolError):
        check(LastLargestStatement(statement.commitment, maximum), proof)


def test_commitment_dimension_and_context_are_bound(group: Group) -> None:
    statement, proof = prove(group, [3, 0, 5], 5)
    check(statement, proof)
    points = statement.commitment.points
    for dimension in (2, 4):
        moved = Commitment(VectorPedersen(group, dimension), points)
        with pytest.raises(ProtocolError):
            check(LastLargestStatement(moved, 5), proof)
    other, _ = committed(group, [3, 0, 5], seed=9)
    with pytest.raises(ProtocolError):
        check(LastLargestStatement(other, 5), proof)
    with pytest.raises(ProtocolError):
        verify_last_largest(statement, proof, transcript(b"elsewhere"))


def test_batches_name_the_bad(group: Group) -> None:
    made = [prove(group, [value, 5], 5) for value in range(4)]

    def claims() -> list[ProofClaim]:
        return [ProofClaim(statement, proof, transcript()) for statement, proof in made]

    verify_batch(claims(), rng=seeded(3))
    made[2] = (made[1][0], made[2][1])
    with pytest.raises(InvalidProof) as refused:
        verify_batch(claims(), rng=seeded(3))
    assert refused.value.culprits == (2,)


def test_shapes_are_checked_before_proving(group: Group) -> None:
    commitment, opening = committed(group, [1, 2])
    statement = LastLargestStatement(commitment, 7)
    check(statement, prove_last_largest(statement, opening, transcript(), rng=seeded(1)))
    _, longer = committed(group, [1, 2, 3])
    with pytest.raises(UsageError):
        prove_last_largest(statement, longer, transcript(), rng=seeded(1))
    _, other = committed(group, [1, 2], seed=9)
    with pytest.raises(UsageError):
        prove_last_largest(statement, other, transcript(), rng=seeded(1))
    alone, _ = committed(group, [1])
    scalar, _ = Pedersen(group).commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    for wrong in (alone, scalar):
        with pytest.raises(UsageError):
            LastLargestStatement(wrong, 7)
    for maximum in (0, -1, group.order // 2 + 1):
        with pytest.raises(UsageError):
            LastLargestStatement(commitment, maximum)


@pytest.mark.soak
def test_many_values_under_one_weight() -> None:
    group = ristretto255()
    values = [*((7919 * i) % 40_000 for i in range(500)), 40_000]
    statement, proof = prove(group, values, 2**16 - 1)
    check(statement, proof)
    changed = bytearray(proof)
    changed[-1] ^= 1
    with pytest.raises(ProtocolError):
        check(statement, bytes(changed))


def test_a_weight_over_many_values_is_summed_as_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    group, count = ristretto255(), 40
    statement, proof = prove(group, [*range(count), count], 63)
    check(statement, proof)
    other = committed(group, [*range(count), count + 1])[0]
    with pytest.raises(InvalidProof):
        check(LastLargestStatement(other, 63), proof)
    shape, dense = _last_largest_shape(group, count + 1, 63), []
    for many in (32, 10**6):
        monkeypatch.setattr(shape_module, "_MANY", many)
        made = ConstraintShape(group, shape.layout.bits, shape.constraints)
        weights = group.scalars(range(1, made.row_count + 1))
        varying = group.scalars([0] * made.varying_count)
        dense.append((made.combine(weights, varying).to_bytes(), len(made._columns)))
    assert dense[0][0] == dense[1][0]
    assert [columns for _, columns in dense] == [6, 0]
