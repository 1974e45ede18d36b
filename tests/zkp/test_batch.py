"""Batches accept exactly what single verification accepts, and name every culprit."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import VectorPedersen, derive_generators, ristretto255
from commitments.group import Group, PointVec, ScalarVec
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.p256 import p256_group
from tests.zkp.proof_vectors import Case, transcript
from tests.zkp.test_proof_vectors import FILES
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp.batch import ProofClaim, verify_batch, verify_items
from zkp.equations import Equation, EquationSum, Family, Term, holds, require_all
from zkp.transcript import Transcript

Item = Case[Any]
"""A proof as it would be received, with the context that its prover bound."""


@lru_cache
def accepted(group: Group) -> tuple[Item, ...]:
    """Every valid published case of every kind, checked by itself."""
    found: list[Item] = []
    for source, verify in FILES.values():
        valid = [made for made in source.cases(group) if made.base is None]
        for made in valid:
            verify(made.statement, made.proof, transcript(made.context))
        found += valid
    return tuple(found)


def mixture(group: Group) -> tuple[Item, ...]:
    """Ten of them: numbers and vectors of different sizes."""
    return accepted(group)[:10]


def claim(item: Item) -> ProofClaim:
    return ProofClaim(item.statement, item.proof, transcript(item.context))


def check(items: Sequence[Item], seed: int = 0) -> None:
    verify_batch([claim(item) for item in items], rng=seeded(seed))


def culprits(items: Sequence[Item]) -> tuple[int, ...]:
    with pytest.raises(InvalidProof) as refused:
        check(items)
    assert refused.value.check == "06-A11"
    return refused.value.culprits


def with_byte_changed(item: Item, at: int) -> Item:
    changed = bytearray(item.proof)
    changed[at] ^= 1
    return replace(item, proof=bytes(changed))


def test_kinds_and_sizes_mix(group: Group) -> None:
    check(mixture(group))
    check(mixture(group)[::-1])


def test_a_batch_of_none_and_of_one(group: Group) -> None:
    check([])
    for item in mixture(group):
        check([item])
        assert culprits([with_byte_changed(item, -1)]) == (0,)


def test_every_culprit_is_named(group: Group) -> None:
    items = list(mixture(group))
    check(items)
    bad = list(items)
    bad[1] = with_byte_changed(items[1], -32)
    bad[4] = replace(items[4], context=b"another party")
    bad[5] = replace(items[5], proof=items[5].proof[:-1])
    bad[6] = replace(items[6], proof=b"")
    bad[9] = replace(items[9], statement=items[0].statement)
    assert culprits(bad) == (1, 4, 5, 6, 9)
    assert culprits([replace(item, context=b"x") for item in items]) == tuple(range(len(items)))


@dataclass(frozen=True)
class Shifted:
    """A statement whose first equations are off by chosen amounts."""

    inner: Any
    by: tuple[int, ...]

    @property
    def group(self) -> Group:
        found: Group = self.inner.group
        return found

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        found = list(self.inner.equations(proof, transcript))
        for place, by in enumerate(self.by):
            error = Term(self.group.points([self.group.generator]), self.group.scalars([by]))
            found[place] = replace(found[place], terms=(*found[place].terms, error))
        return tuple(found)


Errors = dict[int, tuple[int, ...]]


def shifted_claims(items: Sequence[Item], errors: Errors) -> list[ProofClaim]:
    return [
        ProofClaim(Shifted(item.statement, errors.get(i, ())), item.proof, transcript(item.context))
        for i, item in enumerate(items)
    ]


@pytest.mark.parametrize(
    "errors",
    [
        {0: (1,), 1: (-1,)},
        {2: (7,), 3: (-7,)},
        {0: (1,), 1: (1,), 2: (-2,)},
        {4: (1,)},
        {4: (1, -1)},
    ],
)
def test_errors_do_not_cancel(group: Group, errors: Errors) -> None:
    """Neither those of several proofs, nor those of the equations of one."""
    items = mixture(group)
    verify_batch(shifted_claims(items, {}), rng=seeded(1))
    with pytest.raises(InvalidProof) as refused:
        verify_batch(shifted_claims(items, errors), rng=seeded(1))
    assert refused.value.culprits == tuple(errors)


def test_equal_proofs_get_different_weights(group: Group) -> None:
    """The same claim twice with opposite errors: equal weights would let them cancel."""
    item = mixture(group)[0]
    check([item, item])
    with pytest.raises(InvalidProof) as refused:
        verify_batch(shifted_claims([item, item], {0: (1,), 1: (-1,)}), rng=seeded(1))
    assert refused.value.culprits == (0, 1)


def test_weights_depend_on_the_randomness_and_on_the_proofs(group: Group) -> None:
    from zkp.batch import _Chunk

    def weights(items: Sequence[Item], seed: bytes) -> list[int]:
        chunk = _Chunk(group)
        for position, item in enumerate(items):
            chunk.add(position, claim(item))
        return [weight for each in chunk._weights(seed) for weight in each.ints()]

    items = mixture(group)
    first = weights(items[:2], bytes(32))
    assert first == weights(items[:2], bytes(32))
    assert len(set(first)) == 4
    assert max(first) < 2**128
    assert set(first).isdisjoint(weights(items[:2], b"\1" * 32))
    changed = [items[0], with_byte_changed(items[1], -32)]
    assert set(first).isdisjoint(weights(changed, bytes(32)))


@dataclass(frozen=True)
class Empty:
    """A statement without equations, over any group."""

    group: Group

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        del proof, transcript
        return ()


def test_proofs_of_two_groups_do_not_mix(group: Group) -> None:
    first = mixture(group)[0]
    check([first])
    other = ProofClaim(Empty(p256_group()), b"", transcript(b""))
    with pytest.raises(UsageError):
        verify_batch([claim(first), other], rng=seeded(1))


def test_the_random_source_is_checked(group: Group) -> None:
    claims = [claim(item) for item in mixture(group)]
    with pytest.raises(UsageError):
        verify_batch(claims, rng=lambda n: bytes(n - 1))


@pytest.mark.slow
def test_one_bad_in_a_thousand() -> None:
    group = ristretto255()
    small = [mixture(group)[place] for place in (0, 2, 3, 4, 5)]
    items = [small[i % 5] for i in range(1000)]
    bad = with_byte_changed(items[777], -32)

    def claims(stream: Sequence[Item]) -> Iterator[ProofClaim]:
        return (claim(item) for item in stream)

    verify_batch(claims(items), rng=os.urandom)
    with pytest.raises(InvalidProof) as refused:
        verify_batch(claims([*items[:777], bad, *items[778:]]), rng=os.urandom)
    assert refused.value.culprits == (777,)


def test_chunks_are_small_and_positions_global(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zkp.batch._MOST_SCALARS", 50)
    items = list(mixture(group))
    check(items)
    items[3] = with_byte_changed(items[3], -32)
    items[8] = replace(items[8], proof=b"")
    assert culprits(items) == (3, 8)


def test_claims_are_taken_one_by_one(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the stream, no more than a chunk of claims is alive."""
    monkeypatch.setattr("zkp.batch._MOST_SCALARS", 50)
    from zkp import batch

    sizes = []
    original = batch._Chunk.culprits

    def counted(chunk: batch._Chunk, seed: bytes) -> list[int]:
        sizes.append(len(chunk.positions))
        return original(chunk, seed)

    monkeypatch.setattr(batch._Chunk, "culprits", counted)
    verify_batch((claim(item) for item in mixture(group) * 5), rng=seeded(1))
    assert sum(sizes) == 50
    assert max(sizes) <= 3


# Work for executors is named by module-level functions and numbers: both pickle.


def load(number: int) -> ProofClaim:
    item = mixture(ristretto255())[number % 10]
    return claim(with_byte_changed(item, -32) if number in BAD else item)


def load_or_refuse(number: int) -> ProofClaim:
    if number == 4:
        raise MalformedMessage("a commitment does not decode", "commitment", 0)
    return load(number)


BAD = {13, 29, 30}


def test_an_executor_names_the_same_culprits() -> None:
    with ThreadPoolExecutor(2) as executor:
        verify_items(load, range(10), rng=os.urandom, executor=executor, per_task=3)
        with pytest.raises(InvalidProof) as refused:
            verify_items(load, range(200), rng=os.urandom, executor=executor, per_task=7)
        assert refused.value.culprits == tuple(sorted(BAD))
        with pytest.raises(InvalidProof) as refused:
            verify_items(load_or_refuse, range(10), rng=os.urandom, executor=executor, per_task=7)
        assert refused.value.culprits == (4,)


def test_items_are_checked_without_an_executor_too() -> None:
    verify_items(load, range(10), rng=os.urandom, executor=None)
    with pytest.raises(InvalidProof) as refused:
        verify_items(load_or_refuse, range(40), rng=os.urandom, executor=None)
    assert refused.value.culprits == (4, *sorted(BAD))


@pytest.mark.parametrize("per_task", [0, -1])
def test_tasks_of_no_items_are_refused(per_task: int) -> None:
    """They would check nothing, and nothing would be refused."""
    with ThreadPoolExecutor(1) as executor:
        verify_items(load, range(2), rng=os.urandom, executor=executor, per_task=1)
        with pytest.raises(UsageError):
            verify_items(load, range(2), rng=os.urandom, executor=executor, per_task=per_task)


@pytest.mark.slow
def test_processes_work_too() -> None:
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor,
        pytest.raises(InvalidProof) as refused,
    ):
        verify_items(load, range(40), rng=os.urandom, executor=executor, per_task=20)
    assert refused.value.culprits == tuple(sorted(BAD))
    copied = pickle.loads(pickle.dumps(refused.value))  # noqa: S301  its own pickle
    assert copied.culprits == refused.value.culprits


@pytest.mark.parametrize("chunk", [1, 1 << 11, 1 << 18])
def test_all_kinds_hold_together(group: Group, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zkp.batch._MOST_SCALARS", chunk)
    cases = list(accepted(group))
    assert len(cases) >= 20
    check(cases)
    bad = {1, 7, len(cases) // 2, len(cases) - 1}
    changed = [
        replace(made, context=b"another party") if place in bad else made
        for place, made in enumerate(cases)
    ]
    assert culprits(changed) == tuple(sorted(bad))
    changed[3] = replace(cases[3], proof=cases[3].proof[:-1])
    changed[8] = replace(cases[8], proof=b"\xff" * len(cases[8].proof))
    assert culprits(changed) == tuple(sorted(bad | {3, 8}))


@pytest.mark.parametrize("name", FILES)
def test_a_batch_refuses_what_is_refused_alone(group: Group, name: str) -> None:
    """All published cases in one batch: the culprits are those with an error."""
    source, verify = FILES[name]
    cases = list(source.cases(group))
    alone = []
    for place, made in enumerate(cases):
        try:
            verify(made.statement, made.proof, transcript(made.context))
        except ProtocolError:
            alone.append(place)
    assert 0 < len(alone) < len(cases)
    assert culprits(cases) == tuple(alone)


GROUPS = st.sampled_from(proving_groups())
LEFT = Family(b"bits/left")


def drawn(group: Group, count: int, seed: int) -> ScalarVec:
    return group.random_scalars(count, seeded(seed)).reveal()


def own(group: Group, count: int) -> PointVec:
    return group.map_to_points(seeded("points")(64 * count))


def true_equation(group: Group, count: int, seed: int, check: str = "00-X1") -> Equation:
    """Terms over shared and own bases that cancel."""
    bases, scalars = derive_generators(group, LEFT.name, count), drawn(group, count, seed)
    total = group.points([bases.vartime_msm(scalars)])
    return Equation(check, (Term(LEFT, scalars), Term(total, group.scalars([-1]))))


def false_equation(group: Group, check: str) -> Equation:
    return Equation(check, (Term(own(group, 1), group.scalars([1])),))


def transcript_equations() -> Transcript:
    fresh = Transcript(b"tests of equations")
    fresh.absorb(b"context", b"context")
    return fresh


@given(GROUPS, st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2**128)), max_size=8))
@settings(max_examples=examples(20), deadline=None)
def test_the_sum_is_what_the_terms_say(group: Group, parts: list[tuple[int, int]]) -> None:
    total, expected = EquationSum(group), group.identity
    for seed, (count, weight) in enumerate(parts):
        scalars, points, factor = drawn(group, count, seed), own(group, count), group.scalar(weight)
        family = VectorPedersen(group, count)
        terms = (
            Term(LEFT, scalars),
            Term(points, scalars),
            Term(Family(b"vector-pedersen/value", count), scalars),
        )
        total.add(Equation("00-X1", terms), factor)
        bases = derive_generators(group, LEFT.name, count)
        for vector in (bases, points, family.value_bases):
            expected = expected + vector.vartime_msm(scalars) * factor
    assert total.value() == expected


def test_many_equations_are_merged_on_the_way(group: Group) -> None:
    total = EquationSum(group)
    for seed in range(130):
        total.add(true_equation(group, 3, seed), group.scalar(seed + 1))
    assert total.value().is_identity()
    total.add(false_equation(group, "00-X2"), group.scalar(1))
    assert not total.value().is_identity()


def test_a_term_has_a_scalar_for_each_point(group: Group) -> None:
    points = own(group, 3)
    EquationSum(group).add(Equation("00-X1", (Term(points, drawn(group, 3, 1)),)), group.scalar(1))
    for count in (2, 4):
        short = Equation("00-X1", (Term(points, drawn(group, count, 1)),))
        with pytest.raises(UsageError):
            EquationSum(group).add(short, group.scalar(1))


def test_the_first_equation_that_fails_is_cited(group: Group) -> None:
    good = true_equation(group, 4, 1)
    require_all(group, [good, good], transcript_equations())
    for equations, cited in (
        ([good, false_equation(group, "00-X2")], "00-X2"),
        ([false_equation(group, "00-X3"), good, false_equation(group, "00-X2")], "00-X3"),
    ):
        with pytest.raises(InvalidProof) as refused:
            require_all(group, equations, transcript_equations())
        assert refused.value.check == cited


def test_errors_of_two_equations_do_not_cancel(group: Group) -> None:
    point = own(group, 1)
    up = Equation("00-X1", (Term(point, group.scalars([5])),))
    down = Equation("00-X2", (Term(point, group.scalars([-5])),))
    plain = EquationSum(group)
    plain.add(up, group.scalar(1))
    plain.add(down, group.scalar(1))
    assert plain.value().is_identity()
    assert not holds(group, up)
    with pytest.raises(InvalidProof):
        require_all(group, [up, down], transcript_equations())
