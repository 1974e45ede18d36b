"""Packed rows and tables of keys, against lists and dictionaries."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import UsageError
from wire.packed import KeyTable, Rows

ROWS = st.lists(st.binary(min_size=3, max_size=3))
FEW_KEYS = st.lists(st.sampled_from([bytes([a, b]) for a in range(40) for b in range(2)]))


@given(ROWS)
def test_rows_are_a_sequence(given_rows: list[bytes]) -> None:
    rows = Rows.of(3, given_rows)
    assert list(rows) == given_rows
    assert rows[1:] == given_rows[1:]
    assert rows.to_bytes() == b"".join(given_rows)
    for number, row in enumerate(given_rows):
        assert rows[number] == row
        assert rows.holds(number, row)
        assert not rows.holds(number, row[::-1] + b"\0")
        assert rows.holds(number, b"abc") == (row == b"abc")


@given(ROWS.filter(bool), st.data())
def test_a_row_is_replaced_alone(given_rows: list[bytes], data: st.DataObject) -> None:
    rows, expected = Rows.of(3, given_rows), list(given_rows)
    at = data.draw(st.integers(0, len(expected) - 1))
    rows[at] = expected[at] = b"new"
    assert list(rows) == expected


def test_rows_have_one_width() -> None:
    rows = Rows(3, zeros=2)
    assert list(rows) == [bytes(3), bytes(3)]
    with pytest.raises(UsageError):
        rows.append(b"four")
    with pytest.raises(UsageError):
        rows[0] = b"no"
    for wrong in (-1, 2):
        with pytest.raises(IndexError):
            rows[wrong]
        with pytest.raises(IndexError):
            rows[wrong] = b"row"
    assert list(rows) == [bytes(3), bytes(3)]


@given(FEW_KEYS, FEW_KEYS)
def test_keys_are_numbered_as_they_come(added: list[bytes], asked: list[bytes]) -> None:
    table, expected = KeyTable(2), dict[bytes, int]()
    for key in added:
        assert table.add(key) == expected.setdefault(key, len(expected))
    assert len(table) == len(expected)
    assert list(table) == list(expected)
    for key in asked:
        assert table.find(key) == expected.get(key)
        assert (key in table) == (key in expected)
    assert [table[number] for number in range(len(table))] == list(expected)


def test_what_has_another_width_is_no_key() -> None:
    table = KeyTable(2)
    assert table.add(b"ab") == 0
    assert table.find(b"a") is None
    assert table.find(b"abc") is None
    with pytest.raises(UsageError):
        table.add(b"abc")
    assert list(table) == [b"ab"]


def test_a_table_takes_little_more_than_its_keys() -> None:
    table, count = KeyTable(32), 20_000
    for number in range(count):
        table.add(number.to_bytes(32))
    rows = table._rows
    assert sys.getsizeof(table._cells) + sys.getsizeof(rows._data) < 56 * count
