"""Points are a module over the scalars; every fast sum equals the plain one.

Most tests compute in the exponent: for points of known discrete logarithm the
right answer is the generator times an integer.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.backends import installed_groups
from tests.group.values import (
    EDGES,
    FEW,
    ORDER,
    column,
    dot,
    known_points,
    random_points,
    random_residues,
    random_scalars,
    residues,
    rows,
)
from wire.errors import UsageError


@FEW
@given(a=residues, b=residues, k=residues)
def test_module_laws(group: Group, a: int, b: int, k: int) -> None:
    A, B = group.generator * group.scalar(a), group.generator * group.scalar(b)
    factor = group.scalar(k)
    assert A + B == B + A == group.generator * group.scalar((a + b) % ORDER)
    assert A - B == A + (-B) == group.generator * group.scalar((a - b) % ORDER)
    assert (A + B) * factor == A * factor + B * factor
    assert A * factor * group.scalar(b) == A * (factor * group.scalar(b))
    assert A * factor.secret() == A * factor
    assert A + group.identity == A
    assert (A - A).is_identity()
    assert A.is_identity() == (a == 0)


@FEW
@given(a=residues, b=residues)
def test_equality_is_that_of_encodings(group: Group, a: int, b: int) -> None:
    A, B = group.generator * group.scalar(a), group.generator * group.scalar(b)
    assert (A == B) == (a == b) == (A.to_bytes() == B.to_bytes())
    assert (A != B) == (a != b)
    again = group.decode_point(A.to_bytes(), allow_identity=True)
    assert again == A
    assert hash(again) == hash(A)


@FEW
@given(table=rows(3), single=residues)
def test_elementwise(group: Group, table: list[tuple[int, ...]], single: int) -> None:
    a, b, k = column(table, 0), column(table, 1), column(table, 2)
    A, B, K = known_points(group, a), known_points(group, b), group.scalars(k)
    S, s = group.generator * group.scalar(single), group.scalar(single)
    assert known_points(group, [(x + y) % ORDER for x, y, _ in table]) == A + B
    assert known_points(group, [(x - y) % ORDER for x, y, _ in table]) == A - B
    assert known_points(group, [(x + single) % ORDER for x in a]) == A + S
    assert known_points(group, [(x - single) % ORDER for x in a]) == A - S
    assert known_points(group, [-x % ORDER for x in a]) == -A
    products = known_points(group, [x * z % ORDER for x, _, z in table])
    assert A * K == A * K.secret() == products
    scaled = known_points(group, [x * single % ORDER for x in a])
    assert A * s == A * s.secret() == scaled


@FEW
@given(table=rows(2, most=12))
def test_sums(group: Group, table: list[tuple[int, ...]]) -> None:
    a, k = column(table, 0), column(table, 1)
    A, K = known_points(group, a), group.scalars(k)
    assert A.sum() == group.generator * group.scalar(sum(a) % ORDER)
    expected = group.generator * group.scalar(dot(a, k))
    assert A.msm(K) == A.msm(K.secret()) == A.vartime_msm(K) == expected
    assert (A * K).sum() == expected


@pytest.mark.thirds(9)
@pytest.mark.parametrize("n", [1, 2, 30, 47, 48, 49, 130, 190, 191, 600, 2500])
def test_sums_of_every_size(group: Group, n: int) -> None:
    """Backends change their algorithm with the size."""
    a = random_residues(n, "logarithms")
    k = random_residues(n)
    k[: len(EDGES)] = EDGES[:n]
    A = group.points([group.generator]).gather([0] * n) * group.scalars(a)
    expected = group.generator * group.scalar(dot(a, k))
    assert A.vartime_msm(group.scalars(k)) == expected
    if n <= 600:
        assert A.msm(group.secret_scalars(k)) == expected


@pytest.mark.thirds(9)
@pytest.mark.parametrize("n", [1, 5, 60, 700])
@pytest.mark.parametrize("bits", [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 128, 200])
def test_small_scalars_of_both_signs(group: Group, n: int, bits: int) -> None:
    a = random_residues(n, "logarithms")
    k = [value % (1 << bits) for value in random_residues(n)]
    k = [-value if i % 3 == 0 else value for i, value in enumerate(k)]
    k[0] = -((1 << bits) - 1)
    k[-1] = (1 << bits) - 1
    A = group.points([group.generator]).gather([0] * n) * group.scalars(a)
    expected = group.generator * group.scalar(dot(a, k))
    assert A.vartime_msm(group.scalars(k)) == expected


def test_all_edge_scalars_against_each_other(group: Group) -> None:
    pairs = [(a, k) for a in EDGES for k in EDGES]
    a, k = column(pairs, 0), column(pairs, 1)
    A, K = known_points(group, a), group.scalars(k)
    expected = known_points(group, [x * y % ORDER for x, y in pairs])
    assert A * K == A * K.secret() == expected
    assert A.vartime_msm(K) == A.msm(K) == expected.sum()


def test_sums_with_identities_and_repeats(group: Group) -> None:
    P = random_points(group, 3)
    points = group.points([P[0], group.identity, P[0], P[1], -P[0], group.identity, P[2]] * 30)
    scalars = random_scalars(group, len(points))
    expected = group.identity
    for point, scalar in zip(points, scalars, strict=True):
        expected += point * scalar
    assert points.vartime_msm(scalars) == points.msm(scalars) == expected
    equal = group.scalars([5] * len(points))
    assert points.vartime_msm(equal) == points.sum() * group.scalar(5)
    assert group.points([P[0], -P[0]] * 40).vartime_msm(group.scalars([9] * 80)).is_identity()


def test_empty_vectors(group: Group) -> None:
    points, scalars = group.points([]), group.scalars([])
    assert points.sum().is_identity()
    assert points.msm(scalars).is_identity()
    assert points.vartime_msm(scalars).is_identity()
    assert len(points * scalars) == len(points + points) == len(-points) == 0
    assert len(points.vartime_segment_msm(scalars, [])) == 0
    assert points.vartime_segment_msm(scalars, [0, 0]).to_bytes() == bytes(64)
    assert points.to_bytes() == scalars.to_bytes() == b""
    assert points.find_identity() is None
    assert scalars.sum() == scalars.inner(scalars) == group.scalar(0)
    assert scalars.inverse() == -scalars == scalars


@FEW
@given(
    lengths=st.lists(st.one_of(st.just(0), st.integers(1, 4)), max_size=6), seed=st.integers(0, 99)
)
def test_segments(group: Group, lengths: list[int], seed: int) -> None:
    n = sum(lengths)
    points = random_points(group, n, f"segments {seed}")
    scalars = random_scalars(group, n, f"segments {seed}")
    ends = list(accumulate(lengths))
    expected = [
        points[end - size : end].msm(scalars[end - size : end])
        for end, size in zip(ends, lengths, strict=True)
    ]
    assert points.vartime_segment_msm(scalars, lengths) == group.points(expected)


def test_segments_of_very_different_sizes(group: Group) -> None:
    lengths = [0, 1, 300, 0, 2, 60, 1, 0]
    n = sum(lengths)
    a, k = random_residues(n, "logarithms"), random_residues(n)
    points = group.points([group.generator]).gather([0] * n) * group.scalars(a)
    sums = points.vartime_segment_msm(group.scalars(k), lengths)
    ends = list(accumulate(lengths))
    parts = [slice(end - size, end) for end, size in zip(ends, lengths, strict=True)]
    assert sums == known_points(group, [dot(a[part], k[part]) for part in parts])


@pytest.mark.parametrize("lengths", [[], [3], [5], [2, 3], [-1, 5], [2**62, 4 - 2**62], [2**64]])
def test_segments_must_cover_the_vector(group: Group, lengths: list[int]) -> None:
    points, scalars = random_points(group, 4), random_scalars(group, 4)
    assert len(points.vartime_segment_msm(scalars, [1, 3])) == 2
    with pytest.raises(UsageError):
        points.vartime_segment_msm(scalars, lengths)


@FEW
@given(table=rows(2, most=5), bases=st.tuples(residues, residues))
def test_fixed_bases(group: Group, table: list[tuple[int, ...]], bases: tuple[int, int]) -> None:
    fixed = group.fixed_bases(known_points(group, bases))
    assert len(fixed) == 2
    first, second = group.scalars(column(table, 0)), group.secret_scalars(column(table, 1))
    expected = known_points(group, [dot(bases, row) for row in table])
    assert fixed.combine(first, second) == expected


def test_fixed_bases_at_every_edge(group: Group) -> None:
    G = group.generator
    fixed = group.fixed_bases(group.points([G]))
    window_edges = [1 << k for k in range(252)] + [(1 << k) - 1 for k in range(253)]
    values = [*EDGES, *window_edges]
    values += [ORDER - value for value in values if value]
    powers = group.points([G] * len(values)) * group.scalars(values)
    assert fixed.combine(group.scalars(values)) == powers
    assert fixed.combine(group.secret_scalars(values)) == powers


def test_fixed_bases_check_their_columns(group: Group) -> None:
    fixed = group.fixed_bases(random_points(group, 2))
    one, two = group.scalars([1]), group.scalars([1, 2])
    assert len(fixed.combine(two, two)) == 2
    for columns in ((), (one,), (one, one, one), (one, two)):
        with pytest.raises(UsageError):
            fixed.combine(*columns)
    with pytest.raises(UsageError):
        group.fixed_bases(group.points([]))


def test_an_element_has_many_coordinates(group: Group) -> None:
    """What was mapped and what was decoded differ inside by torsion, and only there."""
    mapped = random_points(group, 60)
    decoded = group.decode_points(mapped.to_bytes(), 60)
    assert mapped == decoded
    for one, other in zip(mapped, decoded, strict=True):
        assert one == other
        assert hash(one) == hash(other)
        assert (one - other).is_identity()
        assert one - other == group.identity
    assert (mapped - decoded).to_bytes() == bytes(32 * 60)
    for i in range(60):
        assert (mapped[i:] - decoded[i:]).find_identity() == 0


@pytest.mark.parametrize("position", [None, 0, 1, 4])
def test_find_identity(group: Group, position: int | None) -> None:
    points = [*random_points(group, 5)]
    if position is not None:
        points[position] = points[position] - points[position]
        points[4] = group.identity
    assert group.points(points).find_identity() == position


EVERY_WIDTH = pytest.mark.parametrize("bits", range(1, 59))


def rows_of(group: Group, values: list[list[int]]) -> Any:
    return [group.secret_scalars(row) for row in values]


@EVERY_WIDTH
def test_extremes_of_every_width(group: Group, bits: int) -> None:
    """In the exponent: the generator times a known integer."""
    low, high = -(1 << bits), (1 << bits) - 1
    values = [
        [low, high, 0, 1, -1],
        [high] * 5,
        [low] * 5,
        [high // 2, low // 2, low, high, low + 1],
    ]
    logs = [3, 5, 7, 11, 13]
    points = known_points(group, logs)
    made = points.msms(rows_of(group, values), bits=bits)
    sums = [sum(a * b for a, b in zip(row, logs, strict=True)) for row in values]
    assert made == known_points(group, [total % group.order for total in sums])


@EVERY_WIDTH
def test_scalars_beyond_the_width_are_refused(group: Group, bits: int) -> None:
    points = random_points(group, 2)
    low, high = -(1 << bits), (1 << bits) - 1
    assert len(points.msms(rows_of(group, [[low, high]]), bits=bits)) == 1
    for bad in (low - 1, high + 1, group.order // 2, 1 << 64, 1 << 128, -(1 << 64), 1 << 250):
        for row in ([0, bad], [bad, 0]):
            with pytest.raises(UsageError):
                points.msms(rows_of(group, [[1, 2], row]), bits=bits)


@FEW
@given(data=st.data(), bits=st.integers(1, 58), n=st.integers(0, 9), count=st.integers(0, 5))
def test_all_ways_agree(group: Group, data: st.DataObject, bits: int, n: int, count: int) -> None:
    small = st.integers(-(1 << bits), (1 << bits) - 1)
    values = data.draw(
        st.lists(st.lists(small, min_size=n, max_size=n), min_size=count, max_size=count)
    )
    points = random_points(group, n)
    rows = rows_of(group, values)
    expected = group.points([points.msm(row) for row in rows])
    assert points.msms(rows, bits=bits) == points.msms(rows) == expected
    public = [group.scalars(row) for row in values]
    assert points.msms(public, bits=bits) == points.msms(iter(public)) == expected


def test_full_scalars(group: Group) -> None:
    points = random_points(group, 12)
    rows = [group.secret_scalars(random_residues(12, str(i))) for i in range(3)]
    rows.append(group.secret_scalars([*EDGES, 4, 5]))
    assert points.msms(rows) == group.points([points.msm(row) for row in rows])


def test_enough_for_several_threads(group: Group) -> None:
    count, n = (12, 700) if group.backend == "native" else (2, 60)
    points = random_points(group, n)
    values = [
        [value % 2001 - 1000 for value in random_residues(n, f"row {row}")] for row in range(count)
    ]
    rows = rows_of(group, values)
    expected = group.points([points.vartime_msm(group.scalars(row)) for row in values])
    assert points.msms(rows, bits=10) == points.msms(rows) == expected


def test_identities_and_repeats(group: Group) -> None:
    P = random_points(group, 1)[0]
    points = group.points([P, -P, group.identity, P])
    rows = rows_of(group, [[5, 5, 7, 0], [-8, 8, 1, 16], [0, 0, 0, 0]])
    made = points.msms(rows, bits=5)
    assert made == points.msms(rows)
    assert [point.is_identity() for point in made] == [True, True, True]


@pytest.mark.parametrize("bits", [0, -1, 59, 64, 253, 2**70, 1.0, "8", True])
def test_widths_out_of_range(group: Group, bits: Any) -> None:
    points, rows = random_points(group, 2), rows_of(group, [[1, -1]])
    assert len(points.msms(rows, bits=58)) == 1
    with pytest.raises(UsageError):
        points.msms(rows, bits=bits)


@pytest.mark.parametrize("bits", [None, 8])
def test_rows_of_another_length_or_kind(group: Group, bits: int | None) -> None:
    points = random_points(group, 2)
    good = group.secret_scalars([1, 2])
    strangers = [other.scalars([1, 2]) for other in installed_groups() if other != group]
    bad: list[Any] = [[1, 2], None, "12", group.scalar(1), group.secret_scalars([1]), *strangers]
    assert points.msms([good], bits=bits)[0] == points.msm(good)
    for row in bad:
        with pytest.raises(UsageError):
            points.msms([good, row], bits=bits)
    for other in (5, None, good):
        with pytest.raises(UsageError):
            points.msms(other, bits=bits)  # type: ignore[arg-type]
