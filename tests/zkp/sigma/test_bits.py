"""Bit-by-bit proofs: the same statements as the bit argument, accepted and refused alike."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Pedersen
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.bits.samples import Sample, sample, transcript
from tests.zkp.test_range import committed
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp import sigma
from zkp.bits import BitForm, Public
from zkp.range import Interval, RangeStatement, prove_range, verify_range
from zkp.sigma import bits as schnorr

GROUPS = st.sampled_from(proving_groups())
SCALAR_KINDS = ("public", "committed")


def prove(made: Sample, seed: int = 0) -> bytes:
    hidden = made.group.secret_scalars(made.bits)
    return schnorr.prove(
        made.statement(), hidden, made.secret_openings(), transcript(), rng=seeded(seed)
    )


def verify(made: Sample, proof: bytes) -> None:
    schnorr.verify(made.statement(), proof, transcript())


def has_empty_row(made: Sample) -> bool:
    """Random rows may have no coefficients; such rows say nothing about bits."""
    return not all(schnorr._coefficients(made.statement()))


@given(GROUPS, st.integers(1, 12), st.lists(st.sampled_from(SCALAR_KINDS), min_size=1, max_size=4))
@settings(max_examples=examples(25), deadline=None)
def test_both_kinds_accept_the_same_statements(group: Group, bits: int, kinds: list[str]) -> None:
    made = sample(group, bits, kinds)
    made.verify(made.prove())
    if has_empty_row(made):
        with pytest.raises(UsageError):
            prove(made)
    else:
        verify(made, prove(made))


FALSEHOODS = ("constant", "bit", "value")


@given(GROUPS, st.integers(2, 10), st.sampled_from(FALSEHOODS), st.integers(0, 2**32))
@settings(max_examples=examples(25), deadline=None)
def test_both_kinds_refuse_the_same_witnesses(
    group: Group, bits: int, falsehood: str, seed: int
) -> None:
    made = sample(group, bits, ["committed", "public", "committed"], seed)
    if has_empty_row(made):
        return
    made.verify(made.prove())
    verify(made, prove(made))
    source = random.Random(seed)
    if falsehood == "constant":
        place = source.randrange(3)
        made.constants[place] = (made.constants[place] + 1) % group.order
    elif falsehood == "value":
        made.openings[0] = replace(
            made.openings[0], values=made.openings[0].values + group.scalar(1)
        )
    else:
        made.bits[source.randrange(bits)] = 2
    with pytest.raises(UsageError):
        made.prove()
    with pytest.raises(UsageError):
        prove(made)


@lru_cache
def small(group: Group) -> tuple[Sample, bytes]:
    made = sample(group, 3, ["committed", "public"], seed=3)
    assert not has_empty_row(made)
    proof = prove(made)
    verify(made, proof)
    return made, proof


def test_every_byte_counts(group: Group) -> None:
    made, proof = small(group)
    assert len(proof) == 32 * (3 + 1 + 9 + 2)
    for at in range(len(proof)):
        changed = bytearray(proof)
        changed[at] ^= 1 << at % 8
        with pytest.raises(ProtocolError) as refused:
            verify(made, bytes(changed))
        if isinstance(refused.value, MalformedMessage):
            assert (refused.value.field, refused.value.offset) == ("proof", at - at % 32)
        else:
            assert isinstance(refused.value, InvalidProof)
            assert refused.value.check == "02-N6"


@given(GROUPS, st.data())
@settings(max_examples=examples(40), deadline=None)
def test_any_change_is_refused(group: Group, data: st.DataObject) -> None:
    made, proof = small(group)
    at = data.draw(st.integers(0, len(proof) - 1))
    end = data.draw(st.integers(at, len(proof)))
    changed = proof[:at] + data.draw(st.binary(max_size=64)) + proof[end:]
    if changed == proof:
        return
    with pytest.raises(ProtocolError):
        verify(made, changed)


def test_scalars_and_points_are_canonical(group: Group) -> None:
    made, proof = small(group)
    for at in range(0, len(proof), 32):
        number = int.from_bytes(proof[at : at + 32], "little")
        plus = (number + group.order).to_bytes(32, "little")
        for encoding in (plus, b"\xff" * 32):
            with pytest.raises(MalformedMessage) as refused:
                verify(made, proof[:at] + encoding + proof[at + 32 :])
            assert refused.value.offset == at
    for at in range(0, 3 * 32, 32):
        with pytest.raises(MalformedMessage) as refused:
            verify(made, proof[:at] + bytes(32) + proof[at + 32 :])
        assert refused.value.offset == at


def test_the_statement_and_the_context_are_bound(group: Group) -> None:
    made, proof = small(group)
    with pytest.raises(InvalidProof):
        schnorr.verify(made.statement(), proof, transcript(b"another party"))
    statement = made.statement()
    one = group.scalars([1, 0])
    other, _ = Pedersen(group).commit_fresh(group.secret_scalars([1]), rng=seeded(9))
    for changes in ({"constants": statement.constants + one}, {"commitments": other.points}):
        with pytest.raises(InvalidProof):
            schnorr.verify(replace(statement, **changes), proof, transcript())
    longer = sample(group, 4, ["committed", "public"], seed=3)
    with pytest.raises(MalformedMessage):
        schnorr.verify(longer.statement(), proof, transcript())


def test_a_commitment_that_hides_no_bit_is_not_simulated_twice(group: Group) -> None:
    """With the value 2 in a bit's commitment neither side of its OR proof is known."""
    key = Pedersen(group)
    for value, fits in ((0, True), (1, True), (2, False), (group.order - 1, False)):
        hidden, blindings = group.secret_scalars([value]), group.random_scalars(1, seeded(1))
        point = key.commit(hidden, blindings).points
        zero, one = schnorr._bit_shapes(group)
        bases = group.points([key.value_base, key.blinding_base])
        sides = (
            sigma.LinearRelation(zero, bases[1:].concat(point)),
            sigma.LinearRelation(one, bases.concat(point)),
        )
        statement, secret = sigma.AnyOf(1, sides), sigma.witness(group, blindings[0])
        for parts in ((secret, None), (None, secret)):
            known = sigma.ChildWitnesses(*parts)
            if fits and parts[value] is not None:
                proof = sigma.prove(statement, known, transcript(), rng=seeded(2))
                sigma.verify(statement, proof, transcript())
                continue
            with pytest.raises(UsageError):
                sigma.prove(statement, known, transcript(), rng=seeded(2))


def test_vector_commitments_are_for_the_other_argument(group: Group) -> None:
    made = sample(group, 3, ["2"])
    made.verify(made.prove())
    with pytest.raises(UsageError):
        prove(made)
    with pytest.raises(UsageError):
        verify(made, b"")


def test_rows_that_say_nothing_are_refused(group: Group) -> None:
    made = sample(group, 3, ["public"], seed=3)
    verify(made, prove(made))
    (constraint,) = made.constraints
    assert isinstance(constraint, Public)
    fixed = constraint.row.fixed
    opposite = tuple((at, -factor) for at, factor in fixed)
    made.constraints = [Public(BitForm(fixed + opposite))]
    made.constants, made.varying = [0], []
    made.verify(made.prove())
    with pytest.raises(UsageError):
        prove(made)


@pytest.mark.parametrize("value", [0, 12, -1, 13, 2**252])
def test_ranges_are_judged_alike(group: Group, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    commitment, opening = committed(group, [value % group.order])
    statement = RangeStatement(commitment, (Interval(0, 12),))

    def run() -> bytes:
        return prove_range(statement, opening, transcript(), rng=seeded(2), proof="schnorr")

    if 0 <= value <= 12:
        proof = run()
        verify_range(statement, proof, transcript(), kind="schnorr")
        with pytest.raises(ProtocolError):
            verify_range(statement, proof, transcript())
        return
    with pytest.raises(UsageError):
        run()
    bits = group.secret_scalars(Interval(0, 12).bits(12))
    monkeypatch.setattr("zkp.range.secret_bits", lambda *_: bits)
    with pytest.raises(UsageError):
        run()


def test_repeated_generators_give_other_nonces_to_other_statements(group: Group) -> None:
    first, second = (sample(group, 3, ["committed", "public"], seed=seed) for seed in (3, 4))
    assert prove(first)[:96] != prove(second)[:96]
    assert prove(first) == prove(first)
