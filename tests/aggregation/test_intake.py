"""What callers hold their values in: lists, arrays, columns and tables, with and without gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import gopa
from gopa import InvalidValue, UsageError
from gopa.aggregation.values import entries_of, require_integers, values_of, weights_of
from gopa.cli import commands
from tests.aggregation.plans import planned, terms

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
