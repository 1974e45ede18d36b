"""Proofs about long vectors: honest ones hold, and every change of a word of them is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from commitments.group import Group, SecretScalarVec
from tests.group.backends import proving_groups
from tests.randomness import seeded
from tests.zkp.rows.worlds import (
    Proved,
    Vectors,
    decoded_tests,
    lengths,
    masks,
    transcript,
    weighted,
)
from wire.errors import ComputationFault, InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp import ProofClaim, verify_batch
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.length_prover import prove_lengths
from zkp.rows.mask_prover import prove_masks
from zkp.rows.masking import SignedPermutation
from zkp.rows.product_tests import TEST_SIZE, check_tests, encode_tests, scalars_of_tests
from zkp.rows.shape import TESTS, RowShape
from zkp.transcript import NonceSource

GROUP = proving_groups()[-1]
SMALL = 70
KINDS: dict[str, Callable[[Group, Vectors], Proved]] = {
    "lengths": lengths,
    "weighted": weighted,
    "masks": masks,
}


@pytest.fixture(scope="module", params=KINDS, ids=str)
def proved(request: pytest.FixtureRequest) -> Proved:
    return KINDS[request.param](GROUP, vectors_of(request.param, SMALL))


def vectors_of(kind: str, dimension: int) -> Vectors:
    return (Vectors.weighted if kind == "weighted" else Vectors.random)(dimension)


@pytest.fixture
def group() -> Group:
    return GROUP


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 31, 32, 33, 300, 1025])
def test_proofs_hold_for_all_shapes(group: Group, dimension: int) -> None:
    for kind, make in KINDS.items():
        found = make(group, vectors_of(kind, dimension))
        found.verify()
        assert len(found.proof) == found.statement.proof_size


def test_sizes_are_those_of_the_specification(proved: Proved) -> None:
    """14, E6 and E9: 32 bytes for each point and scalar; ranges come on top."""
    shape, count = proved.statement.shape, len(proved.statement.sizes)
    v, s = shape.bits, shape.column_bits
    if count == 6:
        more = 7 if proved.statement.weight else 0
        assert sum(proved.statement.sizes[:5]) == 32 * (3 + 8 * v + 7 + 22 + 2 * s + 3 + more)
    else:
        t = len(proved.statement.points)
        assert proved.statement.proof_size == 32 * (1 + 2 * v + 4 + t + 2 * s + 3)


@pytest.mark.slow
def test_every_word_of_a_proof_counts(proved: Proved) -> None:
    proved.verify()
    for at in range(0, len(proved.proof), 32):
        for bit in (1, 0x80):
            changed = bytearray(proved.proof)
            changed[at + (31 if bit == 1 else 0)] ^= bit
            with pytest.raises(ProtocolError):
                proved.verify(bytes(changed))
    for other in (proved.proof[:-1], proved.proof + b"\0", b""):
        with pytest.raises(MalformedMessage):
            proved.verify(other)


def test_a_proof_is_of_one_statement(proved: Proved) -> None:
    """What the published records leave as it is: they change all else of a statement."""
    statement, drawn = proved.statement, proved.statement.tests
    first, *others = drawn.rows
    changes: list[dict[str, Any]] = [
        {"pads": statement.pads[::-1]},
        {"tests": dataclasses.replace(drawn, rows=(flipped(first), *others))},
        {"tests": dataclasses.replace(drawn, columns=flipped(drawn.columns))},
    ]
    if len(statement.sizes) != 6:
        permutation = statement.permutation
        changes += [
            {"permutation": SignedPermutation(permutation.places, flipped(permutation.signs))},
            {"edges": statement.edges[::-1]},
            {"own": statement.edges[:1]},
            {"carries": statement.noise},
        ]
    proved.verify()
    for change in changes:
        with pytest.raises(InvalidProof):
            proved.verify(**change)


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


@pytest.mark.parametrize("name", ["squared_norm", "noise_square", "spike"])
def test_vectors_beyond_a_bound_are_not_proved(group: Group, name: str) -> None:
    vectors = Vectors.random(40)
    bounds = vectors.bounds
    lengths(group, vectors, bounds).verify()
    less = dataclasses.replace(bounds, **{name: getattr(bounds, name) - 1})
    with pytest.raises(UsageError, match="outside"):
        lengths(group, vectors, less)


@pytest.mark.parametrize("dimension", [2, 40, 70])
def test_a_length_beyond_its_weight_is_not_proved(group: Group, dimension: int) -> None:
    """Nor a weight beyond the largest one."""
    vectors = Vectors.weighted(dimension)
    weight = vectors.weight
    lengths(group, vectors, weight=weight).verify()
    for name in ("most", "slack") if weight.slack else ("most",):
        less = dataclasses.replace(weight, **{name: getattr(weight, name) - 1})
        with pytest.raises(UsageError, match="outside"):
            lengths(group, vectors, weight=less)


def test_a_weight_is_worth_what_its_unit_says(group: Group) -> None:
    """Others of length 5 at a weight of 1, with 10/2 for each unit and no slack."""
    inputs = np.zeros(40, np.int64)
    inputs[[3, 17, -1]] = 3, -4, 1
    vectors = Vectors(inputs, np.zeros(40, np.int64))
    weight = WeightBound(most=1, numerator=10, denominator=2, slack=0)
    lengths(group, vectors, weight=weight).verify()
    for less in ({"numerator": 9}, {"denominator": 3}):
        with pytest.raises(UsageError, match="outside"):
            lengths(group, vectors, weight=dataclasses.replace(weight, **less))
    inputs[-1] = 0
    with pytest.raises(UsageError, match="outside"):
        lengths(group, vectors, weight=weight)
    inputs[[3, 17]] = 0
    lengths(group, vectors, weight=weight).verify()


def test_words_that_are_something_else_are_not_proved(proved: Proved) -> None:
    """A prover finds out by itself: no false proof leaves it."""
    statement = proved.statement
    if len(statement.sizes) == 6:
        answers = encode_tests([*decoded_tests(statement.answers)[:-1], 5])
        changed = dataclasses.replace(statement, answers=answers)
        prove: Any = prove_lengths
    else:
        words = statement.words.copy()
        words[3] += np.uint64(1)
        changed, prove = dataclasses.replace(statement, words=words), prove_masks
    prove(statement, proved.hidden, transcript(), rng=seeded("again"))
    with pytest.raises((UsageError, ComputationFault)):
        prove(changed, proved.hidden, transcript(), rng=seeded("again"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_blinding_that_is_not_as_it_was_drawn_is_noticed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in its turn. With any other the proof holds as well, and may show what it hides."""
    proved = KINDS[kind](GROUP, vectors_of(kind, SMALL))
    prove = prove_masks if kind == "masks" else prove_lengths
    draw, seen, wrong = NonceSource.draw, list[NonceSource](), list[int]()

    def faulty(source: NonceSource) -> SecretScalarVec:
        found = draw(source)
        if any(source is each for each in seen):
            return found
        seen.append(source)
        one = GROUP.secret_scalars([1] * len(found))
        return found + one if len(seen) in wrong else found

    monkeypatch.setattr(NonceSource, "draw", faulty)
    prove(proved.statement, proved.hidden, transcript(), rng=seeded("again"))
    shape = proved.statement.shape
    assert len(seen) > shape.bits + shape.column_bits
    for number in range(1, len(seen) + 1):
        seen.clear()
        wrong[:] = [number]
        with pytest.raises(ComputationFault):
            prove(proved.statement, proved.hidden, transcript(), rng=seeded("again"))


def test_a_batch_names_the_bad_ones(group: Group) -> None:
    found = [lengths(group, Vectors.random(SMALL, seed)) for seed in (1, 2)]
    found += [masks(group, Vectors.random(SMALL, 3))]
    claims = [ProofClaim(each.statement, each.proof, transcript()) for each in found]
    verify_batch(claims, rng=seeded("weights"))
    bad = bytearray(found[1].proof)
    bad[-1] ^= 1
    worse = dataclasses.replace(found[2].statement, words=found[2].statement.words[::-1].copy())
    claims = [
        ProofClaim(found[0].statement, found[0].proof, transcript()),
        ProofClaim(found[1].statement, bytes(bad), transcript()),
        ProofClaim(worse, found[2].proof, transcript()),
    ]
    with pytest.raises(InvalidProof) as caught:
        verify_batch(claims, rng=seeded("weights"))
    assert caught.value.culprits == (1, 2)


def test_answers_are_written_in_one_way() -> None:
    answers = (2**113 - 1, -(2**113) + 1, 0, *range(TESTS - 3))
    data = encode_tests(answers)
    assert len(data) == TESTS * TEST_SIZE == 5400
    assert decoded_tests(data) == list(answers)
    check_tests(data)
    for bad in (
        data[:-1],
        data + bytes(TEST_SIZE),
        encode_tests((2**113, *answers[1:])),
        encode_tests((-(2**113), *answers[1:])),
    ):
        with pytest.raises(MalformedMessage):
            check_tests(bad)
    assert scalars_of_tests(GROUP, data) == GROUP.scalars(list(answers))


@pytest.mark.parametrize("dimension", [0, 1, (1 << 20) + 1, 5.0])
def test_long_vectors_have_limits(dimension: Any) -> None:
    assert RowShape(1 << 20).entries == 1 << 20
    with pytest.raises(UsageError):
        RowShape(dimension)


def test_bounds_have_limits() -> None:
    assert LengthBounds(1, 1, 1).intervals[2].high == 1
    for wrong in ((0, 1, 1), (1, 1 << 62, 1), (1, 1, 1 << 31), (1, 1, 0)):
        with pytest.raises(UsageError):
            LengthBounds(*wrong)
    most = WeightBound((1 << 31) - 1, (1 << 32) - 1, (1 << 32) - 1, (1 << 64) - 1)
    # The left side of what is proved, and the square of any short vector beside it.
    beside = (most.numerator * most.most + most.slack) ** 2 + most.denominator**2 * (1 << 62)
    assert most.intervals[1].high < beside < GROUP.order // 2
    for terms in ((0, 1, 1, 0), (1, 0, 1, 0), (1, 1, 0, 0), (1, 1, 1, -1), (1 << 31, 1, 1, 0)):
        with pytest.raises(UsageError):
            WeightBound(*terms)
