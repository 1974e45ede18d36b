"""What coins and closes decide about long vectors: twice computed, published, and bound."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commitments import derive_generators
from commitments.group import Group, PointVec
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import (
    EdgeContext,
    EquationPoints,
    SelfContext,
    edge_equation,
    self_equation,
    signed_sum,
)
from gopa.rounds.rows.challenges import (
    carry_tests,
    input_tests,
    point_count,
    points_of,
    shape_of,
    signed_permutation,
)
from gopa.rounds.rows.statements import KnownPoints
from tests.contract.samples import row_manifest, row_terms
from tests.group.backends import proving_groups
from tests.rounds.rows.row_rounds_vectors import (
    JOINT,
    KEY,
    LEAF,
    NUMBER,
    OTHER,
    PARTY,
    SEED,
    SESSION,
    context,
    records,
)
from tests.verifier.test_parts import part
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes
from zkp.rows.product_tests import ProductTests

FILE: Any = json.loads(
    (Path(__file__).resolve().parents[3] / "specs" / "vectors" / "row_rounds.json").read_text()
)

GROUP = proving_groups()[-1]
EDGE = EdgeContext.between(SESSION, NUMBER, PARTY, OTHER)
OWN = SelfContext(SESSION, NUMBER, PARTY)
DIMENSIONS = (2, 31, 32, 33, 40, 300, 1025)
TAG = SESSION + NUMBER.to_bytes(2)
"""Session and round, as the second verifier takes them."""


def coins_of(tests: ProductTests) -> tuple[list[list[int]], list[int]]:
    """The bits of all tests as integers: of the rows of each vector, and of the columns."""
    counts = [tests.shape.rows] * len(tests.rows) + [tests.shape.width]

    def numbers(data: bytes, count: int) -> list[int]:
        size, mask = -(-count // 8), (1 << count) - 1
        places = range(0, len(data), size)
        return [int.from_bytes(data[at : at + size], "little") & mask for at in places]

    *rows, columns = map(numbers, (*tests.rows, tests.columns), counts)
    return rows, columns


def below(count: int, numbers: list[int]) -> list[int]:
    """What counts of drawn bits: the program keeps those that fill up the last byte."""
    return [each & (1 << count) - 1 for each in numbers]


def test_vectors_are_up_to_date(group: Group) -> None:
    assert records(group) == FILE


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_challenges_are_those_of_the_text(dimension: int) -> None:
    where, coins = context(dimension, GROUP), part("row_coins")
    shape, own = shape_of(where), part("row_proofs").shape_of(dimension)
    assert (own.s, own.h, own.r, own.v) == (
        shape.column_bits, shape.rows, shape.row_bits, shape.bits,
    )  # fmt: skip
    for library, second in (
        (input_tests(where, JOINT), coins.input_tests(JOINT, TAG, own)),
        (carry_tests(where, LEAF), coins.carry_tests(TAG, LEAF, own)),
    ):
        rows, columns = (
            [below(own.h, each) for each in second.rows],
            below(1 << own.s, second.columns),
        )
        assert len(columns) == 360
        assert coins_of(library) == (rows, columns)
    found = signed_permutation(where, JOINT, PARTY)
    places, signs = coins.signed_permutation(JOINT, TAG, PARTY, dimension)
    assert found.places.tolist() == places
    drawn = np.frombuffer(found.signs, np.uint8)
    assert np.unpackbits(drawn, count=dimension, bitorder="little").tolist() == signs
    for count in (1, 3):
        z = [point.ints() for point in points_of(where, LEAF, count)]
        assert z == coins.equation_points(TAG, LEAF, count, own.v)


def test_permutations_are_applied_as_the_text_says() -> None:
    where = context(40, GROUP)
    noise = np.arange(-7, 57, dtype=np.int64)  # with padding
    moved = signed_permutation(where, JOINT, PARTY).applied(noise)
    places, signs = part("row_coins").signed_permutation(JOINT, TAG, PARTY, 40)
    expected = [(-1 if signs[j] else 1) * int(noise[places[j]]) for j in range(40)]
    assert moved.tolist() == expected + noise[40:].tolist()


def test_commitments_of_masks_add_up_with_their_signs() -> None:
    where = context(40, GROUP)
    points = EquationPoints.of(GROUP, LEAF, points_of(where, LEAF, 3), dimension=40, width=32)
    keys = [SecretBytes(bytes([each]) * 32) for each in (1, 2, 3)]
    edges = [edge_equation(points, key, EDGE) for key in keys]
    own = self_equation(points, SecretBytes(SEED), OWN)
    first, second, third = (edge.commitment()[0] for edge in edges)
    total = own.commitment()[0] + first - second + third
    assert signed_sum(own, edges, (1, -1, 1)).commitment()[0] == total
    assert signed_sum(own, edges, (1, 1, 1)).commitment()[0] != total


def test_everything_depends_on_everything_that_decides_it() -> None:
    """Nobody's permutation, and no close's points, are those of another."""
    where = context(40, GROUP)
    others = [replace(where, round=4), replace(where, session=OTHER)]

    def seen(at: RoundContext, joint: bytes, party: bytes, leaf: bytes, count: int) -> list[Any]:
        z = points_of(at, leaf, count)
        points = EquationPoints.of(GROUP, leaf, z, dimension=40, width=32)
        moved = signed_permutation(at, joint, party)
        edge = EdgeContext.between(at.session, at.round, party, OTHER)
        own = SelfContext(at.session, at.round, party)
        return [
            coins_of(input_tests(at, joint)),
            (moved.places.tolist(), moved.signs),
            coins_of(carry_tests(at, leaf)),
            z[0].ints(),
            edge_equation(points, SecretBytes(KEY), edge).commitment().to_bytes(),
            self_equation(points, SecretBytes(SEED), own).commitment().to_bytes(),
        ]

    base = seen(where, JOINT, PARTY, LEAF, 1)
    assert base == seen(where, JOINT, PARTY, LEAF, 1)

    def same(*given: Any) -> list[bool]:
        return [one == other for one, other in zip(base, seen(*given), strict=True)]

    yes, no = True, False
    assert same(others[0], JOINT, PARTY, LEAF, 1) == [no] * 6
    assert same(others[1], JOINT, PARTY, LEAF, 1) == [no] * 6
    assert same(where, OTHER, PARTY, LEAF, 1) == [no, no, yes, yes, yes, yes]
    assert same(where, JOINT, SEED, LEAF, 1) == [yes, no, yes, yes, no, no]
    assert same(where, JOINT, PARTY, JOINT, 1) == [yes, yes, no, no, no, no]
    assert same(where, JOINT, PARTY, LEAF, 2) == [yes, yes, yes, no, no, no]


def test_blindings_depend_on_the_close_and_not_on_the_points_alone() -> None:
    """Two closes with the same points, which no hash gives, would still have other blindings."""
    where = context(40, GROUP)
    z = points_of(where, LEAF, 1)
    made = {
        leaf: EquationPoints.of(GROUP, leaf, z, dimension=40, width=32) for leaf in (LEAF, JOINT)
    }
    first, second = (edge_equation(made[leaf], SecretBytes(KEY), EDGE) for leaf in (LEAF, JOINT))
    assert first.values.reveal().ints() == second.values.reveal().ints()
    assert int(first.blinding.reveal()) != int(second.blinding.reveal())


@pytest.mark.parametrize("listed", [3, 4, 5])
def test_points_follow_from_who_is_listed(listed: int) -> None:
    where = context(40, GROUP)
    assert point_count(where, listed) == 1
    many = row_terms(parties=1000, corrupt=90, survivors=880, loss=0, late=100, k=9)
    large = RoundContext(row_manifest(many, word_width=32), SESSION, NUMBER, GROUP)
    assert [point_count(large, each) for each in (880, 890, 1000)] == [1, 1, 3]


@pytest.mark.parametrize("count", [0, -1, 2**16, 1.5])
def test_a_count_of_points_is_one(count: Any) -> None:
    where = context(40, GROUP)
    points_of(where, LEAF, 1)
    with pytest.raises(UsageError):
        points_of(where, LEAF, count)


class Counting:
    """A group that says how often it has decoded."""

    def __init__(self, group_known: Group) -> None:
        self.group, self.count = group_known, 0

    def decode_points(self, data: bytes, count: int) -> PointVec:
        self.count += 1
        return self.group.decode_points(data, count)


@pytest.fixture(params=proving_groups(), ids=lambda group_known: group_known.backend)
def group_known(request: pytest.FixtureRequest) -> Any:
    return Counting(request.param)


def encoded(group_known: Any, family: bytes, count: int = 6) -> bytes:
    return derive_generators(group_known.group, family, count).to_bytes()


def test_points_are_decoded_once(group_known: Any) -> None:
    known, data = KnownPoints(100), encoded(group_known, b"one")
    found = known.decoded(group_known, data, 6)
    assert found.to_bytes() == data
    assert known.decoded(group_known, data, 6) is found
    assert group_known.count == 1
    known.clear()
    assert known.decoded(group_known, data, 6) == found
    assert group_known.count == 2


def test_what_was_used_last_is_kept(group_known: Any) -> None:
    # With what an entry takes besides, three of them are as large as thirty points.
    known, (a, b, c, d) = (
        KnownPoints(30),
        (encoded(group_known, each) for each in (b"a", b"b", b"c", b"d")),
    )
    for each in (a, b, c, a, d):
        known.decoded(group_known, each, 6)
    assert group_known.count == 4
    for each in (a, c, d):
        known.decoded(group_known, each, 6)
    assert group_known.count == 4
    known.decoded(group_known, b, 6)
    assert group_known.count == 5


def test_more_than_there_is_room_for_is_decoded_and_not_kept(group_known: Any) -> None:
    known, data, few = KnownPoints(9), encoded(group_known, b"one"), encoded(group_known, b"few", 5)
    known.decoded(group_known, few, 5)
    for _ in range(2):
        assert known.decoded(group_known, data, 6).to_bytes() == data
    assert group_known.count == 3
    known.decoded(group_known, few, 5)
    assert group_known.count == 3


def test_bad_points_are_refused_each_time(group_known: Any) -> None:
    known, data = KnownPoints(100), encoded(group_known, b"one")
    known.decoded(group_known, data, 6)
    for bad in (data[:-32] + bytes(32), data[:-32] + b"\xff" * 32, data[:-1], data + data):
        for _ in range(2):
            with pytest.raises(MalformedMessage):
                known.decoded(group_known, bad, 6)
    with pytest.raises(MalformedMessage):
        known.decoded(group_known, data, 5)


def test_threads_may_share_it(group_known: Any) -> None:
    known = KnownPoints(30)
    given = [encoded(group_known, b"%d" % at) for at in range(5)] * 20
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda data: known.decoded(group_known, data, 6), given))
    assert [points.to_bytes() for points in found] == given


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have(
    group_known: Any,
) -> None:
    known, data = KnownPoints(100), encoded(group_known, b"one")
    with known._turn:
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(int(known.decoded(group_known, data, 6).to_bytes() != data))
    _, status = os.waitpid(child, 0)
    assert status == 0
