"""The library and `specs/verifier`, which is written from the text, give the same answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.verifier.test_parts import part
from tests.zkp import second_verifier
from tests.zkp.bits.samples import KINDS, Sample, sample, transcript
from tests.zkp.proof_vectors import PROTOCOL, published
from tests.zkp.second_verifier import Answer, Record, answer, read, script_of, second_answer
from tests.zkp.test_proof_vectors import FILES
from zkp.bits import (
    BitForm,
    CommittedValue,
    CommittedVector,
    Constraint,
    Public,
    commit_bits,
    prove_committed,
    verify,
)

GROUPS = st.sampled_from(proving_groups())
MIXTURES = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)


def bind_table(script: Any, record: Record) -> None:
    """07-R8."""
    coins = b"".join(int(each).to_bytes(8, "little") for each in record["coins"].split())
    script.bind(b"gaussian-noise/table", second_verifier.law_of(record["table"]).hash)
    script.bind(b"gaussian-noise/coins", coins)


def bind_weights(script: Any, record: Record) -> None:
    """07-R13."""
    script.bind(b"weighted-noise/law", second_verifier.law_of(record["law"]).hash)
    script.bind(b"weighted-noise/coins", bytes(map(int, record["coins"])))


def bind_nothing(_script: Any, _record: Record) -> None:
    """What the bits do not say by themselves: nothing."""


READ: dict[str, tuple[Callable[[Record], second_verifier.Statement], Callable[..., None]]] = {
    "range": (second_verifier.range_of, bind_nothing),
    "vector_range": (second_verifier.vector_of, bind_nothing),
    "last_largest": (second_verifier.last_largest_of, bind_nothing),
    "gaussian_noise": (second_verifier.gaussian_of, bind_table),
    "weighted_noise": (second_verifier.weighted_of, bind_weights),
}


def test_every_file_is_read() -> None:
    assert READ.keys() == FILES.keys()


@pytest.mark.parametrize("name", READ)
def test_every_record_gets_the_published_answer(name: str) -> None:
    """The program's answer, and for proofs that hold also that of its one check of all."""
    statement_of, bind = READ[name]
    records = published(name)["proofs"]
    assert {record["error"] for record in records} == {None, "InvalidProof", "MalformedMessage"}
    for record in records:
        statement, proof = statement_of(record), bytes.fromhex(record["proof"])
        early = bytes.fromhex(record.get("A", ""))
        answers = []
        for judge in (second_answer, holds):
            script = script_of(PROTOCOL, bytes.fromhex(record["context"]))
            bind(script, record)
            answers.append(judge(script, statement, proof, early))
        assert answers == [expected(record), record["error"] is None], record["name"]


def holds(script: Any, statement: Any, proof: bytes, early: bytes) -> bool:
    return bool(part("proofs").bits_hold(script, *statement, proof, early))


def expected(record: Record) -> Answer:
    if record["error"] is None:
        return None
    at: int | None = record.get("offset")
    return str(record["error"]), str(record.get("check", record.get("field"))), at


@pytest.mark.parametrize("name", READ)
def test_the_library_writes_statements_as_the_text_says(name: str) -> None:
    """In bits, entry by entry."""
    records = published(name)["proofs"]
    for record in records:
        library = FILES[name][0].statement_of(ristretto255(), record).as_bits()
        assert read(library) == READ[name][0](record), record["name"]


def script(context: bytes = b"context") -> Any:
    return script_of(b"tests of the bit argument", context)


def answers(made: Sample, proof: bytes, context: bytes = b"context") -> tuple[Answer, Answer]:
    return (
        answer(lambda: made.verify(proof, transcript(context))),
        second_answer(script(context), read(made.statement()), proof),
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

    for point in (early.point, -early.point):
        library = answer(
            lambda point=point: verify(statement, proof, transcript(), committed=point)  # type: ignore[misc]
        )
        second = second_answer(script(), read(statement), proof, point.to_bytes())
        assert library == second
        assert library == (None if point == early.point else ("InvalidProof", "06-A12", None))
