"""The library and a verifier written from the text alone give the same answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments.group import Group, Point
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.zkp import gaussian_noise_vectors, weighted_noise_vectors
from tests.zkp.bits.samples import KINDS, Sample, sample, transcript
from tests.zkp.independent.bit_argument import Statement, verify
from tests.zkp.independent.range_statements import (
    last_largest_statement,
    range_statement,
    vector_statement,
)
from tests.zkp.independent.reading import Answer, answer, independent_answer, read
from tests.zkp.proof_vectors import published
from tests.zkp.proof_vectors import transcript as vector_transcript
from wire.errors import InvalidProof
from zkp.bits import (
    BitForm,
    CommittedValue,
    CommittedVector,
    Constraint,
    Public,
    commit_bits,
    prove_committed,
)
from zkp.bits import verify as library_verify

GROUPS = st.sampled_from(proving_groups())
MIXTURES = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)
Record = dict[str, Any]


def interval(text: str) -> tuple[int, int]:
    low, high = text.split("..")
    return int(low), int(high)


def points(group: Group, text: str) -> list[Point]:
    data = bytes.fromhex(text)
    return [group.decode_point(data[at : at + 32]) for at in range(0, len(data), 32)]


def range_of(group: Group, record: Record) -> Statement:
    intervals = [interval(each) for each in record["intervals"].split()]
    return range_statement(points(group, record["commitments"]), intervals)


def vector_of(group: Group, record: Record) -> Statement:
    (commitment,) = points(group, record["commitment"])
    return vector_statement(commitment, int(record["dimension"]), interval(record["interval"]))


def last_largest_of(group: Group, record: Record) -> Statement:
    (commitment,) = points(group, record["commitment"])
    return last_largest_statement(commitment, int(record["dimension"]), int(record["maximum"]))


def expected(record: Record) -> Answer:
    if record["error"] is None:
        return None
    at: int | None = record.get("offset")
    return str(record["error"]), str(record.get("check", record.get("field"))), at


@pytest.mark.parametrize(
    ("name", "statement_of"),
    [("range", range_of), ("vector_range", vector_of), ("last_largest", last_largest_of)],
)
def test_every_record_gets_the_published_answer(
    group: Group, name: str, statement_of: Callable[[Group, Record], Statement]
) -> None:
    records = published(name)["proofs"]
    assert {record["error"] for record in records} == {None, "InvalidProof", "MalformedMessage"}
    for record in records:
        statement, proof = statement_of(group, record), bytes.fromhex(record["proof"])
        onto = vector_transcript(bytes.fromhex(record["context"]))

        def check(statement: Any = statement, proof: Any = proof, onto: Any = onto) -> None:
            verify(group, statement, proof, onto)

        assert answer(check) == expected(record), record["name"]


@pytest.mark.parametrize(
    ("name", "source"),
    [("gaussian_noise", gaussian_noise_vectors), ("weighted_noise", weighted_noise_vectors)],
)
def test_every_noise_record_gets_the_published_answer(group: Group, name: str, source: Any) -> None:
    """The library reads the record and writes it in bits; what follows is independent."""
    records = published(name)["proofs"]
    assert {record["error"] for record in records} == {None, "InvalidProof", "MalformedMessage"}
    for record in records:
        statement, proof = source.statement_of(group, record), bytes.fromhex(record["proof"])
        onto = vector_transcript(bytes.fromhex(record["context"]))
        statement.bind(onto)
        early = getattr(statement, "committed", None)
        given = independent_answer(statement.as_bits(), proof, onto, published=early)
        assert given == expected(record), record["name"]


def answers(made: Sample, proof: bytes, context: bytes = b"context") -> tuple[Answer, Answer]:
    return (
        answer(lambda: made.verify(proof, transcript(context))),
        independent_answer(made.statement(), proof, transcript(context)),
    )


def more_constant(made: Sample, source: random.Random) -> None:
    made.constants[source.randrange(len(made.constants))] = source.randrange(made.group.order)


def other_varying(made: Sample, source: random.Random) -> None:
    if made.varying:
        made.varying[source.randrange(len(made.varying))] = source.randrange(made.group.order)


def other_order(made: Sample, source: random.Random) -> None:
    """Vector commitments move with their constraints, everything else stays where it is."""
    vectors = iter(made.vectors)
    pairs = [
        (c, next(vectors) if isinstance(c, CommittedVector) else None) for c in made.constraints
    ]
    source.shuffle(pairs)
    made.constraints = [constraint for constraint, _ in pairs]
    made.vectors = [vector for _, vector in pairs if vector is not None]


def another_bit(made: Sample, _: random.Random) -> None:
    made.bits.append(0)


def an_empty_row(made: Sample, _: random.Random) -> None:
    made.constraints.append(Public(BitForm(())))
    made.constants.append(0)


def another_entry(made: Sample, source: random.Random) -> None:
    place = source.randrange(len(made.constraints))
    entry = BitForm(((source.randrange(len(made.bits)), source.randrange(made.group.order)),))
    made.constraints[place] = _longer(made.constraints[place], entry)


def _longer(constraint: Constraint, entry: BitForm) -> Constraint:
    if isinstance(constraint, CommittedVector):
        return CommittedVector((*constraint.rows[:-1], constraint.rows[-1] + entry))
    return replace(constraint, row=constraint.row + entry)


def other_kind(made: Sample, source: random.Random) -> None:
    """What was claimed about a commitment is claimed to be zero."""
    places = [i for i, c in enumerate(made.constraints) if isinstance(c, CommittedValue)]
    if places:
        place = source.choice(places)
        found = made.constraints[place]
        assert isinstance(found, CommittedValue)
        at = places.index(place)
        made.constraints[place] = Public(found.row)
        del made.commitments[at]


def shifted(made: Sample, source: random.Random) -> None:
    for commitments in (made.commitments, made.vectors):
        if commitments:
            place = source.randrange(len(commitments))
            old = commitments[place]
            commitments[place] = replace(old, points=old.points + made.group.generator)


STATEMENT_CHANGES = [
    more_constant, other_varying, other_order, another_bit, an_empty_row, another_entry,
    other_kind, shifted,
]  # fmt: skip


@given(
    GROUPS,
    st.integers(1, 10),
    MIXTURES,
    st.integers(0, 2**32),
    st.lists(st.sampled_from(STATEMENT_CHANGES), min_size=1, max_size=2),
)
@settings(max_examples=examples(60), deadline=None)
def test_both_judge_changed_statements_alike(
    group: Group,
    bit_count: int,
    kinds: list[str],
    seed: int,
    changes: list[Callable[[Sample, random.Random], None]],
) -> None:
    made, source = sample(group, bit_count, kinds, seed), random.Random(seed)
    proof, before = made.prove(seed=seed), read(made.statement())
    assert answers(made, proof) == (None, None)
    for change in changes:
        change(made, source)
    library, independent = answers(made, proof)
    assert library == independent
    assert (library is None) == (read(made.statement()) == before)


@lru_cache(maxsize=16)
def proved(group: Group, bit_count: int, kinds: tuple[str, ...]) -> tuple[Sample, bytes]:
    made = sample(group, bit_count, kinds)
    proof = made.prove()
    assert answers(made, proof) == (None, None)
    return made, proof


@given(
    GROUPS,
    st.sampled_from([1, 2, 6, 12]),
    st.sampled_from([("committed",), ("1", "public"), ("2", "3", "2")]),
    st.data(),
)
@settings(max_examples=examples(120), deadline=None)
def test_both_judge_changed_proofs_alike(
    group: Group, bit_count: int, kinds: tuple[str, ...], data: st.DataObject
) -> None:
    made, proof = proved(group, bit_count, kinds)
    pieces = [proof[at : at + 32] for at in range(0, len(proof), 32)]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(pieces) - 1))
        flipped = bytearray(pieces[place])
        flipped[data.draw(st.integers(0, 31))] ^= data.draw(st.integers(1, 255))
        other = st.sampled_from([*pieces, bytes(flipped), bytes(32), bytes(31) + b"\xff", b""])
        pieces[place] = data.draw(other) or pieces[place][:-1]
        if len(pieces[place]) < 32:
            break
    changed = b"".join(pieces)
    library, independent = answers(made, changed)
    assert library == independent
    assert (library is None) == (changed == proof)
    assert answers(made, changed, b"another context")[0] is not None


@pytest.mark.parametrize("bit_count", [1, 4, 15])
def test_both_demand_the_published_bits(group: Group, bit_count: int) -> None:
    made = sample(group, bit_count, ["committed", "2"])
    layout, bits = made.shape().layout, group.secret_scalars(made.bits)
    early = commit_bits(group, layout, bits, transcript(), rng=bytes)
    statement, openings = made.statement(), made.secret_openings()
    proof = prove_committed(statement, early, openings, transcript(), rng=bytes)

    def library(point: Point) -> None:
        library_verify(statement, proof, transcript(), committed=point)

    def independent(point: Point) -> None:
        verify(group, read(statement), proof, transcript(), published=point)

    for check in (library, independent):
        check(early.point)
        with pytest.raises(InvalidProof) as refused:
            check(-early.point)
        assert refused.value.check == "06-A12"
