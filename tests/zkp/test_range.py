"""Range proofs: what they accept, and everything that must not pass for a value in range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Commitment, Opening, Pedersen, VectorPedersen, decode_opening
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp.range import Interval, RangeStatement, prove_range, verify_range
from zkp.transcript import Transcript

GROUPS = st.sampled_from(proving_groups())


def transcript(context: bytes = b"context") -> Transcript:
    fresh = Transcript(b"tests of range proofs")
    fresh.absorb(b"context", context)
    return fresh


def committed(group: Group, values: Sequence[int], seed: int = 1) -> tuple[Commitment, Opening]:
    return Pedersen(group).commit_fresh(group.secret_scalars(values), rng=seeded(seed))


def prove(
    group: Group, values: Sequence[int], intervals: Sequence[Interval]
) -> tuple[RangeStatement, bytes]:
    commitment, opening = committed(group, values)
    statement = RangeStatement(commitment, tuple(intervals))
    return statement, prove_range(statement, opening, transcript(), rng=seeded(2))


def check(statement: RangeStatement, proof: bytes) -> None:
    verify_range(statement, proof, transcript())


@given(
    GROUPS,
    st.lists(st.tuples(st.integers(-999, 999), st.integers(1, 999)), min_size=1, max_size=4),
    st.data(),
)
@settings(max_examples=examples(25), deadline=None)
def test_values_inside_are_proved(
    group: Group, shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    intervals = [Interval(low, low + span) for low, span in shapes]
    values = [data.draw(st.integers(each.low, each.high)) for each in intervals]
    check(*prove(group, values, intervals))


@pytest.mark.parametrize("maximum", [1, 2, 3, 4, 5, 7, 8, 100, 2**16 - 1, 2**16, 2**64 - 1])
def test_both_ends_are_inside_and_nothing_beyond(group: Group, maximum: int) -> None:
    for value in (0, maximum):
        check(*prove(group, [value], [Interval(0, maximum)]))
    for value in (maximum + 1, -1, group.order - 1):
        commitment, opening = committed(group, [value])
        statement = RangeStatement.up_to(commitment, maximum)
        with pytest.raises(UsageError):
            prove_range(statement, opening, transcript(), rng=seeded(2))


@pytest.mark.parametrize("value", [8, 9, 15, -1, 2**252, 10**70])
def test_a_prover_that_skips_its_own_check_fails(
    group: Group, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bits of every other value of the interval in place of those of this one."""
    check(*prove(group, [7], [Interval(0, 7)]))
    monkeypatch.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
    monkeypatch.setattr("zkp.bits.prover.require_valid", lambda *_: None)
    commitment, opening = committed(group, [value % group.order])
    statement = RangeStatement.up_to(commitment, 7)
    for claimed in range(8):
        bits = group.secret_scalars([claimed >> i & 1 for i in range(3)])
        monkeypatch.setattr("zkp.range.secret_bits", lambda *_, found=bits: found)
        with pytest.raises(InvalidProof):
            check(statement, prove_range(statement, opening, transcript(), rng=seeded(3)))


def test_a_value_plus_the_order_is_no_value(group: Group) -> None:
    check(*prove(group, [5], [Interval(0, 7)]))
    with pytest.raises(UsageError):
        committed(group, [5 + group.order])
    _, opening = committed(group, [5])
    encoded = bytearray(opening.reveal().to_bytes())
    decode_opening(Pedersen(group), bytes(encoded), 1)
    encoded[:32] = (5 + group.order).to_bytes(32, "little")
    with pytest.raises(MalformedMessage):
        decode_opening(Pedersen(group), bytes(encoded), 1)


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16, 32])
def test_a_proof_for_some_bits_is_none_for_twice_as_many(group: Group, bits: int) -> None:
    statement, proof = prove(group, [1], [Interval(0, 2**bits - 1)])
    check(statement, proof)
    wider = RangeStatement.up_to(statement.commitment, 2 ** (2 * bits) - 1)
    with pytest.raises(MalformedMessage):
        check(wider, proof)
    other, other_proof = prove(group, [1], [Interval(0, 2 ** (2 * bits) - 1)])
    check(other, other_proof)
    with pytest.raises(MalformedMessage):
        check(RangeStatement.up_to(other.commitment, 2**bits - 1), other_proof)


@pytest.mark.parametrize("interval", [(0, 12), (0, 14), (1, 14), (-1, 12), (0, 15)])
def test_a_proof_for_one_interval_is_none_for_another(
    group: Group, interval: tuple[int, int]
) -> None:
    statement, proof = prove(group, [5], [Interval(0, 13)])
    check(statement, proof)
    with pytest.raises(InvalidProof):
        check(replace(statement, intervals=(Interval(*interval),)), proof)


def test_every_commitment_is_covered(group: Group) -> None:
    intervals = [Interval(0, 7)] * 3
    statement, proof = prove(group, [1, 2, 3], intervals)
    check(statement, proof)
    points = statement.commitment.points
    more = replace(statement.commitment, points=points.concat(points[:1]))
    with pytest.raises(UsageError):
        RangeStatement(more, tuple(intervals))
    with pytest.raises(UsageError):
        RangeStatement(statement.commitment, tuple(intervals[:2]))
    with pytest.raises(ProtocolError):
        check(RangeStatement(more, (Interval(0, 7),) * 4), proof)
    fewer = replace(statement.commitment, points=points[:2])
    with pytest.raises(ProtocolError):
        check(RangeStatement(fewer, (Interval(0, 7),) * 2), proof)


def test_the_last_commitment_counts(group: Group) -> None:
    """Verifiers that zip commitments with something shorter lose the last one."""
    intervals = [Interval(0, 7)] * 3
    statement, proof = prove(group, [1, 2, 3], intervals)
    check(statement, proof)
    outside, _ = committed(group, [8], seed=5)
    points = statement.commitment.points[:2].concat(outside.points)
    changed = replace(statement, commitment=replace(statement.commitment, points=points))
    with pytest.raises(InvalidProof):
        check(changed, proof)


def test_commitments_keep_their_order(group: Group) -> None:
    statement, proof = prove(group, [1, 6], [Interval(0, 7), Interval(0, 7)])
    check(statement, proof)
    points = statement.commitment.points.gather([1, 0])
    swapped = replace(statement, commitment=replace(statement.commitment, points=points))
    with pytest.raises(InvalidProof):
        check(swapped, proof)


def test_a_copied_proof_fails_in_another_context(group: Group) -> None:
    statement, proof = prove(group, [3], [Interval(0, 7)])
    verify_range(statement, proof, transcript())
    with pytest.raises(InvalidProof):
        verify_range(statement, proof, transcript(b"another party"))


def test_shapes_are_checked_before_proving(group: Group) -> None:
    commitment, opening = committed(group, [1, 2])
    statement = RangeStatement.up_to(commitment, 7)
    check(statement, prove_range(statement, opening, transcript(), rng=seeded(1)))
    _, single = committed(group, [1])
    with pytest.raises(UsageError):
        prove_range(statement, single, transcript(), rng=seeded(1))
    vector, _ = VectorPedersen(group, 2).commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    with pytest.raises(UsageError):
        RangeStatement.up_to(vector, 7)
    with pytest.raises(UsageError):
        RangeStatement.up_to(commitment, group.order)


def test_the_opening_must_fit(group: Group) -> None:
    commitment, opening = committed(group, [3])
    statement = RangeStatement.up_to(commitment, 7)
    check(statement, prove_range(statement, opening, transcript(), rng=seeded(1)))
    for other in ([3], [4]):
        _, wrong = committed(group, other, seed=9)
        with pytest.raises(UsageError):
            prove_range(statement, wrong, transcript(), rng=seeded(1))
