"""Wide draws: right at every boundary, the same in all three forms, distributed as the table."""

from __future__ import annotations

import copy
import pickle
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.backends import installed_groups
from tests.group.test_streams import BAD_BUFFERS, WORDS, key_stream
from tests.group.values import FEW, ORDER, stream
from wire.errors import UsageError

TOTAL = 1 << 128
HALF = 1 << 127
SMALL = [1, 1 << 100, 1 << 126, (1 << 126) + 1, HALF - 1]


def uniform(n: int) -> list[int]:
    """The 128-bit integers under the first n draws."""
    data = key_stream(16 * n)
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, 16 * n, 16)]


def cumulative(lower: Sequence[int]) -> list[int]:
    return [0, *lower, *(TOTAL - bound for bound in reversed(lower)), TOTAL]


def value_of(lower: Sequence[int], draw: int) -> int:
    """The definition: the row i with F_i <= draw < F_{i+1}, less the radius."""
    return bisect_right(cumulative(lower), draw) - 1 - len(lower)


def mirrored(draw: int) -> int:
    return min(draw, TOTAL - 1 - draw)


def test_a_draw_is_the_row_less_the_radius(group: Group) -> None:
    table = group.wide_table(SMALL)
    assert table.radius == 5
    drawn = stream(group).wide_table_draws(table, 200)
    assert drawn == [value_of(SMALL, draw) for draw in uniform(200)]
    assert all(type(value) is int for value in drawn)
    assert {-5, 5} <= {value_of(SMALL, draw) for draw in (0, TOTAL - 1)}


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_boundaries_at_values_that_occur(group: Group, shift: int) -> None:
    """The bounds are put on the very values the stream gives, and beside them."""
    draws = uniform(40)
    lower = sorted({mirrored(draw) + shift for draw in draws})
    lower = [bound for bound in lower if 1 <= bound <= HALF]
    assert len(lower) == 40
    table = group.wide_table(lower)
    expected = [value_of(lower, draw) for draw in draws]
    assert stream(group).wide_table_draws(table, 40) == expected
    scalars = stream(group).wide_table_scalars(table, 40).reveal()
    assert scalars.ints() == [value % ORDER for value in expected]


@pytest.mark.parametrize("radius", [*range(1, 10), 15, 16, 17, 63, 64, 65, 300])
def test_every_size_of_a_table(group: Group, radius: int) -> None:
    """Equal steps: every row occurs, up to the search's padding and both ends."""
    lower = [HALF * i // (radius + 1) for i in range(1, radius + 1)]
    table, n = group.wide_table(lower), 40 * radius + 100
    drawn = stream(group).wide_table_draws(table, n)
    assert drawn == [value_of(lower, draw) for draw in uniform(n)]
    assert {0, radius, -radius} <= set(drawn)


@FEW
@given(data=st.data())
def test_any_table(group: Group, data: st.DataObject) -> None:
    close = st.sampled_from([mirrored(draw) for draw in uniform(12)])
    bound = st.one_of(st.integers(1, HALF), close, st.sampled_from([1, HALF, HALF - 1, 1 << 64]))
    lower = sorted(data.draw(st.lists(bound, min_size=1, max_size=30)))
    table = group.wide_table(lower)
    expected = [value_of(lower, draw) for draw in uniform(20)]
    assert stream(group).wide_table_draws(table, 20) == expected
    scalars = stream(group).wide_table_scalars(table, 20)
    assert scalars.reveal() == group.scalars(expected)


def test_bounds_that_differ_in_their_low_half_only(group: Group) -> None:
    """Both 64-bit halves decide."""
    draws = uniform(30)
    high = [mirrored(draw) >> 64 << 64 for draw in draws]
    lower = sorted(high + [bound + (1 << 64) - 1 for bound in high] + [mirrored(d) for d in draws])
    expected = [value_of(lower, draw) for draw in draws]
    assert stream(group).wide_table_draws(group.wide_table(lower), 30) == expected


def test_rows_between_equal_bounds_are_never_drawn(group: Group) -> None:
    lower = [1 << 120] * 3 + [1 << 126] * 2
    drawn = stream(group).wide_table_draws(group.wide_table(lower), 3000)
    assert drawn == [value_of(lower, draw) for draw in uniform(3000)]
    assert set(drawn) <= {-5, -2, 0, 2, 5}
    assert {-2, 0, 2} <= set(drawn)


def test_a_draw_and_its_mirror_image_are_opposite() -> None:
    for draw in uniform(50):
        assert value_of(SMALL, TOTAL - 1 - draw) == -value_of(SMALL, draw)


def test_draws_continue_at_the_next_byte(group: Group) -> None:
    table = group.wide_table(SMALL)
    array: Any = np.zeros(3, dtype="i4")
    made = stream(group)
    made.bytes(5)
    made.wide_table_draws(table, 2)
    made.wide_table_scalars(table, 1)
    made.add_wide_draws_to(array, 1, table)
    data = key_stream(5 + 16 * 6 + 8)
    assert made.bytes(8) == data[-8:]
    values = [int.from_bytes(data[i : i + 16], "little") for i in range(53, 101, 16)]
    assert array.tolist() == [value_of(SMALL, value) for value in values]
    assert made.wide_table_draws(table, 0) == []
    assert len(made.wide_table_scalars(table, 0)) == 0


@pytest.mark.parametrize("dtype", WORDS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 255, 256, 257, 3000])
def test_adding_wraps(group: Group, dtype: str, sign: int, n: int) -> None:
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.max, 0, 1]
    values = np.array([edges[i % 4] for i in range(n)], dtype=dtype)
    array: Any = values.copy()
    stream(group).add_wide_draws_to(array, sign, group.wide_table(SMALL))
    modulus, low = 1 << 8 * array.itemsize, int(limits.min)
    added = [
        int(value) + sign * value_of(SMALL, draw)
        for value, draw in zip(values, uniform(n), strict=True)
    ]
    assert array.tolist() == [(total - low) % modulus + low for total in added]


def test_large_arrays(group: Group) -> None:
    """Enough for a backend to cut the work into pieces and windows."""
    n = 700_001 if group.backend == "native" else 70_001
    table = group.wide_table([HALF * i // 1000 for i in range(1, 1000)])
    array: Any = np.zeros(n, dtype="i8")
    stream(group).add_wide_draws_to(array, 1, table)
    assert array[:300].tolist() == stream(group).wide_table_draws(table, 300)
    stream(group).add_wide_draws_to(array[: n // 2], -1, table)
    assert not array[: n // 2].any()
    assert stream(group).wide_table_draws(table, n)[n // 2 :] == array[n // 2 :].tolist()


def test_scalars_are_secret(group: Group) -> None:
    drawn = stream(group).wide_table_scalars(group.wide_table(SMALL), 3)
    assert type(drawn) is type(group.secret_scalars([1]))


def chi_square(drawn: Sequence[int], bounds: Sequence[int], radius: int) -> float:
    counts, total = Counter(drawn), len(drawn)
    expected = [total * (high - low) / TOTAL for low, high in pairwise(bounds)]
    return sum(
        (counts[row - radius] - mean) ** 2 / mean for row, mean in enumerate(expected) if mean
    )


@pytest.mark.parametrize("seed", range(4))
def test_frequencies(group: Group, seed: int) -> None:
    """Chi-square of 40,000 draws over 11 rows. 10 degrees of freedom: with a right
    sampler the statistic exceeds 41 once in 100,000 seeds."""
    lower = [(1 << 128) * k // 100 for k in (2, 5, 12, 25, 40)]
    drawn = stream(group, seed).wide_table_draws(group.wide_table(lower), 40_000)
    assert chi_square(drawn, cumulative(lower), 5) < 41


def test_the_chi_square_bound_rejects_a_sampler_that_is_slightly_off(group: Group) -> None:
    lower = [(1 << 128) * k // 100 for k in (2, 5, 12, 25, 40)]
    shifted = [*lower[:4], (1 << 128) * 42 // 100]
    drawn = stream(group).wide_table_draws(group.wide_table(shifted), 40_000)
    assert chi_square(drawn, cumulative(lower), 5) > 41


BAD_TABLES: dict[str, Any] = {
    "empty": [],
    "zero": [0],
    "zero first": [0, 5],
    "falling": [5, 4],
    "beyond the middle": [5, HALF + 1],
    "beyond 128 bits": [5, 1 << 128],
    "huge": [5, 1 << 200],
    "negative": [-1, 5],
    "float": [1.0, 5],
    "text": ["1"],
    "bool": [True, 5],
    "nothing": [None],
    "no sequence": 5,
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(group: Group, name: str) -> None:
    assert group.wide_table([1, HALF]).radius == 2
    with pytest.raises(UsageError):
        group.wide_table(BAD_TABLES[name])


@pytest.mark.parametrize("name", BAD_BUFFERS)
def test_bad_buffers(group: Group, name: str) -> None:
    made, buffer, untouched = stream(group), BAD_BUFFERS[name](), BAD_BUFFERS[name]()
    with pytest.raises(UsageError):
        made.add_wide_draws_to(buffer, 1, group.wide_table(SMALL))
    assert np.array_equal(buffer, untouched)
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("sign", [0, 2, -2, 1.0, "1", None, True])
def test_bad_signs(group: Group, sign: Any) -> None:
    made = stream(group)
    array: Any = np.arange(6)
    with pytest.raises(UsageError):
        made.add_wide_draws_to(array, sign, group.wide_table(SMALL))
    assert array.tolist() == list(range(6))
    assert made.bytes(10) == key_stream(10)


@pytest.mark.parametrize("n", [-1, 1.0, "1", None, (1 << 34) + 1, 1 << 62])
def test_bad_counts(group: Group, n: Any) -> None:
    """The last two are more than a stream holds."""
    made, table = stream(group), group.wide_table(SMALL)
    for draw in (made.wide_table_draws, made.wide_table_scalars):
        with pytest.raises((UsageError, MemoryError)):
            draw(table, n)
    assert made.bytes(10) == key_stream(10)


def test_tables_of_no_kind_or_of_another_backend(group: Group) -> None:
    others = [other.wide_table(SMALL) for other in installed_groups() if other != group]
    made: Any = stream(group)
    array: Any = np.arange(6)
    attempts: list[Callable[[Any], Any]] = [
        lambda table: made.wide_table_draws(table, 1),
        lambda table: made.wide_table_scalars(table, 1),
        lambda table: made.add_wide_draws_to(array, 1, table),
    ]
    for table in [*others, SMALL, None, object()]:
        for attempt in attempts:
            with pytest.raises(UsageError):
                attempt(table)
    assert made.bytes(10) == key_stream(10)
    assert array.tolist() == list(range(6))


def test_a_table_is_public_and_short_to_print(group: Group) -> None:
    assert repr(group.wide_table(SMALL)) == "<WideTable: radius 5>"


def test_streams_still_do_not_travel(group: Group) -> None:
    for attempt in (pickle.dumps, copy.copy):
        with pytest.raises(UsageError):
            attempt(stream(group))
