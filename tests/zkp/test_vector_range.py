"""Bounded vectors: every coordinate counts, and so does the dimension."""

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
from zkp.range import Interval, VectorRangeStatement, prove_vector_range, verify_vector_range

GROUPS = st.sampled_from(proving_groups())


def committed(group: Group, values: Sequence[int]) -> tuple[Commitment, Opening]:
    key = VectorPedersen(group, len(values))
    return key.commit_fresh(group.secret_scalars(values), rng=seeded(1))


def prove(
    group: Group, values: Sequence[int], interval: Interval
) -> tuple[VectorRangeStatement, bytes]:
    commitment, opening = committed(group, values)
    statement = VectorRangeStatement(commitment, interval)
    return statement, prove_vector_range(statement, opening, transcript(), rng=seeded(2))


def check(statement: VectorRangeStatement, proof: bytes) -> None:
    verify_vector_range(statement, proof, transcript())


@given(GROUPS, st.integers(1, 6), st.integers(-50, 50), st.integers(1, 40), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_vectors_inside_are_proved(
    group: Group, dimension: int, low: int, span: int, data: st.DataObject
) -> None:
    interval = Interval(low, low + span)
    inside = st.integers(low, low + span)
    values = data.draw(st.lists(inside, min_size=dimension, max_size=dimension))
    check(*prove(group, values, interval))


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [-1, 14, 2**252])
def test_one_coordinate_outside_is_refused(
    group: Group, place: int, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [0, 13, 5, 6]
    check(*prove(group, values, Interval(0, 13)))
    honest_bits = group.secret_scalars(
        [bit for each in values for bit in Interval(0, 13).bits(each)]
    )
    values[place] = value
    commitment, opening = committed(group, values)
    statement = VectorRangeStatement(commitment, Interval(0, 13))
    with pytest.raises(UsageError):
        prove_vector_range(statement, opening, transcript(), rng=seeded(2))
    monkeypatch.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
    monkeypatch.setattr("zkp.bits.prover.require_valid", lambda *_: None)
    monkeypatch.setattr("zkp.range.secret_bits", lambda *_: honest_bits)
    forged = prove_vector_range(statement, opening, transcript(), rng=seeded(2))
    with pytest.raises(InvalidProof):
        check(statement, forged)


def test_a_commitment_of_another_dimension_does_not_pass(group: Group) -> None:
    statement, proof = prove(group, [1, 2, 3], Interval(0, 7))
    check(statement, proof)
    points = statement.commitment.points
    for dimension in (2, 4):
        other = Commitment(VectorPedersen(group, dimension), points)
        with pytest.raises(ProtocolError):
            check(VectorRangeStatement(other, Interval(0, 7)), proof)


@pytest.mark.parametrize("interval", [(0, 6), (0, 5), (1, 7), (-1, 6), (0, 8)])
def test_the_interval_is_bound(group: Group, interval: tuple[int, int]) -> None:
    statement, proof = prove(group, [1, 2, 3], Interval(0, 7))
    check(statement, proof)
    changed = VectorRangeStatement(statement.commitment, Interval(*interval))
    with pytest.raises(ProtocolError):
        check(changed, proof)


def test_shapes_are_checked_before_proving(group: Group) -> None:
    commitment, opening = committed(group, [1, 2])
    statement = VectorRangeStatement(commitment, Interval(0, 7))
    check(statement, prove_vector_range(statement, opening, transcript(), rng=seeded(1)))
    _, longer = committed(group, [1, 2, 3])
    with pytest.raises(UsageError):
        prove_vector_range(statement, longer, transcript(), rng=seeded(1))
    scalar, _ = Pedersen(group).commit_fresh(group.secret_scalars([1]), rng=seeded(1))
    with pytest.raises(UsageError):
        VectorRangeStatement(scalar, Interval(0, 7))
    with pytest.raises(UsageError):
        VectorRangeStatement(commitment, Interval(0, group.order))


@pytest.mark.parametrize(
    ("dimension", "maximum"),
    [(100, 255), pytest.param(1000, 2**16 - 1, marks=pytest.mark.soak)],
)
def test_rows(dimension: int, maximum: int) -> None:
    group = ristretto255()
    values = [(7919 * i) % (maximum + 1) for i in range(dimension)]
    statement, proof = prove(group, values, Interval(0, maximum))
    check(statement, proof)
    changed = bytearray(proof)
    changed[-1] ^= 1
    with pytest.raises(ProtocolError):
        check(statement, bytes(changed))
