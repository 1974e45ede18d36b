"""Values of any nested form become vectors and come back."""

from __future__ import annotations

from collections import namedtuple
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gopa.aggregation.values import InvalidValue, Structure, flat

Pair = namedtuple("Pair", ["slope", "offset"])  # noqa: PYI024

FLOATS = st.floats(-1e6, 1e6)
ARRAYS = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=0, max_dims=3, max_side=4), elements=FLOATS
)
VALUES = st.recursive(
    FLOATS | ARRAYS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(np.array_equal(one, other))


@given(VALUES)
def test_a_value_comes_back_from_its_vector(value: Any) -> None:
    structure = Structure.of(value)
    vector = structure.flatten(value, 0)
    assert len(vector) == structure.size
    assert same(structure.restore(vector), value)


def test_numbers_of_every_kind_are_taken_exactly() -> None:
    values = [1, True, np.float32(0.1), np.int8(-3), np.bool_(True), Fraction(1, 4), 2.5]
    taken = [float(Structure.of(value).flatten(value, 0)[0]) for value in values]
    assert taken == [1.0, 1.0, float(np.float32(0.1)), -3.0, 1.0, 0.25, 2.5]


def test_the_order_of_keys_does_not_matter_and_that_of_the_first_is_restored() -> None:
    structure = Structure.of({"b": 1.0, "a": np.array([2.0, 3.0])})
    vector = structure.flatten({"a": np.array([5.0, 6.0]), "b": 4.0}, 1)
    restored = structure.restore(vector)
    assert list(restored) == ["b", "a"]
    assert restored["b"] == 4.0
    assert restored["a"].tolist() == [5.0, 6.0]


def test_named_tuples_are_restored() -> None:
    structure = Structure.of(Pair(1.0, 2.0))
    assert structure.restore(np.array([3.0, 4.0])) == Pair(3.0, 4.0)
    assert isinstance(structure.restore(np.array([3.0, 4.0])), Pair)


def test_a_coordinate_is_named_as_python_would() -> None:
    structure = Structure.of({"w": [np.zeros((2, 3)), 1.0]})
    assert [structure.coordinate(at) for at in (0, 5, 6)] == [
        "['w'][0][0, 0]",
        "['w'][0][1, 2]",
        "['w'][1]",
    ]


FIRST: Any = {"w": np.zeros((2, 2)), "b": [1.0, 2.0]}

OTHER = {
    "a missing key": {"w": np.zeros((2, 2))},
    "another key": {"w": np.zeros((2, 2)), "b": [1.0, 2.0], "c": 1.0},
    "another shape": {"w": np.zeros(4), "b": [1.0, 2.0]},
    "another length": {"w": np.zeros((2, 2)), "b": [1.0, 2.0, 3.0]},
    "a tuple for a list": {"w": np.zeros((2, 2)), "b": (1.0, 2.0)},
    "a number for an array": {"w": 0.0, "b": [1.0, 2.0]},
    "text": {"w": np.zeros((2, 2)), "b": ["1", 2.0]},
    "nothing": {"w": np.zeros((2, 2)), "b": [None, 2.0]},
    "complex numbers": {"w": np.zeros((2, 2), dtype=complex), "b": [1.0, 2.0]},
    "objects": {"w": np.full((2, 2), 1, dtype=object), "b": [1.0, 2.0]},
    "long floats": {"w": np.zeros((2, 2), dtype=np.longdouble), "b": [1.0, 2.0]},
    "a mask": {"w": np.ma.masked_equal(np.zeros((2, 2)), 0), "b": [1.0, 2.0]},
    "a large integer": {"w": np.full((2, 2), 2**53 + 1), "b": [1.0, 2.0]},
    "a small integer": {"w": np.full((2, 2), -(2**53) - 1), "b": [1.0, 2.0]},
    "a huge integer": {"w": np.zeros((2, 2)), "b": [2**2000, 2.0]},
    "a third": {"w": np.zeros((2, 2)), "b": [Fraction(1, 3), 2.0]},
    "NaN": {"w": np.full((2, 2), np.nan), "b": [1.0, 2.0]},
    "infinity": {"w": np.zeros((2, 2)), "b": [np.inf, 2.0]},
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
def test_another_structure_or_no_number_is_refused(other: Any) -> None:
    structure = Structure.of(FIRST)
    structure.flatten(FIRST, 3)
    with pytest.raises(InvalidValue) as caught:
        structure.flatten(other, 3)
    assert caught.value.party == 3


def test_the_place_of_nan_is_named_and_no_value() -> None:
    value = {"w": np.array([[0.0, 1.0], [np.nan, 123456.0]]), "b": [1.0, 2.0]}
    with pytest.raises(InvalidValue) as caught:
        Structure.of(FIRST).flatten(value, 4)
    assert caught.value.field == "values[4]['w'][1, 0]"
    assert caught.value.coordinate == "['w'][1, 0]"
    assert "123456" not in str(caught.value)


@pytest.mark.parametrize("empty", [[], {}, np.zeros(0), ([], {})], ids=repr)
def test_a_value_without_numbers_is_refused(empty: Any) -> None:
    with pytest.raises(InvalidValue):
        Structure.of(empty)


def test_deep_nesting_is_refused() -> None:
    value: Any = 1.0
    for _ in range(30):
        value = [value]
    assert Structure.of(value).size == 1
    for _ in range(10):
        value = [value]
    with pytest.raises(InvalidValue):
        Structure.of(value)


def test_flat_lists_the_numbers() -> None:
    assert flat({"a": 1, "b": [np.array([[2.0], [3.0]]), 4]}).tolist() == [1, 2, 3, 4]


class Alike:
    """A key that cannot be told from another one by what it prints."""

    def __repr__(self) -> str:
        return "alike"


class Named:
    """A key that prints whatever it likes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def test_paths_in_another_order_are_another_structure() -> None:
    """The numbers of two parties would be mixed up."""
    between = Named("'a']['a'")
    structure = Structure.of({"a": {"b": 0.0}, between: 1.0})
    assert structure.flatten({between: 3.0, "a": {"b": 2.0}}, 1).tolist() == [2.0, 3.0]
    with pytest.raises(InvalidValue) as caught:
        structure.flatten({Named("'a']['b'"): 0.0, between: 1.0}, 1)
    assert caught.value.party == 1


def test_keys_that_print_alike_are_refused() -> None:
    """Their order is that of insertion: the numbers of two parties would be mixed up."""
    one, other = Alike(), Alike()
    Structure.of({one: 0.0})
    with pytest.raises(InvalidValue) as caught:
        Structure.of({one: 0.0, other: 1.0})
    assert caught.value.party == 0


NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(2**60), 2**60),
    st.booleans(),
    st.sampled_from(
        [np.float32(0.1), np.float64(2), np.int8(-3), np.bool_(True), np.longdouble(1)]
    ),
    st.sampled_from([Fraction(1, 4), Fraction(1, 3), 10**400, 2**53, -(2**53), 2**53 + 1]),
)


def outcome(value: Any, first: Any) -> tuple[Any, ...]:
    """The vector, or what is wrong and where."""
    try:
        return tuple(Structure.of(first).flatten(value, 3).tolist())
    except InvalidValue as error:
        return error.args


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_lists_of_numbers_are_taken_as_if_one_by_one(row: list[Any]) -> None:
    """An array of none beside them in each list, so that its numbers are looked at singly."""
    nothing = np.empty(0)
    singly = outcome([[*row, nothing], [*row, nothing]], [[*[0] * len(row), nothing]] * 2)
    together = outcome([row, row], [[0] * len(row)] * 2)
    assert together == singly


def test_many_numbers_of_a_list_are_walked_once() -> None:
    """A list of a hundred thousand numbers is one leaf, as an array is."""
    row = [0.5] * 100_000
    structure = Structure.of({"a": row, "b": (1, 2)})
    assert [leaf.size for leaf in structure.leaves] == [100_000, 2]
    assert structure.flatten({"a": row, "b": (1, 2)}, 0).shape == (100_002,)
    assert structure.coordinate(99_999) == "['a'][99999]"
    assert structure.coordinate(100_001) == "['b'][1]"


def test_a_list_in_which_one_thing_is_no_number_says_which() -> None:
    first = [1.0, 2.0, 3.0]
    assert outcome([1.0, 2.0, 4.0], first) == (1.0, 2.0, 4.0)
    for value, where in (
        ([1.0, np.zeros(1), 3.0], "[1]"),
        ([1.0, 2.0, "3"], "[2]"),
        ([1.0, float("nan"), float("inf")], "[1]"),
        ([1.0, 2**53 + 1, float("nan")], "[1]"),
        ([1.0, 2.0, [3.0]], ""),
        ((1.0, 2.0, 3.0), ""),
        ([1.0, 2.0], ""),
    ):
        _, party, coordinate = outcome(value, first)
        assert (party, coordinate) == (3, where)
