"""What callers hold their values in: lists, arrays, columns and tables, with and without gaps."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gopa
from gopa.aggregation.values import (
    InvalidValue,
    Structure,
    entries_of,
    flat,
    require_integers,
    values_of,
    weights_of,
)
from gopa.cli import commands
from tests.aggregation.plans import planned, terms
from wire.errors import UsageError

TARGET: dict[str, Any] = {"epsilon": 8, "delta": "1e-5", "mode": "off", "seed": 3}


SOME = [0.1, 0.2, 0.3, 0.4] * 5


GAPS = [0.1, math.nan, 0.3, 0.4] * 5


ABSENT = [0.1, None, 0.3, 0.4] * 5


@dataclass(frozen=True)
class Column:
    """What another library's column is known by."""

    numbers: npt.NDArray[Any]

    def to_numpy(self) -> npt.NDArray[Any]:
        return self.numbers


@dataclass(frozen=True)
class Table:
    """Names and columns as Arrow has them."""

    given: dict[str, npt.NDArray[Any]]

    def __dataframe__(self) -> None:
        raise NotImplementedError

    @property
    def column_names(self) -> list[str]:
        return list(self.given)

    def __getitem__(self, name: str) -> Column:
        return Column(self.given[name])


@pytest.mark.parametrize(
    "given",
    [
        pd.Series(SOME, index=range(100, 120)),
        pd.Series(SOME, dtype="Float64"),
        pd.Series(SOME, dtype="object"),
        np.array(SOME),
        tuple(SOME),
        Column(np.array(SOME)),
    ],
    ids=["series", "nullable", "objects", "array", "tuple", "other library"],
)
def test_a_column_gives_the_result_of_the_list(given: Any) -> None:
    expected = gopa.average(SOME, **TARGET)
    assert gopa.average(given, **TARGET).mean == expected.mean
    assert gopa.variance(given, **TARGET).variance == gopa.variance(SOME, **TARGET).variance
    bins: dict[str, Any] = {"bins": 2, "range": (0, 1), **TARGET}
    assert list(gopa.histogram(given, **bins).counts) == list(gopa.histogram(SOME, **bins).counts)


@pytest.mark.parametrize(
    "given",
    [
        GAPS,
        np.array(GAPS),
        [np.float32(number) for number in GAPS],
        pd.Series(GAPS),
        pd.Series(ABSENT, dtype="Float64"),
        pd.Series(ABSENT, dtype="object"),
    ],
    ids=["list", "array", "numpy scalars", "series", "nullable", "objects"],
)
def test_nan_is_absent_only_where_asked(given: Any) -> None:
    found = gopa.average(given, absent="nan", **TARGET)
    assert found.included == tuple(party for party in range(20) if party % 4 != 1)
    with pytest.raises(InvalidValue) as caught:
        gopa.average(given, **TARGET)
    assert (caught.value.party, caught.value.field) == (1, "values[1]")


def test_none_is_absent_as_before() -> None:
    assert gopa.average(ABSENT, **TARGET).included == gopa.sum(ABSENT, **TARGET).included
    assert gopa.average(ABSENT, absent="nan", **TARGET).count == 15


@pytest.mark.parametrize("part", [0.3, 0.5, 0.6])
def test_many_gaps_do_not_end_the_round(part: float) -> None:
    gaps = round(100 * part)
    found = gopa.average([math.nan] * gaps + [0.5] * (100 - gaps), absent="nan", **TARGET)
    assert found.count == 100 - gaps


def test_where_hardly_anybody_is_left_the_list_is_to_blame() -> None:
    """Nobody named a dropout: to lower it would be no advice."""
    assert gopa.average([0.5] * 20, **TARGET).count == 20
    with pytest.raises(UsageError) as caught:
        gopa.average([None] * 80 + [0.5] * 20, **TARGET)
    assert caught.value.field == "values"


def test_a_named_dropout_is_not_changed() -> None:
    with pytest.raises(gopa.RoundAborted):
        gopa.average([None] * 50 + [0.5] * 50, dropout=0.01, **TARGET)


def table(**columns: Any) -> pd.DataFrame:
    given = {"age": [0.2, 0.4] * 10, "income": [1, 0] * 10, "owner": [True, False] * 10}
    return pd.DataFrame({**given, **columns})


def test_a_table_has_a_row_for_each_party_and_the_mean_the_names_of_its_columns() -> None:
    found = gopa.average(table(), **TARGET)
    rows = [{"age": a, "income": i, "owner": i} for a, i in [(0.2, 1), (0.4, 0)] * 10]
    assert found.mean == gopa.average(rows, **TARGET).mean
    assert list(found.mean) == ["age", "income", "owner"]
    assert found.count == 20
    other: Any = Table({name: table()[name].to_numpy() for name in table().columns})
    assert gopa.average(other, **TARGET).mean == found.mean


def test_integers_of_a_table_stay_exact() -> None:
    """As one array of floats, a table would round them before anybody could refuse them."""
    mixed = pd.DataFrame({"id": [2**53 + 1], "part": [0.5]})
    assert values_of(mixed) == [{"id": 2**53 + 1, "part": 0.5}]
    with pytest.raises(InvalidValue) as caught:
        gopa.average(pd.concat([mixed] * 20), range=(0, 2**60), **TARGET)
    assert caught.value.coordinate == "['id']"


def test_a_row_takes_part_whole_or_not_at_all() -> None:
    ages = [0.2, 0.4] * 9 + [math.nan, 0.4]
    with pytest.raises(InvalidValue) as caught:
        gopa.average(table(age=ages), **TARGET)
    assert (caught.value.party, caught.value.coordinate) == (18, "['age']")
    with pytest.raises(InvalidValue) as caught:
        gopa.average(table(age=ages), absent="nan", **TARGET)
    assert (caught.value.party, caught.value.coordinate) == (18, "['age']")
    empty = pd.DataFrame({"age": ages, "other": ages})
    assert gopa.average(empty, absent="nan", **TARGET).count == 19


@pytest.mark.parametrize(
    ("given", "error", "field"),
    [
        (pd.DataFrame(np.ones((20, 2)), columns=["a", "a"]), UsageError, "values"),
        (pd.DataFrame(index=range(20)), UsageError, "values"),
        (pd.Series(["one", "two"] * 10), InvalidValue, "values[0]"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 20)), InvalidValue, "values[0]"),
        (pd.Series(pd.to_timedelta([5] * 20)), InvalidValue, "values[0]"),
        (table(owner=["yes"] * 20), InvalidValue, "values[0]['owner']"),
        (pd.Series([], dtype=float), UsageError, "n"),
        ({"a": 1}, UsageError, "values"),
        ("0.5", UsageError, "values"),
        ({0.1, 0.2}, UsageError, "values"),
        (iter(SOME), UsageError, "values"),
        (None, UsageError, "values"),
        ([0.1, math.inf] * 10, InvalidValue, "values[1]"),
        ([0.1, [math.nan]] * 10, InvalidValue, "values[1]"),
    ],
)
def test_what_holds_no_values_is_refused_by_name(
    given: Any, error: type[UsageError], field: str
) -> None:
    with pytest.raises(error) as caught:
        gopa.average(given, **TARGET)
    assert caught.value.field == field


def test_the_word_for_absence_is_known() -> None:
    wrong: list[Any] = ["NaN", None, True]
    for absent in wrong:
        with pytest.raises(UsageError) as caught:
            gopa.average(SOME, absent=absent, **TARGET)
        assert caught.value.field == "absent"
        with pytest.raises(UsageError) as caught:
            gopa.LocalAggregator(terms(), absent=absent)
        assert caught.value.field == "absent"


def test_an_aggregator_reads_the_same() -> None:
    plan = planned(n=20, epsilon=8, dropout=0.4)
    with gopa.LocalAggregator(plan, mode="off", seed=3, absent="nan") as aggregator:
        assert aggregator.average(pd.Series(GAPS)).count == 15
    with (
        gopa.LocalAggregator(plan, mode="off", seed=3) as aggregator,
        pytest.raises(InvalidValue) as caught,
    ):
        aggregator.average(pd.Series(GAPS))
    assert caught.value.party == 1


def test_weights_may_be_a_column_and_those_of_absent_parties_do_not_matter() -> None:
    weights = pd.Series([1.0, math.nan, 2.0, 1.0])
    assert weights_of(weights, [0.5, None, 0.5, 0.5]) == [1.0, 0, 2.0, 1.0]
    given: dict[str, Any] = {"max_weight": 2, "absent": "nan", **TARGET, "epsilon": 100}
    found = gopa.average(pd.Series(GAPS), weights=pd.Series([1.0, math.nan, 2, 1.0] * 5), **given)
    listed = gopa.average(ABSENT, weights=[1.0, 0.0, 2.0, 1.0] * 5, **given)
    assert found.mean == listed.mean
    for weights in (table(), [1.0], pd.Series([1.0, math.nan, math.nan, 1.0] * 5)):
        with pytest.raises(UsageError) as caught:
            gopa.average(pd.Series(GAPS), weights=weights, **given)
        assert caught.value.field in {"weights", "weights[2]"}


def test_arrays_of_more_dimensions_hold_a_row_for_each_party() -> None:
    rows: Any = np.arange(6.0).reshape(3, 2)
    assert entries_of(rows, "values") is rows
    assert np.array_equal(entries_of(Column(rows), "values"), rows)


@pytest.mark.parametrize("given", [[1, 0.1], [1, {"a": 0.1}], [1.0, np.array([1.0, 0.1])]])
def test_integers_are_integers(given: list[Any]) -> None:
    require_integers([1, None, 2.0, np.int64(3), True, {"a": [1, 2.0]}])
    with pytest.raises(InvalidValue) as caught:
        require_integers(given)
    assert caught.value.party == 1


@pytest.mark.parametrize("ask", [gopa.average, gopa.sum])
def test_integers_that_are_none_are_refused_and_not_rounded(ask: Any) -> None:
    given: dict[str, Any] = {"integers": True, "range": (0, 2), **TARGET}
    assert ask(pd.Series([1, 0] * 10), **given).count == 20
    with pytest.raises(InvalidValue) as caught:
        ask([1, 0, 0.1] * 7, **given)
    assert caught.value.field == "values[2]"
    with pytest.raises(InvalidValue) as caught:
        gopa.average([1, 0, 0.1] * 7, weights=[1] * 21, max_weight=1, **given)
    assert caught.value.field == "values[2]"


def test_the_command_refuses_them_too(tmp_path: Any) -> None:
    from click.testing import CliRunner

    path = tmp_path / "values.txt"
    asked = ["simulate", "--epsilon", "8", "--delta", "1e-5", "--mode", "off", "--integers"]
    path.write_text("\n".join(["1", "0"] * 10))
    done = CliRunner().invoke(commands, [*asked, "--values", str(path)])
    assert done.exit_code == 0, done.output
    path.write_text("\n".join(["1", "0.5"] * 10))
    done = CliRunner().invoke(commands, [*asked, "--values", str(path)])
    assert isinstance(done.exception, UsageError)
    assert done.exception.field == "--values"


def test_numpy_scalars_are_arguments_as_good_as_numbers() -> None:
    plain = gopa.plan(n=50, epsilon=0.5, delta=1e-6, corrupt=5, dropout=0.1, rounds=2)
    assert plain == gopa.plan(
        n=np.int64(50),  # type: ignore[arg-type]
        epsilon=np.float32(0.5),  # type: ignore[arg-type]
        delta=np.float64(1e-6),
        corrupt=np.int32(5),  # type: ignore[arg-type]
        dropout=np.float64(0.1),
        rounds=np.uint8(2),  # type: ignore[arg-type]
        range=np.array([0, 1]),  # type: ignore[arg-type]
    )
    result = gopa.average(SOME, epsilon=8, delta="1e-5", mode="off", seed=3)
    given: dict[str, Any] = {
        "epsilon": np.int64(8),
        "seed": np.int64(3),
        "clip": np.False_,
        "jobs": np.int64(1),
        "progress": np.False_,
        "range": (np.float64(0), np.int8(1)),
    }
    assert gopa.average(SOME, delta="1e-5", mode="off", **given).mean == result.mean
    gone: Any = {np.int64(3): "join"}
    assert 3 not in gopa.average(SOME, script=gone, **TARGET).included


def test_a_tenth_in_32_bits_is_a_tenth() -> None:
    share = gopa.plan(n=50, epsilon=1, delta=1e-6, corrupt=np.float32(0.1))  # type: ignore[arg-type]
    assert share.terms.corrupt == 5
    exact = gopa.plan(n=50, epsilon=np.float32(0.1), delta=1e-6)  # type: ignore[arg-type]
    assert str(exact.terms.epsilon) == "0.1"


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
