"""Many sums at once, and the shorter way for small secret scalars."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.backends import installed_groups
from tests.group.values import EDGES, FEW, known_points, random_points, random_residues
from wire.errors import UsageError

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
