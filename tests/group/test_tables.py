"""Kernels over tables: their definitions, on both backends, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from commitments.group import AnyScalarVec, Group, ScalarVec
from commitments.tables import ResidueTable, TableKernels, table_kernels
from tests.group.test_streams import key_stream
from tests.group.values import ORDER, stream
from tests.randomness import seeded
from wire.errors import UsageError

EDGES = [0, 1, ORDER - 1, ORDER // 2, ORDER // 2 + 1, 2**252, 2**128, 2**64 - 1, 3]
INTEGERS = np.array([-(2**63), 2**63 - 1, -1, 0, 1, 2**40, -(2**40), 77], np.int64)


@pytest.fixture
def kernels(group: Group) -> TableKernels:
    return table_kernels(group)


def some(group: Group, n: int, seed: int = 1) -> ScalarVec:
    """Edges first, then uniform scalars."""
    drawn = np.random.default_rng(seed)
    wide = [int.from_bytes(drawn.bytes(40), "little") % ORDER for _ in range(n)]
    return group.scalars((EDGES + wide)[:n] if seed == 1 else wide)


def ints(vector: AnyScalarVec) -> list[int]:
    public = vector.reveal() if hasattr(vector, "reveal") else vector
    return public.ints()


def entries(table: ResidueTable) -> list[int]:
    return ints(table.scalars())


def bits_of(data: bytes, size: int) -> list[list[int]]:
    """Strings of bits, one line each, by arithmetic."""
    stride = (size + 7) // 8
    rows = [data[start : start + stride] for start in range(0, len(data), stride)]
    return [[row[j // 8] >> (j % 8) & 1 for j in range(size)] for row in rows]


def test_a_table_holds_what_it_was_made_from(group: Group, kernels: TableKernels) -> None:
    scalars = some(group, 20)
    assert entries(kernels.of_scalars(scalars)) == ints(scalars)
    assert entries(kernels.of_scalars(scalars.secret())) == ints(scalars)
    held = kernels.of_scalars(scalars)
    assert [int(held.entry(j).reveal()) for j in range(22)] == [*ints(scalars), 0, 0]
    with pytest.raises(UsageError):
        held.entry(-1)
    table = kernels.of_integers(INTEGERS)
    assert entries(table) == [value % ORDER for value in INTEGERS.tolist()]
    assert len(table) == 8
    assert len(kernels.of_integers(np.zeros(0, np.int64))) == 0


def test_equality_and_products_are_by_the_bits_of_the_index(
    group: Group, kernels: TableKernels
) -> None:
    point = some(group, 4, seed=2)
    values = ints(point)
    for size in (0, 1, 5, 16):
        corners = list(product((0, 1), repeat=4))[:size]
        assert entries(kernels.equality(point, size)) == [
            prod(p if bit else 1 - p for p, bit in zip(values, corner, strict=True)) % ORDER
            for corner in corners
        ]
        assert entries(kernels.products(point, size)) == [
            prod(p for p, bit in zip(values, corner, strict=True) if bit) % ORDER
            for corner in corners
        ]
    other, factors = some(group, 4, seed=10), some(group, 2, seed=11)
    one, two = ints(factors)
    both = zip(*(entries(kernels.equality(each, 13)) for each in (point, other)), strict=True)
    found = kernels.equality_sum(point.concat(other), factors, 13)
    assert entries(found) == [(one * a + two * b) % ORDER for a, b in both]
    for wrong in (factors[:0], some(group, 3)):
        with pytest.raises(UsageError):
            kernels.equality_sum(point.concat(other), wrong, 13)
    for make in (kernels.equality, kernels.products):
        with pytest.raises(UsageError, match="17 entries"):
            make(point, 17)
        with pytest.raises(UsageError):
            make(point, -1)


@pytest.mark.parametrize(("length", "half"), [(16, 8), (11, 8), (8, 8), (5, 8), (1, 1)])
def test_a_round_of_a_sum(group: Group, kernels: TableKernels, length: int, half: int) -> None:
    """What is left out of a polynomial follows from its value at 1; values at 5 have to agree."""
    left, right = some(group, length), some(group, length, seed=3)
    tables = kernels.of_scalars(left), kernels.of_scalars(right)

    def at(vector: AnyScalarVec, x: int) -> list[int]:
        values = [*ints(vector), *[0] * (2 * half - length)]
        kept = min(half, length)
        return [values[j] + x * (values[half + j] - values[j]) for j in range(kept)]

    by = group.scalar(5)
    assert entries(tables[0].fold(by, half)) == [value % ORDER for value in at(left, 5)]
    assert entries(tables[0].fold(by.secret(), half)) == [value % ORDER for value in at(left, 5)]

    def require(found: list[int], value: Any) -> None:
        linear = value(1) - sum(found)
        assert (found[0] - value(0)) % ORDER == 0
        powers = [1, *(5**k for k in range(2, len(found) + 1))]
        total = sum(c * p for c, p in zip(found, powers, strict=True)) + 5 * linear
        assert (total - value(5)) % ORDER == 0

    sums = ints(tables[0].pair_sums(tables[1], half))
    require(sums, lambda x: sum(a * b for a, b in zip(at(left, x), at(right, x), strict=True)))
    for exponent in (2, 3, 8):
        sums = ints(tables[0].power_sums(exponent, half))
        assert len(sums) == exponent
        require(sums, lambda x, e=exponent: sum(a**e for a in at(left, x)))


@pytest.mark.parametrize("half", [6, 2**63, 2**64 - 5, 2**64 - 2, 2**64 - 1])
def test_a_half_behind_the_end_adds_zeros(group: Group, kernels: TableKernels, half: int) -> None:
    """Places that a sum takes over the width of a word are not those at the beginning."""
    values = np.array([5, -3, 7, 1, -2], np.int64)
    table = kernels.of_integers(values)
    by = group.scalar(5)
    assert entries(table.fold(by, half)) == entries(table.fold(by, 5))
    assert ints(table.pair_sums(table, half)) == ints(table.pair_sums(table, 5))
    assert ints(table.power_sums(8, half)) == ints(table.power_sums(8, 5))
    small = kernels.integer_power_sums(values, 8, half)
    assert ints(small) == ints(table.power_sums(8, 5))


@pytest.mark.parametrize("exponent", [2, 3, 8])
def test_a_round_of_a_sum_of_small_integers(kernels: TableKernels, exponent: int) -> None:
    bits = (126 - 4) // exponent - 1
    most = (1 << bits) - 1
    values = np.array([most, -most - 1, 0, -1, 5, most, 1, 2, -3], np.int64)
    for half in (4, 8, 16):
        found = kernels.integer_power_sums(values, exponent, half)
        assert ints(found) == ints(kernels.of_integers(values).power_sums(exponent, half))
    wrong: list[Any] = [
        (np.append(values[1:], 1 << bits), exponent, 8),
        (np.append(values[1:], -(1 << bits) - 1), exponent, 8),
        (values, 1, 8),
        (values, 9, 8),
        (values, exponent, -1),
        (values.astype(np.uint64), exponent, 8),
    ]
    for given in wrong:
        with pytest.raises(UsageError):
            kernels.integer_power_sums(*given)


def test_sums_of_products(group: Group, kernels: TableKernels) -> None:
    left, right = some(group, 24), some(group, 24, seed=4)
    words = np.frombuffer(seeded("words")(8 * 24), np.uint64).copy()
    words[:2] = [2**64 - 1, 0]
    integers = np.concatenate([INTEGERS, np.arange(-8, 8, dtype=np.int64)])
    table, other = kernels.of_scalars(left), kernels.of_scalars(right)
    values, others = ints(left), ints(right)

    def of(sums: Any) -> int:
        return int(sums.reveal())

    assert of(table.inner(other)) == sum(a * b for a, b in zip(values, others, strict=True)) % ORDER
    weighted = zip(values, words.tolist(), strict=True)
    assert of(table.inner_words(words)) == sum(a * b for a, b in weighted) % ORDER

    again = [others[j % 8] for j in range(24)]
    assert entries(table.times(kernels.of_scalars(right[:8]))) == [
        a * b % ORDER for a, b in zip(values, again, strict=True)
    ]

    factors = some(group, 2, seed=5)
    first, second = ints(factors)
    short = kernels.of_scalars(right[:7])
    padded = [*others[:7], *[0] * 17]
    assert entries(kernels.combine(factors, [table, short])) == [
        (first * a + second * b) % ORDER for a, b in zip(values, padded, strict=True)
    ]
    weights = some(group, 3, seed=6)
    assert entries(kernels.combine_rows(integers, kernels.of_scalars(weights))) == [
        sum(w * int(integers[8 * i + j]) for i, w in enumerate(ints(weights))) % ORDER
        for j in range(8)
    ]


@pytest.mark.parametrize("size", [1, 8, 13])
def test_bits_choose_summands(group: Group, kernels: TableKernels, size: int) -> None:
    data = seeded(f"bits {size}")(11 * ((size + 7) // 8))
    strings = bits_of(data, size)
    scalars, weights = some(group, size, seed=7), some(group, 11, seed=8)
    table = kernels.of_scalars(scalars)
    assert entries(table.bit_inners(data)) == [
        sum(v for v, bit in zip(ints(scalars), string, strict=True) if bit) % ORDER
        for string in strings
    ]
    assert entries(kernels.combine_bits(kernels.of_scalars(weights), data, size)) == [
        sum(w for w, string in zip(ints(weights), strings, strict=True) if string[j]) % ORDER
        for j in range(size)
    ]
    rows = np.resize(INTEGERS, 3 * size)
    sums = np.frombuffer(kernels.row_bit_sums(rows, data, size), np.int64).reshape(3, 11)
    for i, k in product(range(3), range(11)):
        chosen = (int(v) for v, bit in zip(rows[size * i :], strings[k], strict=False) if bit)
        assert int(sums[i, k]) % 2**64 == sum(chosen) % 2**64


def test_entries_are_moved_and_negated(group: Group, kernels: TableKernels) -> None:
    scalars = some(group, 6, seed=9)
    a, b, c, d, e, f = ints(scalars)
    places = np.array([2, 0, 3, 1], np.uint32)
    moved = kernels.of_scalars(scalars).permuted(places, bytes([0b0101]))
    assert entries(moved) == [b, d, ORDER - a, ORDER - c, e, f]


@pytest.mark.parametrize(("points", "size"), [(1, 13), (2, 16), (3, 5)])
def test_sums_over_equality_need_no_table(
    group: Group, kernels: TableKernels, points: int, size: int
) -> None:
    given, factors = some(group, 4 * points, seed=12), some(group, points, seed=13)
    at = some(group, 4, seed=14)
    table = kernels.equality_sum(given, factors, size)
    words = np.frombuffer(seeded("words")(8 * size), np.uint64)
    found = kernels.equality_words(given, factors, words)
    assert int(found.reveal()) == int(table.inner_words(words).reveal())
    places, signs = np.array([2, 0, 4, 1, 3], np.uint32), b"\x15"
    moved = kernels.equality_moved(given, factors, (places, signs), at, size)
    expected = table.permuted(places, signs).inner(kernels.equality(at, size))
    assert int(moved.reveal()) == int(expected.reveal())
    refused: list[Any] = [
        lambda: kernels.equality_words(given, factors, np.zeros(17, np.uint64)),
        lambda: kernels.equality_words(given[1:], factors.concat(factors), words),
        lambda: kernels.equality_moved(given, factors, (places, signs), at, 4),
        lambda: kernels.equality_moved(given, factors, (places, signs), at, 17),
        lambda: kernels.equality_moved(given, factors, (places, b""), at, size),
        lambda: kernels.equality_moved(given, factors, (places // 2, signs), at, size),
        lambda: kernels.equality_moved(given, factors, (places, signs), at[1:], size),
    ]
    for wrong in refused:
        with pytest.raises(UsageError):
            wrong()


def test_a_permutation_is_drawn_by_exchanges(group: Group) -> None:
    """By hand from the key stream; so many draws that some are skipped."""
    count = 200_000
    draws = np.frombuffer(key_stream(4 * (count + 50)), "<u4").tolist()
    places, used = list(range(count)), 0
    for last in range(count - 1, 0, -1):
        while draws[used] >= 2**32 - 2**32 % (last + 1):
            used += 1
        chosen = draws[used] % (last + 1)
        places[last], places[chosen] = places[chosen], places[last]
        used += 1
    assert used > count - 1
    one = stream(group)
    assert np.frombuffer(one.permutation(count), np.uint32).tolist() == places
    assert one.bytes(9) == key_stream(4 * used + 9)[-9:]
    assert stream(group).permutation(1) == bytes(4)
    assert stream(group).permutation(0) == b""
    with pytest.raises(UsageError):
        stream(group).permutation(2**31 + 1)


def test_what_does_not_fit_is_refused(group: Group, kernels: TableKernels) -> None:
    three, four = (kernels.of_scalars(some(group, n)) for n in (3, 4))
    places, eight = np.array([1, 0], np.uint32), np.zeros(8, np.int64)
    none = kernels.of_scalars(some(group, 0))
    assert len(kernels.combine_bits(three, bytes(3), 8)) == 8
    assert len(kernels.equality(some(group, 10), 1)) == 1
    assert len(three.permuted(places, b"\0")) == 3
    refused: list[Any] = [
        lambda: three.inner(four),
        lambda: three.times(four),
        lambda: four.times(kernels.of_scalars(some(group, 0))),
        lambda: three.pair_sums(four, 2),
        lambda: three.pair_sums(three, -1),
        lambda: three.power_sums(1, 2),
        lambda: three.power_sums(9, 2),
        lambda: three.inner_words(np.zeros(2, np.uint64)),
        lambda: three.inner_words(np.zeros(3, np.int64)),
        lambda: three.inner_words(np.zeros(6, np.uint64)[::2]),
        lambda: three.bit_inners(bytearray(1)),  # type: ignore[arg-type]
        lambda: kernels.of_integers(np.zeros(0, np.int64)).bit_inners(b""),
        lambda: four.permuted(np.array([0, 0], np.uint32), b"\0"),
        lambda: four.permuted(np.array([0, 2], np.uint32), b"\0"),
        lambda: four.permuted(places, b"\0\0"),
        lambda: four.permuted(np.arange(5, dtype=np.uint32), b"\0"),
        lambda: kernels.of_integers(np.zeros(3)),  # type: ignore[arg-type]
        lambda: kernels.of_integers(np.zeros((2, 2), np.int64)),
        lambda: kernels.combine(some(group, 3), [three, four]),
        lambda: kernels.combine(some(group, 1), [1]),  # type: ignore[list-item]
        lambda: kernels.combine_rows(eight, three),
        lambda: kernels.combine_rows(eight[:0], three),
        lambda: kernels.combine_bits(three, bytes(4), 8),
        lambda: kernels.combine_bits(three, bytes(3), 0),
        *(lambda n=n: kernels.combine_bits(none, b"", n) for n in (1, 2**40, 2**63)),
        *(lambda n=n: kernels.equality(some(group, n), 1) for n in (25, 100)),
        *(lambda n=n: kernels.products(some(group, n), 1) for n in (25, 100)),
        lambda: kernels.equality_sum(some(group, 200), some(group, 2), 1),
        lambda: kernels.row_bit_sums(eight, bytes(4), 3),
        lambda: kernels.row_bit_sums(eight, bytes(3), 16),
        lambda: three.fold(5, 2),  # type: ignore[arg-type]
    ]
    for attempt in refused:
        with pytest.raises(UsageError):
            attempt()


def test_tables_keep_their_entries_to_themselves(kernels: TableKernels) -> None:
    table = kernels.of_integers(np.array([123456789], np.int64))
    assert repr(table) == str(table) == "<ResidueTable: 1 entries>"
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises((TypeError, UsageError)):
            way(table)
