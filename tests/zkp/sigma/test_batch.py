"""Batches: accepted when all proofs hold, and exactly the bad ones named when not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from commitments.group import Group, ScalarVec
from tests.randomness import seeded
from tests.zkp.sigma.samples import Sample, context, proved, sample, samples
from wire.errors import InvalidProof, UsageError
from zkp.sigma import BatchVerifier, Form, LinearRelation, Statement, prove, verify
from zkp.sigma import batch as batch_equation
from zkp.sigma.batch import Item, Pool, RelationClaim, assemble, decode_items, weighted_sum
from zkp.sigma.composition import count
from zkp.sigma.proof import bind_statement

Entry = tuple[Statement, bytes]


def entry(found: Sample, party: bytes = b"alice", seed: int = 1) -> Entry:
    proof = prove(found.statement, found.witness, context(party), rng=seeded(seed))
    return found.statement, proof


def culprits(group: Group, entries: Sequence[Entry]) -> tuple[int, ...]:
    """The positions that a batch of these names."""
    batch = BatchVerifier(group, rng=seeded("weights"))
    for position, (statement, proof) in enumerate(entries):
        assert batch.add(statement, proof, context()) == position
    try:
        batch.verify()
    except InvalidProof as error:
        return error.culprits or (-1,)
    return ()


def all_entries(group: Group) -> list[Entry]:
    return [entry(found) for found in samples(group)]


def plus_one(group: Group, proof: bytes, at: int) -> bytes:
    scalar = group.decode_scalars(proof[at : at + 32], 1) + group.scalar(1)
    return proof[:at] + scalar.to_bytes() + proof[at + 32 :]


def test_all_kinds_of_statements_in_one_batch(group: Group) -> None:
    entries = all_entries(group)
    assert culprits(group, entries) == ()
    assert culprits(group, entries * 2) == ()


def test_each_bad_proof_is_named_alone(group: Group) -> None:
    entries = all_entries(group)
    assert culprits(group, entries) == ()
    for position, (statement, proof) in enumerate(entries):
        bad = plus_one(group, proof, len(proof) - 32)
        changed = [*entries[:position], (statement, bad), *entries[position + 1 :]]
        assert culprits(group, changed) == (position,)


def test_one_bad_proof_in_a_thousand_is_named(group: Group) -> None:
    statement, proof = entry(sample(group, "dleq"))
    entries = [(statement, proof)] * 1_000
    assert culprits(group, entries) == ()
    entries[617] = (statement, plus_one(group, proof, 64))
    assert culprits(group, entries) == (617,)


def test_proofs_for_other_contexts_are_culprits(group: Group) -> None:
    found = sample(group, "dleq")
    mine, other = entry(found), entry(found, party=b"bob")
    verify(other[0], other[1], context(b"bob"))
    assert culprits(group, [mine, mine]) == ()
    assert culprits(group, [mine, other]) == (1,)


def test_compact_proofs_are_culprits(group: Group) -> None:
    found = sample(group, "discrete_log")  # both forms have one length here
    compact = proved(found.statement, found.witness, form=Form.COMPACT)
    assert culprits(group, [entry(found), (found.statement, compact)]) == (1,)


def pool_of(group: Group, entries: Sequence[Entry]) -> tuple[Pool, list[RelationClaim]]:
    items = [
        Item(
            i,
            bind_statement(context(), statement, Form.BATCHABLE),
            statement,
            proof,
            count(statement),
        )
        for i, (statement, proof) in enumerate(entries)
    ]
    pool, claims = assemble(group, decode_items(group, items))
    return pool, [claim for placed in claims for claim in placed]


def test_errors_that_cancel_are_found_although_equal_weights_miss_them(group: Group) -> None:
    """One response is too large by d, the other too small by d: their plain sum is right."""
    found = sample(group, "discrete_log")
    good = [entry(found, seed=1), entry(found, seed=2)]
    assert culprits(group, good) == ()
    d = group.scalar(12345)
    first, second = (group.decode_scalars(proof[32:], 1) for _, proof in good)
    bad = [
        (found.statement, good[0][1][:32] + (first + d).to_bytes()),
        (found.statement, good[1][1][:32] + (second - d).to_bytes()),
    ]
    pool, claims = pool_of(group, bad)
    assert weighted_sum(pool, claims, group.scalars([7, 7])).is_identity()
    assert not weighted_sum(pool, claims, group.scalars([7, 8])).is_identity()
    assert culprits(group, bad) == (0, 1)


def test_weights_known_in_advance_let_errors_cancel(group: Group) -> None:
    """Why weights depend on the responses: with these two weights both errors vanish."""
    found = sample(group, "discrete_log")
    good = [entry(found, seed=1), entry(found, seed=2)]
    weights = group.scalars([3, 5])
    first, second = (group.decode_scalars(proof[32:], 1) for _, proof in good)
    shift = group.scalar(11)
    bad = [
        (found.statement, good[0][1][:32] + (first + shift * weights[1]).to_bytes()),
        (found.statement, good[1][1][:32] + (second - shift * weights[0]).to_bytes()),
    ]
    pool, claims = pool_of(group, good)
    assert weighted_sum(pool, claims, weights).is_identity()
    pool, claims = pool_of(group, bad)
    assert weighted_sum(pool, claims, weights).is_identity()
    assert culprits(group, good) == ()
    assert culprits(group, bad) == (0, 1)


def weights_of(
    group: Group,
    entries: Sequence[Entry],
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: str = "same",
    party: bytes = b"alice",
) -> list[int]:
    """The weights that a batch of these uses first."""
    seen: list[ScalarVec] = []

    def spy(pool: Pool, claims: Sequence[RelationClaim], weights: ScalarVec) -> object:
        seen.append(weights)
        return weighted_sum(pool, claims, weights)

    monkeypatch.setattr("zkp.sigma.batch.weighted_sum", spy)
    batch = BatchVerifier(group, rng=seeded(seed))
    for statement, proof in entries:
        batch.add(statement, proof, context(party))
    try:
        batch.verify()
    except InvalidProof:
        assert len(seen) == 1
    return seen[0].ints()


def test_weights_are_short_and_never_repeat(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    found = entry(sample(group, "dleq"))
    weights = weights_of(group, [found] * 40, monkeypatch)
    assert len(weights) == len(set(weights)) == 80
    assert all(0 < weight < 2**128 for weight in weights)
    assert max(weights) > 2**120


def test_weights_depend_on_every_part_of_the_batch(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, proof = entry(sample(group, "dleq"))
    assert isinstance(statement, LinearRelation)
    other = entry(sample(group, "dleq"), seed=2)
    pair = [(statement, proof), other]
    reference = weights_of(group, pair, monkeypatch)
    assert weights_of(group, pair, monkeypatch) == reference
    variants: list[Sequence[Entry]] = [
        [(statement, plus_one(group, proof, 64)), other],
        [(statement, proof), (statement, plus_one(group, other[1], 64))],
        [other, (statement, proof)],
        [*pair, other],
        [(statement, group.generator.to_bytes() + proof[32:]), other],
        [(LinearRelation(statement.shape, statement.points + group.generator), proof), other],
    ]
    drawn = [weights_of(group, entries, monkeypatch) for entries in variants]
    drawn.append(weights_of(group, pair, monkeypatch, seed="another"))
    drawn.append(weights_of(group, pair, monkeypatch, party=b"bob"))
    for weights in drawn:
        assert not set(weights) & set(reference)


def test_a_second_verification_draws_new_weights(group: Group) -> None:
    asked: list[int] = []

    def rng(n: int) -> bytes:
        asked.append(n)
        return seeded(len(asked))(n)

    batch = BatchVerifier(group, rng=rng)
    for _ in range(2):
        batch.add(*entry(sample(group, "dleq")), context())
    batch.verify()
    batch.verify()
    assert asked == [32, 32]
    short = BatchVerifier(group, rng=lambda _: b"")
    for _ in range(2):
        short.add(*entry(sample(group, "dleq")), context())
    with pytest.raises(UsageError):
        short.verify()


def test_elements_in_common_count_once(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten openings of one commitment have three elements, whatever the number of proofs."""
    found = sample(group, "opening")
    assert isinstance(found.statement, LinearRelation)
    sizes: list[int] = []
    original = batch_equation._Sum._merge_shared

    def spy(self: batch_equation._Sum, factors: ScalarVec) -> tuple[list[int], ScalarVec]:
        positions, merged = original(self, factors)
        sizes.append(len(positions))
        return positions, merged

    monkeypatch.setattr(batch_equation._Sum, "_merge_shared", spy)
    assert culprits(group, [entry(found)] * 10) == ()
    assert sizes == [3]
    assert culprits(group, [entry(found), entry(sample(group, "opens_to"))]) == ()
    assert sizes == [3, 4]
